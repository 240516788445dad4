package sim

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/spray"
	"weir/core/dataplane/balance/wecmp"
	"weir/core/dataplane/dataplanetest"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// balancer is a program that spreads load, as tests name it.
type balancer struct {
	dataplane.Scheme
	given   []string
	flowlet bool // by flowlets
	tiers   int  // at most
}

// balancers returns the balancers that support the given number of tiers.
func balancers(tiers int) (all []balancer) {
	for _, b := range []balancer{
		{ecmp.Scheme(), nil, false, 3}, {wecmp.Scheme(), nil, false, 3}, {letflow.Scheme(), []string{"gap", "100us"}, true,
			3}, {drill.Scheme(), nil, false, 3}, {spray.Scheme(), nil, false, 3},
		{hula.Scheme(), nil, true, 3}, {conga.Scheme(), []string{"gap", "100us"}, true, 2},
	} {
		if tiers <= b.tiers {
			all = append(all, b)
		}
	}
	return all
}

// runs makes all switches run the program.
func (b *balancer) runs(c *Config) {
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := dataplanetest.BuildProgram(b.Scheme, site, b.given...)
			return []dataplane.Program{p}, err
		}
	}
}

// networkOf builds a topology of the given family. The defaults are 10 Gb/s, 1 µs, and 24 packets per switch port,
// so that paths differ by less than 100 µs.
func networkOf(t testing.TB, family string, given map[string]string) *topology.Network {
	t.Helper()
	for _, s := range topology.Schemes() {
		if s.Name != family {
			continue
		}
		text := []string{"rate", "10Gbps", "delay", "1us", "buffer", "24 packets"}
		for k, x := range given {
			text = append(text, k, x)
		}
		c, err := s.Configure(text...)
		if err != nil {
			t.Fatal(err)
		}
		n, err := s.Build(c)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Fatalf("no topology %s", family)
	return nil
}

var trees = []struct {
	tiers  int
	family string
	given  map[string]string
}{
	{2, "leaf_spine", map[string]string{"leaves": "3", "spines": "4", "hosts": "8"}},
	{3, "fat_tree", map[string]string{"k": "4"}},
}

// late counts the data packets that arrive after a packet that was sent later.
type late struct {
	transport.Endpoint
	last unit.Time
	n    *int
}

func (l *late) Receive(now unit.Time, p *packet.Packet) bool {
	if p.Kind == packet.Data {
		if p.Sent < l.last {
			*l.n++
		}
		l.last = max(l.last, p.Sent)
	}
	return l.Endpoint.Receive(now, p)
}

// across returns a run in which every host sends to the one half of all hosts further on. It sends one TCP
// connection of a size, or bursts of datagrams: on average 5 Gb/s for 300 µs and a pause of the same length. It
// counts late packets.
func across(t testing.TB, seed uint64, n *topology.Network, b *balancer, size unit.Bytes,
	change func(*Config)) (c *Config, reordered *int) {
	t.Helper()
	c = &Config{Wiring: wiring.Config{Seed: seed, Network: n}, Selection: outcome.Selection{Tally: true},
		Duration: 20 * unit.Millisecond}
	if size > 0 {
		c.Duration, c.UntilDone = 2*unit.Second, true
	}
	forwarding(c)
	b.runs(c)
	hosts := 0
	for !n.Nodes[hosts].Switch {
		hosts++
	}
	reordered = new(int)
	cc := reno.Scheme()
	for i := range hosts {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: packet.Addr((i+hosts/2)%hosts + 1),
			SrcPort: uint16(1000 + i), DstPort: 7, Version: uint8(4 + i%2*2),
			Size: size, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(seed, fmt.Sprint("flow ", i)),
			Start: unit.Time(i) * unit.Microsecond, Stop: unit.Never, CC: &cc}
		var s, r transport.Endpoint
		var err error
		if size > 0 {
			o := tcp.Defaults()
			o.RTOMin = unit.Millisecond
			s, r, err = tcp.New(f, o)
		} else {
			s, r, err = udp.New(f, udp.Config{Rate: 5 * unit.Gbps, Pattern: udp.OnOff, GapJitter: 0.1,
				On: 300 * unit.Microsecond, Off: 300 * unit.Microsecond})
		}
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: int(f.Dst) - 1, Start: f.Start, Size: size, SrcPort: f.SrcPort,
			DstPort: f.DstPort}, s, &late{r, 0, reordered})
	}
	if change != nil {
		change(c)
	}
	return c, reordered
}

// runConfig runs a simulation that must succeed. Tests in this package cannot import plantest, which imports it.
func runConfig(t testing.TB, c *Config) *outcome.Result {
	t.Helper()
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBalancersDeliver checks that all packets arrive with every balancer, on two tiers and on three.
func TestBalancersDeliver(t *testing.T) {
	for _, tree := range trees {
		for _, b := range balancers(tree.tiers) {
			c, _ := across(t, 1, networkOf(t, tree.family, tree.given), &b, 500_000, nil)
			r := runConfig(t, c)
			for i, f := range r.Flows {
				if f.FCT == unit.Never || f.Receiver.ReceivedBytes != 500_000 {
					t.Errorf("%s with %s: flow %d: %d bytes of 500000 have arrived at %v", tree.family, b.Name, i,
						f.Receiver.ReceivedBytes, f.Arrived)
				}
			}
			if n := r.Drops[dataplane.NoRoute] + r.Drops[dataplane.HopLimitExceeded] + r.Drops[dataplane.Malformed]; n > 0 {
				t.Errorf("%s with %s: %d packets did not find their way", tree.family, b.Name, n)
			}
		}
	}
}

// TestBalancersSameResult checks that the same seed gives the same result with the balancers that make or change
// packets, for any windows and any form of packets on the links.
func TestBalancersSameResult(t *testing.T) { balancersSameResult(t, highest) }

// highest reports whether a balancer supports no more tiers than the given ones. Tests that run each balancer once
// choose its tree by it; in the slow stage anyTree replaces it.
func highest(b *balancer, tiers int) bool { return tiers == b.tiers }

// balancersSameResult compares forms of runs with the balancers on the trees that covers accepts.
func balancersSameResult(t *testing.T, covers func(b *balancer, tiers int) bool) {
	t.Helper()
	for _, tree := range trees {
		for _, b := range balancers(tree.tiers) {
			if b.Name != "hula" && b.Name != "conga" || !covers(&b, tree.tiers) {
				continue
			}
			for size, name := range map[unit.Bytes]string{0: "datagrams", 60_000: "tcp"} {
				result := func(change func(*Config)) string {
					c, late := across(t, 3, networkOf(t, tree.family, tree.given), &b, size, func(c *Config) {
						c.Duration, c.UntilDone = 3*unit.Millisecond, false
						c.Wiring.Events = []wiring.Event{{At: unit.Millisecond, Link: len(c.Wiring.Network.Links) - 1, Down: true}}
						if change != nil {
							change(c)
						}
					})
					return fmt.Sprint(transcript(t, c), *late)
				}
				want := result(nil)
				for how, change := range map[string]func(*Config){
					"again": nil, "three threads": func(c *Config) { c.Threads = 3 },
					"no end kept":  func(c *Config) { c.Threads, c.sweeps = 2, 1 },
					"small window": func(c *Config) { c.Window = 300 * unit.Nanosecond }, "one group": func(c *Config) {
						c.Window = unit.Second
					},
					"wire": func(c *Config) { c.Wire = true },
				} {
					if got := result(change); got != want {
						t.Errorf("%s with %s, %s, %s: another result\n%s\n%s", tree.family, b.Name, name, how, got, want)
					}
				}
			}
		}
	}
}

// carries returns the bytes that a link carries in the measured part.
func (c *Config) carries(link int) float64 {
	return float64(c.Wiring.Network.Links[link].Rate.Bits) / 8 * (c.Duration - c.Warmup).Seconds()
}

// jain returns the mean over switches of Jain's index of the upward ports' traffic.
func jain(t testing.TB, n *topology.Network, r *outcome.Result) float64 {
	t.Helper()
	tree, err := n.FindTree()
	if err != nil {
		t.Fatal(err)
	}
	ports, sum, count := n.Ports(), 0.0, 0.0
	for node := range n.Nodes {
		x, xx := 0.0, 0.0
		for _, k := range tree.Up[node] {
			for _, p := range r.Ports {
				if n.Nodes[node].Switch && p.Node == node && p.Link == ports[node][k].Link {
					x += float64(p.TxBytes)
					xx += float64(p.TxBytes) * float64(p.TxBytes)
				}
			}
		}
		if xx > 0 {
			sum += x * x / xx / float64(len(tree.Up[node]))
			count++
		}
	}
	return sum / count
}

// TestBalancers_SpreadBetterThanECMP checks that balancers by flowlet do not reorder as long as paths differ by less
// than the gap (LetFlow §3, CONGA §3.4, HULA §3.4), and each balances uplinks better than ECMP.
func TestBalancers_SpreadBetterThanECMP(t *testing.T) { balance(t, 1, highest) }

// balance runs every balancer with the given number of seeds on the trees that covers accepts.
func balance(t *testing.T, seeds int, covers func(b *balancer, tiers int) bool) {
	t.Helper()
	for _, tree := range trees {
		index := map[string]float64{}
		for _, b := range balancers(tree.tiers) {
			if b.Name != "ecmp" && !covers(&b, tree.tiers) {
				continue
			}
			for seed := range uint64(seeds) {
				n := networkOf(t, tree.family, tree.given)
				c, reordered := across(t, seed, n, &b, 0, nil)
				r := runConfig(t, c)
				index[b.Name] += jain(t, n, r) / float64(seeds)
				if *reordered > 0 && b.Name != "drill" && b.Name != "spray" {
					t.Errorf("%s with %s, seed %d: %d packets come late", tree.family, b.Name, seed, *reordered)
				}
			}
		}
		for _, b := range balancers(tree.tiers) {
			if _, ran := index[b.Name]; !ran {
				continue
			}
			t.Logf("%s: Jain's index of uplinks with %s: %.3f", tree.family, b.Name, index[b.Name])
			if (b.flowlet || b.Name == "drill" || b.Name == "spray") && index[b.Name] < index["ecmp"]+(1-index["ecmp"])/2 {
				t.Errorf("%s: Jain's index of uplinks is %.3f with %s, %.3f with ECMP", tree.family, index[b.Name], b.Name,
					index["ecmp"])
			}
		}
	}
}

// TestBalancers_FollowUnequalLinks checks CONGA §2.4 and §5.2.2: where a link of one spine is slow, ECMP sends it its
// equal share. CONGA and HULA (HULA §5.2) send it a load within its capacity, and flows end sooner.
func TestBalancers_FollowUnequalLinks(t *testing.T) { asymmetry(t, 1, 250) }

// asymmetry runs every balancer with the given number of seeds, and of flows in each run.
func asymmetry(t *testing.T, seeds, flows int) {
	t.Helper()
	share, fct := map[string]float64{}, map[string]float64{}
	for _, b := range balancers(2) {
		for seed := range uint64(seeds) {
			n := networkOf(t, "leaf_spine", map[string]string{"leaves": "2", "spines": "2", "hosts": "4", "buffer": "0 packets"})
			for i, l := range n.Links {
				if n.Nodes[l.Ends[0]].Name == "leaf1" && n.Nodes[l.Ends[1]].Name == "spine0" {
					n.Links[i].Rate.Bits = 2 * unit.Gbps // data to leaf 1 comes down here
				}
			}
			c, _ := across(t, seed, n, &b, 0, nil)
			c.Flows, c.Duration, c.UntilDone = nil, unit.Second, true
			// 100 kB each 120 µs in the mean are 6.7 Gb/s, of 12 that the spines carry
			random, start, cc := unit.NewRandom(seed, "arrivals"), unit.Time(0), reno.Scheme()
			for i := range flows {
				start += unit.Time(random.ExpFloat64() * float64(120*unit.Microsecond))
				f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i%4 + 1), Dst: packet.Addr(random.IntN(4) + 5),
					SrcPort: uint16(1000 + i), DstPort: 7, Version: 4,
					Size: 100_000, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(seed, fmt.Sprint("flow ", i)),
					Start: start, Stop: unit.Never, CC: &cc}
				o := tcp.Defaults()
				o.RTOMin = unit.Millisecond
				s, r, err := tcp.New(f, o)
				if err != nil {
					t.Fatal(err)
				}
				c.Add(outcome.Flow{Src: i % 4, Dst: int(f.Dst) - 1, Start: start, Size: f.Size,
					SrcPort: f.SrcPort, DstPort: 7}, s, r)
			}
			r := runConfig(t, c)
			up := [2]float64{}
			for _, p := range r.Ports {
				for i := range up {
					if n.Nodes[p.Node].Name == "leaf0" && n.Nodes[n.Links[p.Link].Ends[1]].Name == fmt.Sprint("spine", i) {
						up[i] = float64(p.TxBytes)
					}
				}
			}
			share[b.Name] += up[0] / (up[0] + up[1]) / float64(seeds)
			for i, f := range r.Flows {
				if f.FCT == unit.Never {
					t.Fatalf("%s, seed %d: flow %d does not end", b.Name, seed, i)
				}
				fct[b.Name] += f.FCT.Seconds() * 1e3 / float64(seeds*flows)
			}
		}
		t.Logf("%s: %.3f of the bytes by the slow path, mean FCT %.2f ms", b.Name, share[b.Name], fct[b.Name])
	}
	if share["ecmp"] < 0.4 {
		t.Errorf("ECMP sends %.2f by the slow path", share["ecmp"])
	}
	for _, name := range []string{"conga", "hula"} {
		if share[name] > 0.75*share["ecmp"] || fct[name] > 0.6*fct["ecmp"] {
			t.Errorf("%s sends %.2f by the slow path, mean FCT %.2f ms; ECMP %.2f and %.2f", name, share[name], fct[name],
				share["ecmp"], fct["ecmp"])
		}
	}
}

// TestBalancersLinkFailure checks HULA §3.3 and §5.3: after a link has failed, at a leaf or beyond, HULA and CONGA no
// longer use it, and use it again when it returns. ECMP, without notice, continues. Every host sends to the other half,
// so the link of any leaf is the first for some and beyond others.
func TestBalancersLinkFailure(t *testing.T) { balancersLinkFailure(t, highest, "last leaf") }

// balancersLinkFailure takes down a link of each of the given leaves, on the trees that covers accepts.
func balancersLinkFailure(t *testing.T, covers func(b *balancer, tiers int) bool, leaves ...string) {
	t.Helper()
	for _, tree := range trees {
		n := networkOf(t, tree.family, tree.given)
		x, err := n.FindTree()
		if err != nil {
			t.Fatal(err)
		}
		ports := n.Ports()
		ends := map[string]int{"first leaf": x.Leaves()[0], "last leaf": x.Leaves()[len(x.Leaves())-1]}
		for _, what := range leaves {
			node := ends[what]
			link := ports[node][x.Up[node][0]].Link
			for _, b := range balancers(tree.tiers) {
				if b.Name != "ecmp" && b.Name != "hula" && b.Name != "conga" || !covers(&b, tree.tiers) {
					continue
				}
				dropped := func(back, idle bool) (drops uint64, used bool) {
					c, _ := across(t, 5, networkOf(t, tree.family, tree.given), &b, 0, func(c *Config) {
						c.Duration, c.Warmup = 12*unit.Millisecond, 7*unit.Millisecond // HULA ages in 2 ms
						c.Wiring.Events = []wiring.Event{{At: 3 * unit.Millisecond, Link: link, Down: true}}
						if back {
							c.Duration, c.Warmup = 30*unit.Millisecond, 20*unit.Millisecond // CONGA in 10
							c.Wiring.Events = append(c.Wiring.Events, wiring.Event{At: 8 * unit.Millisecond, Link: link})
						}
						if idle {
							c.Flows, c.Endpoints = nil, nil
						}
					})
					r := runConfig(t, c)
					data := uint64(0)
					for _, p := range r.Ports {
						if p.Link == link {
							data += p.TxBytes
						}
					}
					return r.Drops[dataplane.LinkDown], float64(data) > 0.1*2*c.carries(link)
				}
				drops, _ := dropped(false, false)
				switch b.Name {
				case "conga":
					if drops > 0 {
						t.Errorf("%s, %s: with CONGA %d packets are lost in a link that is down since 4 ms", tree.family, what, drops)
					}
				case "hula": // probes go on
					if probes, _ := dropped(false, true); probes == 0 || drops > probes+2 { // 2: at the ends of what is measured
						t.Errorf("%s, %s: with HULA %d packets are lost in a link that is down since 4 ms, %d probes", tree.family, what,
							drops, probes)
					}
				case "ecmp":
					if drops < 200 {
						t.Errorf("%s, %s: with ECMP %d packets are lost; the failure does not matter", tree.family, what, drops)
					}
				}
				if drops, used := dropped(true, false); drops > 0 || (b.Name == "hula" || b.Name == "conga") && !used {
					t.Errorf("%s, %s: with %s the link that is back loses %d, used: %v", tree.family, what, b.Name, drops, used)
				}
			}
		}
	}
}

// TestHulaLoad checks HULA §4: in a leaf-spine network probes use probe size × ToRs / (period × rate) of a link. In
// three tiers, where every path has its own, so it is with forward: best.
func TestHulaLoad(t *testing.T) {
	for _, tree := range trees {
		n := networkOf(t, tree.family, tree.given)
		x, err := n.FindTree()
		if err != nil {
			t.Fatal(err)
		}
		for _, forward := range []string{"all", "best"} {
			b := balancer{hula.Scheme(), []string{"forward", forward, "probe", "200us"}, true, 3}
			c, _ := across(t, 1, n, &b, 0, func(c *Config) {
				c.Flows, c.Endpoints = nil, nil
				c.Warmup = 10 * unit.Millisecond
			})
			r := runConfig(t, c)
			const probe = 58.0 // l2: without padding and FCS
			paths := 1.0       // to a spine of another pod, and on to each of its leaves
			if forward == "all" && x.Tiers == 3 {
				paths = 2
			}
			most := 0.0
			for _, p := range r.Ports {
				if n.Nodes[p.Node].Switch {
					most = max(most, float64(p.TxBytes)/c.carries(p.Link))
				} else if p.TxBytes > 0 {
					t.Errorf("a host sends %d B", p.TxBytes)
				}
			}
			want := probe * float64(len(x.Leaves())) * paths / (200e-6 * 10e9 / 8)
			if most > want || most < want/2 {
				t.Errorf("%s, forward %s: probes take up to %.5f of a link, want somewhat below %.5f", tree.family, forward,
					most, want)
			}
			if got := r.Tally.Kinds[packet.Probe] + r.Tally.Extensions; got == 0 || r.Tally.Kinds[packet.Data] != 0 ||
				math.Abs(float64(got)/float64(sentBytes(r))-1) > 0.001 {
				t.Errorf("%s: the overhead is %d B of probes, %d B were sent", tree.family, got, sentBytes(r))
			}
		}
	}
}

func sentBytes(r *outcome.Result) (bytes uint64) {
	for _, p := range r.Ports {
		bytes += p.TxBytes
	}
	return bytes
}

// TestCongaHeaderBytes checks CONGA §3.1: the header exists between leaves, and counts there, in every framing. Hosts
// neither pay for it nor see it.
func TestCongaHeaderBytes(t *testing.T) {
	for _, framing := range packet.Framings {
		n := networkOf(t, "leaf_spine", map[string]string{"leaves": "2", "spines": "2", "hosts": "1"})
		b := balancer{Scheme: conga.Scheme()}
		c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Framing: framing}, Selection: outcome.Selection{Tally: true},
			Duration: unit.Millisecond}
		forwarding(c)
		b.runs(c)
		s, r, err := udp.New(transport.Flow{Src: 1, Dst: 2, SrcPort: 1, DstPort: 2, Version: 4, Payload: 500,
			Framing: framing, Random: unit.NewRandom(1, "f"), Stop: 900 * unit.Microsecond},
			udp.Config{Rate: unit.Gbps, Pattern: udp.CBR})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: 0, Dst: 1, SrcPort: 1, DstPort: 2, Stop: 900 * unit.Microsecond}, s, r)
		got := runConfig(t, c)
		bytes := map[string]uint64{} // by kind of sender and receiver: host, leaf, spine
		for _, p := range got.Ports {
			kind := func(node int) string { return strings.TrimRight(n.Nodes[node].Name, "0123456789") }
			bytes[kind(p.Node)+" to "+kind(n.Links[p.Link].Ends[1-p.End])] += p.TxBytes
		}
		packets := uint64(got.Flows[0].Receiver.ReceivedPackets)
		if packets < 200 || bytes["h to leaf"] == 0 || bytes["leaf to h"] != bytes["h to leaf"] ||
			bytes["leaf to spine"] != bytes["h to leaf"]+8*packets ||
			bytes["spine to leaf"] != bytes["leaf to spine"] || got.Tally.Extensions != 2*8*packets {
			t.Errorf("%s: %d packets, %v, extensions %d B; want 8 B a packet between switches", framing.Name, packets, bytes,
				got.Tally.Extensions)
		}
	}
}

// TestBalancersNeedTrees checks that balancers that support only fat trees report the reason why a network is no
// fat tree.
func TestBalancersNeedTrees(t *testing.T) {
	for _, b := range []balancer{{Scheme: hula.Scheme()}, {Scheme: conga.Scheme()}} {
		c := &Config{Wiring: wiring.Config{Network: networkOf(t, "dumbbell", map[string]string{"hosts": "2",
			"bottleneck": "1Gbps"})}, Duration: unit.Millisecond}
		forwarding(c)
		b.runs(c)
		if _, err := New(c); err == nil || !strings.Contains(err.Error(), "left") ||
			!strings.Contains(err.Error(), b.Name+" needs") {
			t.Errorf("%s in a dumbbell: %v", b.Name, err)
		}
	}
	b := balancer{Scheme: conga.Scheme()}
	c := &Config{Wiring: wiring.Config{Network: networkOf(t, "fat_tree", map[string]string{"k": "4"})},
		Duration: unit.Millisecond}
	forwarding(c)
	b.runs(c)
	if _, err := New(c); err == nil || !strings.Contains(err.Error(), "3 tiers") {
		t.Errorf("conga in three tiers: %v", err)
	}
}

// BenchmarkBalancers runs a whole simulation with each balancer. The difference of Mhops/s from ECMP's is its cost;
// probes count as hops too.
func BenchmarkBalancers(bench *testing.B) {
	for _, tree := range trees {
		for _, b := range balancers(tree.tiers) {
			bench.Run(tree.family+"/"+b.Name, func(bench *testing.B) {
				hops := uint64(0)
				for bench.Loop() {
					c, _ := across(bench, 1, networkOf(bench, tree.family, tree.given), &b, 0, func(c *Config) { c.Tally = false })
					hops += runConfig(bench, c).PacketHops
				}
				bench.ReportMetric(float64(hops)/bench.Elapsed().Seconds()/1e6, "Mhops/s")
			})
		}
	}
}
