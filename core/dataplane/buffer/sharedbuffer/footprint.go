package sharedbuffer

import "weir/core/dataplane"

// Footprint is that of a traffic manager's accounting.
func (s *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{s.Buffer.Stage()}}
}

// Stage is the accounting, a fixed function of the traffic manager that is not part of the pipeline. A
// packet is counted in when it enters and out when it leaves.
func (b *Buffer) Stage() dataplane.Stage {
	var q Queue
	x := dataplane.Stage{Name: "buffer", Gress: dataplane.InManager, Registers: []dataplane.RegisterUse{
		{Name: "ingress queues", Cells: len(b.queues), Bits: dataplane.Bits(q.bytes) + dataplane.Bits(q.headroom), Reads: 1,
			Writes: 1},
		{Name: "shared part", Cells: 1, Bits: dataplane.Bits(b.used), Reads: 1, Writes: 1}}}
	if b.alpha > 0 {
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.FloatingPoint,
			What: "alpha times what is free", Times: 1})
	}
	return x
}
