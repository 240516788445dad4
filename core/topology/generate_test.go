package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// build returns a network of a family; a parameter that is not given has its default.
func build(t *testing.T, name string, given map[string]any) (*Network, error) {
	t.Helper()
	for _, s := range Schemes() {
		if s.Name != name {
			continue
		}
		var text []string
		for k, x := range given {
			text = append(text, k, fmt.Sprint(x))
		}
		c, err := s.Configure(text...)
		if err != nil {
			return nil, err
		}
		n, err := s.Build(c)
		if err == nil {
			if err := n.Validate(); err != nil {
				t.Errorf("%s %v: %v", name, given, err)
			}
		}
		return n, err
	}
	t.Fatalf("no family %s", name)
	return nil, nil
}

// shape counts hosts, switches and links, and the hosts at each distance in links from the first host.
func shape(n *Network) string {
	hosts, switches := 0, 0
	for _, x := range n.Nodes {
		if x.Switch {
			switches++
		} else {
			hosts++
		}
	}
	first := 0
	for n.Nodes[first].Switch {
		first++
	}
	ports := n.Ports()
	far := map[int]int{first: 0}
	queue := []int{first}
	count := map[int]int{}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		if !n.Nodes[at].Switch {
			count[far[at]]++
			if at != first {
				continue
			}
		}
		for _, r := range ports[at] {
			next := n.Links[r.Link].Ends[1-r.End]
			if _, seen := far[next]; !seen {
				far[next] = far[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return fmt.Sprintf("%d hosts, %d switches, %d links, paths %v", hosts, switches, len(n.Links), count)
}

// TestSchemes_MatchFamilySizes checks sizes and distances of every family: Al-Fares et al. §3 for the fat tree.
func TestSchemes_MatchFamilySizes(t *testing.T) {
	rate := unit.Rate(100) * unit.Gbps
	for _, c := range []struct {
		name  string
		given map[string]any
		want  string
	}{
		{"dumbbell", map[string]any{"hosts": 3, "bottleneck": unit.Gbps},
			"6 hosts, 2 switches, 7 links, paths map[0:1 2:2 3:3]"},
		{"parking_lot", map[string]any{"hops": 3, "hosts": 2, "bottleneck": unit.Gbps},
			"8 hosts, 4 switches, 11 links, paths map[0:1 2:1 3:2 4:2 5:2]"},
		// HPCC §5.1: 320 hosts, 20 ToR, 20 Agg, 16 Core; a ToR has 16 hosts and 4
		// uplinks, so 15 hosts are below the same, 48 in the same pod, 256 elsewhere
		{"pods", map[string]any{"pods": 5, "tors": 4, "aggs": 4, "hosts": 16, "uplinks": 4, "fabric": 400 * unit.Gbps},
			"320 hosts, 56 switches, 480 links, paths map[0:1 2:15 4:48 6:256]"},
		{"pods", map[string]any{"pods": 2, "tors": 3, "aggs": 2, "hosts": 1, "uplinks": 1},
			"6 hosts, 12 switches, 22 links, paths map[0:1 4:2 6:3]"},
		{"star", map[string]any{"hosts": 17}, "17 hosts, 1 switches, 17 links, paths map[0:1 2:16]"},
		{"leaf_spine", map[string]any{"leaves": 4, "spines": 2, "hosts": 8},
			"32 hosts, 6 switches, 40 links, paths map[0:1 2:7 4:24]"},
		{"fat_tree", map[string]any{"k": 4}, "16 hosts, 20 switches, 48 links, paths map[0:1 2:1 4:2 6:12]"},
		{"fat_tree", map[string]any{"k": 8}, "128 hosts, 80 switches, 384 links, paths map[0:1 2:3 4:12 6:112]"},
		{"fat_tree", map[string]any{"k": 8, "oversubscription": 4},
			"512 hosts, 80 switches, 768 links, paths map[0:1 2:15 4:48 6:448]"},
		{"fat_tree", map[string]any{"k": 8, "tiers": 2}, "32 hosts, 12 switches, 64 links, paths map[0:1 2:3 4:28]"},
	} {
		t.Run(c.name+", "+c.want, func(t *testing.T) {
			c.given["rate"], c.given["delay"] = rate, unit.Microsecond
			n, err := build(t, c.name, c.given)
			if err != nil {
				t.Fatal(err)
			}
			if got := shape(n); got != c.want {
				t.Errorf("%s %v:\n%s, want\n%s", c.name, c.given, got, c.want)
			}
		})
	}
	n, err := build(t, "leaf_spine", map[string]any{"leaves": 2, "spines": 2, "hosts": 1, "rate": rate,
		"delay": unit.Microsecond, "uplink": 2 * unit.Gbps, "slow": unit.Gbps})
	if err != nil {
		t.Fatal(err)
	}
	var rates []unit.Rate
	for _, l := range n.Links {
		rates = append(rates, l.Rate.Bits/unit.Gbps)
	}
	if want := []unit.Rate{100, 100, 1, 2, 2, 2}; !slices.Equal(rates, want) {
		t.Errorf("one slow link: rates of %v Gb/s, want %v", rates, want)
	}
	if _, err := build(t, "fat_tree", map[string]any{"k": 5, "rate": rate, "delay": unit.Microsecond}); err == nil ||
		!strings.Contains(err.Error(), "even") {
		t.Errorf("k = 5: %v", err)
	}
	if _, err := build(t, "leaf_spine", map[string]any{"leaves": 10000, "spines": 1, "hosts": 10000,
		"rate": rate, "delay": unit.Microsecond}); err == nil {
		t.Error("1e8 hosts are taken")
	}
	if _, err := build(t, "leaf_spine", map[string]any{"leaves": 10000, "spines": 10000, "hosts": 1,
		"rate": rate, "delay": unit.Microsecond}); err == nil {
		t.Error("1e8 links are taken")
	}
}

// TestFatTreeIsThatOfTheFile checks that the fat tree equals the benchmark's file, up to names: as many ports by node
// and as many equal paths between hosts.
func TestFatTreeIsThatOfTheFile(t *testing.T) {
	f, err := os.Open(filepath.FromSlash("../../study/bench/experiments/fat_k8_100g_1us.topo.txt"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := ReadHPCC(f, "fat_k8")
	if err != nil {
		t.Fatal(err)
	}
	n, _ := build(t, "fat_tree", map[string]any{"k": 8, "rate": 100 * unit.Gbps, "delay": unit.Microsecond})
	if shape(n) != shape(want) {
		t.Errorf("%s, the file has %s", shape(n), shape(want))
	}
	equal := func(n *Network) map[int]int { // number of routes by number of equal ports
		count := map[int]int{}
		routes := n.Routes()
		for i := range n.Nodes {
			for host, node := range n.Nodes {
				if to := routes.PathsFrom(i).PortsTo(packet.Addr(host + 1)); !node.Switch && len(to) > 0 {
					count[len(to)]++
				}
			}
		}
		return count
	}
	if a, b := fmt.Sprint(equal(n)), fmt.Sprint(equal(want)); a != b {
		t.Errorf("routes by equal ports: %s, the file has %s", a, b)
	}
}

const leafSpineTiny = `# a comment
Nodes 32
Tiers 2
Podsize 32

Tier 0
Downlink_speed_Gbps 100
Radix_Down 8
Radix_Up 2
Downlink_Latency_ns 1000
Oversubscribed 4
Tier 1
Downlink_speed_Gbps 100
Radix_Down 4
Downlink_Latency_ns 2000
Switch_Latency_ns 0
`

const threeTiers = `Nodes 16
Tiers 3
Podsize 4
Tier 0
Downlink_speed_Gbps 10
Radix_Down 2
Radix_Up 2
Tier 1
Downlink_speed_Gbps 10
Radix_Down 2
Radix_Up 2
Bundle 1
Tier 2
Downlink_speed_Gbps 40
Radix_Down 4
`

func TestReadHTSim(t *testing.T) {
	n, err := readHTSim(strings.NewReader(leafSpineTiny), "t.topo")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := shape(n), "32 hosts, 6 switches, 40 links, paths map[0:1 2:7 4:24]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if l := n.Links[39]; l.Rate.Bits != 100*unit.Gbps || l.Delay != 2*unit.Microsecond ||
		n.Links[0].Delay != unit.Microsecond {
		t.Errorf("links %+v", l)
	}
	n, err = readHTSim(strings.NewReader(threeTiers), "t.topo")
	if err != nil || n.Validate() != nil {
		t.Fatal(err)
	}
	if got, want := shape(n), "16 hosts, 20 switches, 48 links, paths map[0:1 2:1 4:2 6:12]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, c := range []struct{ from, to, want string }{
		{"Nodes 32", "Nodes x", "t.topo:2:7: Nodes is \"x\""},
		{"Tiers 2", "Tiers 4", "t.topo:3:7: Tiers is 4; allowed: 2 or 3"},
		{"Tier 1\n", "Tier 2\n", "t.topo:12:6: tier 2; the next one is 1"},
		{"Radix_Down 8", "Radix_Down 5", "t.topo:6:1: tier 0: 5 × 100"},
		{"Radix_Down 4\n", "Radix_Down 3\n", "t.topo:12:1: the highest tier has 3 ports down; there are 4"},
		{"Switch_Latency_ns 0", "Switch_Latency_ns 5", "t.topo:16:19: a switch latency"},
		{"Switch_Latency_ns 0", "Queue_Up 5", "t.topo:16:1: unknown key \"Queue_Up\""},
		{"Podsize 32", "Podsize", "t.topo:4:8: the line ends"},
		{"Radix_Up 2\n", "", "t.topo:6:1: tier 0 lacks Radix_Up"},
		{"Tier 1\n", "Bundle 2\nTier 1\n", "t.topo:12:8: a bundle of 2 links to each node; only 1 is possible"},
		{"Radix_Down 4\n", "Bundle 2\nRadix_Down 4\n", "there are 4 switches below, in bundles of 2"},
		{"Radix_Down 4\n", "Bundle 3\nRadix_Down 12\n", "2 links up of each switch below are not in bundles of 3"},
		{"Radix_Down 4\n", "Bundle 0\nRadix_Down 4\n", "a bundle of 0 links; allowed: 1 to 1024"},
		{"Downlink_speed_Gbps 100\n", "Downlink_speed_Gbps 12.5\n", "t.topo:7:21: Downlink_speed_Gbps is \"12.5\"; a whole " +
			"number from 0 to 1048576 is allowed"},
		{"Radix_Up 2\n", "Radix_Up 2\nRadix_Up 2\n", "t.topo:10:1: \"Radix_Up\" is given twice"},
		{leafSpineTiny[strings.Index(leafSpineTiny, "Tier 1\n"):], "", "t.topo:11:17: the file ends after 1 of 2 tiers"},
	} {
		t.Run(fmt.Sprintf("%.19s to %s", c.from, c.to), func(t *testing.T) {
			_, err := readHTSim(strings.NewReader(strings.Replace(leafSpineTiny, c.from, c.to, 1)), "t.topo")
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%q → %q: %v, want %s", c.from[:min(20, len(c.from))], c.to, err, c.want)
			}
		})
	}
}

// TestHTSimBundles checks that a bundle has parallel links, as radices count them, to half as many switches above. All
// of them are paths.
func TestHTSimBundles(t *testing.T) {
	n, err := readHTSim(strings.NewReader(strings.NewReplacer("Radix_Down 2\nRadix_Up 2\nBundle 1",
		"Radix_Down 4\nRadix_Up 4\nBundle 2", "Downlink_speed_Gbps 40\nRadix_Down 4",
		"Downlink_speed_Gbps 40\nRadix_Down 8\nBundle 2").Replace(threeTiers)), "t.topo")
	if err != nil || n.Validate() != nil {
		t.Fatal(err)
	}
	// 8 tors, each with 1 agg of its pod in 2 links; 4 aggs, each with 2 cores in 2 links
	if got, want := shape(n), "16 hosts, 14 switches, 48 links, paths map[0:1 2:1 4:2 6:12]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	second := 0
	for _, l := range n.Links {
		if l.Nth == 1 {
			second++
		}
	}
	if second != 16 {
		t.Errorf("%d links are the second of two", second)
	}
	if got := fmt.Sprint(n.Routes().PathsFrom(16).Sets); !strings.Contains(got, "[2 3]") {
		t.Errorf("the two ports of a tor to its agg are no paths beside each other: %s", got)
	}
}

// FuzzReadHTSim checks that any .topo file gives a valid network or an error with its place.
func FuzzReadHTSim(f *testing.F) {
	f.Add(leafSpineTiny)
	f.Add(threeTiers)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 2000 || strings.Contains(text, "0000") {
			return // large networks take long
		}
		n, err := readHTSim(strings.NewReader(text), "f.topo")
		if err != nil {
			if _, ok := err.(*FormatError); !ok {
				t.Errorf("%T: %v", err, err)
			}
			return
		}
		if len(n.Nodes) < 5000 {
			if err := n.Validate(); err != nil {
				t.Errorf("%v\n%s", err, text)
			}
		}
	})
}

func ExampleSchemes() {
	for _, s := range Schemes() {
		fmt.Println(s.Name, "–", s.Doc)
	}
	// Output:
	// dragonfly – groups of switches with all links within a group and links between all groups; shortest paths
	// dumbbell – hosts on both sides of one bottleneck link
	// fat_tree – k-ary fat tree of two or three tiers
	// leaf_spine – leaf switches with hosts, each linked to every spine switch
	// parking_lot – a chain of bottleneck links; each switch has hosts
	// pods – three tiers of any size: pods of tor and agg switches below core switches, as in HPCC's network of 320 hosts
	// rails – servers of several GPUs, each a host; one leaf switch per rail or per server
	// star – hosts around one switch
	// torus – switches in a grid of up to three dimensions whose lines are closed to rings; shortest paths
}
