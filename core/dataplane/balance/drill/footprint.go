package drill

import "weir/core/dataplane"

// Footprint returns the use by one lookup and, if a destination has several paths, by failover, if configured, and by a
// comparison of queues: d random ones and the m best ones of the set of paths. It includes the memory from the first
// packet on.
func (d *program) Footprint() dataplane.Footprint {
	f := dataplane.Footprint{Stages: []dataplane.Stage{d.paths.Stage()}}
	if d.paths.MaxGroupSize() < 2 {
		return f
	}
	x := dataplane.Stage{Name: "shortest of d + m queues", Gress: dataplane.InIngress,
		Operations: []dataplane.Operation{{Kind: dataplane.ReadingEgress, What: "queues of ports", Times: d.draws + d.memory},
			{Kind: dataplane.Looping, What: "over the queues", Times: d.draws + d.memory}}}
	if d.memory > 0 {
		cells := 0
		for _, n := range d.paths.GroupSizes() {
			cells += min(d.memory, n)
		}
		m := min(d.memory, cells)
		x.Registers = []dataplane.RegisterUse{{Name: "best ports", Cells: cells, Bits: dataplane.PortBits, Reads: m,
			Writes: m}}
	}
	f.Stages = append(append(f.Stages, d.Stages()...), x)
	return f
}
