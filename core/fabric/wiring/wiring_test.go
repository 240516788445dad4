package wiring

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/unit"
)

// TestWiring_NumbersPortsAndAppliesEvents checks that ports are numbered at each node in the order of links, and that
// each direction is the fabric's link 2·link + end. Events reach only the links and ports of both directions. The
// capacity follows from the rates of the measured part.
func TestWiring_NumbersPortsAndAppliesEvents(t *testing.T) {
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "s", Switch: true}, {Name: "r", Switch: true}},
		Links: []topology.Link{
			{Ends: [2]int{0, 1}, Rate: unit.LinkRate{Bits: unit.Mbps}, Delay: unit.Millisecond},
			{Ends: [2]int{1, 0}, Rate: unit.LinkRate{Packets: 100}, Delay: unit.Millisecond},
		},
	}
	var pool packet.Pool
	book, routes := n.Addresses(), n.Routes()
	sc := func(node int) SwitchConfig {
		return SwitchConfig{Routes: dataplane.HostRoutes(book, routes.PathsFrom(node)),
			Programs: func(site *dataplane.Site) ([]dataplane.Program, error) {
				if site.Lines[1].To != n.Nodes[1-node].Name || site.Ports != 2 || len(site.At) != 2 {
					t.Errorf("site %+v", site)
				}
				return []dataplane.Program{forward.New(site)}, nil
			}}
	}
	c := &Config{Network: n, Hosts: book, Switches: []SwitchConfig{sc(0), sc(1)}}
	w := New(c)
	for i, want := range []Direction{{0, 0, 0, 0, true}, {0, 1, 1, 0, true}, {1, 0, 1, 1, true}, {1, 1, 0, 1, true}} {
		t.Run(fmt.Sprint("direction ", i), func(t *testing.T) {
			if w.Directions[i] != want || w.Port(i) != nil {
				t.Errorf("direction %d: %+v", i, w.Directions[i])
			}
		})
	}
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
	c.Events = []Event{
		{At: 500 * unit.Millisecond, Link: 0, Rate: unit.LinkRate{Bits: 3 * unit.Mbps}}, {At: unit.Second, Link: 1,
			Down: true},
		{At: 2 * unit.Second, Link: 0, Rate: unit.LinkRate{Bits: 5 * unit.Mbps}}, {At: 3 * unit.Second, Link: 0,
			Rate: unit.LinkRate{Bits: unit.Gbps}},
	}
	first := w.ReadCounters(0, f)
	for i := range c.Events[:3] {
		w.ApplyEvent(f, &c.Events[i], c.Events[i].At)
	}
	for i, want := range []struct {
		rate unit.LinkRate
		down bool
	}{{unit.LinkRate{Bits: 5 * unit.Mbps}, false}, {unit.LinkRate{Bits: 5 * unit.Mbps}, false},
		{unit.LinkRate{Packets: 100}, true}, {unit.LinkRate{Packets: 100}, true}} {
		t.Run(fmt.Sprint("port ", i), func(t *testing.T) {
			if p := w.Port(i); p.Rate() != want.rate || p.IsDown() != want.down ||
				p != w.Switches[w.Directions[i].Node].Port(w.Directions[i].Port) {
				t.Errorf("port %d: %v, down %v", i, p.Rate(), p.IsDown())
			}
		})
	}
	last := w.ReadCounters(3*unit.Second, f)
	ports, _ := w.PortResults(&first, &last, unit.Second, 3*unit.Second)
	if len(ports) != 4 || ports[1].Capacity != 3e6+5e6 || ports[2].Capacity != 200 || ports[2].Node != 1 ||
		ports[2].End != 0 {
		t.Errorf("%+v", ports)
	}
}
