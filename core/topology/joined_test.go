package topology

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"weir/core/unit"
)

// wired returns a network of hosts, named by lower-case letters, and switches, by upper-case ones. A word such as "aX"
// is a link; a host's links are its NICs, in their order.
func wired(links ...string) *Network {
	n := &Network{}
	node := map[byte]int{}
	for _, text := range links {
		var l Link
		for e := range 2 {
			c := text[e]
			if _, known := node[c]; !known {
				node[c] = len(n.Nodes)
				n.Nodes = append(n.Nodes, Node{string(c), c < 'a'})
			}
			l.Ends[e] = node[c]
		}
		l.Rate = unit.LinkRate{Bits: unit.Gbps}
		n.Links = append(n.Links, l)
	}
	n.numberBundles()
	return n
}

// mixedNetwork returns a random network. Its hosts have up to four links each, to switches and to other hosts, some of
// them parallel.
func mixedNetwork(r *rand.Rand) *Network {
	n := &Network{}
	switches, hosts := r.IntN(5), 2+r.IntN(6)
	for i := range switches + hosts {
		n.Nodes = append(n.Nodes, Node{fmt.Sprint("n", i), i < switches})
	}
	degree := make([]int, switches+hosts)
	for range r.IntN(4 * (switches + hosts)) {
		a, b := r.IntN(switches+hosts), r.IntN(switches+hosts)
		full := a >= switches && degree[a] == 4 || b >= switches && degree[b] == 4
		for range 1 + r.IntN(8)/7 { // at times a bundle
			if a != b && !full {
				n.Links = append(n.Links, Link{Ends: [2]int{a, b}, Rate: unit.LinkRate{Bits: unit.Gbps}})
				degree[a]++
				degree[b]++
			}
		}
	}
	n.numberBundles()
	return n
}

// end is a host's link, which is its NIC, or a switch with −1.
type end struct{ node, link int }

// distances returns the number of links from a NIC of a host to every NIC, by a breadth-first search over ends of
// links. It does not use Routes or NICs.
func distances(n *Network, from end) map[end]int {
	across := func(node, link int) end {
		e := n.Links[link].Ends
		other := e[0] + e[1] - node
		if n.Nodes[other].Switch {
			link = -1
		}
		return end{other, link}
	}
	first := across(from.node, from.link)
	found := map[end]int{first: 1}
	for queue := []end{first}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		if at.link >= 0 { // a host, which does not forward
			continue
		}
		for i, l := range n.Links {
			if l.Ends[0] != at.node && l.Ends[1] != at.node {
				continue
			}
			if next := across(at.node, i); found[next] == 0 && next != from {
				found[next] = found[at] + 1
				queue = append(queue, next)
			}
		}
	}
	return found
}

// hostEnds returns the hosts, and the links that are the NICs of each.
func hostEnds(n *Network) (hosts []int, ends map[int][]end) {
	ends = map[int][]end{}
	for node := range n.Nodes {
		if n.Nodes[node].Switch {
			continue
		}
		hosts = append(hosts, node)
		for i, l := range n.Links {
			if l.Ends[0] == node || l.Ends[1] == node {
				ends[node] = append(ends[node], end{node, i})
			}
		}
	}
	return hosts, ends
}

// checkPath follows a path link by link from a NIC of one host to a NIC of another.
func checkPath(n *Network, from, to end, links []int) error {
	at := from.node
	for i, l := range links {
		e := n.Links[l].Ends
		switch {
		case e[0] != at && e[1] != at:
			return fmt.Errorf("link %d is not at %s", l, n.Nodes[at].Name)
		case i > 0 && !n.Nodes[at].Switch:
			return fmt.Errorf("host %s forwards", n.Nodes[at].Name)
		}
		at = e[0] + e[1] - at
	}
	switch {
	case len(links) > 0 && links[0] != from.link:
		return fmt.Errorf("it begins with link %d and not with the NIC's %d", links[0], from.link)
	case at != to.node || links[len(links)-1] != to.link:
		return fmt.Errorf("it ends with link %d at %s and not with the NIC's %d", links[len(links)-1], n.Nodes[at].Name,
			to.link)
	}
	return nil
}

// TestPathsEndAtNICs checks that in random networks of hosts with several links, also to each other, paths between NICs
// agree with a search by links. CountHops, FindPath and FindPathByNumber have its length and end at the NIC.
// NearestPair is the nearest pair, and AreJoined, ShareGroup and FindUnjoined agree with it.
func TestPathsEndAtNICs(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 39))
	direct, apart := 0, 0
	for range 400 {
		n := mixedNetwork(r)
		routes := n.Routes()
		x := routes.NICs()
		hosts, ends := hostEnds(n)
		nearest := map[[2]int]int{}
		for _, a := range hosts {
			for i, from := range ends[a] {
				found := distances(n, from)
				for _, b := range hosts {
					for k, to := range ends[b] {
						if a == b {
							continue
						}
						want, joined := found[to]
						if !joined {
							want = -1
						} else if best, known := nearest[[2]int{a, b}]; !known || want < best {
							nearest[[2]int{a, b}] = want
						}
						checkNICs(t, n, routes, [2]int{x.NumberOf(a, i), x.NumberOf(b, k)}, [2]end{from, to}, want)
						if want == 1 {
							direct++
						}
					}
				}
			}
		}
		apart += checkHosts(t, n, routes, hosts, nearest)
	}
	if direct < 1000 || apart < 1000 {
		t.Errorf("%d pairs of NICs have a direct link, and %d pairs of hosts no path: the networks try too little", direct,
			apart)
	}
}

// checkNICs compares the paths between two NICs with their distance; −1: there is no path.
func checkNICs(t *testing.T, n *Network, routes *Routes, nics [2]int, ends [2]end, want int) {
	t.Helper()
	fail := func(what string, got any) {
		t.Helper()
		t.Fatalf("from %v to %v (%d links): %s %v in %+v", ends[0], ends[1], want, what, got, n)
	}
	if hops := routes.CountHops(nics[0], nics[1]); hops != want {
		fail("Hops", hops)
	}
	links, ok := routes.FindPath(nics[0], nics[1])
	paths := [][]int{links}
	for number := range uint32(8) {
		paths = append(paths, routes.FindPathByNumber(nics[0], nics[1], number))
	}
	if ok != (want >= 0) {
		fail("Path", ok)
	}
	for _, links := range paths {
		if want < 0 {
			if links != nil {
				fail("part of a path", links)
			}
			continue
		}
		if len(links) != want {
			fail("path", links)
		}
		if err := checkPath(n, ends[0], ends[1], links); err != nil {
			fail("path", err)
		}
	}
}

// checkHosts compares the routes between pairs of hosts with the distances of their nearest NICs. It returns the number
// of pairs without a path.
func checkHosts(t *testing.T, n *Network, routes *Routes, hosts []int, nearest map[[2]int]int) (apart int) {
	t.Helper()
	c := routes.NewNICSelector()
	for _, a := range hosts {
		for _, b := range hosts {
			if a == b {
				continue
			}
			want, joined := nearest[[2]int{a, b}]
			near, ok := routes.NearestPair(a, b)
			if ok != joined || routes.AreJoined(a, b) != joined || ok && routes.CountHops(near.From, near.To) != want {
				t.Fatalf("from %d to %d: near %v (%v), joined %v, want %d (%v) in %+v", a, b, near, ok, routes.AreJoined(a, b),
					want, joined, n)
			}
			if !joined {
				apart++
			}
			for number := range uint32(4) {
				for _, how := range Choices() {
					p, err := c.ChoosePair(how, -1, a, b, number)
					if (err == nil) != joined || joined && routes.CountHops(p.From, p.To) < 1 {
						t.Fatalf("%s from %d to %d: %v, %v in %+v", how, a, b, p, err, n)
					}
				}
				p, _, err := c.PairOfTurn(int(number), a, b)
				if (err == nil) != joined || joined && routes.CountHops(p.From, p.To) != want {
					t.Fatalf("turn %d from %d to %d: %v, %v in %+v", number, a, b, p, err, n)
				}
			}
		}
	}
	from, to, found := routes.FindUnjoined(hosts, hosts)
	switch {
	case found != (apart > 0), found && routes.ShareGroup(hosts):
		t.Fatalf("%d pairs without a path, found %v, common %v in %+v", apart, found, routes.ShareGroup(hosts), n)
	case !found:
		return apart
	}
	for _, a := range hosts {
		for _, b := range hosts {
			if _, joined := nearest[[2]int{a, b}]; a != b && !joined {
				if from != a || to != b {
					t.Fatalf("%d to %d is the first pair without a path, not %d to %d in %+v", a, b, from, to, n)
				}
				return apart
			}
		}
	}
	return apart
}

// TestRoutes_AreJoinedByOwnLinks checks that each pair of hosts has a path by its own links, independent of other
// pairs.
func TestRoutes_AreJoinedByOwnLinks(t *testing.T) {
	for _, x := range []struct {
		name   string
		links  []string
		joined string // pairs of hosts, in their order
		common bool
	}{
		{"a ring of direct links", []string{"ab", "bc", "cd", "da"}, "ab ad ba bc cb cd da dc", false},
		{"a line", []string{"ab", "bc"}, "ab ba bc cb", false},
		{"a bundle", []string{"ab", "ab", "ab"}, "ab ba", false},
		{"one has another link", []string{"ab", "Xb"}, "ab ba", false},
		{"beside a switch", []string{"ab", "Xb", "Xa"}, "ab ba", true},
		{"two planes, one host at both", []string{"aX", "bX", "bY", "cY"}, "ab ba bc cb", false},
		{"two planes that meet", []string{"aX", "bX", "bY", "cY", "XY"}, "ab ac ba bc ca cb", true},
		{"a star of direct links", []string{"ab", "ac", "ad"}, "ab ac ad ba ca da", false},
		{"a mesh", []string{"ab", "bc", "ca"}, "ab ac ba bc ca cb", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			n := wired(x.links...)
			r := n.Routes()
			hosts, _ := hostEnds(n)
			slices.SortFunc(hosts, func(a, b int) int { return strings.Compare(n.Nodes[a].Name, n.Nodes[b].Name) })
			var got []string
			for _, a := range hosts {
				for _, b := range hosts {
					if a != b && r.AreJoined(a, b) {
						got = append(got, n.Nodes[a].Name+n.Nodes[b].Name)
					}
				}
			}
			if text := strings.Join(got, " "); text != x.joined || r.ShareGroup(hosts) != x.common {
				t.Errorf("joined are %s (common %v), want %s (%v)", text, r.ShareGroup(hosts), x.joined, x.common)
			}
		})
	}
}

// TestDirectLinks checks that a flow takes the NICs over the switch when its direct link is down. By a named NIC it
// arrives where that NIC leads. Flows by rail use both pairs equally.
func TestDirectLinks(t *testing.T) {
	n := wired("ab", "Xb", "Xa") // NICs: a by 0, a's second at X; b by 1, b's second at X
	r := n.Routes()
	x := r.NICs()
	a, b := 0, 1
	direct := NICPair{x.NumberOf(a, 0), x.NumberOf(b, 0)}
	over := NICPair{x.NumberOf(a, 1), x.NumberOf(b, 1)}
	c := r.NewNICSelector()
	for number := range uint32(20) {
		if p, err := c.ChoosePair(Hashed, -1, a, b, number); err != nil || p != direct {
			t.Fatalf("flow %d: %v, %v", number, p, err)
		}
		p, err := c.ChooseUpPair(Hashed, -1, a, b, number, func(nic int) bool {
			return nic != direct.From &&
				nic != direct.To
		})
		if err != nil || p != over {
			t.Fatalf("flow %d, with the direct link down: %v, %v", number, p, err)
		}
		if p := c.Reroute(Hashed, direct, number, func(nic int) bool { return nic != direct.From }); p != over {
			t.Fatalf("flow %d, away: %v", number, p)
		}
	}
	for port, want := range []NICPair{direct, over} {
		if p, err := c.ChoosePair(Hashed, port, a, b, 0); err != nil || p != want {
			t.Errorf("NIC %d: %v, %v", port, p, err)
		}
	}
	rails := map[NICPair]int{}
	for number := range uint32(20) {
		p, err := c.ChoosePair(Rail, -1, a, b, number)
		if err != nil {
			t.Fatal(err)
		}
		rails[p]++
	}
	if rails[direct] != 10 || rails[over] != 10 {
		t.Errorf("rails: %v", rails)
	}
}
