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

// stream is one of the flows that an estimate looks at, for some like it.
type stream struct {
	traffic *experiment.Traffic
	alike   float64 // flows that it stands for
	weight  float64 // packets of all flows of a list over those of the ones looked at; 0: nothing is known of that
	size    float64 // bytes; 0: no end
	script  float64 // datagrams of a capture; 0: it is of none
	rate    float64 // bit/s, if nothing shared its links
	path    []int   // directions of links, 2·link + end
}

// mostStreams is how many flows of a traffic an estimate looks at.
const mostStreams = 1024

// streams are flows of a run: of a traffic with many some that are spread over it.
func streams(p *experiment.Point) (list []stream) { return streamsOf(p, math.Inf(1)) }

// streamsOf are those of a run that carries out so many iterations of jobs at most.
func streamsOf(p *experiment.Point, iterations float64) (list []stream) {
	if p.Ideal() != nil { // it has no packets
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
			for k := range min(n, mostStreams) {
				f := p.Flow(listed[id][k*n/min(n, mostStreams)])
				s := stream{traffic: tr, alike: float64(n) / float64(min(n, mostStreams)), size: float64(f.Size),
					script: float64(f.Datagrams())}
				if s.script > 0 {
					s.rate = s.alike * 8 * s.size / max(f.Lasts(), unit.Millisecond).Seconds()
				}
				list = add(list, p, f.Src, f.Dst, s)
			}
			weigh(list[first:], p, tr, listed[id])
		}
		list = ofJob(list, p, tr, iterations)
		g, drawn := tr.Generator()
		if !drawn {
			continue
		}
		n := g.Expected(p, tr)
		s := stream{traffic: tr, alike: n / mostStreams, size: g.Mean()}
		if g.Offered > 0 {
			s.rate = n * g.Mean() * 8 / math.Max(g.Until(p, tr).Seconds(), 1e-12) / mostStreams
		}
		for k := range mostStreams {
			from, to := g.From[k%len(g.From)], g.To[random.IntN(len(g.To))]
			for again := 0; from == to && again < 64; again++ {
				from, to = g.From[random.IntN(len(g.From))], g.To[random.IntN(len(g.To))]
			}
			list = add(list, p, from, to, s)
		}
	}
	return list
}

// ofJob adds streams of a job's messages: some of those that its ranks send, spread over ranks, lanes and time.
func ofJob(list []stream, p *experiment.Point, tr *experiment.Traffic, iterations float64) []stream {
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
	for k := range max(mostStreams, ranks) {
		if op, ok := sends(j.Program, k%ranks, &random); ok {
			from, ops, bytes = append(from, k%ranks), append(ops, op), bytes+float64(op.Size)
		}
	}
	found, first := float64(len(ops)), len(list)
	for i, op := range ops { // those looked at stand for all, in number and in bytes
		size := float64(op.Size) * traits.Bytes / traits.Messages * found / max(bytes, 1)
		list = add(list, p, j.Hosts[from[i]], j.Hosts[op.Peer], stream{traffic: tr, alike: traits.Messages / found,
			size: max(size, 1)})
	}
	share := begun(p, tr, list[first:], iterations)
	for i := range list[first:] {
		s := &list[first+i]
		s.alike, s.rate = s.alike*share, s.rate*share
	}
	return list
}

// begun is the share of a job's messages, of which these streams are all, that can begin within a run, and in so many
// iterations: an iteration takes no less than a rank computes in it or waits for the next one's beginning, and about as
// long as the busiest of the hosts' links takes for the bytes that it sends.
func begun(p *experiment.Point, tr *experiment.Traffic, list []stream, iterations float64) float64 {
	j := tr.Job()
	start, _ := tr.Start()
	left, all, least, sent := (p.Warmup() + p.Duration() - start).Seconds(), 1.0, 0.0, map[int]float64{}
	for i := range list {
		if s := &list[i]; len(s.path) > 0 {
			d := s.path[0]
			sent[d] += 8 * s.alike * s.size / bits(p.Network().Links[d/2].Rate)
			least = max(least, sent[d])
		}
	}
	if a, alike := j.Program.(job.Alike); alike && a.Each(0, 0) > 0 {
		all = max(float64(a.Ops(0, 0)/a.Each(0, 0)), 1)
		least = max(least/all, iterationTime(a))
	}
	if least <= 0 {
		return min(iterations/all, 1)
	}
	return min(max(math.Floor(left/least)+1, 1)/all, iterations/all, 1)
}

// iterationTime is what the first ranks compute in the first iteration at most, in seconds, or how far the beginnings
// of iterations are apart at least.
func iterationTime(a job.Alike) (most float64) {
	for r := range min(a.Ranks(), mostStreams) {
		computes, waits := unit.Time(0), unit.Time(0)
		for i := range min(a.Each(r, 0), mostStreams) {
			switch op := a.Op(r, job.Ref{Op: int32(i)}); op.Kind {
			case job.Calc:
				computes += op.Time
			case job.Wait:
				waits = max(waits, op.Time)
			}
		}
		most = max(most, computes.Seconds(), waits.Seconds())
	}
	return most
}

// sends finds a message that a rank sends, each as likely as any other of a lane; where they are rare, the next one
// behind a drawn place.
func sends(p job.Program, rank int, random *unit.Random) (op job.Op, found bool) {
	const draws, most = 64, 4096 // of a lane so many are looked at
	lanes := p.Lanes(rank)
	first := random.IntN(lanes)
	for l := range lanes {
		lane := (first + l) % lanes
		n := p.Ops(rank, lane)
		if n == 0 {
			continue
		}
		at := 0
		for i := range draws + min(n, most) {
			if at = (at + 1) % n; i < draws {
				at = random.IntN(n)
			}
			if op = p.Op(rank, job.Ref{Lane: int32(lane), Op: int32(at)}); op.Kind == job.Send {
				return op, true
			}
		}
	}
	return op, false
}

// weigh lets the streams of a list have the packets of all its flows: where few flows have most of the
// bytes, the ones looked at may have much less, or more.
func weigh(list []stream, p *experiment.Point, tr *experiment.Traffic, listed []int) {
	all, seen := 0.0, 0.0
	for _, i := range listed {
		f := p.Flow(i)
		all += (&stream{traffic: tr, size: float64(f.Size), script: float64(f.Datagrams())}).packets()
	}
	for i := range list {
		seen += list[i].alike * list[i].packets()
	}
	for i := range list {
		list[i].weight = all / seen
	}
}

// add adds a stream between two hosts with its path, and its rate if it has none.
func add(list []stream, p *experiment.Point, from, to int, s stream) []stream {
	near, ok := p.Routes().Near(from, to)
	if !ok || from == to {
		return list
	}
	links := p.Routes().PathOf(near.From, near.To, uint32(len(list)))
	slowest := math.Inf(1)
	for _, l := range links {
		link, end := &p.Network().Links[l], 0
		if link.Ends[1] == from {
			end = 1
		}
		s.path = append(s.path, 2*l+end)
		from = link.Ends[1-end]
		slowest = min(slowest, bits(link.Rate))
	}
	if s.rate == 0 {
		if s.rate = slowest; appRate(s.traffic) > 0 {
			s.rate = min(slowest, float64(appRate(s.traffic)))
		}
		s.rate *= s.alike
	}
	return append(list, s)
}

// bits are those of a link a second; of packets, full ones.
func bits(r unit.LinkRate) float64 {
	if r.Bits == 0 {
		return float64(r.Packets) * 12000
	}
	return float64(r.Bits)
}

// loads are what the streams would send over each direction of links, in bit/s.
func loads(n *topology.Network, list []stream) []float64 {
	load := make([]float64, 2*len(n.Links))
	for i := range list {
		for _, d := range list[i].path {
			load[d] += list[i].rate
		}
	}
	return load
}

// packets are those that a flow of a size takes: its data, and what acknowledges them; of TCP, which has an
// acknowledgement for two segments, also the three that open and one that closes at times.
func packets(tr *experiment.Traffic, size float64) float64 {
	data := math.Ceil(size / float64(tr.Payload()))
	if s, _ := tr.Transport(); s.Kernel == packet.ProtoTCP {
		return acknowledged(tr)*data + 3.5
	}
	return acknowledged(tr) * data
}

// packets are those of one flow of the stream.
func (s *stream) packets() float64 {
	if s.script > 0 {
		return s.script
	}
	return packets(s.traffic, s.size)
}

// acknowledged is how many packets there are for each with data: only datagrams without a controller have no
// acknowledgement.
func acknowledged(tr *experiment.Traffic) float64 {
	switch s, _ := tr.Transport(); {
	case s.Kernel == packet.ProtoTCP:
		return 1.5
	case s.Controlled || s.Kernel != packet.ProtoUDP:
		return 2
	}
	return 1
}

// Estimate guesses how many packet-hops a run takes: flows with a size send all of it, those without one what
// their application and their share of the links on their path let them.
func Estimate(r *Run) (sum float64) {
	for _, n := range Crossings(r) {
		sum += n
	}
	return sum
}

// Crossings guesses how many packets cross each direction of links in a run, by 2·link + end.
func Crossings(r *Run) []float64 { return crossings(r.Of, streams(r.Of)) }

func crossings(p *experiment.Point, list []stream) []float64 {
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
			n = s.alike * s.packets()
			if s.weight > 0 {
				n *= s.weight
			}
		} else {
			share := 1.0
			for _, d := range s.path {
				share = min(share, rates[d/2]/load[d])
			}
			frame := float64(s.traffic.Payload() + s.traffic.Headers())
			n = acknowledged(s.traffic) * s.rate * share / 8 / frame * seconds
		}
		data := n / acknowledged(s.traffic)
		for _, d := range s.path {
			crossed[d] += data
			crossed[d^1] += n - data
		}
	}
	return crossed
}

// meanRate is what a stream sends over the run, in bit/s, if nothing shared its links: one with a size no more than
// that.
func (s *stream) meanRate(seconds float64) float64 {
	if s.size > 0 {
		return min(s.rate, s.alike*8*s.size/seconds)
	}
	return s.rate
}

// meanRates are those of links over a run whose events change them, in bit/s; at least a little of each is left.
func meanRates(p *experiment.Point) []float64 {
	links := p.Network().Links
	rates := make([]float64, len(links))
	for i := range links {
		rates[i] = bits(links[i].Rate)
	}
	now := slices.Clone(rates)
	end := p.Warmup() + p.Duration()
	for _, e := range p.Events() {
		if e.Link < 0 || e.Link >= len(links) || e.At >= end {
			continue
		}
		var next float64
		switch {
		case e.Rated():
			next = bits(e.Rate)
		case e.Down:
			next = 0
		default: // it comes up
			next = bits(links[e.Link].Rate)
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

// EstimateTime guesses the seconds that a run takes of one core, as this project's machines are: for packets on
// their way, for making, starting and noting each flow, and for making the network and writing what came of it.
func EstimateTime(r *Run) float64 { return timeOf(r, Estimate(r)) }

// EstimateRecurring guesses the packet-hops and the seconds of one core that a run takes if it carries out so many
// iterations of its jobs, and those behind them recur.
func EstimateRecurring(r *Run, iterations int) (hops, seconds float64) {
	for _, n := range crossings(r.Of, streamsOf(r.Of, float64(iterations))) {
		hops += n
	}
	return hops, timeOf(r, hops)
}

func timeOf(r *Run, hops float64) float64 {
	const (
		ofRun          = 5e-3
		ofPart         = 30e-6 // a node or a link
		hopsPerSecond  = 3e6   // the order of magnitude that weir bench engine shows
		flowsPerSecond = 3e4
	)
	flows := 0.0
	for _, n := range flowsOf(r.Of) {
		flows += n
	}
	n := r.Of.Network()
	return hops/hopsPerSecond + flows/flowsPerSecond + ofRun + ofPart*float64(len(n.Nodes)+len(n.Links))
}

// flowsOf are the flows of a run by traffic, on average.
func flowsOf(p *experiment.Point) []float64 {
	flows := make([]float64, p.Entries())
	for i := range p.Flows() {
		flows[p.Flow(i).Traffic]++
	}
	for t := range flows {
		if tr := p.Entry(t); tr != nil {
			if g, ok := tr.Generator(); ok {
				flows[t] += g.Expected(p, tr)
			}
		}
	}
	return flows
}
