package fastcnp

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
)

// Footprint returns the use by ecn, and by the table of flows. A pipeline has its four ways as four arrays, but a
// flow joins one only if it is not in another one.
func (e *enqueue) Footprint() dataplane.Footprint { return e.footprintAt(dataplane.InIngress) }

// Footprint returns the same use as enqueue's, behind the queue.
func (d *dequeue) Footprint() dataplane.Footprint { return d.footprintAt(dataplane.InEgress) }

// footprintAt returns the use in a part of the switch.
func (n *notifier) footprintAt(g dataplane.SwitchPart) dataplane.Footprint {
	var e entry
	return dataplane.Footprint{Stages: []dataplane.Stage{ecn.StageUse("judge", g, n.config.Curves),
		{Name: "flow's last CNP", Gress: g, Registers: []dataplane.RegisterUse{{Name: "recent", Cells: len(n.recent.entries),
			Bits: dataplane.WidthOf(e), Reads: ways, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the ways of a set", Times: ways},
				{Kind: dataplane.Recirculating, What: "CNP", Times: 1}}}}}
}
