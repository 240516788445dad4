package sim

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/buffer/pfc"
	"weir/core/dataplane/buffer/sharedbuffer"
	"weir/core/dataplane/classify"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/transport/window"
	"weir/core/unit"
)

// audit checks a shared buffer's accounts whenever a packet arrives or departs.
type audit struct {
	t      testing.TB
	buffer *sharedbuffer.Buffer
}

func (a *audit) Name() string { return "audit" }
func (a *audit) Book(env *dataplane.Env, _ *packet.Packet) {
	if err := a.buffer.Check(env.BufferedBytes()); err != nil {
		a.t.Fatalf("at %v: %v", env.Now(), err)
	}
}
func (a *audit) Unbook(env *dataplane.Env, p *packet.Packet) {
	a.Book(env, p)
}

// lossless makes every switch of a config forward by class, with a shared buffer and
// PFC, and returns the buffers once the run is built.
func lossless(t testing.TB, c *Config, queues int, shared, flow []string) *[]*sharedbuffer.Buffer {
	buffers := &[]*sharedbuffer.Buffer{}
	forwarding(c)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Queues = queues
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			qos, err := dataplanetest.BuildProgram(classify.Scheme(), site)
			if err != nil {
				return nil, err
			}
			list := []dataplane.Program{forward.New(site), qos}
			for _, x := range []struct {
				scheme dataplane.Scheme
				given  []string
			}{{sharedbuffer.Scheme(), shared}, {pfc.Scheme(), flow}, {ecn.Scheme(), nil}} {
				p, err := dataplanetest.BuildProgram(x.scheme, site, x.given...)
				if err != nil {
					return nil, err
				}
				list = append(list, p)
			}
			*buffers = append(*buffers, sharedbuffer.BufferOf(site))
			return append(list, &audit{t, sharedbuffer.BufferOf(site)}), nil
		}
	}
	return buffers
}

// greedy adds a flow whose sender is limited only by its NIC and PFC, in a class.
func greedy(c *Config, src, dst int, size unit.Bytes, start unit.Time, class uint8) {
	i := len(c.Flows)
	f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(src + 1), Dst: packet.Addr(dst + 1), SrcPort: uint16(1000 +
		i), DstPort: 7,
		Version: 4, TOS: class<<5 | packet.ECT0, Size: size, Payload: 1000, Framing: packet.Framings[0],
		Random: unit.NewRandom(c.Wiring.Seed, fmt.Sprint("flow ", i)), Start: start}
	s, r := window.New(f, 1<<20, unit.Second)
	c.Add(outcome.Flow{Src: src, Dst: dst, Start: start, Size: size,
		SrcPort: f.SrcPort, DstPort: f.DstPort, Class: class}, s, r)
}

// tree returns a random tree of switches with hosts: without cycles, so that PFC cannot lock up.
func tree(random unit.Random, switches, hosts int) *topology.Network {
	n := &topology.Network{}
	link := func(a, b int) {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{a, b}, Rate: unit.LinkRate{Bits: []unit.Rate{1, 10, 25, 40,
			100}[random.IntN(5)] * unit.Gbps},
			Delay:  unit.Time(random.IntN(5000)) * unit.Nanosecond,
			Jitter: unit.Time(random.IntN(3)/2*random.IntN(2000)) * unit.Nanosecond})
	}
	for i := range switches {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("s", i), Switch: true})
		if i > 0 {
			link(random.IntN(i), i)
		}
	}
	for i := range hosts {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
		link(random.IntN(switches), switches+i)
	}
	return n
}

// bursts is a run on a random tree, with bursts of several classes between random hosts.
func bursts(t testing.TB, seed uint64, headroom ...string) (*Config, *[]*sharedbuffer.Buffer) {
	random := unit.NewRandom(seed, "bursts")
	switches, hosts := 1+random.IntN(5), 3+random.IntN(6)
	c := &Config{Wiring: wiring.Config{Seed: seed, Network: tree(random, switches, hosts)}, Duration: 10 * unit.Second,
		UntilDone: true}
	queues := 1 + random.IntN(3)
	flow := append([]string{"frame", "1046 B", "trigger", []string{"share", "shift", "static"}[random.IntN(3)], "share",
		[]string{"1%", "11%", "100%"}[random.IntN(3)],
		"xoff", fmt.Sprint(1+random.IntN(60000), " B"), "xon_offset", fmt.Sprint(random.IntN(8000), " B"),
		"pauses", []string{"until_resumed", "quanta"}[random.IntN(2)], "quanta", fmt.Sprint(3000 + random.IntN(60000))},
		headroom...)
	buffers := lossless(t, c, queues, []string{"size", "6MB", "reserved", []string{"0 B", "4KiB"}[random.IntN(2)]}, flow)
	for range 2 + random.IntN(12) {
		src, dst := random.IntN(hosts), random.IntN(hosts-1)
		if dst >= src {
			dst++
		}
		greedy(c, switches+src, switches+dst, unit.Bytes(1+random.IntN(400_000)), unit.Time(random.IntN(30))*unit.Microsecond,
			uint8(random.IntN(queues)))
	}
	return c, buffers
}

// TestPFC_LosesNoPacketWithHeadroom checks that with the headroom that pfc calculates no packet is ever lost, for any
// network, rates, delays, jitter, triggers and bursts. Every flow ends, and the books always balance and are empty at
// the end. Without headroom many of the same runs lose packets.
func TestPFC_LosesNoPacketWithHeadroom(t *testing.T) { losslessRuns(t, 60) }

// losslessRuns checks the given number of random networks.
func losslessRuns(t *testing.T, runs int) {
	t.Helper()
	lost, pauses := 0, uint64(0)
	for seed := range uint64(runs) {
		c, buffers := bursts(t, seed)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Drops != [dataplane.Reasons]uint64{} || r.End != outcome.AllDone || r.Stuck != nil {
			t.Errorf("seed %d: ended by %v at %v, %v, drops %v", seed, r.End, r.Time, r.Stuck, r.Drops)
		}
		for _, p := range r.Ports {
			pauses += p.Pauses.Frames
		}
		for i, b := range *buffers {
			if err := b.Check(0); r.End == outcome.AllDone && err != nil {
				t.Errorf("seed %d, buffer %d at the end: %v", seed, i, err)
			}
		}
		c, _ = bursts(t, seed, "headroom", "size")
		if r, err = Run(c); err != nil {
			t.Fatal(err)
		}
		if r.Drops[dataplane.HeadroomFull] > 0 {
			lost++
		}
	}
	if lost < runs/3 { // in the others nothing is congested
		t.Errorf("without headroom only %d of %d runs lose packets: the test proves nothing", lost, runs)
	}
	if pauses < 1000 {
		t.Errorf("%d pauses", pauses)
	}
	t.Logf("%d of %d runs lose without headroom; %d pauses with it", lost, runs, pauses)
}

// TestTightHeadroom checks that the bound is tight: on a link of 100 Gb/s and 5 µs, 2·delay·rate are 125,000 bytes.
// With that headroom less a frame the burst loses packets, with pfc's it does not.
func TestTightHeadroom(t *testing.T) {
	for _, x := range []struct {
		headroom []string
		loses    bool
	}{{nil, false}, {[]string{"headroom", "size", "headroom_size", "123900 B"}, true},
		{[]string{"headroom", "simulator"}, false}} {
		t.Run(fmt.Sprint("headroom ", x.headroom), func(t *testing.T) {
			n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}, {Name: "s", Switch: true}}}
			for i, rate := range []unit.Rate{100 * unit.Gbps, 100 * unit.Mbps} {
				n.Links = append(n.Links, topology.Link{Ends: [2]int{i, 2}, Rate: unit.LinkRate{Bits: rate},
					Delay: 5 * unit.Microsecond})
			}
			c := &Config{Wiring: wiring.Config{Seed: 1, Network: n}, Duration: unit.Second, UntilDone: true}
			lossless(t, c, 1, []string{"size", "1MB"}, append([]string{"trigger", "static", "xoff", "20 kB", "frame", "1046 B"},
				x.headroom...))
			greedy(c, 0, 1, 300*unit.KB, 0, 0)
			r, err := Run(c)
			if err != nil {
				t.Fatal(err)
			}
			if lost := r.Drops[dataplane.HeadroomFull] > 0; lost != x.loses {
				t.Errorf("headroom %v: drops %v", x.headroom, r.Drops)
			}
		})
	}
}

// ring has n switches in a circle with a host each, which sends to the switch two hops on: with PFC the classical
// deadlock (cyclic buffer dependency).
func ring(t testing.TB, n int, flow ...string) *Config {
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: &topology.Network{}}, Duration: 50 * unit.Millisecond,
		UntilDone: true}
	for i := range 2 * n {
		c.Wiring.Network.Nodes = append(c.Wiring.Network.Nodes, topology.Node{Name: fmt.Sprint([]string{"s", "h"}[i/n], i%n),
			Switch: i < n})
	}
	for i := range n {
		for _, ends := range [][2]int{{i, (i + 1) % n}, {i, n + i}} {
			c.Wiring.Network.Links = append(c.Wiring.Network.Links, topology.Link{Ends: ends,
				Rate:  unit.LinkRate{Bits: 10 * unit.Gbps},
				Delay: unit.Microsecond})
		}
	}
	lossless(t, c, 2, []string{"size", "400 kB"}, append([]string{"frame", "1046 B"}, flow...))
	for i := range n {
		greedy(c, n+i, n+(i+2)%n, 5*unit.MB, 0, 1)
	}
	return c
}

// TestRun_NamesCycleOfDeadlock checks a cycle of five switches that pause each other: the run ends at once and names
// the cycle, in its order, with pauses of either kind. Four leave the cycle open; a chain does not lock up.
func TestRun_NamesCycleOfDeadlock(t *testing.T) {
	for _, kind := range []string{"until_resumed", "quanta"} {
		t.Run(kind, func(t *testing.T) {
			c := ring(t, 5, "pauses", kind)
			r, err := Run(c)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, s := range r.Stuck {
				names = append(names, c.Wiring.Network.PortName(s.Port/2, s.Port%2))
				if s.Queue != 1 || !s.Paused || s.Since > r.Time {
					t.Errorf("%+v", s)
				}
			}
			if r.End != outcome.Deadlock || strings.Join(names, " ") != "s0->s1 s1->s2 s2->s3 s3->s4 s4->s0" ||
				len(r.Unfinished) != 5 ||
				r.Time > 2*unit.Millisecond {
				t.Errorf("%s: ended by %s at %v: %v", kind, r.End, r.Time, names)
			}
			if r.Drops != [dataplane.Reasons]uint64{} {
				t.Errorf("%v", r.Drops)
			}
		})
	}
	// other traffic that continues at one of the switches does not hide it
	c := ring(t, 5)
	for i := range 2 {
		c.Wiring.Network.Nodes = append(c.Wiring.Network.Nodes, topology.Node{Name: fmt.Sprint("x", i)})
		c.Wiring.Network.Links = append(c.Wiring.Network.Links, topology.Link{Ends: [2]int{10 + i, 1},
			Rate: unit.LinkRate{Bits: 10 * unit.Gbps}, Delay: unit.Microsecond})
	}
	lossless(t, c, 2, []string{"size", "400 kB"}, []string{"frame", "1046 B"})
	for i := range 2 {
		greedy(c, 10+i, 6, 100*unit.MB, 0, 1)
	}
	if r, err := Run(c); err != nil || r.End != outcome.Deadlock || len(r.Stuck) != 5 || r.Time > 5*unit.Millisecond {
		t.Errorf("ended by %s at %v: %v, %v", r.End, r.Time, r.Stuck, err)
	}
	// the same without the link that closes the circle
	c = ring(t, 5)
	c.Wiring.Network.Links = append(c.Wiring.Network.Links[:8:8], c.Wiring.Network.Links[9])
	c.Flows = nil
	lossless(t, c, 2, []string{"size", "400 kB"}, []string{"frame", "1046 B"})
	for i := range 3 {
		greedy(c, 5+i, 5+i+2, 5*unit.MB, 0, 1)
	}
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.End != outcome.AllDone || r.Stuck != nil {
		t.Errorf("a chain ends by %v, %v", r.End, r.Stuck)
	}
}

// TestDeadlockIsOne checks on random networks, watched every 2 µs, that a reported deadlock never moves again, and
// that queues that never move again are reported. In a tree there is no deadlock, for any number of paused ports.
func TestDeadlockIsOne(t *testing.T) { deadlockIsOne(t, 60) }

// deadlockIsOne watches the given number of networks, half of which are rings.
func deadlockIsOne(t *testing.T, networks int) {
	t.Helper()
	locked, free := 0, 0
	for seed := range uint64(networks) {
		random := unit.NewRandom(seed, "knots")
		var c *Config
		cyclic := seed%2 == 0
		if cyclic {
			n := 5 + random.IntN(3)
			c = ring(t, n, "share", []string{"2%", "11%", "50%"}[random.IntN(3)])
			c.Flows = nil
			for src := range n {
				if random.IntN(8) > 0 {
					greedy(c, n+src, n+(src+2)%n, unit.Bytes(1+random.IntN(800_000)), unit.Time(random.IntN(50))*unit.Microsecond, 1)
				}
			}
			for range random.IntN(n) {
				src := random.IntN(n)
				greedy(c, n+src, n+(src+1+random.IntN(n-1))%n, unit.Bytes(1+random.IntN(400_000)),
					unit.Time(random.IntN(50))*unit.Microsecond, uint8(random.IntN(2)))
			}
		} else {
			c, _ = bursts(t, seed)
		}
		s, err := New(c)
		if err != nil {
			t.Fatal(err)
		}
		var stuck []outcome.Stuck
		now := unit.Time(0)
		for s.unfinished > 0 && now < 400*unit.Millisecond { // the transport's timeout is 1 s
			now = max(now+2*unit.Microsecond, min(s.fabric.NextEvent(), 400*unit.Millisecond))
			s.fabric.Run(now, nil)
			s.gatherThreads()
			found := s.findDeadlock()
			for _, x := range stuck {
				d := s.linkOf[x.Port]
				if q := s.portOf(d).Queue(x.Queue); q.HeadSince() != x.Since {
					t.Fatalf("seed %d at %v: port %d has moved", seed, now, x.Port)
				}
			}
			if stuck == nil {
				stuck = found
			}
		}
		switch {
		case stuck != nil && (!cyclic || s.unfinished == 0):
			t.Errorf("seed %d: a deadlock, but %d flows are unfinished", seed, s.unfinished)
		case stuck == nil && s.unfinished > 0:
			t.Errorf("seed %d: %d flows do not end, and no deadlock is seen", seed, s.unfinished)
		case stuck != nil:
			locked++
		default:
			free++
		}
	}
	if locked < networks/15 || free < networks*7/12 {
		t.Errorf("%d networks lock up, %d do not: the test proves little", locked, free)
	}
	t.Logf("%d networks lock up, %d do not", locked, free)
}

// TestLostResume checks that a lost Resume frame blocks a pause that lasts until it arrives: the run names the starved
// class. A pause of some quanta ends by itself.
func TestLostResume(t *testing.T) {
	for _, kind := range []string{"until_resumed", "quanta"} {
		t.Run(kind, func(t *testing.T) {
			n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}, {Name: "s", Switch: true}}}
			for i, rate := range []unit.Rate{100 * unit.Gbps, 10 * unit.Gbps} {
				n.Links = append(n.Links, topology.Link{Ends: [2]int{i, 2}, Rate: unit.LinkRate{Bits: rate},
					Delay: unit.Microsecond})
			}
			c := &Config{Wiring: wiring.Config{Seed: 1, Network: n}, Duration: 100 * unit.Millisecond, UntilDone: true}
			lossless(t, c, 1, []string{"size", "1MB"}, []string{"trigger", "static", "xoff", "20 kB", "pauses", kind,
				"quanta", "10000"})
			greedy(c, 0, 1, 2*unit.MB, 0, 0)
			// the link loses all for the 30 µs in which the first Resume is on it
			var resumed unit.Time
			c.OnPFC = func(e PFCEvent) {
				if !e.Paused && resumed == 0 {
					resumed = e.At
				}
			}
			if _, err := Run(c); err != nil || resumed == 0 {
				t.Fatal(err, resumed)
			}
			c.Flows, c.OnPFC = nil, nil
			greedy(c, 0, 1, 2*unit.MB, 0, 0)
			lossless(t, c, 1, []string{"size", "1MB"}, []string{"trigger", "static", "xoff", "20 kB", "pauses", kind,
				"quanta", "10000"})
			c.Wiring.Events = []wiring.Event{{At: resumed - 2*unit.Microsecond, Link: 0, Down: true}, {At: resumed, Link: 0,
				Down: false}}
			r, err := Run(c)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case kind == "quanta" && r.End != outcome.AllDone:
				t.Errorf("%s: ended by %v, %v", kind, r.End, r.Stuck)
			case kind != "quanta" && (r.End != outcome.Starved || len(r.Stuck) != 1 || r.Stuck[0].Port != 0 ||
				!r.Stuck[0].Paused):
				t.Errorf("%s: ended by %v, %+v", kind, r.End, r.Stuck)
			}
		})
	}
}

// TestRun_NamesStarvedQueue checks that a class starved by strict priority is the reported reason of its unfinished
// flow.
func TestRun_NamesStarvedQueue(t *testing.T) {
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: leafSpine(2, 1, unit.Length{})}, Duration: 20 * unit.Millisecond,
		UntilDone: true}
	lossless(t, c, 2, []string{"alpha", "0"}, []string{"classes", "1: false"})
	greedy(c, 0, 2, 100*unit.MB, 0, 0)
	greedy(c, 1, 2, 100*unit.KB, 20*unit.Microsecond, 1)
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.End != outcome.Starved || len(r.Stuck) != 1 || r.Stuck[0].Queue != 1 || r.Stuck[0].Paused ||
		c.Wiring.Network.PortName(r.Stuck[0].Port/2, r.Stuck[0].Port%2) != "s0->s2" || len(r.Unfinished) != 2 {
		t.Errorf("ended by %v: %+v, unfinished %v", r.End, r.Stuck, r.Unfinished)
	}
}

// TestSameResultPFC checks that with PFC the result is the same for any windows and any form of packets on links. The
// observer sees the same pauses, each node's in order.
func TestSameResultPFC(t *testing.T) {
	for seed := range uint64(6) {
		run := func(change func(*Config)) string {
			c, _ := bursts(t, seed)
			c.UntilDone, c.Duration = false, 2*unit.Millisecond
			for i := range c.Wiring.Network.Links { // wire mode has no packets on links without delay
				c.Wiring.Network.Links[i].Delay += 300 * unit.Nanosecond
			}
			last := make([]unit.Time, len(c.Wiring.Network.Nodes))
			events := make([]string, len(c.Wiring.Network.Nodes))
			held := map[[3]int]unit.Time{}
			sum := map[[2]int]unit.Time{}
			c.OnPFC = func(e PFCEvent) {
				if e.At < last[e.Node] {
					t.Errorf("node %d: %v after %v", e.Node, e.At, last[e.Node])
				}
				last[e.Node] = e.At
				events[e.Node] += fmt.Sprintln(e)
				key := [3]int{e.Node, int(e.Port), int(e.Class)}
				since, is := held[key]
				switch {
				case e.Paused && !is:
					held[key] = e.At
				case !e.Paused && is:
					sum[[2]int{e.Node, int(e.Class)}] += e.At - since
					delete(held, key)
				}
			}
			for k := range c.Wiring.Network.Nodes {
				if c.Wiring.Network.Nodes[k].Switch {
					c.Watches = append(c.Watches, outcome.Watch{What: outcome.BufferBytes, Index: k, Every: 100 * unit.Microsecond})
				}
			}
			if change != nil {
				change(c)
			}
			s, err := New(c)
			if err != nil {
				t.Fatal(err)
			}
			r := s.Run()
			for key, since := range held {
				sum[[2]int{key[0], key[2]}] += r.Time - since
			}
			for _, p := range r.Ports {
				for class := range tm.Classes {
					sum[[2]int{p.Node, class}] -= p.Pauses.Time[class]
				}
				if p.Pauses.Any < p.Pauses.Time[0] || p.Pauses.Any > r.Measured {
					t.Errorf("seed %d: %+v", seed, p.Pauses)
				}
			}
			for key, d := range sum {
				if d != 0 {
					t.Errorf("seed %d, node and class %v: the observer has seen %v more than was counted", seed, key, d)
				}
			}
			b, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			return string(b) + strings.Join(events, "\n")
		}
		want := run(nil)
		for name, change := range map[string]func(*Config){
			"again": nil, "three threads": func(c *Config) { c.Threads = 3 },
			"small window": func(c *Config) { c.Window = 100 * unit.Nanosecond },
			"one group":    func(c *Config) { c.Window = unit.Second }, "wire": func(c *Config) { c.Wire = true },
		} {
			if run(change) != want {
				t.Errorf("seed %d, %s: another result", seed, name)
			}
		}
	}
}

// TestClassesShare checks that two classes at 1:3 share a link of 10 Gb/s in this ratio while both have enough to
// send, and that each has the whole link while the other is idle. The class travels from the host in the DSCP.
func TestClassesShare(t *testing.T) {
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: leafSpine(3, 1, unit.Length{})}, Duration: 45 * unit.Millisecond,
		Warmup: unit.Millisecond}
	lossless(t, c, 3, []string{"size", "32MB"}, nil)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Scheduler = func(queues int, _ unit.LinkRate) (tm.Scheduler, error) {
			return tm.NewPriorityDWRR(1, []int32{1, 1, 3}, 1046), nil
		}
	}
	flow := func(src int, class uint8, start, stop unit.Time, rate unit.Rate) {
		i := len(c.Flows)
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(src + 1), Dst: 4, SrcPort: uint16(1000 + i), DstPort: 7,
			Version: 4, TOS: class << 5,
			Payload: 1004, Framing: packet.Framings[0], Random: unit.NewRandom(1, fmt.Sprint(i)), Start: start, Stop: stop}
		s, r, err := udp.New(f, udp.Config{Rate: rate, Pattern: udp.CBR})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: src, Dst: 3, Start: start, Stop: stop, SrcPort: f.SrcPort,
			DstPort: f.DstPort, Class: class}, s, r)
		c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: i, Every: unit.Millisecond})
	}
	flow(0, 1, 0, 15*unit.Millisecond, 9500*unit.Mbps)
	flow(1, 2, 10*unit.Millisecond, unit.Never, 9500*unit.Mbps)
	flow(2, 0, 0, unit.Never, unit.Gbps) // goes before both
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	ceiling := 10e9 * 1004 / 1046
	for _, x := range []struct {
		flow, from, to int // ms
		want           float64
		// until 37 ms the first sends the backlog from before 15 ms
	}{{0, 2, 9, ceiling - 1e9}, {0, 12, 30, (ceiling - 1e9) / 4}, {1, 12, 30, (ceiling - 1e9) * 3 / 4},
		{1, 40, 43, ceiling - 1e9},
		{2, 2, 9, 1e9}, {2, 12, 30, 1e9}} {
		w := r.Watched[x.flow]
		got := float64(w[x.to-1]-w[x.from-1]) * 8 / float64(x.to-x.from) * 1e3
		if math.Abs(got-x.want) > 0.01*x.want {
			t.Errorf("flow %d, %d to %d ms: %.3g bit/s, want %.3g", x.flow, x.from, x.to, got, x.want)
		}
	}
	if r.Drops != [dataplane.Reasons]uint64{} {
		t.Errorf("drops %v", r.Drops)
	}
}
