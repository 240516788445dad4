package wiring_test

import (
	"fmt"

	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// A link of a topology is two of the fabric, one in each direction.
func ExampleNew() {
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}},
		Links: []topology.Link{{Ends: [2]int{0, 1}, Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: unit.Microsecond}},
	}
	w := wiring.New(&wiring.Config{Seed: 1, Network: n}, &packet.Pool{}, nil)
	for i, l := range w.Links {
		fmt.Println(n.PortName(w.Directions[i].Link, w.Directions[i].End), l.Rate, l.Delay)
	}
	// Output:
	// a->s 1Gbps 1us
	// s->a 1Gbps 1us
}
