package topology

import (
	"slices"

	"weir/core/unit"
)

// Node is a host or a switch.
type Node struct {
	Name   string
	Switch bool
}

// Link joins two nodes in both directions; each direction has the same
// properties. Its port at an end is numbered by the order of links in Network.
type Link struct {
	Ends   [2]int // indices into Network.Nodes
	Rate   unit.LinkRate
	Delay  unit.Time   // propagation
	Jitter unit.Time   // added to Delay, uniform in [0, Jitter], never reordering
	Loss   float64     // probability that a frame is lost on the way, [0, 1)
	Buffer unit.Length // of the switch ports at its ends; none: unlimited
	// Spaced: its switch ports send a frame at once and hold the next one back for the frame's time, as BMv2's
	// do; its host sends as fast as it can.
	Spaced bool
}

// Network is a topology, valid and immutable once built.
type Network struct {
	Nodes []Node
	Links []Link
}

// PortName returns the name of the port by which link l leaves its end e (0 or
// 1), as specs and results write it: "s1->server".
func (n *Network) PortName(l, e int) string {
	ends := n.Links[l].Ends
	return n.Nodes[ends[e]].Name + "->" + n.Nodes[ends[1-e]].Name
}

// Rates returns the different bit rates of the network's links, ascending.
func (n *Network) Rates() (rates []unit.Rate) {
	for i := range n.Links {
		r := n.Links[i].Rate.Bits
		if at, found := slices.BinarySearch(rates, r); !found && r > 0 {
			rates = slices.Insert(rates, at, r)
		}
	}
	return rates
}
