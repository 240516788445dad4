package topology

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"weir/core/packet"
	"weir/core/unit"
)

// hpccTree is the topology of the HPCC paper's simulations in its file format
// (SIGCOMM 2019 §5.1): 320 servers (0 … 319) of 100 Gb/s, 16 to a rack; 20 ToR
// switches (320 …) and 20 aggregation switches (340 …) in five pods, 16 cores
// (360 …); links of 400 Gb/s between switches, 1 us everywhere.
func hpccTree() string {
	var b strings.Builder
	b.WriteString("376 56 480\n")
	for id := 320; id < 376; id++ {
		fmt.Fprintf(&b, "%d ", id)
	}
	b.WriteByte('\n')
	link := func(a, c int, rate string) { fmt.Fprintf(&b, "%d %d %s 1000ns 0.000000\n", a, c, rate) }
	for host := range 320 {
		link(host, 320+host/16, "100Gbps")
	}
	for pod := range 5 {
		for i := range 4 {
			for k := range 4 {
				link(320+4*pod+i, 340+4*pod+k, "400Gbps")
				link(340+4*pod+i, 360+4*i+k, "400Gbps")
			}
		}
	}
	return b.String()
}

func mustRead(t testing.TB, text string) *Network {
	t.Helper()
	n, err := ReadHPCC(strings.NewReader(text), "net.txt")
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReadHPCCPaperTree checks the counts of the HPCC paper's topology, and its longest base RTT for 1000 B packets as
// that simulator computes it (both directions' delays, one direction's transmissions): 12240 ns.
func TestReadHPCCPaperTree(t *testing.T) {
	n := mustRead(t, hpccTree())
	if len(n.Nodes) != 376 || len(n.Links) != 480 || n.Nodes[319].Name != "h319" || n.Nodes[320] != (Node{"s320", true}) {
		t.Fatalf("%d nodes, %d links, %v, %v", len(n.Nodes), len(n.Links), n.Nodes[319], n.Nodes[320])
	}
	degrees := map[int]int{}
	for i, p := range n.Ports() {
		if n.Nodes[i].Switch {
			degrees[len(p)]++
		} else if len(p) != 1 {
			t.Errorf("host %d has %d ports", i, len(p))
		}
	}
	if want := map[int]int{20: 20, 8: 20, 5: 16}; !reflect.DeepEqual(degrees, want) { // ToR: 16 hosts + 4 uplinks
		t.Errorf("switches by ports: %v, want %v", degrees, want)
	}
	// From host 0 to host 319 by the first route of every switch.
	routes, ports := n.Routes(), n.Ports()
	at, rtt, hops := 320, 2*n.Links[0].Delay+unit.TransmitTime(1000, n.Links[0].Rate.Bits), 1
	for at != 319 {
		p := ports[at][routes.PathsFrom(at).PortsTo(320)[0]]
		rtt += 2*n.Links[p.Link].Delay + unit.TransmitTime(1000, n.Links[p.Link].Rate.Bits)
		at = n.Links[p.Link].Ends[1-p.End]
		hops++
	}
	if rtt != 12240*unit.Nanosecond || hops != 6 || routes.CountHops(0, 319) != 6 {
		t.Errorf("base RTT %v over %d links (Hops: %d), want 12240ns over 6", rtt, hops, routes.CountHops(0, 319))
	}
	// All equal-cost ports: 4 up at a ToR, 4 up at an aggregation switch, 1 down.
	for sw, want := range map[int]int{320: 4, 340: 4, 360: 1, 352: 4, 356: 1, 339: 1} {
		t.Run(fmt.Sprint("switch ", sw), func(t *testing.T) {
			if to := routes.PathsFrom(sw).PortsTo(320); len(to) != want {
				t.Errorf("switch %d: %v, want %d ports", sw, to, want)
			}
		})
	}
}

// TestReadHPCCBenchTree checks the tree of bench/experiments: 128 hosts, 80 switches, k = 8. The 128 flows of 2 MB
// there cross it in 2,904,000 packet-hops, acknowledgements included.
func TestReadHPCCBenchTree(t *testing.T) {
	data, err := os.ReadFile("../../study/bench/experiments/fat_k8_100g_1us.topo.txt")
	if err != nil {
		t.Fatal(err)
	}
	n := mustRead(t, string(data))
	if len(n.Nodes) != 208 || len(n.Links) != 384 {
		t.Fatalf("%d nodes, %d links", len(n.Nodes), len(n.Links))
	}
	for _, l := range n.Links {
		if l.Rate != (unit.LinkRate{Bits: 100 * unit.Gbps}) || l.Delay != unit.Microsecond || l.Loss != 0 {
			t.Fatalf("%+v", l)
		}
	}
	list, err := os.Open("../../study/bench/experiments/perm128_2MB.flow")
	if err != nil {
		t.Fatal(err)
	}
	defer list.Close()
	hops, routes := 0, n.Routes()
	for line := bufio.NewScanner(list); line.Scan(); {
		var src, dst, class, port, size int
		if k, _ := fmt.Sscan(line.Text(), &src, &dst, &class, &port, &size); k == 5 {
			hops += routes.CountHops(src, dst) * size / 1000 * 2 // a packet and its acknowledgement
		}
	}
	if hops != 2_904_000 {
		t.Errorf("%d packet-hops, want 2904000", hops)
	}
	for i, node := range n.Nodes {
		for a := range packet.Addr(len(n.Nodes) + 1) {
			if to := routes.PathsFrom(i).PortsTo(a); (len(to) > 0) != (node.Switch && 1 <= a && a <= 128) {
				t.Fatalf("node %d reaches address %d by %v", i, a, to)
			}
		}
	}
}

func TestReadHPCCErrors(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "net.txt:1:1: the file ends; the number of nodes is missing"},
		{"three 1 2", `net.txt:1:1: the number of nodes is "three"`},
		{"0 0 0", "net.txt:1:1: the number of nodes"},
		{"99999999 1 1", "net.txt:1:1: the number of nodes"},
		{"3 4 2", `net.txt:1:3: the number of switches is "4"; a number from 0 to 3`},
		{"3 1 -2", "net.txt:1:5: the number of links"},
		{"3 1 2\n3", `net.txt:2:1: a switch's id is "3"; a number from 0 to 2`},
		{"3 2 2\n2 2", "net.txt:2:3: switch 2 is listed twice"},
		{"3 1 2\n2\n0 2 1Gbps 1us 0\n", "net.txt:3:16: the file ends; a link's source is missing"},
		{"3 1 2\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps", "net.txt:4:10: the file ends; a link's delay is missing"},
		{"3 1 2\n2\n0 3 1Gbps 1us 0\n", `net.txt:3:3: a link's destination is "3"`},
		{"3 1 2\n2\n0 2 1Gbps 1us 0\n\n  1 1 1Gbps 1us 0", "net.txt:5:5: the link joins node 1 to itself"},
		{"3 1 2 2\n2\n", `net.txt:1:5: the number of top-of-rack switches, of four or six numbers the third, is "2"`},
		{"3 1 1 -2\n2\n", `net.txt:1:7: the number of links is "-2"`},
		{"3 1 1 2 25000000000 x\n2\n", `net.txt:1:21: "x"`},
		{"10 8 1 1 9 H20\n8 9\n", `net.txt:1:12: "H20": this line is in SimAI's format; write "10 2 9", the numbers of ` +
			"nodes, of switches and NVSwitches, and of links"},
		{"3 1 2\n2\n0 2 0 1us 0\n", `net.txt:3:5: a link's rate is "0"; a rate above 0`},
		{"3 1 2\n2\n0 2 1.5 1us 0\n", `net.txt:3:5: a link's rate is "1.5"; a rate above 0`},
		{"3 1 2\n2\n0 2 1..0Gb/s 1us 0\n", `net.txt:3:5: a link's rate is "1..0Gb/s"`},
		{"3 1 2\n2\n0 2 0Gbps 1us 0\n", `net.txt:3:5: "0Gbps": the rate is 0; it must be above 0`},
		{"3 1 2\n2\n0 2 1Gb 1us 0\n", `net.txt:3:5: "1Gb": "Gb" is not a unit`},
		{"3 1 2\n2\n0 2 1Gbps -1us 0\n", "net.txt:3:11: "},
		{"3 1 2\n2\n0 2 1Gbps 1 0\n", "net.txt:3:11: "},
		{"3 1 2\n2\n0 2 1Gbps 1us 1\n", `net.txt:3:15: the error rate is "1"`},
		{"3 1 2\n2\n0 2 1Gbps 1us NaN\n", "net.txt:3:15: the error rate"},
		// The HPCC simulator ignores what follows the announced links; ReadHPCC returns an error and the network.
		{"3 1 1\n2\n0 2 1Gbps 1us 0\n1 2 1Gbps 1us 0\n", `net.txt:4:1: "1" follows the last entry`},
	} {
		t.Run(cmp.Or(c.text, "empty"), func(t *testing.T) {
			n, err := ReadHPCC(strings.NewReader(c.text), "net.txt")
			var e *FormatError
			if !errors.As(err, &e) || (n != nil) != e.Excess || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
			}
		})
	}
	// An unreadable file is an error at any place where reading stops.
	const text = "2 1 1\n1\n0 1 1Gbps 1us 0\n"
	for cut := range len(text) + 1 {
		r := io.MultiReader(strings.NewReader(text[:cut]), iotest.ErrReader(iotest.ErrTimeout))
		var e *FormatError
		if _, err := ReadHPCC(r, "net.txt"); !errors.As(err, &e) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// TestReadHPCCAllErrors checks that all links that are wrong are reported at once if each has a line of its own.
func TestReadHPCCAllErrors(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"3 1 2\n2\n0 2 fast 1us 0\n1 2 1Gbps slow 0\n", []string{`net.txt:3:5: "fast"`, `net.txt:4:11: "slow"`}},
		{"3 1 3\n2\n0 2 1Gbps 1us 2\n0 2 1Gbps 1us 0\n1 9 1Gbps 1us 0\n", []string{"net.txt:3:15: the error rate",
			"net.txt:5:3: a link's destination"}},
		{"3 1 2\n2\n0 2 fast 1us\n1 2 1Gbps slow 0\n", []string{`net.txt:3:5: "fast"`}},
		{"3 1 2\n2 0 2 fast 1us 0\n1 2 1Gbps slow 0\n", []string{`net.txt:2:7: "fast"`}},
	} {
		_, err := ReadHPCC(strings.NewReader(c.text), "net.txt")
		got := strings.Split(fmt.Sprint(err), "\n")
		if len(got) != len(c.want) {
			t.Fatalf("%q:\n got %v\nwant %q", c.text, err, c.want)
		}
		for i, want := range c.want {
			if !strings.HasPrefix(got[i], want) {
				t.Errorf("%q:\n got %s\nwant %s", c.text, got[i], want)
			}
		}
	}
	_, err := ReadHPCC(strings.NewReader("3 1 1000\n2\n"+strings.Repeat("0 2 fast 1us 0\n", 1000)), "net.txt")
	if n := strings.Count(fmt.Sprint(err), "\n") + 1; n != maxErrors {
		t.Errorf("%d errors of 1000 are reported", n)
	}
}

// TestReadHPCCHeaders checks the first lines of ns3-datacenter's files. They announce their top-of-rack switches
// between switches and links, and some two rates. A rate without a unit is in bit/s there, with a decimal point or
// without. The network is the same as with a first line of three numbers.
func TestReadHPCCHeaders(t *testing.T) {
	const rest = "2\n0 2 100Gbps 1us 0\n1 2 25Gbps 1us 0.5\n"
	want, err := ReadHPCC(strings.NewReader("3 1 2\n"+rest), "net.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text string }{
		{"four numbers", "3 1 1 2\n" + rest},
		{"six numbers", "3 1 1 2 25000000000 100Gbps\n" + rest},
		{"spaces", "  3 1\t1 2 \n" + rest},
		{"bits", "3 1 1 2\n2\n0 2 100000000000.0 1us 0\n1 2 25000000000 1us 0.5\n"},
		{"slashes", "3 1 2\n2\n0 2 0.1Tb/s 1us 0\n1 2 25Gb/s 1us 0.5\n"},
		{"on three lines", "3\n1\n2\n" + rest},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := ReadHPCC(strings.NewReader(c.text), "net.txt")
			if err != nil || !reflect.DeepEqual(n, want) {
				t.Errorf("%v: %+v", err, n)
			}
		})
	}
}

func TestWriteHPCC(t *testing.T) {
	n := &Network{
		Nodes: []Node{{"client", false}, {"server", false}, {"s1", true}},
		Links: []Link{
			{Ends: [2]int{0, 2}, Rate: unit.LinkRate{Bits: 100 * unit.Mbps}, Delay: 5 * unit.Millisecond},
			{Ends: [2]int{2, 1}, Rate: unit.LinkRate{Bits: 400 * unit.Gbps}, Delay: 1500 * unit.Nanosecond, Loss: .00001},
		},
	}
	var b bytes.Buffer
	if err := n.WriteHPCC(&b); err != nil {
		t.Fatal(err)
	}
	const want = "3 1 2\n2\n0 2 100Mbps 5ms 0\n2 1 400Gbps 1.5us 0.00001\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
}

func FuzzReadHPCC(f *testing.F) {
	f.Add("3 1 2\n2\n0 2 100Gbps 1000ns 0.000000\n1 2 25Gbps 0.001ms 0.01\n")
	f.Add("2 1 1\n1\n0 1 4170pps 1us 0\n")
	f.Add("376 56 480\n320 321")
	f.Add("3 1 1 2 25000000000 100Gb/s\n2\n0 2 25000000000.0 1us 0\n1 2 25Gb/s 1us 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ReadHPCC(strings.NewReader(text), "net.txt")
		if err != nil {
			var e *FormatError
			if !errors.As(err, &e) || (n != nil) != e.Excess || e.Line < 1 || e.Column < 1 {
				t.Fatalf("%v with %v", n, err)
			}
			return
		}
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := n.WriteHPCC(&b); err != nil {
			t.Fatal(err)
		}
		if again := mustRead(t, b.String()); !reflect.DeepEqual(n, again) {
			t.Fatalf("%q read as\n%v, written and read again as\n%v", text, n, again)
		}
	})
}

// randomNetwork returns up to 8 switches with random, also parallel, links, and up to 8 hosts at them. Some parts may
// be apart, some hosts without a link.
func randomNetwork(r *rand.Rand) *Network {
	n := &Network{}
	switches, hosts := 1+r.IntN(8), r.IntN(9)
	for i := range switches + hosts {
		n.Nodes = append(n.Nodes, Node{fmt.Sprint("n", i), i < switches})
	}
	add := func(a, b int) {
		l := Link{Ends: [2]int{a, b}, Rate: unit.LinkRate{Bits: unit.Gbps}}
		if r.IntN(2) == 0 {
			l.Ends = [2]int{b, a}
		}
		n.Links = append(n.Links, l)
	}
	for range r.IntN(2 * switches) {
		if a, b := r.IntN(switches), r.IntN(switches); a != b {
			add(a, b)
		}
	}
	for host := switches; host < switches+hosts; host++ {
		if r.IntN(8) > 0 {
			add(host, r.IntN(switches))
		}
	}
	r.Shuffle(len(n.Links), func(i, j int) { n.Links[i], n.Links[j] = n.Links[j], n.Links[i] })
	n.numberBundles()
	return n
}

// TestRoutesAreTheShortestPaths checks that Routes has exactly the ports that an all-pairs computation (Floyd and
// Warshall, over switches only) finds on shortest paths. CountHops and FindPath have the lengths, and of equal paths
// FindPath has the one of the lowest ports.
func TestRoutesAreTheShortestPaths(t *testing.T) {
	const far = 1 << 20
	r := rand.New(rand.NewPCG(4, 2))
	for range 500 {
		n := randomNetwork(r)
		if err := n.Validate(); err != nil {
			t.Fatal(err)
		}
		d := make([][]int, len(n.Nodes))
		for i := range d {
			d[i] = slices.Repeat([]int{far}, len(n.Nodes))
			d[i][i] = 0
		}
		for _, l := range n.Links {
			d[l.Ends[0]][l.Ends[1]], d[l.Ends[1]][l.Ends[0]] = 1, 1
		}
		for k := range d {
			if n.Nodes[k].Switch {
				for i := range d {
					for j := range d {
						d[i][j] = min(d[i][j], d[i][k]+d[k][j])
					}
				}
			}
		}
		ports, got := n.Ports(), n.Routes()
		classes := map[uint32]bool{}
		for at, node := range n.Nodes {
			for host := range n.Nodes {
				if n.Nodes[host].Switch {
					continue
				}
				want := d[at][host]
				if want == far {
					want = -1
				}
				links, ok := got.FindPath(at, host)
				if hops := got.CountHops(at, host); hops != want || ok != (want >= 0) || ok && len(links) != want {
					t.Fatalf("from %d to %d: %d hops, path %v (%v), want %d in %+v", at, host, hops, links, ok, want, n)
				}
				var by []packet.PortID
				for k, p := range ports[at] {
					next := n.Links[p.Link].Ends[1-p.End]
					if want > 0 && d[next][host] == want-1 && (next == host || n.Nodes[next].Switch) {
						by = append(by, packet.PortID(k))
					}
				}
				if len(links) > 0 && links[0] != ports[at][by[0]].Link {
					t.Fatalf("from %d to %d by link %d, want that of port %d in %+v", at, host, links[0], by[0], n)
				}
				if !node.Switch {
					by = nil // hosts have no routes
				}
				if to := got.PathsFrom(at).PortsTo(packet.Addr(host + 1)); !slices.Equal(to, by) {
					t.Fatalf("from %d to %d by ports %v, want %v in %+v", at, host, to, by, n)
				}
				if c := got.PathsFrom(at).Class; node.Switch && c[host+1] != 0 {
					classes[c[host+1]] = true
				}
			}
		}
		if len(classes) != n.CountClasses() {
			t.Fatalf("%d classes of hosts, Classes says %d in %+v", len(classes), n.CountClasses(), n)
		}
	}
}

// TestRoutes_JoinHostsWithoutSwitch checks that two hosts on one cable need no switch.
func TestRoutes_JoinHostsWithoutSwitch(t *testing.T) {
	n := &Network{Nodes: []Node{{"a", false}, {"b", false}, {"c", false}},
		Links: []Link{{Ends: [2]int{1, 0}, Rate: unit.LinkRate{Bits: 1}}}}
	r := n.Routes()
	if r.CountHops(0, 1) != 1 || r.CountHops(1, 0) != 1 || r.CountHops(0, 0) != 0 || r.CountHops(0, 2) != -1 ||
		r.CountHops(2, 0) != -1 ||
		n.CountClasses() != 0 {
		t.Errorf("hops %d, %d, %d, %d, %d, %d classes", r.CountHops(0, 1), r.CountHops(1, 0), r.CountHops(0, 0),
			r.CountHops(0, 2), r.CountHops(2, 0),
			n.CountClasses())
	}
}

// TestNetwork_AddressesAreUnique checks that node i has Addr i+1, 10.0.0.0 + i+1 and fd00:: + i+1, all different.
func TestNetwork_AddressesAreUnique(t *testing.T) {
	n := &Network{Nodes: make([]Node, 70000)}
	book := n.Addresses()
	if book.Len() != 70001 {
		t.Fatalf("%d numbers", book.Len())
	}
	for i, want := range map[int][2]string{
		0: {"10.0.0.1", "fd00::1"}, 254: {"10.0.0.255", "fd00::ff"}, 255: {"10.0.1.0", "fd00::100"}, 69999: {"10.1.17.112",
			"fd00::1:1170"},
	} {
		t.Run(fmt.Sprint("node ", i), func(t *testing.T) {
			a := packet.Addr(i + 1)
			if v4, v6 := book.V4(a), book.V6(a); v4 != netip.MustParseAddr(want[0]) || v6 != netip.MustParseAddr(want[1]) {
				t.Errorf("node %d: %v, %v, want %v", i, v4, v6, want)
			}
		})
	}
	for a := packet.Addr(1); int(a) < book.Len(); a++ {
		if book.Lookup(book.V4(a)) != a || book.Lookup(book.V6(a)) != a {
			t.Fatalf("address %d is not its own", a)
		}
	}
}

func TestNetwork_ValidateRejectsBadNetworks(t *testing.T) {
	base := func() *Network {
		rate := unit.LinkRate{Bits: unit.Gbps}
		return &Network{
			Nodes: []Node{{"a", false}, {"b", false}, {"s", true}},
			Links: []Link{{Ends: [2]int{0, 2}, Rate: rate}, {Ends: [2]int{2, 1}, Rate: rate}},
		}
	}
	if err := base().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, change := range map[string]func(n *Network){
		"two nodes are named a":              func(n *Network) { n.Nodes[1].Name = "a" },
		"link 1 ends at node 3; there are 3": func(n *Network) { n.Links[1].Ends[0] = 3 },
		"ends at node -1":                    func(n *Network) { n.Links[1].Ends[1] = -1 },
		"link 0 joins s to itself":           func(n *Network) { n.Links[0].Ends[0] = 2 },
		"link 1 (s->b) needs a rate above 0": func(n *Network) { n.Links[1].Rate = unit.LinkRate{} },
		"link 0 (a->s) needs a rate above 0": func(n *Network) { n.Links[0].Rate.Packets = 5 },
		"delay -1":                           func(n *Network) { n.Links[0].Delay = -1 },
		"jitter -1":                          func(n *Network) { n.Links[0].Jitter = -1 },
		"loss 1;":                            func(n *Network) { n.Links[0].Loss = 1 },
		"two links are named a->s":           func(n *Network) { n.Links = append(n.Links, n.Links[0]) },
		"a has 300 links, more than the 256 that a host can have": func(n *Network) {
			for len(n.Links) < 301 {
				n.Links = append(n.Links, n.Links[0])
			}
		},
		"s has 65536 links, more than the 65535": func(n *Network) {
			n.Nodes = append(n.Nodes, Node{"s2", true})
			for len(n.Links) < 65536 {
				n.Links = append(n.Links, Link{Ends: [2]int{2, 3}, Rate: n.Links[0].Rate})
			}
		},
	} {
		t.Run(want, func(t *testing.T) {
			n := base()
			change(n)
			if err := n.Validate(); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("got %v, want %s", err, want)
			}
		})
	}
}

// BenchmarkRoutes routes a fat tree with k = 16: 1024 hosts, 320 switches.
func BenchmarkRoutes(b *testing.B) {
	const k, half = 16, 8
	n := &Network{Nodes: make([]Node, k*half*half+k*k+half*half)}
	edges := k * half * half
	aggregations, cores := edges+k*half, edges+k*k
	link := func(a, c int) {
		n.Links = append(n.Links, Link{Ends: [2]int{a, c}, Rate: unit.LinkRate{Bits: unit.Gbps}})
	}
	for i := range n.Nodes {
		n.Nodes[i].Switch = i >= edges
	}
	for host := range edges {
		link(host, edges+host/half)
	}
	for pod := range k {
		for i := range half {
			for j := range half {
				link(edges+pod*half+i, aggregations+pod*half+j)
				link(aggregations+pod*half+i, cores+i*half+j)
			}
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		n.Routes()
	}
}

func ExampleNetwork_Routes() {
	// Two hosts at switches 2 and 3, which two links of switches 4 and 5 join.
	n, err := ReadHPCC(strings.NewReader(`6 4 6
2 3 4 5
0 2 10Gbps 1us 0
2 4 40Gbps 1us 0
2 5 40Gbps 1us 0
4 3 40Gbps 1us 0
5 3 40Gbps 1us 0
3 1 10Gbps 1us 0
`), "diamond.txt")
	if err != nil {
		fmt.Println(err)
		return
	}
	book, routes := n.Addresses(), n.Routes()
	for sw := 2; sw < 6; sw++ {
		for a := packet.Addr(1); a <= 2; a++ {
			fmt.Println(n.Nodes[sw].Name, "reaches", book.V4(a), "by ports", routes.PathsFrom(sw).PortsTo(a))
		}
	}
	// Output:
	// s2 reaches 10.0.0.1 by ports [0]
	// s2 reaches 10.0.0.2 by ports [1 2]
	// s3 reaches 10.0.0.1 by ports [0 1]
	// s3 reaches 10.0.0.2 by ports [2]
	// s4 reaches 10.0.0.1 by ports [0]
	// s4 reaches 10.0.0.2 by ports [1]
	// s5 reaches 10.0.0.1 by ports [0]
	// s5 reaches 10.0.0.2 by ports [1]
}

// TestReadHPCCTooManyLinks checks that there may be several links of a pair, and of a host, up to a number.
func TestReadHPCCTooManyLinks(t *testing.T) {
	var hosts, star strings.Builder
	for i := 1; i <= 257; i++ {
		fmt.Fprint(&hosts, i, " ")
		fmt.Fprintf(&star, "0 %d 1Gbps 1us 0\n", i)
	}
	for _, x := range []struct{ name, file, want string }{
		{"side by side", "3 2 1025\n1 2\n" + strings.Repeat("1 2 1Gbps 1us 0\n", 1025),
			"net.txt:1027:3: nodes 1 and 2 have 1024 links already, the maximum"},
		{"of a host", "258 257 257\n" + hosts.String() + "\n" + star.String(),
			"net.txt:259:3: h0 has more than the 256 links that are possible"},
	} {
		t.Run(x.name, func(t *testing.T) {
			if _, err := ReadHPCC(strings.NewReader(x.file), "net.txt"); err == nil || err.Error() != x.want {
				t.Errorf("got %v, want %s", err, x.want)
			}
		})
	}
}
