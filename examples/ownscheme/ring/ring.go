// Package ring is a family of networks: switches in a ring, each with hosts.
package ring

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/unit"
)

// Ring has the parameters of a network.
type Ring struct {
	Switches, Hosts int
	Rate            unit.LinkRate
	Delay           unit.Time
	Buffer          unit.Length
}

// Params binds the options of ring to the fields of c, which keep their values.
func (c *Ring) Params(p *scheme.Params) {
	p.Int(&c.Switches, "switches", "", "number of switches", "Weir").Required().Min("3").Max("1000")
	p.Int(&c.Hosts, "hosts", "1", "hosts per switch", "Weir").Min("1").Max("100")
	p.LinkRate(&c.Rate, "rate", "", "rate of every link", "Weir").Required().Min("1bps")
	p.Time(&c.Delay, "delay", "", "propagation delay of every link, one way", "Weir").Required().Min("0s")
	p.Length(&c.Buffer, "buffer", "0 packets", "limit of every switch port; 0 packets: no limit", "Weir")
}

// Scheme returns the scheme for experiments: topology: {ring: {switches: 4, …}}.
func Scheme() topology.Scheme {
	return topology.Define(scheme.Scheme{Name: "ring", Doc: "switches s0, … in a ring, each with hosts h0, …",
		Source: "Weir"}, func(c Ring) (*topology.Network, error) {
		return buildRing(c.Switches, c.Hosts, topology.Link{Rate: c.Rate, Delay: c.Delay, Buffer: c.Buffer}), nil
	})
}

// buildRing makes the network of at least three switches, with hosts at each. All links are as each, except for its
// Ends. Hosts come before switches, so they are numbered from 0.
func buildRing(switches, hosts int, each topology.Link) *topology.Network {
	n := &topology.Network{}
	for i := range switches * hosts {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	first := len(n.Nodes)
	for i := range switches {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("s", i), Switch: true})
	}
	link := func(a, b int) {
		each.Ends = [2]int{a, b}
		n.Links = append(n.Links, each)
	}
	for i := range switches * hosts {
		link(i, first+i/hosts)
	}
	for i := range switches {
		link(first+i, first+(i+1)%switches)
	}
	return n
}
