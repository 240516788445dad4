package spec

import (
	"weir/core/cc"
	"weir/core/topology"
	"weir/core/unit"
)

// slow returns the port of a walk that has the smallest part of the rate of another port after as many switches, at the
// lowest rate that events give to its link, if an equal share of what hosts can send is more than that rate. As long as
// not all traffics are known there is no such port.
func (d *decoder) slow(p *Point, w *walk, frame int32) (slowest cc.SlowPath) {
	if d.around.loads == nil || len(w.chosen) == 0 {
		return slowest
	}
	n := p.seen.Network
	fastest, ports := map[int]float64{}, map[int]int{} // by level
	for i, port := range w.ports {
		fastest[w.levels[i]] = max(fastest[w.levels[i]], capacity(n.Links[port.Link].Rate, frame))
		ports[w.levels[i]]++
	}
	for i, port := range w.ports {
		rate := capacity(p.lowest(port), frame)
		part := rate / fastest[w.levels[i]]
		if part >= 1 || slowest.Part > 0 && part >= slowest.Part {
			continue
		}
		if d.around.loads[port].total()/float64(ports[w.levels[i]]) > rate {
			slowest = cc.SlowPath{Port: n.PortName(port.Link, port.End), Rate: unit.Rate(rate), Part: part}
		}
	}
	return slowest
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
