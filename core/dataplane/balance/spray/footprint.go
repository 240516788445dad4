package spray

import "weir/core/dataplane"

// Footprint returns the use by one lookup and, if configured, failover. Round robin and permutations have a turn for
// each group of paths, and permutations also their order, which the end of a round draws again. Random order has no
// turn.
func (s *Program) Footprint() dataplane.Footprint {
	f := dataplane.Footprint{Stages: append([]dataplane.Stage{s.routes.Stage(true)}, s.Failover.Stages()...)}
	groups, members, most := 0, 0, 0
	for _, turns := range s.turns {
		for _, t := range turns {
			if t != nil {
				groups, members, most = groups+1, members+len(t.ports), max(most, len(t.ports))
			}
		}
	}
	if groups == 0 || s.order == Random {
		return f
	}
	f.Stages = append(f.Stages, dataplane.Stage{Name: "turn", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "next in turn", Cells: groups, Bits: dataplane.IndexBits(most), Reads: 1,
			Writes: 1}}})
	order := dataplane.Stage{Name: "port in turn", Gress: dataplane.InIngress,
		Registers: []dataplane.RegisterUse{{Name: "order of ports", Cells: members, Bits: dataplane.PortBits, Reads: 1}}}
	if s.order == Permutation {
		r := &order.Registers[0]
		r.Reads, r.Writes = most, most // the last packet of a round
		order.Operations = []dataplane.Operation{{Kind: dataplane.Looping, What: "draws a new order", Times: most - 1}}
	}
	f.Stages = append(f.Stages, order)
	return f
}
