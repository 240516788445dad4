package wiring

import (
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// TestOneDirection checks that an event of one direction does not change the other: port, link and capacity.
func TestOneDirection(t *testing.T) {
	n := &topology.Network{Nodes: []topology.Node{{Name: "s", Switch: true}, {Name: "r", Switch: true}},
		Links: []topology.Link{{Ends: [2]int{0, 1}, Rate: unit.LinkRate{Bits: 8 * unit.Mbps}, Delay: unit.Millisecond}}}
	c := &Config{Network: n, Hosts: n.Addresses(), Switches: make([]SwitchConfig, 2), Events: []Event{
		{Link: 0, Rate: unit.LinkRate{Bits: 2 * unit.Mbps}, OnlyEnd: 2}, {At: unit.Second, Link: 0, Down: true, OnlyEnd: 1}}}
	for i := range c.Switches {
		c.Switches[i] = SwitchConfig{Routes: dataplane.HostRoutes(c.Hosts, n.Routes().PathsFrom(i)),
			Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
				return []dataplane.Program{forward.New(site)}, nil
			}}
	}
	w := New(c)
	var pool packet.Pool
	var nodes []fabric.Node
	for i := range n.Nodes {
		sw, err := w.NewSwitch(i, fabric.Part{Pool: &pool}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, sw)
	}
	f, err := fabric.New(fabric.Config{Nodes: nodes, Links: w.Links, Pool: &pool})
	if err != nil {
		t.Fatal(err)
	}
	first := w.ReadCounters(0, f)
	for i := range c.Events {
		w.ApplyEvent(f, &c.Events[i], c.Events[i].At)
	}
	last := w.ReadCounters(2*unit.Second, f)
	ports, _ := w.PortResults(&first, &last, 0, 2*unit.Second)
	for i, want := range []struct {
		rate     unit.Rate
		down     bool
		capacity float64
	}{{8 * unit.Mbps, true, 16e6}, {2 * unit.Mbps, false, 4e6}} {
		if p := w.Port(i); p.Rate().Bits != want.rate || p.IsDown() != want.down || ports[i].Capacity != want.capacity {
			t.Errorf("direction %d: %v, down %v, capacity %v", i, p.Rate(), p.IsDown(), ports[i].Capacity)
		}
	}
}
