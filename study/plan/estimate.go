package plan

import (
	"math"
	"slices"

	"weir/core/jobs/job"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
	"weir/study/experiment"
)

// stream is a sampled flow that represents similar flows in an estimate.
type stream struct {
	traffic *experiment.Traffic
	flows   float64 // number of flows that it represents
	weight  float64 // packets of all listed flows divided by the packets of the sampled ones; 0: unknown
	size    float64 // bytes; 0: no end
	script  float64 // datagrams of a capture; 0: it is not from a capture
	rate    float64 // bit/s of all represented flows if they did not share links
	path    []int   // directions of links, 2·link + end
}

// maxStreams limits the flows that an estimate samples for each traffic.
const maxStreams = 1024

// sampleStreams returns a sample of a run's flows and messages, spread over each traffic. The sample is the same in
// each call.
func sampleStreams(p *experiment.Point) (list []stream) { return sampleStreamsWithin(p, math.Inf(1)) }

// sampleStreamsWithin returns a sample of a run's flows if it runs at most that many iterations of its jobs. It returns
// nil for an ideal network.
func sampleStreamsWithin(p *experiment.Point, iterations float64) (list []stream) {
	if p.Ideal() != nil { // an ideal network has no packets
		return nil
	}
	listed := make([][]int, p.Entries())
	for i := range p.Flows() {
		t := p.Flow(i).Traffic
		listed[t] = append(listed[t], i)
	}
	random := unit.NewRandom(1, "estimate")
	for id := range p.Entries() {
		tr := p.Entry(id)
		if n := len(listed[id]); n > 0 {
			first := len(list)
			for k := range min(n, maxStreams) {
				f := p.Flow(listed[id][k*n/min(n, maxStreams)])
				s := stream{traffic: tr, flows: float64(n) / float64(min(n, maxStreams)), size: float64(f.Size),
					script: float64(f.CountDatagrams())}
				if s.script > 0 {
					s.rate = s.flows * 8 * s.size / max(f.Duration(), unit.Millisecond).Seconds()
				}
				list = addStream(list, p, f.Src, f.Dst, s)
			}
			weightStreams(list[first:], p, tr, listed[id])
		}
		list = addJobStreams(list, p, tr, iterations)
		g, drawn := tr.Generator()
		if !drawn {
			continue
		}
		n := g.ExpectedFlows(p, tr)
		s := stream{traffic: tr, flows: n / maxStreams, size: g.MeanSize()}
		if g.OfferedLoad > 0 {
			s.rate = n * g.MeanSize() * 8 / math.Max(g.ArrivalsEnd(p, tr).Seconds(), 1e-12) / maxStreams
		}
		for k := range maxStreams {
			from, to := g.From[k%len(g.From)], g.To[random.IntN(len(g.To))]
			for again := 0; from == to && again < 64; again++ {
				from, to = g.From[random.IntN(len(g.From))], g.To[random.IntN(len(g.To))]
			}
			list = addStream(list, p, from, to, s)
		}
	}
	return list
}

// addJobStreams appends a sample of the messages of a traffic's job, spread over ranks, lanes and time. It counts at
// most the given number of iterations. A traffic without a job adds no operations.
func addJobStreams(list []stream, p *experiment.Point, tr *experiment.Traffic, iterations float64) []stream {
	j := tr.Job()
	if j == nil || len(j.Hosts) < 2 {
		return list
	}
	traits := job.TraitsOf(j.Program)
	if traits.Messages == 0 {
		return list
	}
	random := unit.NewRandom(1, "estimate")
	ranks, bytes := j.Program.Ranks(), 0.0
	var from []int
	var ops []job.Op
	for k := range max(maxStreams, ranks) {
		if op, ok := drawSend(j.Program, k%ranks, &random); ok {
			from, ops, bytes = append(from, k%ranks), append(ops, op), bytes+float64(op.Size)
		}
	}
	found, first := float64(len(ops)), len(list)
	for i, op := range ops { // the sample represents all messages, in number and in bytes
		size := float64(op.Size) * traits.Bytes / traits.Messages * found / max(bytes, 1)
		list = addStream(list, p, j.Hosts[from[i]], j.Hosts[op.Peer], stream{traffic: tr, flows: traits.Messages / found,
			size: max(size, 1)})
	}
	share := startedShare(p, tr, list[first:], iterations)
	for i := range list[first:] {
		s := &list[first+i]
		s.flows, s.rate = s.flows*share, s.rate*share
	}
	return list
}

// startedShare returns the share of a job's messages that can begin within a run and the given iterations. list has all
// streams of the job. An iteration takes at least as long as a rank computes in it, or as the next iteration's start
// requires, and as the busiest host link needs for the iteration's bytes. The result is from 0 to 1.
func startedShare(p *experiment.Point, tr *experiment.Traffic, list []stream, iterations float64) float64 {
	j := tr.Job()
	start, _ := tr.Start()
	left, all, minTime, sent := (p.Warmup() + p.Duration() - start).Seconds(), 1.0, 0.0, map[int]float64{}
	for i := range list {
		if s := &list[i]; len(s.path) > 0 {
			d := s.path[0]
			sent[d] += 8 * s.flows * s.size / bitRate(p.Network().Links[d/2].Rate)
			minTime = max(minTime, sent[d])
		}
	}
	if a, alike := j.Program.(job.RecurringProgram); alike && a.Each(0, 0) > 0 {
		all = max(float64(a.Ops(0, 0)/a.Each(0, 0)), 1)
		minTime = max(minTime/all, iterationTime(a))
	}
	if minTime <= 0 {
		return min(iterations/all, 1)
	}
	return min(max(math.Floor(left/minTime)+1, 1)/all, iterations/all, 1)
}

// iterationTime returns the longest time, in seconds, that one of the first ranks computes in the first iteration, or
// the minimum distance of iterations' starts if that is longer.
func iterationTime(a job.RecurringProgram) (longest float64) {
	for r := range min(a.Ranks(), maxStreams) {
		computes, waits := unit.Time(0), unit.Time(0)
		for i := range min(a.Each(r, 0), maxStreams) {
			switch op := a.Op(r, job.Ref{Op: int32(i)}); op.Kind {
			case job.Calc:
				computes += op.Time
			case job.Wait:
				waits = max(waits, op.Time)
			}
		}
		longest = max(longest, computes.Seconds(), waits.Seconds())
	}
	return longest
}

// drawSend draws a message that a rank sends. In a lane each message is equally likely. If messages are rare it takes
// the next one behind a drawn operation. It changes random. It reports false if it finds no message.
func drawSend(p job.Program, rank int, random *unit.Random) (op job.Op, found bool) {
	const draws, maxOps = 64, 4096 // limits of the inspected operations of a lane
	lanes := p.Lanes(rank)
	first := random.IntN(lanes)
	for l := range lanes {
		lane := (first + l) % lanes
		n := p.Ops(rank, lane)
		if n == 0 {
			continue
		}
		place := 0
		for i := range draws + min(n, maxOps) {
			if place = (place + 1) % n; i < draws {
				place = random.IntN(n)
			}
			if op = p.Op(rank, job.Ref{Lane: int32(lane), Op: int32(place)}); op.Kind == job.Send {
				return op, true
			}
		}
	}
	return op, false
}

// weightStreams sets the weight of a list's streams so that they have the packets of all its flows. If few flows have
// most of the bytes, the sample may have far fewer packets, or more.
func weightStreams(list []stream, p *experiment.Point, tr *experiment.Traffic, listed []int) {
	all, sampled := 0.0, 0.0
	for _, i := range listed {
		f := p.Flow(i)
		all += (&stream{traffic: tr, size: float64(f.Size), script: float64(f.CountDatagrams())}).countPackets()
	}
	for i := range list {
		sampled += list[i].flows * list[i].countPackets()
	}
	for i := range list {
		list[i].weight = all / sampled
	}
}

// addStream appends a stream between two hosts with its path, and its rate unless it is set. It skips hosts without a
// path, and equal hosts.
func addStream(list []stream, p *experiment.Point, from, to int, s stream) []stream {
	near, ok := p.Routes().NearestPair(from, to)
	if !ok || from == to {
		return list
	}
	links := p.Routes().FindPathByNumber(near.From, near.To, uint32(len(list)))
	slowest := math.Inf(1)
	for _, l := range links {
		link, end := &p.Network().Links[l], 0
		if link.Ends[1] == from {
			end = 1
		}
		s.path = append(s.path, 2*l+end)
		from = link.Ends[1-end]
		slowest = min(slowest, bitRate(link.Rate))
	}
	if s.rate == 0 {
		if s.rate = slowest; appRate(s.traffic) > 0 {
			s.rate = min(slowest, float64(appRate(s.traffic)))
		}
		s.rate *= s.flows
	}
	return append(list, s)
}

// bitRate returns a link's rate in bit/s. A rate in packets counts packets of 12,000 bit.
func bitRate(r unit.LinkRate) float64 {
	if r.Bits == 0 {
		return float64(r.Packets) * 12000
	}
	return float64(r.Bits)
}

// offeredLoads returns the load that the streams offer to each direction of links, in bit/s, by 2·link + end.
func offeredLoads(n *topology.Network, list []stream) []float64 {
	load := make([]float64, 2*len(n.Links))
	for i := range list {
		for _, d := range list[i].path {
			load[d] += list[i].rate
		}
	}
	return load
}

// countPackets returns the packets that a flow of size bytes takes: data and acknowledgements. TCP has one
// acknowledgement for two segments, and on average 3.5 packets to open and close.
func countPackets(tr *experiment.Traffic, size float64) float64 {
	data := math.Ceil(size / float64(tr.Payload()))
	if s, _ := tr.Transport(); s.Kernel == packet.ProtoTCP {
		return packetsPerData(tr)*data + 3.5
	}
	return packetsPerData(tr) * data
}

// countPackets returns the packets of one flow of the stream.
func (s *stream) countPackets() float64 {
	if s.script > 0 {
		return s.script
	}
	return countPackets(s.traffic, s.size)
}

// packetsPerData returns the packets for each data packet, including acknowledgements. Only datagrams without a
// controller are not acknowledged.
func packetsPerData(tr *experiment.Traffic) float64 {
	switch s, _ := tr.Transport(); {
	case s.Kernel == packet.ProtoTCP:
		return 1.5
	case s.Controlled || s.Kernel != packet.ProtoUDP:
		return 2
	}
	return 1
}

// EstimateHops estimates the packet-hops of a run, data and acknowledgements. On an ideal network it is 0. Flows with a
// size send all of it. Flows without one send what their application and their share of the links on their path allow.
func EstimateHops(r *Run) (sum float64) {
	for _, n := range EstimateCrossings(r) {
		sum += n
	}
	return sum
}

// EstimateCrossings estimates the packets that cross each direction of links in a run, by 2·link + end.
func EstimateCrossings(r *Run) []float64 {
	return countCrossings(r.SpecPoint, sampleStreams(r.SpecPoint))
}

// countCrossings estimates the packets of the streams that cross each direction of links, by 2·link + end.
func countCrossings(p *experiment.Point, list []stream) []float64 {
	seconds := (p.Warmup() + p.Duration()).Seconds()
	rates, load := meanRates(p), make([]float64, 2*len(p.Network().Links))
	for i := range list {
		for _, d := range list[i].path {
			load[d] += list[i].meanRate(seconds)
		}
	}
	crossed := make([]float64, len(load))
	for i := range list {
		s := &list[i]
		n := 0.0
		if s.size > 0 {
			n = s.flows * s.countPackets()
			if s.weight > 0 {
				n *= s.weight
			}
		} else {
			share := 1.0
			for _, d := range s.path {
				share = min(share, rates[d/2]/load[d])
			}
			frame := float64(s.traffic.Payload() + s.traffic.Headers())
			n = packetsPerData(s.traffic) * s.rate * share / 8 / frame * seconds
		}
		data := n / packetsPerData(s.traffic)
		for _, d := range s.path {
			crossed[d] += data
			crossed[d^1] += n - data
		}
	}
	return crossed
}

// meanRate returns what a stream sends over a run of the given length, in bit/s, if links were not shared. A stream
// with a size sends no more than its size.
func (s *stream) meanRate(seconds float64) float64 {
	if s.size > 0 {
		return min(s.rate, s.flows*8*s.size/seconds)
	}
	return s.rate
}

// meanRates returns the mean rates of links over a run, in bit/s, including events. Each is at least 1, also if the
// link is down.
func meanRates(p *experiment.Point) []float64 {
	links := p.Network().Links
	rates := make([]float64, len(links))
	for i := range links {
		rates[i] = bitRate(links[i].Rate)
	}
	now := slices.Clone(rates)
	end := p.Warmup() + p.Duration()
	for _, e := range p.Events() {
		if e.Link < 0 || e.Link >= len(links) || e.At >= end {
			continue
		}
		var next float64
		switch {
		case e.ChangesRate():
			next = bitRate(e.Rate)
		case e.Down:
			next = 0
		default: // the link comes up
			next = bitRate(links[e.Link].Rate)
		}
		left := float64(end-e.At) / float64(end)
		rates[e.Link] += (next - now[e.Link]) * left
		now[e.Link] = next
	}
	for i := range rates {
		rates[i] = max(rates[i], 1)
	}
	return rates
}

// EstimateTime estimates the seconds that a run takes on one core of the reference machine: for packet-hops, for each
// flow, and for building the network and writing the results.
func EstimateTime(r *Run) float64 { return runSeconds(r, EstimateHops(r)) }

// EstimateRecurring estimates the packet-hops and the seconds of one core of a run that simulates the given number of
// iterations of its jobs and repeats their results for the others. Other traffics run fully.
func EstimateRecurring(r *Run, iterations int) (hops, seconds float64) {
	for _, n := range countCrossings(r.SpecPoint, sampleStreamsWithin(r.SpecPoint, float64(iterations))) {
		hops += n
	}
	return hops, runSeconds(r, hops)
}

// runSeconds estimates the seconds that a run with the given packet-hops takes on one core of the reference machine.
func runSeconds(r *Run, hops float64) float64 {
	const (
		perRun         = 5e-3
		perPart        = 30e-6 // a node or a link
		hopsPerSecond  = 3e6   // the order of magnitude that weir bench engine shows
		flowsPerSecond = 3e4
	)
	flows := 0.0
	for _, n := range expectedFlows(r.SpecPoint) {
		flows += n
	}
	n := r.SpecPoint.Network()
	return hops/hopsPerSecond + flows/flowsPerSecond + perRun + perPart*float64(len(n.Nodes)+len(n.Links))
}

// expectedFlows returns the mean number of flows of a run, by traffic.
func expectedFlows(p *experiment.Point) []float64 {
	flows := make([]float64, p.Entries())
	for i := range p.Flows() {
		flows[p.Flow(i).Traffic]++
	}
	for t := range flows {
		if tr := p.Entry(t); tr != nil {
			if g, ok := tr.Generator(); ok {
				flows[t] += g.ExpectedFlows(p, tr)
			}
		}
	}
	return flows
}
