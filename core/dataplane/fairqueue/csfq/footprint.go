package csfq

import (
	"weir/core/dataplane"
)

// Footprint returns the use by an edge, with users' rates by equation (3), and by the core's part: A, F, alpha,
// tmp_alpha and the window of each port.
func (x *program) Footprint() dataplane.Footprint {
	const in = dataplane.InIngress
	var p PortState
	n, ports := x.rates.StateCount(), len(x.ports)
	return dataplane.Footprint{Stages: []dataplane.Stage{
		dataplane.UserStage(x.rates.Table),
		{Name: "label, equation (3)", Gress: in, Registers: []dataplane.RegisterUse{{Name: "rates of users", Cells: n,
			Bits: dataplane.WidthOf(p.a), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decay exp(-T/K)", Times: 1},
				{Kind: dataplane.Dividing, What: "l/T, T/K, by the weight", Times: 3},
				{Kind: dataplane.FloatingPoint, What: "rate", Times: 3}}},
		{Name: "drop probability", Gress: in, Registers: []dataplane.RegisterUse{{Name: "alpha", Cells: ports,
			Bits: dataplane.WidthOf(p.alpha), Reads: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Dividing, What: "alpha/label", Times: 1},
				{Kind: dataplane.FloatingPoint, What: "probability", Times: 1}}},
		{Name: "estimate of alpha, figure 3", Gress: in, Registers: []dataplane.RegisterUse{
			{Name: "A and F", Cells: 2 * ports, Bits: dataplane.WidthOf(p.a), Reads: 2, Writes: 2},
			{Name: "alpha", Cells: ports, Bits: dataplane.WidthOf(p.alpha), Writes: 1},
			{Name: "alpha at its update, tmp_alpha, window", Cells: ports, Bits: dataplane.WidthOf(p.updated) +
				dataplane.WidthOf(p.largest) + dataplane.WidthOf(p.start) + dataplane.WidthOf(p.congested), Reads: 1, Writes: 1}},
			Operations: []dataplane.Operation{{Kind: dataplane.Transcendental, What: "decays of A and F", Times: 2},
				{Kind: dataplane.Dividing, What: "l/T, T/K of A and F, C/F", Times: 5},
				{Kind: dataplane.FloatingPoint, What: "A, F, alpha, threshold", Times: 6},
				{Kind: dataplane.ReadingEgress, What: "queue of the port", Times: 1}}},
	}}
}
