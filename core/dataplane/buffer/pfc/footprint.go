package pfc

import "weir/core/dataplane"

// Footprint is what PFC adds to the buffer's accounting, all of it fixed functions of the
// traffic manager and of the ports.
func (p *Program) Footprint() dataplane.Footprint {
	x := dataplane.Stage{Name: "pause and resume", Gress: dataplane.InManager, Registers: []dataplane.RegisterUse{
		{Name: "paused", Cells: len(p.paused), Bits: dataplane.Bits(p.paused[0]), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.MakingPacket, What: "PFC frame", Times: 1}}}
	if p.quanta > 0 {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "renewals", Cells: len(p.next),
			Bits: dataplane.Bits(p.next[0]), Reads: 1, Writes: 1})
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Timing, What: "renews pauses", Times: 1})
	}
	return dataplane.Footprint{Stages: []dataplane.Stage{x}}
}

// Footprint has the buffer's accounting besides, which is its own.
func (a *standalone) Footprint() dataplane.Footprint {
	f := a.Program.Footprint()
	f.Stages = append([]dataplane.Stage{a.buffer.Stage()}, f.Stages...)
	return f
}
