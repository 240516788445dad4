// Package ring is a family of networks: switches in a ring, each with hosts.
package ring

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/topology"
)

// Scheme is what an experiment names: topology: {ring: {switches: 4, …}}.
func Scheme() topology.Scheme {
	return topology.Scheme{
		Scheme: scheme.Scheme{Name: "ring", Doc: "switches s0, … in a ring, each with hosts h0, …", Source: "ours",
			Params: []scheme.Param{
				{Name: "switches", Kind: scheme.Int, Required: true, Min: "3", Max: "1000", Doc: "switches", Source: "ours"},
				{Name: "hosts", Kind: scheme.Int, Default: "1", Min: "1", Max: "100", Doc: "hosts a switch", Source: "ours"},
				{Name: "rate", Kind: scheme.LinkRate, Required: true, Min: "1bps", Doc: "of every link", Source: "ours"},
				{Name: "delay", Kind: scheme.Duration, Required: true, Min: "0s", Doc: "of every link, one way", Source: "ours"},
				{Name: "buffer", Kind: scheme.Length, Default: "0 packets", Doc: "of every switch port; 0 packets: no limit",
					Source: "ours"},
			}},
		Build: func(v scheme.Values) (*topology.Network, error) {
			return build(v.Int("switches"), v.Int("hosts"), topology.Link{Rate: v.LinkRate("rate"), Delay: v.Time("delay"),
				Buffer: v.Length("buffer")}), nil
		},
	}
}

// build makes the network. Hosts come before switches, so that they are numbered from 0.
func build(switches, hosts int, each topology.Link) *topology.Network {
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
