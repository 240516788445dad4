package hula

import "weir/core/dataplane"

// Footprint returns the use by this implementation of HULA, in the order in which a packet meets it. At ingress a
// probe reads the egress estimate for the other direction of the same link (HULA §3.2). A flowlet's port is looked up
// before the choice and written after it, since a failed port is abandoned (HULA §3.3).
func (h *Program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var l link
	var b hop
	f := dataplane.Footprint{Stages: []dataplane.Stage{h.paths.Stage()}}
	load := dataplane.RegisterUse{Name: "utilisation of links", Cells: len(h.links), Bits: dataplane.WidthOf(l.load) +
		dataplane.WidthOf(l.updatedAt), Reads: 1}
	estimate := []dataplane.Operation{{Kind: dataplane.Dividing, What: "age by tau", Times: 1},
		{Kind: dataplane.FloatingPoint, What: "U", Times: 1}}
	if len(h.best) > 0 {
		up := len(h.place.Up) > 0
		gap, port := h.flowlets.Stages()
		if up {
			last := port
			last.Name, last.Registers = "flowlet's last port", []dataplane.RegisterUse{port.Registers[0]}
			last.Registers[0].Writes = 0
			f.Stages = append(f.Stages, gap, last)
		}
		f.Stages = append(f.Stages,
			dataplane.Stage{Name: "probe heard at the port", Gress: in, Registers: []dataplane.RegisterUse{{Name: "heard",
				Cells: len(h.links), Bits: dataplane.WidthOf(l.probedAt), Reads: 1, Writes: 1}}},
			dataplane.Stage{Name: "probe: link's utilisation", Gress: in, Registers: []dataplane.RegisterUse{load},
				Operations: estimate})
		best := dataplane.Stage{Name: "best hop", Gress: in, Registers: []dataplane.RegisterUse{{Name: "best hop by ToR",
			Cells: len(h.best), Bits: dataplane.WidthOf(b), Reads: 1, Writes: 1}}}
		copies := len(h.place.Up)
		if h.place.Tier > 1 {
			copies += len(h.place.Down) - 1
		}
		if copies > 0 {
			best.Operations = append(best.Operations, dataplane.Operation{Kind: dataplane.Copying,
				What: "the probe, to other ports", Times: copies})
		}
		if f.Stages = append(f.Stages, best); up {
			port.Name = "flowlet's new port"
			port.Registers = []dataplane.RegisterUse{port.Registers[0]}
			port.Registers[0].Reads = 0
			f.Stages = append(f.Stages, port)
		}
		if h.ownToR >= 0 && up {
			f.Stages = append(f.Stages, dataplane.Stage{Name: "own probes", Gress: in, Operations: []dataplane.Operation{
				{Kind: dataplane.Timing, What: "each probe period", Times: 1}, {Kind: dataplane.MakingPacket,
					What: "a probe for each upward port", Times: len(h.place.Up)}}})
		}
	}
	load.Writes = 1
	f.Stages = append(f.Stages, dataplane.Stage{Name: "link's utilisation, §3.2", Gress: dataplane.InEgress,
		Registers: []dataplane.RegisterUse{load}, Operations: estimate})
	return f
}
