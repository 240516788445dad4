package sharedbuffer

import "weir/core/dataplane"

// Footprint returns the use by a traffic manager's accounting.
func (s *Program) Footprint() dataplane.Footprint {
	return dataplane.Footprint{Stages: []dataplane.Stage{s.Buffer.Stage()}}
}

// Stage returns the use by the accounting, a fixed function of the traffic manager outside the pipeline. A packet is
// counted in when it enters and out when it departs.
func (b *Buffer) Stage() dataplane.Stage {
	var q Queue
	x := dataplane.Stage{Name: "buffer", Gress: dataplane.InManager, Registers: []dataplane.RegisterUse{
		{Name: "ingress queues", Cells: len(b.queues), Bits: dataplane.WidthOf(q.bytes) + dataplane.WidthOf(q.headroom),
			Reads:  1,
			Writes: 1},
		{Name: "shared part", Cells: 1, Bits: dataplane.WidthOf(b.used), Reads: 1, Writes: 1}}}
	if b.alpha > 0 {
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.FloatingPoint,
			What: "alpha times what is free", Times: 1})
	}
	return x
}
