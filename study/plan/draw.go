package plan

import (
	"fmt"

	"weir/core/unit"
	"weir/study/spec"
)

// drawing draws the flows of one traffic for one seed.
type drawing struct {
	spec.Generator
	point   *spec.Point
	traffic *spec.Traffic
	id      int
	seed    uint64
}

// flows are those of the run.
func (g *drawing) flows() []spec.Flow {
	tr := g.traffic
	expected := int(g.Expected(g.point, tr))
	most := 2*expected + 1000 // the spec has checked the mean
	out := make([]spec.Flow, 0, expected)
	random := unit.NewRandom(g.seed, "traffic "+tr.Name())
	add := func(r unit.Random, src, dst int, at unit.Time) {
		f := spec.Flow{Traffic: g.id, Index: len(out), Src: src, Dst: dst, Size: g.Size, Fixed: at >= 0, Start: at}
		if g.Sizes != nil {
			f.Size = g.Sizes.Size(r.Float64())
		}
		out = append(out, f)
	}
	if g.Offered == 0 {
		sources := draw(random, g.From, g.FromN, g.Aside())
		targets := g.targets(random, sources)
		for _, later := range g.Sets {
			first := len(out)
			for i, src := range sources {
				for range g.Flows {
					for _, dst := range g.destinations(random, src, i, targets) {
						add(random, src, dst, -1)
					}
				}
			}
			for i := range out[first:] {
				out[first+i].Later = later
			}
		}
		return out
	}
	until := g.Until(g.point, tr)
	begin, _ := tr.Start()
	arrivals := func(r unit.Random, each float64, arrive func(at unit.Time)) {
		gap := 1 / each * float64(unit.Second)
		at := float64(begin)
		if g.Periodic {
			at += gap * r.Float64() // a phase of its own
		}
		for {
			if !g.Periodic {
				at += gap * r.ExpFloat64()
			}
			if at >= float64(until) || len(out) > most {
				return
			}
			arrive(unit.Time(at))
			if g.Periodic {
				at += gap
			}
		}
	}
	if g.FromN > 0 {
		arrivals(random, g.Arrivals(0), func(at unit.Time) {
			sources := draw(random, g.From, g.FromN, g.Aside())
			targets := g.targets(random, sources)
			for i, src := range sources {
				for _, dst := range g.destinations(random, src, i, targets) {
					add(random, src, dst, at)
				}
			}
		})
		return out
	}
	targets := g.targets(random, g.From)
	for i, src := range g.From {
		r := unit.NewRandom(g.seed, fmt.Sprintf("traffic %s host %d", tr.Name(), src))
		arrivals(r, g.Arrivals(src), func(at unit.Time) {
			for _, dst := range g.destinations(r, src, i, targets) {
				add(r, src, dst, at)
			}
		})
	}
	return out
}

// targets are the destinations that are drawn once: those of {random: n}, or a
// permutation of the sources without a fixed point.
func (g *drawing) targets(r unit.Random, sources []int) []int {
	switch {
	case g.Pattern == spec.Permutation:
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
	case g.Pattern == spec.Permutation:
		return targets[i : i+1]
	case g.Pattern == spec.ToStride:
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
