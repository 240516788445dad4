package pfc

import "weir/core/dataplane"

// Footprint returns the use by PFC in addition to the buffer's accounting; all of it is fixed functions of the
// traffic manager and of the ports.
func (p *Program) Footprint() dataplane.Footprint {
	x := dataplane.Stage{Name: "pause and resume", Gress: dataplane.InManager, Registers: []dataplane.RegisterUse{
		{Name: "paused", Cells: len(p.paused), Bits: dataplane.WidthOf(p.paused[0]), Reads: 1, Writes: 1}},
		Operations: []dataplane.Operation{{Kind: dataplane.MakingPacket, What: "PFC frame", Times: 1}}}
	if p.quanta > 0 {
		x.Registers = append(x.Registers, dataplane.RegisterUse{Name: "renewals", Cells: len(p.nextRenewal),
			Bits: dataplane.WidthOf(p.nextRenewal[0]), Reads: 1, Writes: 1})
		x.Operations = append(x.Operations, dataplane.Operation{Kind: dataplane.Timing, What: "renews pauses", Times: 1})
	}
	return dataplane.Footprint{Stages: []dataplane.Stage{x}}
}

// Footprint returns the Program's use, and includes the buffer's accounting, which is the program's own.
func (a *standalone) Footprint() dataplane.Footprint {
	f := a.Program.Footprint()
	f.Stages = append([]dataplane.Stage{a.buffer.Stage()}, f.Stages...)
	return f
}
