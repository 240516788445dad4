package fastcnp

import (
	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
)

// Footprint is that of ecn, and the table of flows: four ways, which a pipeline has as four
// arrays, but a flow goes into one only if it is in none of the others.
func (e *enqueue) Footprint() dataplane.Footprint { return e.footprint(dataplane.InIngress) }

// Footprint is as enqueue's, behind the queue.
func (d *dequeue) Footprint() dataplane.Footprint { return d.footprint(dataplane.InEgress) }

func (n *notifier) footprint(g dataplane.Gress) dataplane.Footprint {
	var e entry
	return dataplane.Footprint{Stages: []dataplane.Stage{ecn.Use("judge", g, n.config.Curves),
		{Name: "flow's last CNP", Gress: g, Registers: []dataplane.RegisterUse{{Name: "recent", Cells: len(n.recent.entries),
			Bits: dataplane.Bits(e), Reads: ways, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the ways of a set", Times: ways},
				{Kind: dataplane.Recirculating, What: "CNP", Times: 1}}}}}
}
