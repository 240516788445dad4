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
	// limit, above 0, is for trials: once the traffic has that many flows, each further source gets only its share.
	limit int
	visit func(*experiment.Flow) error

	count, sourceCount int  // number of visited flows: in total and for the current source
	isCut              bool // the limit was reached
	flow               experiment.Flow
	err                error
}

// isOver reports whether the current source gets no more flows: after an error or beyond the limit. Beyond the limit it
// sets isCut.
func (g *drawing) isOver() bool {
	if g.err != nil {
		return true
	}
	over := g.limit > 0 && g.count >= g.limit && g.sourceCount >= max(1, g.limit/max(1, len(g.From)))
	g.isCut = g.isCut || over
	return over
}

// addFlow visits one flow, unless isOver, and keeps the error of visit in err. Its size is drawn from r. A negative
// start means that the start is drawn from the traffic's range; setStart is then added to it.
func (g *drawing) addFlow(r unit.Random, src, dst int, start, setStart unit.Time) {
	if g.isOver() {
		return
	}
	g.flow = experiment.Flow{Traffic: g.id, Index: g.count, Src: src, Dst: dst, Size: g.Size, Fixed: start >= 0,
		Start:    start,
		SetStart: setStart}
	if g.Sizes != nil {
		g.flow.Size = g.Sizes.SizeAt(r.Float64())
	}
	g.count++
	g.sourceCount++
	g.err = g.visit(&g.flow)
}

// visitAll visits the flows of the traffic in order. The first limit flows are the same with any limit.
func (g *drawing) visitAll() error {
	random := unit.NewRandom(g.seed, "traffic "+g.traffic.Name())
	switch {
	case g.OfferedLoad == 0:
		g.visitSets(random)
	case g.FromCount > 0:
		g.sourceCount = g.limit // each draw covers all sources
		g.visitArrivals(random, g.ArrivalRate(0), func(start unit.Time) {
			sources := drawHosts(random, g.From, g.FromCount, g.ExcludedSource())
			targets := g.drawTargets(random, sources)
			for i, src := range sources {
				for _, dst := range g.drawDestinations(random, src, i, targets) {
					g.addFlow(random, src, dst, start, 0)
				}
			}
		})
	default:
		targets := g.drawTargets(random, g.From)
		for i, src := range g.From {
			g.sourceCount = 0
			r := unit.NewRandom(g.seed, fmt.Sprintf("traffic %s host %d", g.traffic.Name(), src))
			g.visitArrivals(r, g.ArrivalRate(src), func(start unit.Time) {
				for _, dst := range g.drawDestinations(r, src, i, targets) {
					g.addFlow(r, src, dst, start, 0)
				}
			})
		}
	}
	return g.err
}

// visitSets visits a fixed number of flows of each source, in sets. A start is drawn from the traffic's range, and then
// the set's time (Sets) is added.
func (g *drawing) visitSets(random unit.Random) {
	sources := drawHosts(random, g.From, g.FromCount, g.ExcludedSource())
	targets := g.drawTargets(random, sources)
	for set, later := range g.Sets {
		for i, src := range sources {
			if set == 0 {
				g.sourceCount = 0
			}
			for range g.Flows {
				if g.isOver() {
					break
				}
				for _, dst := range g.drawDestinations(random, src, i, targets) {
					g.addFlow(random, src, dst, -1, later)
				}
			}
		}
	}
}

// visitArrivals calls arrive at the arrival times of flows. rate is the mean number of arrivals per second, above 0. It
// stops at the end of arrivals and at a limit of flows.
func (g *drawing) visitArrivals(r unit.Random, rate float64, arrive func(start unit.Time)) {
	maxCount := 2*int(g.ExpectedFlows(g.point, g.traffic)) + 1000 // the spec has checked the mean
	until := g.ArrivalsEnd(g.point, g.traffic)
	begin, _ := g.traffic.Start()
	gap := 1 / rate * float64(unit.Second)
	now := float64(begin)
	if g.Periodic {
		now += gap * r.Float64() // a random phase
	}
	for {
		if !g.Periodic {
			now += gap * r.ExpFloat64()
		}
		if now >= float64(until) || g.count > maxCount || g.isOver() {
			return
		}
		arrive(unit.Time(now))
		if g.Periodic {
			now += gap
		}
	}
}

// drawTargets returns the destinations that are drawn once: a random choice for {random: n}, or a permutation of the
// sources without a fixed point. Otherwise it returns all destinations.
func (g *drawing) drawTargets(r unit.Random, sources []int) []int {
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
	case g.ToCount > 0:
		except := map[int]bool{}
		if g.FromCount > 0 {
			for _, s := range sources {
				except[s] = true
			}
		}
		return drawHosts(r, g.To, g.ToCount, except)
	}
	return g.To
}

// drawDestinations returns the destinations of the next flow, or flows, of source src, which is number i of the
// sources; nil if there is no other host. targets are from drawTargets.
func (g *drawing) drawDestinations(r unit.Random, src, i int, targets []int) []int {
	switch {
	case g.Pattern == experiment.Permutation:
		return targets[i : i+1]
	case g.Pattern == experiment.ToStride:
		return []int{g.From[(i+g.Stride)%len(g.From)]}
	case g.ToCount > 0:
		var out []int
		for _, t := range targets {
			if t != src {
				out = append(out, t)
			}
		}
		return out
	}
	// random, or one of the listed hosts
	for range 64 {
		if t := targets[r.IntN(len(targets))]; t != src {
			return []int{t}
		}
	}
	return nil // there is no other host
}

// drawHosts returns n different hosts in random order, without those in except; for n = 0 it returns hosts itself.
// There may be fewer than n.
func drawHosts(r unit.Random, hosts []int, n int, except map[int]bool) []int {
	if n == 0 {
		return hosts
	}
	var out []int
	for _, k := range r.Perm(len(hosts)) {
		if len(out) < n && !except[hosts[k]] {
			out = append(out, hosts[k])
		}
	}
	return out
}
