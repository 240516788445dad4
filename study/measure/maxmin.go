package measure

import (
	"math"
	"slices"

	"weir/core/packet"
	"weir/core/unit"
)

// maxMin measures the rates that flows, or the hosts that send them, would get from links that are shared max-min
// fairly, and the ratio of their goodput to that.
type maxMin struct {
	traffics
	senders bool
}

// ReadOptions reads `by` and `among`. It reports an error if a switch has several paths to a host, or a link's rate is
// not in bit/s.
func (m *maxMin) ReadOptions(o *Options) {
	m.traffics.ReadOptions(o)
	m.senders = o.ReadChoice("among", "value of among") == "sender"
	p := o.Point
	if p.Routes == nil {
		return
	}
	for i := range p.Network.Nodes {
		if !p.Network.Nodes[i].Switch {
			continue
		}
		if several := func(set []packet.PortID) bool { return len(set) > 1 }; slices.ContainsFunc(p.Routes.PathsFrom(i).Sets,
			several) {
			o.Fail(o.At, "a network with one shortest path from host to host",
				"max_min needs the path of each flow, but the network has several shortest paths")
		}
		break // switches share their sets
	}
	for i := range p.Network.Links {
		if p.Network.Links[i].Rate.Bits == 0 {
			o.Fail(o.At, "rates in bit/s", "max_min needs rates in bit/s, but the rate of link %s is in packets/s",
				p.PortName(2*i))
			return
		}
	}
}

// AddValues adds the fair share of each traffic, which is the sum of its flows' shares, and goodput divided by it.
// Flows count that are active at the end. Among senders, the flows of a host divide one share, as with a queue per
// user at every port; then a datagram flow demands what it has sent, and the largest difference between goodput and
// share is added.
func (m *maxMin) AddValues(e *Evaluation) {
	var rates []float64
	for i := range e.Point.Network.Links {
		r := float64(e.Point.Network.Links[i].Rate.Bits)
		rates = append(rates, r, r) // one for each direction
	}
	var demands []Demand
	var flows []int
	count := map[int]int{} // active flows by sending node
	for i := range e.Load.Flows {
		f, r := &e.Load.Flows[i], &e.Result.Flows[i]
		if r.FCT == unit.Never && r.Start != unit.Never && (f.Stop == 0 || f.Stop >= e.Point.End()) {
			flows = append(flows, i)
			demands = append(demands, Demand{Uses: e.Point.pathPorts(f.Src, f.Dst), Weight: 1, Max: math.Inf(1)})
			count[e.Point.Host(f.Src)]++
		}
	}
	if m.senders {
		for k, i := range flows {
			f := &e.Load.Flows[i]
			demands[k].Weight = 1 / float64(count[e.Point.Host(f.Src)])
			if tr := &e.Point.Traffic[f.Group]; !tr.Transport.Gauged {
				frame := e.Point.Framing.FrameBytes(tr.Headers(), tr.Payload, true)
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
		frame := e.Point.Framing.FrameBytes(tr.Headers(), tr.Payload, true)
		if math.IsNaN(shares[t]) {
			shares[t] = 0
		}
		shares[t] += share * float64(tr.Payload) / float64(frame)
	}
	e.AddByTraffic("max_min", "bps", func(t int) float64 { return shares[t] })
	e.AddByTraffic("max_min_ratio", "", func(t int) float64 { return e.trafficGoodput(t) / shares[t] })
	if !m.senders {
		return
	}
	apart := 0.0
	for t := range shares {
		apart = max(apart, math.Abs(e.trafficGoodput(t)-shares[t]))
	}
	e.Add(Measured{Name: "max_min_apart", Unit: "bps", Value: apart})
}

// pathPorts returns the sending ports on the path from one NIC to another, as indices in outcome.Result.Ports, the
// sender's first. A path must exist.
func (p *Point) pathPorts(src, dst int) (out []int) {
	links, _ := p.Routes.FindPath(src, dst)
	node := p.Host(src)
	for _, l := range links {
		end := 0
		if p.Network.Links[l].Ends[1] == node {
			end = 1
		}
		out = append(out, 2*l+end)
		node = p.Network.Links[l].Ends[1-end]
	}
	return out
}

// Demand is a flow's demand for resources. Its rate grows in proportion to Weight, up to Max, in the unit of the
// resources' capacities. +Inf: no limit.
type Demand struct {
	Uses   []int // indices of resources
	Weight float64
	Max    float64
}

// FairShares returns the max-min fair rate of each demand; weights must be above 0. rates has the capacity of each
// resource, which Demand.Uses names. A demand that is unlimited and uses no resource gets 0. All rates grow together
// until a resource is full or a demand is satisfied. Then the demands concerned keep their rates, and the others grow
// further.
func FairShares(rates []float64, demands []Demand) []float64 {
	out := make([]float64, len(demands))
	done := make([]bool, len(demands))
	left, weight := slices.Clone(rates), make([]float64, len(rates))
	for {
		clear(weight)
		level, full, enough := math.Inf(1), -1, -1 // the next to be full or satisfied; rate per weight
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
