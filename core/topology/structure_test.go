package topology

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// plain has the links of the networks in this test.
var plain = linkSettings{Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: unit.Microsecond}

// TestRoutesOfStructure checks that the routes of a fat tree equal a search's, switch by switch and host by host. Other
// networks have the routes of the search: other families, and a fat tree with a missing or a double link.
func TestRoutesOfStructure(t *testing.T) {
	type network struct {
		name string
		n    *Network
		tree bool
	}
	var all []network
	add := func(name string, tree bool, n *Network, err error) {
		if err != nil {
			t.Fatal(name, err)
		}
		all = append(all, network{name, n, tree})
	}
	for _, k := range []int{2, 4, 6, 8} {
		for _, tiers := range []int{2, 3} {
			n, err := fatTree{linkSettings: plain, K: k, Tiers: tiers, Oversubscription: 1}.buildNetwork()
			add(fmt.Sprintf("fat tree of %d tiers, k = %d", tiers, k), true, n, err)
		}
	}
	for _, x := range [][3]int{{1, 1, 3}, {2, 1, 1}, {3, 4, 2}, {16, 8, 4}} {
		n, err := leafSpine{linkSettings: plain, Leaves: x[0], Spines: x[1], Hosts: x[2]}.buildNetwork()
		add(fmt.Sprint("leaf-spine ", x), true, n, err)
	}
	n, err := star{linkSettings: plain, Hosts: 5}.buildNetwork()
	add("star", true, n, err)
	n, err = dumbbell{linkSettings: plain, Hosts: 3}.buildNetwork()
	add("dumbbell", false, n, err)
	n, err = parkingLot{linkSettings: plain, Hops: 3, Hosts: 2}.buildNetwork()
	add("parking lot", false, n, err)
	base, err := fatTree{linkSettings: plain, K: 4, Tiers: 3, Oversubscription: 1}.buildNetwork()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range base.Links {
		if !base.Nodes[l.Ends[0]].Switch || !base.Nodes[l.Ends[1]].Switch {
			continue
		}
		n := &Network{Nodes: base.Nodes, Links: slices.Delete(slices.Clone(base.Links), i, i+1)}
		add(fmt.Sprint("without link ", i), false, n, nil)
		n = &Network{Nodes: base.Nodes, Links: append(slices.Clone(base.Links), l)}
		add(fmt.Sprint("with two links ", i), false, n, nil)
	}
	for _, x := range all {
		t.Run(x.name, func(t *testing.T) {
			if _, err := x.n.FindTree(); (err == nil) != x.tree {
				t.Fatalf("a fat tree: %v, %v", x.tree, err)
			}
			checkRoutes(t, x.n)
		})
	}
}

// checkRoutes compares a network's routes with the routes of a search.
func checkRoutes(t *testing.T, n *Network) {
	got := n.Routes()
	lasts := make([]int, 1+n.CountClasses())
	for sw := range n.Nodes {
		if own := got.paths[sw].OwnClass; own > 0 {
			lasts[own] = sw
		}
	}
	want := &Routes{network: n, ports: n.Ports(), paths: slices.Clone(got.paths)}
	s := want.searchRoutes(lasts)
	for sw, node := range n.Nodes {
		if !node.Switch {
			continue
		}
		want.paths[sw].Sets = s.all
		for host := range n.Nodes {
			a := packet.Addr(host + 1)
			if g, w := got.paths[sw].PortsTo(a), want.paths[sw].PortsTo(a); !slices.Equal(g, w) {
				t.Fatalf("%s reaches %s by %v, not %v", node.Name, n.Nodes[host].Name, g, w)
			}
		}
	}
}

// TestRoutesAreShared checks that switches with the same table share it.
func TestRoutesAreShared(t *testing.T) {
	n, err := fatTree{linkSettings: plain, K: 16, Tiers: 3, Oversubscription: 1}.buildNetwork()
	if err != nil {
		t.Fatal(err)
	}
	r, tables := n.Routes(), map[*uint32]bool{}
	for sw, node := range n.Nodes {
		if node.Switch {
			tables[&r.paths[sw].Via[0]] = true
		}
	}
	if len(tables) != 1+16+1 { // leaves, spines by pod, super spines
		t.Errorf("%d tables of 320 switches", len(tables))
	}
}
