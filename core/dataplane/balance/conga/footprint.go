package conga

import "weir/core/dataplane"

// Footprint returns the use by this implementation of CONGA, in the order in which a packet meets it. CONGA's own
// switch (CONGA §4) is a special ASIC, which compares all uplinks at once, with estimators that ingress and egress
// share.
func (g *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var m metric
	var e estimator
	f := dataplane.Footprint{Stages: []dataplane.Stage{g.paths.Stage()}}
	rates := dataplane.RegisterUse{Name: "rate estimators", Cells: len(g.rates), Bits: dataplane.WidthOf(e.bytes) +
		dataplane.WidthOf(e.decayedAt) + dataplane.WidthOf(e.level)}
	estimate := []dataplane.Operation{{Kind: dataplane.Dividing, What: "periods past", Times: 1},
		{Kind: dataplane.FloatingPoint, What: "X", Times: 1}, {Kind: dataplane.Transcendental, What: "(1 - alpha)^periods",
			Times: 1}}
	if up := len(g.tagPort); g.place.Tier == 1 && len(g.toLeaf) > 0 {
		gap, port := g.flowlets.Stages()
		at, known := dataplane.WidthOf(m.updatedAt), dataplane.WidthOf(m)-dataplane.WidthOf(m.updatedAt)
		from, feedback := dataplane.RegisterUse{Name: "congestion from leaf", Cells: len(g.fromLeaf), Bits: at + known,
			Reads: min(up, len(g.fromLeaf)), Writes: 1},
			dataplane.Operation{Kind: dataplane.Looping, What: "looks for a metric that has changed", Times: up}
		last := port // the choice prefers the flow's last port
		last.Name, port.Name = "flow's last port", "flowlet's new port"
		last.Registers, port.Registers = []dataplane.RegisterUse{port.Registers[0]},
			[]dataplane.RegisterUse{port.Registers[0]}
		last.Registers[0].Writes, port.Registers[0].Reads = 0, 0
		local := rates
		local.Reads, local.Writes = up, up
		f.Stages = append(f.Stages, gap, last,
			dataplane.Stage{Name: "congestion of the uplinks", Gress: in, Registers: []dataplane.RegisterUse{local},
				Operations: append([]dataplane.Operation{{Kind: dataplane.Looping, What: "over the uplinks", Times: up}},
					estimate...)},
			dataplane.Stage{Name: "least congested uplink", Gress: in,
				Registers: []dataplane.RegisterUse{{Name: "congestion to leaf", Cells: len(g.toLeaf), Bits: at + known, Reads: up,
					Writes: 1}},
				Operations: []dataplane.Operation{{Kind: dataplane.Looping, What: "over the uplinks", Times: up}}},
			port,
			dataplane.Stage{Name: "feedback", Gress: in, Registers: []dataplane.RegisterUse{from,
				{Name: "next to notify", Cells: len(g.turns), Bits: dataplane.WidthOf(g.turns[0]), Reads: 1,
					Writes: 1}},
				Operations: []dataplane.Operation{feedback}})
	}
	rates.Reads, rates.Writes = 1, 1
	f.Stages = append(f.Stages, dataplane.Stage{Name: "rate of the link", Gress: dataplane.InEgress,
		Registers: []dataplane.RegisterUse{rates}, Operations: estimate})
	return f
}
