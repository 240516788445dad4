package plan

import (
	"math"

	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/study/experiment"
)

// SharedMemory estimates the bytes that all runs share: the program and the decoded experiment.
func SharedMemory(s *experiment.Spec) float64 {
	const program = 35e6
	return program + float64(s.Memory())
}

// CommandMemory estimates the largest memory of weir run in bytes, with the given number of parallel runs. jobs is
// limited by the number of runs and counts as 1 below 1. It covers the parallel runs, the kept results of all runs,
// tables and pages, and garbage.
func CommandMemory(s *experiment.Spec, jobs int) float64 {
	const (
		pages       = 35e6  // plots, tables and their code
		perRun      = 450e3 // its outcome, and its share of garbage
		perValue    = 24    // per value of a series, with garbage
		perKeptFlow = 200   // its row in the table of flows, with garbage
	)
	kept, largest := 0.0, 0.0
	runs := ListRuns(s)
	var each, memory float64
	for i, r := range runs {
		if i == 0 || r.Index != runs[i-1].Index { // seeds do not change the estimate
			flows := 0.0
			for _, n := range expectedFlows(r.SpecPoint) {
				flows += n
			}
			each, memory = perRun+perValue*r.SpecPoint.Kept()*activeShare(r)+perKeptFlow*flows, runMemory(r)
		}
		kept, largest = kept+each, max(largest, memory)
	}
	return SharedMemory(s) + pages + kept + float64(max(min(jobs, len(runs)), 1))*largest
}

// EstimateMemory estimates the memory of the process in bytes while one run is active.
func EstimateMemory(r *Run) float64 { return SharedMemory(r.Spec) + runMemory(r) }

// activeShare estimates the share of its measured part for which a run is active. It is 1 if a flow has no end.
// Otherwise the run ends a while after the last flow has begun or its application has written all data. The rest is 1.5
// times the time of the busiest link for its packets, plus 20 of the longest round trips and 1 ms.
func activeShare(r *Run) float64 {
	const slack, trips, minTail = 1.5, 20, 1e-3
	p := r.SpecPoint
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
		last = max(last, high+f.SetStart+applicationTime(p.Entry(f.Traffic), f.Size)+f.Duration())
	}
	frame := 0.0
	for t := range p.Entries() {
		tr := p.Entry(t)
		frame = max(frame, float64(tr.Payload()+tr.Headers()))
		if g, ok := tr.Generator(); ok {
			if g.MeanSize() == 0 {
				return 1
			}
			_, high := tr.Start()
			if g.OfferedLoad > 0 {
				high = g.ArrivalsEnd(p, tr)
			} else if n := len(g.Sets); n > 0 {
				high += g.Sets[n-1]
			}
			last = max(last, high+applicationTime(tr, unit.Bytes(g.MeanSize())))
		}
	}
	longest := unit.Time(0)
	for _, s := range sampleStreams(p) {
		delay := unit.Time(0)
		for _, d := range s.path {
			delay += p.Network().Links[d/2].Delay
		}
		longest = max(longest, 2*delay)
	}
	busiest := 0.0
	for d, packets := range EstimateCrossings(r) {
		busiest = max(busiest, 8*frame*packets/bitRate(p.Network().Links[d/2].Rate))
	}
	end := last.Seconds() + slack*busiest + trips*longest.Seconds() + minTail
	warmup, whole := p.Warmup().Seconds(), p.Duration().Seconds()
	return min(max(end-warmup, 0)/whole, 1)
}

// applicationTime returns the time that an application with a rate takes to write a flow; 0 without a rate.
func applicationTime(tr *experiment.Traffic, size unit.Bytes) unit.Time {
	if rate := appRate(tr); rate > 0 {
		return unit.Time(8 * float64(size) / float64(rate) * float64(unit.Second))
	}
	return 0
}

// runMemory estimates the bytes of one run without what runs share: nodes, flows, tables, samples, and packets. It
// doubles them, since the collector runs when garbage has reached the size of live memory.
func runMemory(r *Run) float64 {
	p := r.SpecPoint
	const (
		perNode           = 4e3
		perKeptFlow       = 600  // each flow: its description, its outcome, and its line in the results
		perFlow           = 2e3  // each active flow: its endpoints
		perControlledFlow = 10e3 // with queues of segments
		perSample         = 24   // in the run, sorted, and while it is written
		perPacket         = 256
		perRoute          = 4
		perDatagram       = 16 // each datagram of a capture
		garbage           = 2
	)
	bytes, leaves := perNode*float64(len(p.Network().Nodes)), map[int]bool{}
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
	bytes += perRoute*switches*float64(len(leaves)) + perPacket*packetsInFlight(p)
	for t, n := range expectedFlows(p) {
		each := perFlow
		if s, _ := p.Entry(t).Transport(); s.Controlled {
			each = perControlledFlow
		}
		bytes += perKeptFlow*n + each*openFlows(p, t, n)
	}
	for t := range p.Entries() {
		open, packets := openMessages(p.Entry(t))
		each := perFlow
		if s, _ := p.Entry(t).Transport(); s.Controlled {
			each = perControlledFlow
		}
		bytes += open * (each + perPacket*packets)
	}
	for i := range p.Flows() {
		f := p.Flow(i)
		bytes += perDatagram * float64(f.CountDatagrams())
	}
	return garbage * (bytes + perSample*p.Samples()*activeShare(r))
}

// openMessages estimates the largest number of messages of a traffic's job in flight, and the packets in flight of
// each. It assumes that half of a rank's operations are sends, and that a lane without a window has 64 operations open.
// A message has at most 32 packets in flight. Both are 0 without a job that sends.
func openMessages(tr *experiment.Traffic) (open, packets float64) {
	const together, maxPackets = 64, 32
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
	return min(open, traits.Messages), min(math.Ceil(traits.Bytes/traits.Messages/float64(max(tr.Payload(), 1))),
		maxPackets)
}

// openFlows estimates the largest number of a traffic's n flows that are active together. t is the traffic's index.
// Each host of a collective operation sends one flow and receives one. Other flows are assumed to last ten times as
// long as their bytes take on the slowest host link, plus 1 ms. Flows without a size last as long as the run.
func openFlows(p *experiment.Point, t int, n float64) float64 {
	const patience, minDuration = 10, 1e-3
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
		last = max(last, f.SetStart)
	}
	mean := float64(size)
	if g, ok := tr.Generator(); ok {
		if mean = g.MeanSize(); mean == 0 {
			return n
		}
		if g.OfferedLoad > 0 {
			high = g.ArrivalsEnd(p, tr)
		}
		if n := len(g.Sets); n > 0 {
			last = max(last, g.Sets[n-1])
		}
	}
	if tr.Measured().Collective {
		return min(n, 2*float64(len(hosts)))
	}
	span := (high - low + last).Seconds()
	if lasts := patience*8*mean/slowestHostRate(p) + minDuration; lasts < span {
		return n * lasts / span
	}
	return n
}

// slowestHostRate returns the rate of the slowest link of a host, in bit/s; +Inf without host links.
func slowestHostRate(p *experiment.Point) float64 {
	n, slowest := p.Network(), math.Inf(1)
	for i := range n.Links {
		l := &n.Links[i]
		if !n.Nodes[l.Ends[0]].Switch || !n.Nodes[l.Ends[1]].Switch {
			slowest = min(slowest, bitRate(l.Rate))
		}
	}
	return slowest
}

// packetsInFlight estimates the largest number of packets on links and in queues: links are filled by the load that
// they carry. Queues count at overloaded links of switches; a queue without a limit counts as 100 packets, and each
// flow has at most 256 packets in a queue. The total is limited by the packets of flows with a size.
func packetsInFlight(p *experiment.Point) (n float64) {
	const unlimited, typical, eachFlow = 100, 1000, 256
	list := sampleStreams(p)
	whole, flows := 0.0, make([]float64, 2*len(p.Network().Links))
	for i := range list {
		for _, d := range list[i].path {
			flows[d] += list[i].flows
		}
		s := &list[i]
		if whole += s.flows * s.countPackets(); s.size == 0 {
			whole = math.Inf(1)
		}
	}
	wanted := offeredLoads(p.Network(), list)
	carried := carriedLoads(p.Network(), list, wanted)
	for d, load := range wanted {
		l := &p.Network().Links[d/2]
		n += min(carried[d], bitRate(l.Rate)) * l.Delay.Seconds() / 8 / typical
		switch {
		case load <= bitRate(l.Rate) || !p.Network().Nodes[l.Ends[d%2]].Switch:
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

// carriedLoads estimates what streams that offer the wanted loads send over each direction of links, in bit/s. A
// stream of TCP sends its part of the busiest link of its path, over all its links. Streams of other transports may
// begin at the rate of their host, so they are counted with all that they offer.
func carriedLoads(n *topology.Network, list []stream, wanted []float64) []float64 {
	carried := make([]float64, len(wanted))
	for i := range list {
		part := 1.0
		if t, _ := list[i].traffic.Transport(); t.Kernel == packet.ProtoTCP {
			for _, d := range list[i].path {
				part = min(part, bitRate(n.Links[d/2].Rate)/max(wanted[d], 1))
			}
		}
		for _, d := range list[i].path {
			carried[d] += part * list[i].rate
		}
	}
	return carried
}
