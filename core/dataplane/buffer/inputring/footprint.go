package inputring

import "weir/core/dataplane"

// Footprint returns the use by a pipeline with the same function: the packets that wait by ring, and the time until
// which the current packet is read. BMv2 itself loses packets before its pipeline.
func (r *program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{
		Name: "input", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{
			{Name: "waiting", Cells: len(r.waiting), Bits: dataplane.IndexBits(r.config.Ring + 1),
				Reads: len(r.waiting), Writes: len(r.waiting)},
			{Name: "free", Cells: 1, Bits: dataplane.WidthOf(r.readUntil), Reads: 1, Writes: 1},
		},
		Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "packets read since the last one",
			Times: max(r.config.Ring*len(r.waiting), 1)}},
	}}}
}
