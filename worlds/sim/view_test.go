package sim_test

import (
	"testing"

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

// TestView_ChangesNoResult checks that a view shows the run's progress, and the run gives the same result as without.
func TestView_ChangesNoResult(t *testing.T) {
	alone, err := sim.Run(viewed(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	var last unit.Time
	var received unit.Bytes
	var sent uint64
	looks, queued, going := 0, false, false
	seen, err := sim.Run(viewed(t, func(v *sim.View) {
		looks++
		if v.Time < last {
			t.Fatalf("time goes back from %v to %v", last, v.Time)
		}
		last = v.Time
		f, p := v.Flow(0), v.Port(2) // the switch's port to the receiver
		if f.Received < received || p.SentBytes < sent {
			t.Fatalf("at %v it has received %d after %d, and sent %d after %d", v.Time, f.Received, received, p.SentBytes, sent)
		}
		received, sent = f.Received, p.SentBytes
		queued, going = queued || p.Packets > 0 && p.Bytes > 0, going || f.Active
	}))
	if err != nil {
		t.Fatal(err)
	}
	if looks == 0 || received == 0 || sent == 0 || !going || !queued {
		t.Errorf("%d looks; it has received %d and sent %d; going %v, with a queue %v", looks, received, sent, going, queued)
	}
	if alone.Time != seen.Time || alone.Events != seen.Events || alone.PacketHops != seen.PacketHops ||
		alone.Flows[0] != seen.Flows[0] || alone.Ports[2] != seen.Ports[2] {
		t.Errorf("looked at, it gives something else: %v, %d, %d and %v, %d, %d", alone.Time, alone.Events, alone.PacketHops,
			seen.Time, seen.Events, seen.PacketHops)
	}
}

// viewed is a flow from a fast link over a switch to a slow one.
func viewed(t *testing.T, view func(*sim.View)) *sim.Config {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}}}
	for host, rate := range map[int]unit.Rate{0: unit.Gbps, 2: 100 * unit.Mbps} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{1, host}, Rate: unit.LinkRate{Bits: rate},
			Delay: unit.Millisecond})
	}
	if n.Links[0].Ends[1] == 2 {
		n.Links[0], n.Links[1] = n.Links[1], n.Links[0]
	}
	c := &sim.Config{Wiring: wiring.Config{Seed: 1, Network: n, Hosts: n.Addresses(),
		Switches: make([]wiring.SwitchConfig, len(n.Nodes))}, Duration: unit.Second, UntilDone: true, View: view}
	c.Wiring.Switches[1] = wiring.SwitchConfig{
		Routes: dataplane.HostRoutes(c.Wiring.Hosts, n.Routes().PathsFrom(1)),
		Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{forward.New(site)}, nil
		},
	}
	f := transport.Flow{Src: 1, Dst: 3, SrcPort: 10000, DstPort: 40000, Version: 4, Size: 1_000_000, Payload: 1000,
		Stop: unit.Never, Framing: packet.Framings[0], Random: unit.NewRandom(c.Wiring.Seed, "flow")}
	sender, receiver, err := udp.New(f, udp.Config{Rate: 200 * unit.Mbps, Pattern: udp.CBR})
	if err != nil {
		t.Fatal(err)
	}
	c.Add(outcome.Flow{Src: 0, Dst: 2, Size: f.Size,
		SrcPort: f.SrcPort, DstPort: f.DstPort}, sender, receiver)
	return c
}
