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

// Link joins two nodes in both directions; each direction has the same properties. Its port at an end is numbered by
// the order of links in Network.
type Link struct {
	Ends   [2]int // indices into Network.Nodes
	Rate   unit.LinkRate
	Delay  unit.Time   // propagation
	Jitter unit.Time   // added to Delay, uniform in [0, Jitter], never reordering
	Loss   float64     // probability that a frame is lost on the way, [0, 1)
	Buffer unit.Length // of the switch ports at its ends; zero: unlimited
	// Nth is the link's number, from 0, in a bundle: several parallel links between the same two nodes.
	Nth uint16
	// Spaced means that its switch ports send a frame at once and delay the next one for the frame's time, like BMv2's
	// ports. Its host sends without a limit.
	Spaced bool
}

// Network is a topology, valid and immutable once built.
type Network struct {
	Nodes []Node
	Links []Link
}

// PortName returns the name of the port by which link l leaves its end e (0 or 1), as specs and results write it:
// "s1->server", and "s1->server~2" for the second link of a bundle.
func (n *Network) PortName(l, e int) string {
	ends := n.Links[l].Ends
	name := n.Nodes[ends[e]].Name + "->" + n.Nodes[ends[1-e]].Name
	if nth := n.Links[l].Nth; nth > 0 {
		name += "~" + strconv.Itoa(int(nth)+1)
	}
	return name
}

// maxBundled is the maximum number of parallel links.
const maxBundled = 1024

// numberBundles numbers parallel links in their order: it sets Nth of all links.
func (n *Network) numberBundles() {
	joined := make(map[[2]int]uint16, len(n.Links))
	for i := range n.Links {
		l := &n.Links[i]
		pair := [2]int{min(l.Ends[0], l.Ends[1]), max(l.Ends[0], l.Ends[1])}
		l.Nth = joined[pair]
		joined[pair]++
	}
}

// Rates returns the different bit rates of the network's links, ascending. Links with rates in packets/s do not count.
func (n *Network) Rates() (rates []unit.Rate) {
	for i := range n.Links {
		r := n.Links[i].Rate.Bits
		if at, found := slices.BinarySearch(rates, r); !found && r > 0 {
			rates = slices.Insert(rates, at, r)
		}
	}
	return rates
}
