package experiment

import (
	"math"

	"weir/core/cc"
	"weir/core/topology"
	"weir/core/unit"
)

// findSlow returns two ports of a walk with the smallest part of the rate of another port after as many switches, at
// the lowest rate that events give to their links: of those that get more than they have if each gets an equal share of
// what hosts can send, and of those that a flow finds slower if all its packets go there. As long as not all traffics
// are known there is no such port.
func (d *pathChecker) findSlow(p *Point, w *walk, frame int32) (spread, whole cc.SlowPath) {
	if d.loads == nil || len(w.chosen) == 0 {
		return spread, whole
	}
	n := p.seen.Network
	fastest, ports := map[int]float64{}, map[int]int{} // by level
	for i, port := range w.ports {
		fastest[w.levels[i]] = max(fastest[w.levels[i]], capacity(n.Links[port.Link].Rate, frame))
		ports[w.levels[i]]++
	}
	best := math.Inf(1)
	for _, rate := range fastest {
		best = min(best, rate)
	}
	for i, port := range w.ports {
		rate := capacity(p.lowest(port), frame)
		part := rate / fastest[w.levels[i]]
		if part >= 1 || d.loads[port] == nil {
			continue
		}
		x, load := cc.SlowPath{Port: n.PortName(port.Link, port.End), Rate: unit.Rate(rate), Part: part,
			Flows: int(d.loads[port].long/w.shares[i] + .5), Share: w.shares[i]}, d.loads[port].total()
		if rate < best && load > rate {
			whole.Keep(x)
		}
		if load/float64(ports[w.levels[i]]) > rate {
			spread.Keep(x)
		}
	}
	return spread, whole
}

// lowest returns the lowest rate of a port's link during the run.
func (p *Point) lowest(port topology.PortRef) unit.LinkRate {
	if w := p.seen.Waits; w != nil {
		if r, changed := w.Rates[port.Link]; changed {
			return r
		}
	}
	return p.seen.Network.Links[port.Link].Rate
}

// total returns what the hosts of all flows that may pass a port can send together, in bit/s.
func (x *portLoad) total() (sum float64) {
	if x == nil {
		return 0
	}
	most := map[int]float64{}
	for _, sources := range x.by {
		for src, rate := range sources {
			most[src] = max(most[src], rate)
		}
	}
	for _, rate := range most {
		sum += rate
	}
	return sum
}
