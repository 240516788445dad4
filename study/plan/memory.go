package plan

import (
	"math"

	"weir/core/unit"
	"weir/study/spec"
)

// SharedMemory guesses the bytes that are taken once for all runs: the program, and what is decoded.
func SharedMemory(s *spec.Spec) float64 {
	const program = 35e6
	return program + float64(s.Memory())
}

// EstimateMemory guesses the bytes that there are with one run under way.
func EstimateMemory(r *Run) float64 { return SharedMemory(r.Spec) + ownMemory(r) }

// ownMemory guesses the bytes that a run takes: nodes, flows, tables, samples, and packets.
func ownMemory(r *Run) float64 {
	p := r.Of
	const (
		ofNode       = 4e3
		ofKept       = 600  // of each flow: what it is, its outcome, and its line in results
		ofFlow       = 2e3  // of one that has begun and is not over: its ends
		ofControlled = 10e3 // with queues of segments
		ofSample     = 24   // in the run, sorted, and on its way into a file
		ofPacket     = 256
		ofRoute      = 4
		ofDatagram   = 16 // of a capture
	)
	bytes, leaves := ofNode*float64(len(p.Network().Nodes)), map[int]bool{}
	switches := 0.0
	for _, n := range p.Network().Nodes {
		if n.Switch {
			switches++
		}
	}
	for _, l := range p.Network().Links {
		for e, end := range l.Ends {
			if !p.Network().Nodes[end].Switch {
				leaves[l.Ends[1-e]] = true
			}
		}
	}
	bytes += ofRoute*switches*float64(len(leaves)) + ofPacket*underway(p)
	for t, n := range flowsOf(p) {
		each := ofFlow
		if s, _ := p.Entry(t).Transport(); s.Controlled {
			each = ofControlled
		}
		bytes += ofKept*n + each*atOnce(p, t, n)
	}
	for i := range p.Flows() {
		f := p.Flow(i)
		bytes += ofDatagram * float64(f.Datagrams())
	}
	return bytes + ofSample*p.Samples()
}

// atOnce guesses how many of a traffic's n flows have begun and are not over, at most. Each host of a collective
// operation sends one flow and receives one. Others are taken to last ten times as long as their bytes take on the
// slowest link of a host, and a millisecond; flows without a size last as long as the run.
func atOnce(p *spec.Point, t int, n float64) float64 {
	const patience, least = 10, 1e-3
	tr := p.Entry(t)
	low, high := tr.Start()
	hosts, last, size := map[int]bool{}, unit.Time(0), unit.Bytes(0)
	for i := range p.Flows() {
		f := p.Flow(i)
		if f.Traffic != t {
			continue
		}
		hosts[f.Src] = true
		if size = max(size, f.Size); f.Size == 0 {
			return n
		}
		if f.Fixed {
			low, high = min(low, f.Start), max(high, f.Start)
		}
		last = max(last, f.Later)
	}
	mean := float64(size)
	if g, ok := tr.Generator(); ok {
		if mean = g.Mean(); mean == 0 {
			return n
		}
		if g.Offered > 0 {
			high = g.Until(p, tr)
		}
		if n := len(g.Sets); n > 0 {
			last = max(last, g.Sets[n-1])
		}
	}
	if tr.Measured().Collective {
		return min(n, 2*float64(len(hosts)))
	}
	span := (high - low + last).Seconds()
	if lasts := patience*8*mean/slowestHost(p) + least; lasts < span {
		return n * lasts / span
	}
	return n
}

// slowestHost is the rate of the slowest link of a host, in bit/s.
func slowestHost(p *spec.Point) float64 {
	n, slowest := p.Network(), math.Inf(1)
	for i := range n.Links {
		l := &n.Links[i]
		if !n.Nodes[l.Ends[0]].Switch || !n.Nodes[l.Ends[1]].Switch {
			slowest = min(slowest, bits(l.Rate))
		}
	}
	return slowest
}

// underway guesses the packets that are on links and in queues at most: what the flows fill of their links,
// and of the queues before those that they want more of than there is, one without a limit taken for a
// hundred packets. Flows with a size have no more than that.
func underway(p *spec.Point) (n float64) {
	const unlimited, typical = 100, 1000
	list := streams(p)
	whole := 0.0
	for i := range list {
		s := &list[i]
		if whole += s.alike * s.packets(); s.size == 0 {
			whole = math.Inf(1)
		}
	}
	for d, load := range loads(p.Network(), list) {
		l := &p.Network().Links[d/2]
		n += min(load, bits(l.Rate)) * l.Delay.Seconds() / 8 / typical
		switch {
		case load <= bits(l.Rate) || !p.Network().Nodes[l.Ends[d%2]].Switch:
		case l.Buffer.Packets > 0:
			n += float64(l.Buffer.Packets)
		case l.Buffer.Bytes > 0:
			n += float64(l.Buffer.Bytes) / typical
		default:
			n += unlimited
		}
	}
	return min(n, whole)
}
