package topology

import (
	"slices"
	"strconv"

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
	// Nth is which of several links side by side this is, a bundle between the same two nodes, from 0.
	Nth uint16
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
// 1), as specs and results write it: "s1->server", and "s1->server~2" of the second link of a bundle.
func (n *Network) PortName(l, e int) string {
	ends := n.Links[l].Ends
	name := n.Nodes[ends[e]].Name + "->" + n.Nodes[ends[1-e]].Name
	if nth := n.Links[l].Nth; nth > 0 {
		name += "~" + strconv.Itoa(int(nth)+1)
	}
	return name
}

// mostBundled is how many links can be side by side.
const mostBundled = 1024

// number gives links side by side their numbers, in their order.
func (n *Network) number() {
	joined := make(map[[2]int]uint16, len(n.Links))
	for i := range n.Links {
		l := &n.Links[i]
		pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
		l.Nth = joined[pair]
		joined[pair]++
	}
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
