package wiring_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric"
	"weir/core/fabric/wiring"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// Example builds a network of two hosts at a switch. Each node numbers its ports in the order of its links.
func Example() {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}}}
	for _, host := range []int{0, 2} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{1, host}, Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	c := &wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(), Switches: make([]wiring.SwitchConfig, 3)}
	c.Switches[1] = wiring.SwitchConfig{
		Routes: dataplane.HostRoutes(c.Hosts, n.Routes().PathsFrom(1)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		},
	}
	w := wiring.New(c)
	sw, err := w.NewSwitch(1, fabric.Part{Pool: &packet.Pool{}}, nil, nil)
	fmt.Println(sw.Name(), err)
	for _, i := range w.LinksFrom(1) {
		fmt.Println("port", w.Links[i].FromPort, "to", n.Nodes[w.Links[i].To].Name)
	}
	// Output:
	// s <nil>
	// port 0 to a
	// port 1 to b
}
