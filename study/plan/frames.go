package plan

import (
	"fmt"
	"math"

	"weir/core/packet"
	"weir/study/experiment"
	"weir/study/measure"
)

// FramesPerSecond estimates the largest number of frames per second that all hosts together send. Datagrams are sent
// at their own rate, which only the sender's link limits. All other flows share the links of their paths max-min
// fairly, and their receivers acknowledge every second segment. Links have their highest rate.
func FramesPerSecond(p *experiment.Point) float64 {
	list, links := sampleStreams(p), peakRates(p)
	frames := datagramsPerSecond(p, list, links)
	var demands []measure.Demand
	var sizes []float64 // bits of a full frame, by demand
	type kind struct {
		path       string
		rate, size float64
	}
	known := map[kind]int{} // index of the demand of streams of this kind
	for i := range list {
		s := &list[i]
		if t, _ := s.traffic.Transport(); t.Kernel == packet.ProtoUDP || len(s.path) == 0 {
			continue
		}
		k := kind{fmt.Sprint(s.path), s.offeredRate(links, s.path), 8 * float64(s.traffic.Headers()+s.traffic.Payload())}
		index, there := known[k]
		if !there {
			index = len(demands)
			known[k] = index
			demands, sizes = append(demands, measure.Demand{Uses: s.path}), append(sizes, k.size)
		}
		demands[index].Weight += s.flows
		demands[index].Max += k.rate
	}
	for i, rate := range measure.FairShares(links, demands) {
		frames += 1.5 * rate / sizes[i]
	}
	return frames
}

// offeredRate returns the rate in bit/s at which a stream sends if it has the directions of links in path to itself.
// rates are by direction.
func (s *stream) offeredRate(rates []float64, path []int) float64 {
	if g, drawn := s.traffic.Generator(); drawn && g.OfferedLoad > 0 {
		return s.rate
	}
	rate := math.Inf(1)
	if app := appRate(s.traffic); app > 0 {
		rate = float64(app)
	}
	for _, d := range path {
		rate = min(rate, rates[d])
	}
	return s.flows * rate
}

// datagramsPerSecond estimates the largest number of datagrams per second that all hosts together send. links has the
// rates of directions of links; an excess over a host's link is not sent.
func datagramsPerSecond(p *experiment.Point, list []stream, links []float64) (sum float64) {
	n := len(p.Network().Nodes)
	count, bits := make([]float64, n), make([]float64, n) // per second, by host
	first := make([]float64, n)                           // bit/s of the host's link
	for l := range p.Network().Links {
		for end, node := range p.Network().Links[l].Ends {
			first[node] = links[2*l+end]
		}
	}
	for i := range list {
		s := &list[i]
		if t, _ := s.traffic.Transport(); t.Kernel != packet.ProtoUDP || s.script > 0 || len(s.path) == 0 {
			continue
		}
		payload, d := 8*float64(s.traffic.Payload()), s.path[0]
		packets := s.offeredRate(links, s.path[:1]) / payload
		from := p.Network().Links[d/2].Ends[d%2]
		count[from] += packets
		bits[from] += packets * (payload + 8*float64(s.traffic.Headers()))
	}
	for i := range p.Flows() { // a capture defines its offered load
		f := p.Flow(i)
		if packets, bytes := f.PeakRates(); packets > 0 {
			from := int(f.Src)
			count[from] += packets
			bits[from] += 8 * (bytes + packets*float64(p.Entry(f.Traffic).Headers()))
		}
	}
	for h := range count {
		if count[h] > 0 {
			sum += count[h] * min(1, first[h]/bits[h])
		}
	}
	return sum
}

// peakRates returns the highest rates of all directions of links, in bit/s, by 2·link + end.
func peakRates(p *experiment.Point) []float64 {
	var rates []float64
	for _, l := range p.Network().Links {
		rates = append(rates, bitRate(l.Rate), bitRate(l.Rate))
	}
	for _, e := range p.Events() {
		if e.Link < 0 || e.Link >= len(p.Network().Links) || !e.ChangesRate() {
			continue
		}
		for end := range 2 {
			rates[2*e.Link+end] = max(rates[2*e.Link+end], bitRate(e.Rate))
		}
	}
	return rates
}
