package plan

import (
	"fmt"

	"weir/core/unit"
	"weir/study/experiment"
)

// drawing draws the flows of one traffic for one seed.
type drawing struct {
	experiment.Generator
	point   *experiment.Point
	traffic *experiment.Traffic
	id      int
	seed    uint64
	// limit, above 0, is for trials: after that many flows of the traffic, each further source has its share alone.
	limit int
	visit func(*experiment.Flow) error

	count, own int  // flows that were visited, in all and of the present source
	isCut      bool // by limit
	flow       experiment.Flow
	err        error
}

// isOver reports whether no more flows of the present source are to be visited.
func (g *drawing) isOver() bool {
	if g.err != nil {
		return true
	}
	over := g.limit > 0 && g.count >= g.limit && g.own >= max(1, g.limit/max(1, len(g.From)))
	g.isCut = g.isCut || over
	return over
}

// add visits one flow. Its size is drawn from r.
func (g *drawing) add(r unit.Random, src, dst int, at, later unit.Time) {
	if g.isOver() {
		return
	}
	g.flow = experiment.Flow{Traffic: g.id, Index: g.count, Src: src, Dst: dst, Size: g.Size, Fixed: at >= 0, Start: at,
		Later: later}
	if g.Sizes != nil {
		g.flow.Size = g.Sizes.Size(r.Float64())
	}
	g.count++
	g.own++
	g.err = g.visit(&g.flow)
}

// each visits the flows of the run, in order. The first limit flows are the same with any limit.
func (g *drawing) each() error {
	random := unit.NewRandom(g.seed, "traffic "+g.traffic.Name())
	switch {
	case g.Offered == 0:
		g.eachSet(random)
	case g.FromN > 0:
		g.own = g.limit // a draw is of all sources
		g.arrivals(random, g.Arrivals(0), func(at unit.Time) {
			sources := draw(random, g.From, g.FromN, g.Aside())
			targets := g.targets(random, sources)
			for i, src := range sources {
				for _, dst := range g.destinations(random, src, i, targets) {
					g.add(random, src, dst, at, 0)
				}
			}
		})
	default:
		targets := g.targets(random, g.From)
		for i, src := range g.From {
			g.own = 0
			r := unit.NewRandom(g.seed, fmt.Sprintf("traffic %s host %d", g.traffic.Name(), src))
			g.arrivals(r, g.Arrivals(src), func(at unit.Time) {
				for _, dst := range g.destinations(r, src, i, targets) {
					g.add(r, src, dst, at, 0)
				}
			})
		}
	}
	return g.err
}

// eachSet visits a number of flows of each source, in sets.
func (g *drawing) eachSet(random unit.Random) {
	sources := draw(random, g.From, g.FromN, g.Aside())
	targets := g.targets(random, sources)
	for set, later := range g.Sets {
		for i, src := range sources {
			if set == 0 {
				g.own = 0
			}
			for range g.Flows {
				if g.isOver() {
					break
				}
				for _, dst := range g.destinations(random, src, i, targets) {
					g.add(random, src, dst, -1, later)
				}
			}
		}
	}
}

// arrivals calls arrive at the times at which flows arrive, each a second on average.
func (g *drawing) arrivals(r unit.Random, each float64, arrive func(at unit.Time)) {
	most := 2*int(g.Expected(g.point, g.traffic)) + 1000 // the spec has checked the mean
	until := g.Until(g.point, g.traffic)
	begin, _ := g.traffic.Start()
	gap := 1 / each * float64(unit.Second)
	at := float64(begin)
	if g.Periodic {
		at += gap * r.Float64() // a phase of its own
	}
	for {
		if !g.Periodic {
			at += gap * r.ExpFloat64()
		}
		if at >= float64(until) || g.count > most || g.isOver() {
			return
		}
		arrive(unit.Time(at))
		if g.Periodic {
			at += gap
		}
	}
}

// targets are the destinations that are drawn once: those of {random: n}, or a
// permutation of the sources without a fixed point.
func (g *drawing) targets(r unit.Random, sources []int) []int {
	switch {
	case g.Pattern == experiment.Permutation:
		perm := r.Perm(len(sources))
		for again := true; again && len(sources) > 1; {
			again = false
			for i, k := range perm {
				again = again || i == k
			}
			if again {
				perm = r.Perm(len(sources))
			}
		}
		out := make([]int, len(sources))
		for i, k := range perm {
			out[i] = sources[k]
		}
		return out
	case g.ToN > 0:
		except := map[int]bool{}
		if g.FromN > 0 {
			for _, s := range sources {
				except[s] = true
			}
		}
		return draw(r, g.To, g.ToN, except)
	}
	return g.To
}

// destinations are those of the flow, or flows, of source number i.
func (g *drawing) destinations(r unit.Random, src, i int, targets []int) []int {
	switch {
	case g.Pattern == experiment.Permutation:
		return targets[i : i+1]
	case g.Pattern == experiment.ToStride:
		return []int{g.From[(i+g.Stride)%len(g.From)]}
	case g.ToN > 0:
		var out []int
		for _, t := range targets {
			if t != src {
				out = append(out, t)
			}
		}
		return out
	}
	// random, or one of the hosts that are listed
	for range 64 {
		if t := targets[r.IntN(len(targets))]; t != src {
			return []int{t}
		}
	}
	return nil // there is no other
}

// draw takes n different ones at random, all for 0.
func draw(r unit.Random, of []int, n int, except map[int]bool) []int {
	if n == 0 {
		return of
	}
	var out []int
	for _, k := range r.Perm(len(of)) {
		if len(out) < n && !except[of[k]] {
			out = append(out, of[k])
		}
	}
	return out
}
