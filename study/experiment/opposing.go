package experiment

import (
	"slices"

	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/topology"
	"weir/core/unit"
)

// longProducts is how many products of rate and round trip a flow's size has at least, so that it counts as long. At
// 100 Gb/s and 6 us, eight flows each way with 100 kB, 1.3 products, do not swing in that time, and with 300 kB, 3.8,
// they take 10 % longer.
const longProducts = 3.8

// longFlows returns how many flows each pair of hosts that eachPair visits stands for on average, if the traffic's
// flows last and begin together, and the size of the smallest; 0: they have no end. Flows that arrive at a load, of a
// job, of a collective operation and of a file follow one another and do not count.
func (p *Point) longFlows(tr *Traffic, first, end int) (perPair float64, size unit.Bytes) {
	if g := tr.generator; g != nil {
		if g.Offered > 0 || g.Sizes != nil {
			return 0, 0
		}
		return g.perPair(p, tr), g.Size
	}
	if first == end {
		return 0, 0
	}
	step := max(1, (end-first)/mostPairs)
	for i := first; i < end; i += step {
		f := p.flows.at(i)
		if f.reduce != nil || f.captured || f.Port != 0 || f.Later != 0 {
			return 0, 0
		}
		if i == first || f.Size < size {
			size = f.Size
		}
	}
	return float64(step), size
}

// perPair returns how many of the flows that are there together each pair of hosts that eachPair visits stands for.
func (g *Generator) perPair(p *Point, tr *Traffic) float64 {
	pairs := 0
	g.eachPair(func(int, int) { pairs++ })
	return g.Expected(p, tr) / float64(max(pairs, 1)*max(len(g.Sets), 1))
}

// endless returns how many flows without an end each pair of hosts that eachPair visits stands for; 0: the traffic's
// flows end, and need not be there together.
func (p *Point) endless(tr *Traffic, first, end int) float64 {
	if g := tr.generator; g != nil {
		if g.Offered > 0 || g.Mean() > 0 {
			return 0
		}
		return g.perPair(p, tr)
	}
	if first == end || p.flows.at(first).Size > 0 {
		return 0
	}
	return float64(max(1, (end-first)/mostPairs))
}

// limits reports whether port number i is as slow as the walk's narrowest.
func (w *walk) limits(i int) bool {
	return w.ports[i] == w.narrow || w.narrow != w.ports[0] && slices.Contains(w.queues, w.ports[i])
}

// findBusiest returns the port with the most flows without an end among a walk's narrowest, and how many they are.
func (d *pathChecker) findBusiest(w *walk) (busiest topology.PortRef, flows int) {
	busiest = w.narrow
	for i, port := range w.ports {
		if x := d.loads[port]; w.limits(i) && x != nil && int(x.flows+.5) > flows {
			busiest, flows = port, int(x.flows+.5)
		}
	}
	return busiest, flows
}

// countLong adds a pair's flows of a controller that reads telemetry to the ports that they pass, if they are long.
// Each of several equal ports has an equal share of them.
func (d *pathChecker) countLong(p *Point, loads map[topology.PortRef]*portLoad, tr *Traffic, w *walk, trip unit.Time,
	perPair float64, size unit.Bytes) {
	if tr.cc == nil || tr.cc.Telemetry == telemetry.Nothing || tr.traits.AppRate > 0 {
		return
	}
	if size > 0 && float64(size) < longProducts*w.least/8*trip.Seconds() {
		return
	}
	for i, share := range w.shares {
		loads[w.ports[i]].long += perPair * share
	}
}

// share finds which share of the packets each port sends, if switches spread them evenly.
func (w *walk) share(n *topology.Network) {
	w.shares = make([]float64, len(w.ports))
	into, out := map[int]float64{}, map[int]int{} // by switch: share of packets, and ports
	for _, port := range w.ports[1:] {
		out[n.Links[port.Link].Ends[port.End]]++
	}
	for i, port := range w.ports { // level by level
		w.shares[i] = 1
		if node := n.Links[port.Link].Ends[port.End]; i > 0 {
			w.shares[i] = into[node] / float64(out[node])
		}
		into[n.Links[port.Link].Ends[1-port.End]] += w.shares[i]
	}
}

// findOpposing counts the long flows that share a port with the data of a path, and with its acknowledgements. It is
// zero as long as not all traffics are known.
func (d *pathChecker) findOpposing(p *Point, tr *Traffic, w *walk, src, dst int, frame int32) (o cc.Opposing) {
	near, joined := p.seen.Routes.Near(dst, src)
	if d.loads == nil || !joined {
		return o
	}
	there, aligned := d.findMostLong(p, w, func(int) bool { return false })
	_, opposed := d.findMostLong(p, d.findWalk(p, near, frame), func(node int) bool {
		return p.switches[node].Queues > 1 && tr.traits.SeparatesAcks != nil && tr.traits.SeparatesAcks(tr.TOSOf(0))
	})
	if aligned == 0 || opposed == 0 {
		return o
	}
	port := w.ports[there]
	return cc.Opposing{Port: p.seen.Network.PortName(port.Link, port.End), Aligned: aligned, Opposed: opposed,
		Paths: int(1/w.shares[there] + .5)}
}

// isCrossed reports whether data of long flows passes a port on the way back from dst to src.
func (d *pathChecker) isCrossed(p *Point, src, dst int, frame int32) bool {
	near, joined := p.seen.Routes.Near(dst, src)
	return joined && slices.ContainsFunc(d.findWalk(p, near, frame).ports, func(port topology.PortRef) bool {
		x := d.loads[port]
		return x != nil && x.long > 0
	})
}

// findMostLong returns the number of the port in a walk at which most long flows queue, and how many they are. Ports of
// switches that skip reports do not count.
func (d *pathChecker) findMostLong(p *Point, w *walk, skip func(node int) bool) (most, flows int) {
	n := p.seen.Network
	for i, k := range w.ports[1:] {
		l, x := &n.Links[k.Link], d.loads[k]
		if !x.crowded(l.Rate) || skip(l.Ends[k.End]) {
			continue
		}
		if f := int(x.long + .5); f > flows {
			most, flows = i+1, f
		}
	}
	return most, flows
}
