package sim_test

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
	"weir/worlds/sim"
)

// Example sends 100 kB as datagrams from one host through a switch to another.
func Example() {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}}}
	for _, host := range []int{0, 2} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{1, host}, Rate: unit.LinkRate{Bits: 100 * unit.Mbps},
			Delay: unit.Millisecond})
	}
	c := &sim.Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(),
		Switches: make([]wiring.SwitchConfig, len(n.Nodes))}, Duration: unit.Second, UntilDone: true}
	c.Wiring.Switches[1] = wiring.SwitchConfig{
		Routes: dataplane.HostRoutes(c.Wiring.Hosts, n.Routes().PathsFrom(1)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		},
	}
	f := transport.Flow{Src: 1, Dst: 3, SrcPort: 10000, DstPort: 40000, Version: 4, Size: 100_000, Payload: 1000,
		Stop: unit.Never, Framing: packet.Framings[0], Random: unit.NewRandom(c.Wiring.Seed, "flow")}
	sender, receiver, err := udp.New(f, udp.Config{Rate: 10 * unit.Mbps, Pattern: udp.CBR})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Add(outcome.Flow{Src: 0, Dst: 2, Size: f.Size,
		SrcPort: f.SrcPort, DstPort: f.DstPort}, sender, receiver)
	r, err := sim.Run(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.End)
	fmt.Println(int64(r.Flows[0].Receiver.ReceivedBytes), "bytes arrived in", r.Measured)
	// Output:
	// all flows done
	// 100000 bytes arrived in 82366.72us
}
