package inputring

import "weir/core/dataplane"

// Footprint is what a pipeline would need to do the same: what waits by ring, and when the packet that is being read
// will have been. BMv2 loses packets before its pipeline, which takes no part in it.
func (r *program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{{
		Name: "input", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{
			{Name: "waiting", Cells: len(r.waiting), Bits: dataplane.IndexBits(r.config.Ring + 1),
				Reads: len(r.waiting), Writes: len(r.waiting)},
			{Name: "free", Cells: 1, Bits: dataplane.Bits(r.free), Reads: 1, Writes: 1},
		},
		Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "packets read since the last one",
			Times: max(r.config.Ring*len(r.waiting), 1)}},
	}}}
}
