package plan

import (
	"math"

	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/study/experiment"
)

// SharedMemory guesses the bytes that are taken once for all runs: the program, and what is decoded.
func SharedMemory(s *experiment.Spec) float64 {
	const program = 35e6
	return program + float64(s.Memory())
}

// CommandMemory guesses the bytes that weir run takes at most, with so many runs at a time: those under way, what is
// kept of all, which tables and pages are made of, and what is collected late.
func CommandMemory(s *experiment.Spec, jobs int) float64 {
	const (
		pages      = 35e6  // plots, tables and their code
		ofRun      = 450e3 // its outcome, and what is collected late of it
		ofValue    = 24    // of a series, with what is collected late
		ofKeptFlow = 200   // its row of the table of flows, and what is collected late
	)
	kept, own := 0.0, 0.0
	runs := Runs(s)
	var each, memory float64
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index { // seeds change no estimate
			flows := 0.0
			for _, n := range flowsOf(r.Of) {
				flows += n
			}
			each, memory = ofRun+ofValue*r.Of.Kept()*lasting(r)+ofKeptFlow*flows, ownMemory(r)
		}
		kept, own = kept+each, max(own, memory)
	}
	return SharedMemory(s) + pages + kept + float64(max(min(jobs, len(runs)), 1))*own
}

// EstimateMemory guesses the bytes that there are with one run under way.
func EstimateMemory(r *Run) float64 { return SharedMemory(r.Spec) + ownMemory(r) }

// lasting guesses what share of its duration a run goes on: with flows that all have an end, until the last one has
// begun, or sent what its application makes, and for 1.5 times as long as what crosses the busiest link takes there,
// and twenty of the longest round trips and a millisecond.
func lasting(r *Run) float64 {
	const slack, trips, least = 1.5, 20, 1e-3
	p := r.Of
	last := unit.Time(0)
	for i := range p.Flows() {
		f := p.Flow(i)
		if f.Size == 0 {
			return 1
		}
		_, high := p.Entry(f.Traffic).Start()
		if f.Fixed {
			high = f.Start
		}
		last = max(last, high+f.Later+making(p.Entry(f.Traffic), f.Size)+f.Lasts())
	}
	frame := 0.0
	for t := range p.Entries() {
		tr := p.Entry(t)
		frame = max(frame, float64(tr.Payload()+tr.Headers()))
		if g, ok := tr.Generator(); ok {
			if g.Mean() == 0 {
				return 1
			}
			_, high := tr.Start()
			if g.Offered > 0 {
				high = g.Until(p, tr)
			} else if n := len(g.Sets); n > 0 {
				high += g.Sets[n-1]
			}
			last = max(last, high+making(tr, unit.Bytes(g.Mean())))
		}
	}
	longest := unit.Time(0)
	for _, s := range streams(p) {
		delay := unit.Time(0)
		for _, d := range s.path {
			delay += p.Network().Links[d/2].Delay
		}
		longest = max(longest, 2*delay)
	}
	busiest := 0.0
	for d, packets := range Crossings(r) {
		busiest = max(busiest, 8*frame*packets/bits(p.Network().Links[d/2].Rate))
	}
	end := last.Seconds() + slack*busiest + trips*longest.Seconds() + least
	warmup, whole := p.Warmup().Seconds(), p.Duration().Seconds()
	return min(max(end-warmup, 0)/whole, 1)
}

// making is how long an application with a rate of its own takes for a flow.
func making(tr *experiment.Traffic, size unit.Bytes) unit.Time {
	if rate := appRate(tr); rate > 0 {
		return unit.Time(8 * float64(size) / float64(rate) * float64(unit.Second))
	}
	return 0
}

// ownMemory guesses the bytes that a run takes: nodes, flows, tables, samples, and packets; twice, as what is no longer
// used is collected when there is as much of it again.
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
		garbage      = 2
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
	for t := range p.Entries() {
		open, packets := openMessages(p.Entry(t))
		each := ofFlow
		if s, _ := p.Entry(t).Transport(); s.Controlled {
			each = ofControlled
		}
		bytes += open * (each + ofPacket*packets)
	}
	for i := range p.Flows() {
		f := p.Flow(i)
		bytes += ofDatagram * float64(f.Datagrams())
	}
	return garbage * (bytes + ofSample*p.Samples()*lasting(r))
}

// openMessages guesses how many messages of a traffic's job are under way at most, and how many packets each of them
// has out: of what a rank looks at a half are sends, and what has no window is not all begun together.
func openMessages(tr *experiment.Traffic) (open, packets float64) {
	const together, most = 64, 32
	j := tr.Job()
	if j == nil || len(j.Hosts) < 2 {
		return 0, 0
	}
	traits := job.TraitsOf(j.Program)
	if traits.Messages == 0 {
		return 0, 0
	}
	for r := range j.Program.Ranks() {
		for lane := range j.Program.Lanes(r) {
			n, window := j.Program.Ops(r, lane), j.Program.Window(r, lane)
			if window == 0 {
				window = together
			}
			open += float64(min(n, window)) / 2
		}
	}
	return min(open, traits.Messages), min(math.Ceil(traits.Bytes/traits.Messages/float64(max(tr.Payload(), 1))), most)
}

// atOnce guesses how many of a traffic's n flows have begun and are not over, at most. Each host of a collective
// operation sends one flow and receives one. Others are taken to last ten times as long as their bytes take on the
// slowest link of a host, and a millisecond; flows without a size last as long as the run.
func atOnce(p *experiment.Point, t int, n float64) float64 {
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
func slowestHost(p *experiment.Point) float64 {
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
// hundred packets, and each flow for 256 at most. Flows with a size have no more than that.
func underway(p *experiment.Point) (n float64) {
	const unlimited, typical, eachFlow = 100, 1000, 256
	list := streams(p)
	whole, flows := 0.0, make([]float64, 2*len(p.Network().Links))
	for i := range list {
		for _, d := range list[i].path {
			flows[d] += list[i].alike
		}
		s := &list[i]
		if whole += s.alike * s.packets(); s.size == 0 {
			whole = math.Inf(1)
		}
	}
	wanted := loads(p.Network(), list)
	carried := carriedLoads(p.Network(), list, wanted)
	for d, load := range wanted {
		l := &p.Network().Links[d/2]
		n += min(carried[d], bits(l.Rate)) * l.Delay.Seconds() / 8 / typical
		switch {
		case load <= bits(l.Rate) || !p.Network().Nodes[l.Ends[d%2]].Switch:
		case l.Buffer.Packets > 0:
			n += min(float64(l.Buffer.Packets), eachFlow*flows[d])
		case l.Buffer.Bytes > 0:
			n += min(float64(l.Buffer.Bytes)/typical, eachFlow*flows[d])
		default:
			n += min(unlimited, eachFlow*flows[d])
		}
	}
	return min(n, whole)
}

// carriedLoads estimates what streams that want the given loads send over each direction of links, in bit/s. A stream
// of TCP sends its part of the busiest link of its path, over all its links. Streams of other transports can begin at
// the rate of their host, and so have all that they want.
func carriedLoads(n *topology.Network, list []stream, wanted []float64) []float64 {
	carried := make([]float64, len(wanted))
	for i := range list {
		part := 1.0
		if t, _ := list[i].traffic.Transport(); t.Kernel == packet.ProtoTCP {
			for _, d := range list[i].path {
				part = min(part, bits(n.Links[d/2].Rate)/max(wanted[d], 1))
			}
		}
		for _, d := range list[i].path {
			carried[d] += part * list[i].rate
		}
	}
	return carried
}
