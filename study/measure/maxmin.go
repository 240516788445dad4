package measure

import (
	"math"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// maxMin is what flows would get if links were shared max-min fairly, and what they got of it.
type maxMin struct{ traffics }

// Decode reads by, and checks that each flow has one path, whose links have bits.
func (m *maxMin) Decode(o *Options) {
	m.traffics.Decode(o)
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
// if it is there at the end.
func (*maxMin) Evaluate(e *Evaluation) {
	var rates []float64
	for i := range e.Point.Network.Links {
		r := float64(e.Point.Network.Links[i].Rate.Bits)
		rates = append(rates, r, r) // either direction
	}
	var uses [][]int
	var flows []int
	for i := range e.Config.Flows {
		f, r := &e.Config.Flows[i], &e.Result.Flows[i]
		if r.FCT == unit.Never && r.Start != unit.Never && (f.Stop == 0 || f.Stop >= e.Point.End()) {
			flows, uses = append(flows, i), append(uses, e.Point.ports(f.Src, f.Dst))
		}
	}
	shares := make([]float64, len(e.Point.Traffic))
	for i := range shares {
		shares[i] = math.NaN()
	}
	for k, share := range waterFill(rates, uses) {
		t := e.Config.Flows[flows[k]].Group
		tr := &e.Point.Traffic[t]
		frame := e.Point.Framing.Frame(tr.Headers(), tr.Payload, true)
		if math.IsNaN(shares[t]) {
			shares[t] = 0
		}
		shares[t] += share * float64(tr.Payload) / float64(frame)
	}
	e.ByTraffic("max_min", "bps", func(t int) float64 { return shares[t] })
	e.ByTraffic("max_min_ratio", "", func(t int) float64 { return e.goodput(t) / shares[t] })
}

// ports are those that send on the way from one host to another, by their index in sim.Result.Ports.
func (p *Point) ports(src, dst int) (out []int) {
	links, _ := p.Routes.Path(src, dst)
	at := src
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

// waterFill is the max-min fair rate of each flow: all grow
// together until a resource is full; those that use it stay, and the others go on. uses are a flow's resources.
func waterFill(rates []float64, uses [][]int) []float64 {
	out := make([]float64, len(uses))
	done := make([]bool, len(uses))
	left, count := slices.Clone(rates), make([]int, len(rates))
	for _, of := range uses {
		for _, r := range of {
			count[r]++
		}
	}
	for {
		level, full := math.Inf(1), -1
		for r, n := range count {
			if n > 0 && left[r]/float64(n) < level {
				level, full = left[r]/float64(n), r
			}
		}
		if full < 0 {
			return out
		}
		for i, of := range uses {
			if done[i] || !slices.Contains(of, full) {
				continue
			}
			done[i], out[i] = true, level
			for _, r := range of {
				left[r] = max(left[r]-level, 0)
				count[r]--
			}
		}
	}
}
