package topology

import (
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

func tree(t *testing.T, family string, v map[string]any) *Network {
	n, err := build(t, family, v)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFindTree_FindsTiersAndPlan checks Al-Fares et al. 2008 §3: k pods of k/2 edge and k/2 aggregation switches,
// (k/2)² cores. It also checks P4TE §3.1, figure 1: leaves have /112, pods /96.
func TestFindTree_FindsTiersAndPlan(t *testing.T) {
	n := tree(t, "fat_tree", map[string]any{"k": 4, "rate": 10 * unit.Gbps, "delay": unit.Microsecond})
	x, err := n.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	if x.Tiers != 3 || len(x.Leaves()) != 8 {
		t.Fatalf("%d tiers, %d leaves; want 3 and 8", x.Tiers, len(x.Leaves()))
	}
	plan := x.NewPlan()
	if err := x.CheckPlan(plan); err != nil {
		t.Fatal(err)
	}
	// by the numbering of fat_tree: 16 hosts, 8 leaves, 8 spines, 4 super spines
	of := x.LeafByAddress()
	for i, node := range n.Nodes {
		want := int32(-1)
		switch {
		case i < 16:
			want = int32(i / 2)
		case x.Tier[i] == 1:
			want = int32(i - 16)
		}
		if of[i+1] != want {
			t.Errorf("%s is of leaf %d, want %d", node.Name, of[i+1], want)
		}
		for k, above := range x.NodesAbove(i) {
			if x.Tier[above] != x.Tier[i]+1 || n.otherNode(n.Ports()[i][x.Up[i][k]]) != above {
				t.Errorf("%s: above port %d is %s", node.Name, x.Up[i][k], n.Nodes[above].Name)
			}
		}
	}
	book := x.Addresses(plan)
	want := map[string]string{"h0": "2001:1:1::", "h1": "2001:1:1::1", "h2": "2001:1:1::1:0", "h15": "2001:1:1:3::1:1"}
	for i, node := range n.Nodes {
		if a := want[node.Name]; a != "" && book.V6(packet.Addr(i+1)).String() != a {
			t.Errorf("%s has %v, want %s", node.Name, book.V6(packet.Addr(i+1)), a)
		}
		if x.Tier[i] == 0 {
			continue
		}
		up := map[uint8]int{1: 2, 2: 2, 3: 0}[x.Tier[i]]
		down := map[uint8]int{1: 2, 2: 2, 3: 4}[x.Tier[i]]
		bits := map[uint8]int{1: 128, 2: 112, 3: 96}[x.Tier[i]]
		routes := x.DownRoutes(i, plan, book)
		if len(x.Up[i]) != up || len(x.Down[i]) != down || len(routes) != down || routes[0].Prefix.Bits() != bits {
			t.Errorf("%s: %d ports up, %d down, downward table %v; want %d, %d, prefixes of %d bits", node.Name, len(x.Up[i]),
				len(x.Down[i]), routes, up, down, bits)
		}
		// each route down is the shortest path to the hosts of its prefix
		for _, r := range routes {
			for host := range n.Nodes {
				if x.Tier[host] == 0 && r.Prefix.Contains(book.V6(packet.Addr(host+1))) {
					ports := n.Routes().PathsFrom(i).PortsTo(packet.Addr(host + 1))
					if len(ports) != 1 || ports[0] != r.Port {
						t.Errorf("%s: %s is reached by %v, the downward table says %d", node.Name, n.Nodes[host].Name, ports, r.Port)
					}
				}
			}
		}
	}
}

func TestTreeOfFamilies(t *testing.T) {
	for _, c := range []struct {
		family string
		v      map[string]any
		tiers  int
		leaves int
	}{
		{"leaf_spine", map[string]any{"leaves": 4, "spines": 3, "hosts": 5, "rate": unit.Gbps, "delay": unit.Microsecond}, 2,
			4},
		{"fat_tree", map[string]any{"k": 8, "tiers": 2, "oversubscription": 2, "rate": unit.Gbps, "delay": unit.Microsecond},
			2, 8},
		{"pods", map[string]any{"pods": 5, "tors": 4, "aggs": 4, "hosts": 16, "uplinks": 4, "rate": unit.Gbps,
			"delay": unit.Microsecond}, 3, 20},
		{"star", map[string]any{"hosts": 3, "rate": unit.Gbps, "delay": unit.Microsecond}, 2, 1},
	} {
		t.Run(c.family, func(t *testing.T) {
			x, err := tree(t, c.family, c.v).FindTree()
			if err != nil || x.Tiers != c.tiers || len(x.Leaves()) != c.leaves {
				t.Errorf("%s: %+v, %v", c.family, x, err)
			}
		})
	}
}

func TestNoTree(t *testing.T) {
	link := func(a, b int) Link {
		return Link{Ends: [2]int{a, b}, Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: unit.Microsecond}
	}
	nodes := func(hosts int, switches ...string) (n []Node) {
		for i := range hosts {
			n = append(n, Node{Name: "h" + string(rune('0'+i))})
		}
		for _, s := range switches {
			n = append(n, Node{Name: s, Switch: true})
		}
		return n
	}
	for _, c := range []struct {
		what string
		n    Network
		want string
	}{
		{"leaf to leaf", Network{nodes(2, "a", "b"), []Link{link(0, 2), link(1, 3), link(2, 3)}},
			"a of tier 1 is linked to b of tier 1"},
		{"a spine without a leaf", Network{nodes(2, "a", "b", "s", "u"), []Link{link(0, 2), link(1, 3), link(2, 4),
			link(3, 4), link(2, 5)}}, "u has no link to b, a leaf of its pod"},
		{"two pods without a core", Network{nodes(2, "a", "b", "s", "u"), []Link{link(0, 2), link(1, 3), link(2, 4),
			link(3, 5)}}, "a and b are not linked by spines"},
		{"two ways down", Network{nodes(1, "a", "s", "u", "c"), []Link{link(0, 1), link(1, 2), link(1, 3), link(2, 4),
			link(3, 4)}}, "c has links to s and u of one pod"},
		{"four tiers", Network{nodes(1, "a", "s", "c", "x"), []Link{link(0, 1), link(1, 2), link(2, 3), link(3, 4)}},
			"switch x is in no tier"},
		{"a host in the air", Network{nodes(1, "a"), nil}, "host h0 is not linked to one switch"},
	} {
		t.Run(c.what, func(t *testing.T) {
			if _, err := c.n.FindTree(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v; want %q", c.what, err, c.want)
			}
		})
	}
}

func TestPlanErrors(t *testing.T) {
	x, err := tree(t, "leaf_spine", map[string]any{"leaves": 2, "spines": 2, "hosts": 4, "rate": unit.Gbps,
		"delay": unit.Microsecond}).FindTree()
	if err != nil {
		t.Fatal(err)
	}
	p := netip.MustParsePrefix
	for _, c := range []struct {
		leaf []netip.Prefix
		want string
	}{
		{[]netip.Prefix{p("2001:db8::/64"), p("2001:db8:0:0:1::/80")},
			"leaf0: 2001:db8::/64 overlaps 2001:db8:0:0:1::/80 of leaf1"},
		{[]netip.Prefix{p("2001:db8::/127"), p("2001:db9::/64")}, "leaf0: 2001:db8::/127 is too small for 4 hosts"},
		{[]netip.Prefix{p("10.0.0.0/8"), p("2001:db9::/64")}, "leaf0: 10.0.0.0/8 is not an IPv6 prefix"},
		{[]netip.Prefix{p("2001:db9::/64")}, "1 prefixes for 2 leaves"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if err := x.CheckPlan(Prefixes{Leaf: c.leaf}); err == nil || err.Error() != c.want {
				t.Errorf("%v: %v; want %s", c.leaf, err, c.want)
			}
		})
	}
	if err := x.CheckPlan(Prefixes{Leaf: []netip.Prefix{p("2001:db8::/126"), p("2001:db8::4/126")}}); err != nil {
		t.Error(err)
	}
}
