package measure

import (
	"math"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// maxMin is what flows, or the hosts that send them, would get if links were shared max-min fairly, and what they got
// of it.
type maxMin struct {
	traffics
	senders bool
}

// Decode reads by and among, and checks that each flow has one path, whose links have bits.
func (m *maxMin) Decode(o *Options) {
	m.traffics.Decode(o)
	m.senders = o.Choose("among", "whom links are shared among") == "sender"
	p := o.Point
	if p.Routes == nil {
		return
	}
	for i := range p.Network.Nodes {
		if !p.Network.Nodes[i].Switch {
			continue
		}
		if several := func(set []packet.PortID) bool { return len(set) > 1 }; slices.ContainsFunc(p.Routes.Paths(i).Sets,
			several) {
			o.Fail(o.At, "a network with one shortest path from host to host",
				"max_min divides links among flows, and where there are several shortest paths it does not know which a flow takes")
		}
		break // switches share their sets
	}
	for i := range p.Network.Links {
		if p.Network.Links[i].Rate.Bits == 0 {
			o.Fail(o.At, "rates in bit/s", "max_min is of bits, and the rate of link %s is in packets", p.PortName(2*i))
			return
		}
	}
}

// Evaluate adds the share of each traffic, the sum of its flows', and goodput over that. A flow counts
// if it is there at the end. Among senders, the flows of each divide one part: that is what a queue for each user at
// every port gives, to whom a datagram counts as wanted when it was sent. The distance from that is added.
func (m *maxMin) Evaluate(e *Evaluation) {
	var rates []float64
	for i := range e.Point.Network.Links {
		r := float64(e.Point.Network.Links[i].Rate.Bits)
		rates = append(rates, r, r) // either direction
	}
	var demands []Demand
	var flows []int
	count := map[int]int{} // of a sender's flows
	for i := range e.Load.Flows {
		f, r := &e.Load.Flows[i], &e.Result.Flows[i]
		if r.FCT == unit.Never && r.Start != unit.Never && (f.Stop == 0 || f.Stop >= e.Point.End()) {
			flows = append(flows, i)
			demands = append(demands, Demand{Uses: e.Point.ports(f.Src, f.Dst), Weight: 1, Max: math.Inf(1)})
			count[e.Point.Host(f.Src)]++
		}
	}
	if m.senders {
		for k, i := range flows {
			f := &e.Load.Flows[i]
			demands[k].Weight = 1 / float64(count[e.Point.Host(f.Src)])
			if tr := &e.Point.Traffic[f.Group]; !tr.Transport.Gauged {
				frame := e.Point.Framing.Frame(tr.Headers(), tr.Payload, true)
				demands[k].Max = float64(e.Result.Flows[i].Sender.SentPackets) * float64(frame) * 8 / e.Point.Duration.Seconds()
			}
		}
	}
	shares := make([]float64, len(e.Point.Traffic))
	for i := range shares {
		shares[i] = math.NaN()
	}
	for k, share := range FairShares(rates, demands) {
		t := e.Load.Flows[flows[k]].Group
		tr := &e.Point.Traffic[t]
		frame := e.Point.Framing.Frame(tr.Headers(), tr.Payload, true)
		if math.IsNaN(shares[t]) {
			shares[t] = 0
		}
		shares[t] += share * float64(tr.Payload) / float64(frame)
	}
	e.ByTraffic("max_min", "bps", func(t int) float64 { return shares[t] })
	e.ByTraffic("max_min_ratio", "", func(t int) float64 { return e.goodput(t) / shares[t] })
	if !m.senders {
		return
	}
	apart := 0.0
	for t := range shares {
		apart = max(apart, math.Abs(e.goodput(t)-shares[t]))
	}
	e.Add(Measured{Name: "max_min_apart", Unit: "bps", Value: apart})
}

// ports are those that send on the way from one host to another, by their index in outcome.Result.Ports.
func (p *Point) ports(src, dst int) (out []int) {
	links, _ := p.Routes.Path(src, dst)
	at := p.Host(src)
	for _, l := range links {
		end := 0
		if p.Network.Links[l].Ends[1] == at {
			end = 1
		}
		out = append(out, 2*l+end)
		at = p.Network.Links[l].Ends[1-end]
	}
	return out
}

// Demand is a flow's demand for resources: its rate grows in proportion to its weight, up to the highest rate that it
// can use.
type Demand struct {
	Uses   []int // indices of resources
	Weight float64
	Max    float64
}

// FairShares returns the max-min fair rate of each demand for resources that have these rates. All grow together until
// a resource is full or a demand is satisfied; the demands that this concerns stay, and the others grow further.
func FairShares(rates []float64, demands []Demand) []float64 {
	out := make([]float64, len(demands))
	done := make([]bool, len(demands))
	left, weight := slices.Clone(rates), make([]float64, len(rates))
	for {
		clear(weight)
		level, full, enough := math.Inf(1), -1, -1 // the next one that stays, by rate per weight
		for i := range demands {
			if c := &demands[i]; !done[i] {
				for _, r := range c.Uses {
					weight[r] += c.Weight
				}
				if c.Max/c.Weight < level {
					level, enough = c.Max/c.Weight, i
				}
			}
		}
		for r, w := range weight {
			if w > 0 && left[r]/w < level {
				level, full, enough = left[r]/w, r, -1
			}
		}
		if full < 0 && enough < 0 {
			return out
		}
		for i := range demands {
			c := &demands[i]
			if done[i] || i != enough && (full < 0 || !slices.Contains(c.Uses, full)) {
				continue
			}
			done[i], out[i] = true, level*c.Weight
			for _, r := range c.Uses {
				left[r] = max(left[r]-out[i], 0)
			}
		}
	}
}
