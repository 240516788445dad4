package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestRails_HopsFollowGPUPositions checks that the places of two GPUs determine how many links lie between them, and in
// how many ways. Networks have rails with planes, segments and pods, or leaves by server.
func TestRails_HopsFollowGPUPositions(t *testing.T) {
	for _, x := range []struct {
		name  string
		given map[string]any
		from  int
		hops  map[int]int // by GPU
		nics  int
		pairs map[int]int // by GPU: how many pairs of NICs are nearest
	}{
		{"one plane", map[string]any{"servers": 4, "gpus": 4, "spines": 2}, 0,
			map[int]int{1: 2, 3: 2, 4: 2, 12: 2, 5: 4, 15: 4}, 2, map[int]int{1: 1, 4: 1, 5: 1}},
		{"segments", map[string]any{"servers": 4, "gpus": 4, "spines": 2, "segment": 2}, 0,
			map[int]int{1: 2, 4: 2, 8: 4, 12: 4, 9: 4}, 2, nil},
		{"a segment that is not full", map[string]any{"servers": 5, "gpus": 2, "spines": 1, "segment": 2}, 0,
			map[int]int{1: 2, 2: 2, 4: 4, 8: 4}, 2, nil},
		{"planes", map[string]any{"servers": 4, "gpus": 4, "spines": 2, "planes": 4}, 5,
			map[int]int{4: 2, 1: 2, 9: 2, 0: 4}, 5, map[int]int{4: 1, 1: 4, 0: 4}},
		{"by server", map[string]any{"servers": 4, "gpus": 4, "spines": 2, "segment": 1, "optimised": false}, 0,
			map[int]int{1: 2, 4: 4, 5: 4}, 2, map[int]int{1: 2}}, // the leaf is as near as the server's own switch
		{"rails alone", map[string]any{"servers": 4, "gpus": 4, "spines": 0}, 0,
			map[int]int{1: 2, 4: 2, 5: -1}, 2, nil},
		{"no NVLink", map[string]any{"servers": 2, "gpus": 2, "spines": 1, "nvlink": "0bps"}, 0,
			map[int]int{1: 4, 2: 2, 3: 4}, 1, nil},
		{"pods", map[string]any{"servers": 4, "gpus": 2, "spines": 2, "pods": 2, "uplinks": 3}, 0,
			map[int]int{1: 2, 2: 2, 3: 4, 4: 6, 5: 6}, 2, nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.given["rate"], x.given["delay"] = "400Gbps", "500ns"
			n, err := build(t, "rails", x.given)
			if err != nil {
				t.Fatal(err)
			}
			r := n.Routes()
			if got := r.NICs().CountOf(x.from); got != x.nics {
				t.Errorf("%d NICs, want %d", got, x.nics)
			}
			for to, want := range x.hops {
				if pairs, hops := r.findNearest(x.from, to); hops != want || r.AreJoined(x.from, to) != (want >= 0) {
					t.Errorf("h%d to h%d: %d links by %v, want %d", x.from, to, hops, pairs, want)
				}
			}
			for to, want := range x.pairs {
				if pairs, _ := r.findNearest(x.from, to); len(pairs) != want {
					t.Errorf("h%d to h%d: %v, want %d of them", x.from, to, pairs, want)
				}
			}
		})
	}
}

// TestPlanesAreApart checks that only NICs of one plane have a path between each other.
func TestPlanesAreApart(t *testing.T) {
	n, err := build(t, "rails", map[string]any{"servers": 6, "gpus": 4, "spines": 3, "planes": 3, "segment": 2, "pods": 3,
		"uplinks": 2, "rate": "100Gbps", "delay": "1us", "nvlink": "0bps"})
	if err != nil {
		t.Fatal(err)
	}
	r := n.Routes()
	for a := range 24 {
		for b := range 24 {
			for i := range 3 {
				for k := range 3 {
					joined := r.CountHops(r.NICs().NumberOf(a, i), r.NICs().NumberOf(b, k)) >= 0
					if a != b && joined != (i == k) {
						t.Fatalf("NIC %d of h%d and NIC %d of h%d: joined %v", i, a, k, b, joined)
					}
				}
			}
		}
	}
}

// TestTorus_MatchesDiameterAndDegree checks that a torus' longest path is half of each dimension, and a mesh's all of
// it. Every switch has two neighbours in a dimension of three or more, one in a dimension of two.
func TestTorus_MatchesDiameterAndDegree(t *testing.T) {
	for _, x := range []struct {
		x, y, z int
		wrap    bool
		links   int // between switches
		longest int // between switches
	}{
		{1, 1, 1, true, 0, 0}, {2, 1, 1, true, 1, 1}, {3, 1, 1, true, 3, 1}, {8, 1, 1, true, 8, 4}, {8, 1, 1, false, 7, 7},
		{4, 4, 1, true, 32, 4}, {5, 4, 3, true, 180, 5}, {4, 4, 4, true, 192, 6}, {2, 2, 2, true, 12, 3},
		{5, 4, 3, false, 4*4*3 + 5*3*3 + 5*4*2, 9},
	} {
		t.Run(fmt.Sprint(x.x, "x", x.y, "x", x.z, x.wrap), func(t *testing.T) {
			n, err := build(t, "torus", map[string]any{"x": x.x, "y": x.y, "z": x.z, "wrap": x.wrap, "hosts": 2,
				"rate": "100Gbps", "delay": "1us"})
			if err != nil {
				t.Fatal(err)
			}
			hosts := 2 * x.x * x.y * x.z
			if got := len(n.Links) - hosts; got != x.links {
				t.Errorf("%d links between switches, want %d", got, x.links)
			}
			r, longest := n.Routes(), 0
			for h := range hosts {
				longest = max(longest, r.CountHops(0, h)-2)
			}
			if longest != x.longest {
				t.Errorf("the longest path has %d links between switches, want %d", longest, x.longest)
			}
		})
	}
}

// TestDragonfly_JoinsGroupsEvenly checks that a dragonfly's longest path has three links between switches. Every switch
// has its share of the links between groups, and every pair of groups equally many (Kim et al., §3.1).
func TestDragonfly_JoinsGroupsEvenly(t *testing.T) {
	for _, x := range []struct{ g, a, p, h, sets int }{
		{9, 4, 2, 2, 1}, {33, 8, 4, 4, 1}, {5, 4, 2, 2, 2}, {3, 4, 1, 1, 2}, {2, 2, 1, 3, 6}, {1, 5, 1, 0, 0},
		{7, 2, 1, 4, 1},
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			n, err := build(t, "dragonfly", map[string]any{"groups": x.g, "switches": x.a, "hosts": x.p, "globals": x.h,
				"rate": "100Gbps", "delay": "1us"})
			if err != nil {
				t.Fatal(err)
			}
			hosts, between, global := x.g*x.a*x.p, map[[2]int]int{}, map[int]int{}
			for _, l := range n.Links[hosts:] {
				a, b := (l.Ends[0]-hosts)/x.a, (l.Ends[1]-hosts)/x.a
				if a != b {
					between[[2]int{min(a, b), max(a, b)}]++
					global[l.Ends[0]]++
					global[l.Ends[1]]++
				}
			}
			if len(between) != x.g*(x.g-1)/2 {
				t.Errorf("%d pairs of groups are joined", len(between))
			}
			for pair, k := range between {
				if k != x.sets {
					t.Errorf("groups %v have %d links, want %d", pair, k, x.sets)
				}
			}
			for s, k := range global {
				if k > x.h {
					t.Errorf("%s has %d links to other groups, more than %d", n.Nodes[s].Name, k, x.h)
				}
			}
			r, longest := n.Routes(), 0
			for h := range hosts {
				longest = max(longest, r.CountHops(0, h)-2)
			}
			if longest > 3 || x.g > 2 && x.a > 2 && longest != 3 {
				t.Errorf("the longest path has %d links between switches", longest)
			}
		})
	}
	if _, err := build(t, "dragonfly", map[string]any{"groups": 10, "switches": 4, "hosts": 1, "globals": 2,
		"rate": "1Gbps", "delay": "1us"}); err == nil || !strings.Contains(err.Error(), "8 links leave a group") {
		t.Errorf("too few links between groups: %v", err)
	}
}

// TestNICs checks that NICs have numbers and addresses of their own, and that routes lead to each.
func TestNICs(t *testing.T) {
	n := &Network{Nodes: []Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}, {Name: "z", Switch: true},
		{Name: "c"}}}
	for _, ends := range [][2]int{{0, 1}, {0, 3}, {1, 2}, {3, 4}, {2, 3}, {0, 1}} {
		n.Links = append(n.Links, Link{Ends: ends, Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: 1})
	}
	n.numberBundles()
	if err := n.Validate(); err != nil {
		t.Fatal(err)
	}
	x := n.NICs()
	if x.Len() != 8 || x.CountOf(0) != 3 || x.CountOf(2) != 2 || x.CountOf(4) != 1 || !x.HasSeveral() {
		t.Fatalf("%d numbers, %d, %d and %d NICs", x.Len(), x.CountOf(0), x.CountOf(2), x.CountOf(4))
	}
	for nic, want := range [][2]int{{0, 0}, {1, 0}, {2, 0}, {3, 0}, {4, 0}, {0, 1}, {0, 2}, {2, 1}} {
		if node, port := x.HostOf(nic), x.PortOf(nic); node != want[0] || port != want[1] || x.NumberOf(node, port) != nic {
			t.Errorf("NIC %d is port %d of node %d, want %v", nic, port, node, want)
		}
	}
	if got := n.Addresses().Len(); got != 9 {
		t.Errorf("%d addresses, with that of nobody", got)
	}
	r := n.Routes()
	for nic, want := range map[int][2][]packet.PortID{ // ports of s and of z
		0: {{0}, nil}, 5: {nil, {0}}, 6: {{2}, nil}, 2: {{1}, nil}, 7: {nil, {2}}, 4: {nil, {1}},
	} {
		for i, sw := range []int{1, 3} {
			if got := r.PathsFrom(sw).PortsTo(packet.Addr(nic + 1)); !slices.Equal(got, want[i]) {
				t.Errorf("%s to NIC %d: ports %v, want %v", n.Nodes[sw].Name, nic, got, want[i])
			}
		}
	}
	if got := n.PortName(5, 0) + " " + n.PortName(0, 0); got != "a->s~2 a->s" {
		t.Errorf("links side by side are %s", got)
	}
	// To b over s, by two NICs of a, or over z.
	if pairs, hops := r.findNearest(0, 2); hops != 2 || !slices.Equal(pairs, []NICPair{{0, 2}, {5, 7}, {6, 2}}) {
		t.Errorf("nearest: %v, %d", pairs, hops)
	}
	if links, ok := r.FindPath(5, 7); !ok || !slices.Equal(links, []int{1, 4}) {
		t.Errorf("path %v", links)
	}
	if _, ok := r.FindPath(5, 2); ok {
		t.Error("there is a path between s and z")
	}
}

// TestNICSelector_ChoosesByGivenMethod checks each choice. A hash spreads flows over the nearest pairs, and in turn is
// exactly even. Both NICs of a pair have the same number. A named NIC is taken, and an impossible one is an error.
func TestNICSelector_ChoosesByGivenMethod(t *testing.T) {
	n, err := build(t, "rails", map[string]any{"servers": 2, "gpus": 2, "spines": 1, "planes": 4, "rate": "100Gbps",
		"delay": "1us"})
	if err != nil {
		t.Fatal(err)
	}
	r := n.Routes()
	x := r.NICs()
	counts := func(how NICChoice, port, to int) (ports [5]int) {
		c := r.NewNICSelector()
		for i := range 4000 {
			p, err := c.ChoosePair(how, port, 0, to, uint32(i))
			if err != nil {
				t.Fatal(err)
			}
			if x.HostOf(p.From) != 0 || x.HostOf(p.To) != to || x.PortOf(p.From) != x.PortOf(p.To) {
				t.Fatalf("%s: %v", how, p)
			}
			ports[x.PortOf(p.From)]++
		}
		return ports
	}
	hashed := counts(Hashed, -1, 2)
	for _, k := range hashed[:4] {
		if k < 880 || k > 1120 { // five standard deviations of a fair draw
			t.Errorf("by hash: %d of 4000 flows", k)
		}
	}
	if got := counts(RoundRobin, -1, 2); got != [5]int{1000, 1000, 1000, 1000, 0} {
		t.Errorf("in turn: %v", got)
	}
	if got := counts(Hashed, -1, 1); got != [5]int{4: 4000} {
		t.Errorf("in the server: %v", got)
	}
	if got := counts(Hashed, 2, 1); got != [5]int{2: 4000} {
		t.Errorf("named: %v", got)
	}
	c := r.NewNICSelector()
	for port, want := range map[int]string{5: "h0 has 5 NICs, and NIC 5 is asked for",
		4: "no path leads from NIC 4 of h0 to h2"} {
		if _, err := c.ChoosePair(Hashed, port, 0, 2, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("NIC %d: %v", port, err)
		}
	}
	again := r.NewNICSelector()
	for i := range 100 {
		a, _ := r.NewNICSelector().ChoosePair(Hashed, -1, 0, 2, uint32(i))
		b, _ := again.ChoosePair(Hashed, -1, 0, 2, uint32(i))
		if a != b {
			t.Fatal("the same flow has two NICs")
		}
	}
}
