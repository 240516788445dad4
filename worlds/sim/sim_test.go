package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/window"
	"weir/core/unit"
)

// leafSpine returns two leaves with h hosts each and s spines.
func leafSpine(h, s int, buffer unit.Length) *topology.Network {
	n := &topology.Network{}
	for i := range 2 * h {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	for i := range 2 + s {
		n.Nodes = append(n.Nodes, topology.Node{Name: fmt.Sprint("s", i), Switch: true})
	}
	link := func(a, b int, rate unit.Rate) {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{a, b}, Rate: unit.LinkRate{Bits: rate},
			Delay: unit.Microsecond, Buffer: buffer})
	}
	for i := range 2 * h {
		link(i, 2*h+i/h, 10*unit.Gbps)
	}
	for i := range s {
		link(2*h, 2*h+2+i, 10*unit.Gbps)
		link(2*h+1, 2*h+2+i, 10*unit.Gbps)
	}
	return n
}

// config returns a run on a leaf-spine with flows of 60 packets across it, over lossy links, and some datagrams
// next to them.
func config(t testing.TB, seed uint64, change func(*Config)) *Config {
	const h = 4
	c := &Config{Wiring: wiring.Config{Seed: seed, Network: leafSpine(h, 3, unit.Length{Packets: 12})},
		Selection: outcome.Selection{Delays: true, Tally: true}, Duration: 20 * unit.Millisecond}
	for i := range 2 * len(c.Wiring.Network.Links) {
		c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueuePackets, Index: i, Every: unit.Millisecond},
			outcome.Watch{What: outcome.SentBytes,
				Index: i, Every: 700 * unit.Microsecond})
	}
	c.Wiring.Network.Links[1].Loss = 0.01
	c.Wiring.Network.Links[9].Jitter = 3 * unit.Microsecond
	c.Wiring.Network.Links[10].Delay = 2500 * unit.Nanosecond
	forwarding(c)
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{ecmp.New(site, uint32(site.Random("ecmp").Uint64()))}, nil
		}
	}
	for i := range 2 * h {
		f := transport.Flow{ID: packet.FlowID(len(c.Flows)), Src: packet.Addr(i + 1), Dst: packet.Addr((i+h)%(2*h) + 1),
			SrcPort: uint16(100 + i), DstPort: 7,
			Version: 4, Size: 60_000, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(seed,
				fmt.Sprint("flow ", i)),
			Start: unit.Time(i) * unit.Microsecond}
		s, r := window.New(f, 20, 200*unit.Microsecond)
		c.Add(outcome.Flow{Src: i, Dst: (i + h) % (2 * h), Start: f.Start, Size: f.Size,
			SrcPort: f.SrcPort, DstPort: f.DstPort}, s, r)
		f.ID++
		f.SrcPort, f.Size = uint16(200+i), 0
		us, ur, err := udp.New(f, udp.Config{Rate: 300 * unit.Mbps, Pattern: udp.CBR, GapJitter: 0.3})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: (i + h) % (2 * h), Start: f.Start,
			SrcPort: f.SrcPort, DstPort: f.DstPort}, us, ur)
	}
	if change != nil {
		change(c)
	}
	return c
}

// transcript returns all of a result, as text.
func transcript(t testing.TB, c *Config) string {
	t.Helper()
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	r := s.Run()
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	// no packet is lost: all packets in flight are on wires and in queues
	waiting := 0
	for _, d := range s.linkOf {
		waiting += int(s.portOf(d).Packets())
	}
	for _, h := range s.hosts {
		if h != nil {
			waiting += len(h.kept)
		}
	}
	if live := s.livePackets(); live != waiting+s.fabric.InFlight() {
		t.Errorf("%d packets are out, %d wait and %d are on wires", live, waiting, s.fabric.InFlight())
	}
	return string(b)
}

// TestSameResult checks that the same configuration gives the same result, for any execution windows and any form of
// packets on the links.
func TestSameResult(t *testing.T) {
	for seed := range uint64(3) {
		want := transcript(t, config(t, seed, nil))
		if !strings.Contains(want, `"End":"time up"`) {
			t.Fatalf("seed %d: %s", seed, want)
		}
		for _, f := range everyForm {
			if got := transcript(t, config(t, seed, f.change)); got != want {
				t.Errorf("seed %d, %s: another result\n%s\n%s", seed, f.name, got, want)
			}
		}
	}
	if transcript(t, config(t, 1, nil)) == transcript(t, config(t, 2, nil)) {
		t.Error("two seeds give one result: randomness is not used")
	}
}

// connections replaces the transports of a config by TCP with several controllers.
func connections(t testing.TB, c *Config) {
	schemes := []cc.Scheme{reno.Scheme(), bbr.Scheme(), reno.Scheme()}
	for i := range c.Flows {
		f := &c.Flows[i]
		config := tcp.Defaults()
		config.RTOMin, config.ECN, config.Pacing = unit.Millisecond, i%3 == 0, i%4 == 1
		config.InitialSeq = uint32(i) * 0x31415926
		s, r, err := tcp.New(transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
			SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: uint8(4 + 2*(i%2)), Size: f.Size, Payload: 1000, Framing: packet.Framings[0],
			Random: unit.NewRandom(c.Wiring.Seed,
				fmt.Sprint("tcp ", i)),
			Start: f.Start, Stop: unit.Never, CC: &schemes[i%3]}, config)
		if err != nil {
			t.Fatal(err)
		}
		c.Endpoints[i] = transport.EndpointPair{Sender: s, Receiver: r}
	}
}

// TestSameResultTCP checks the same with TCP: retransmissions, SACK, ECN, pacing, IPv4 and IPv6, and sequence numbers
// that wrap.
func TestSameResultTCP(t *testing.T) { sameResultTCP(t, 0, 2*unit.Millisecond, endForms) }

// sameResultTCP compares forms of a run with TCP, and checks that it loses packets and ends flows.
func sameResultTCP(t *testing.T, seed uint64, duration unit.Time, forms []form) {
	t.Helper()
	build := func(change func(*Config)) *Config {
		c := config(t, seed, change)
		c.Duration = duration
		connections(t, c)
		return c
	}
	sameInEveryForm(t, fmt.Sprint("seed ", seed), forms, build, nil)
	c := build(nil)
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	resent, done := int64(0), 0
	for i, f := range r.Flows {
		resent += f.Sender.Retransmitted
		if c.Flows[i].Size > 0 && f.FCT != unit.Never && f.Written <= f.FCT {
			done++
		}
	}
	if resent == 0 || done < 6 {
		t.Errorf("seed %d: %d packets sent again, %d of 8 flows complete", seed, resent, done)
	}
}

// TestNamedStreams checks that an additional host without traffic does not shift the others' random numbers: streams
// are by name.
func TestNamedStreams(t *testing.T) {
	drops := func(extra bool) string {
		c := config(t, 3, func(c *Config) {
			if extra {
				c.Wiring.Network.Nodes = append(c.Wiring.Network.Nodes, topology.Node{Name: "idle"})
				c.Wiring.Switches = append(c.Wiring.Switches, wiring.SwitchConfig{})
			}
		})
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(r.Drops, r.Flows)
	}
	if a, b := drops(false), drops(true); a != b {
		t.Error("an idle host changes the outcome of others")
	}
}

// TestRun_ReportsEndAndUnfinishedFlows checks the reported end of a run and its unfinished flows.
func TestRun_ReportsEndAndUnfinishedFlows(t *testing.T) {
	finite := func(change func(*Config)) *outcome.Result {
		c := config(t, 1, nil)
		every := c.Flows
		c.Flows = nil
		for i := 0; i < len(every); i += 2 {
			f := transport.Flow{ID: packet.FlowID(len(c.Flows)), Src: packet.Addr(every[i].Src + 1),
				Dst:     packet.Addr(every[i].Dst + 1),
				SrcPort: every[i].SrcPort, DstPort: 7, Version: 4, Size: 60_000, Payload: 1000, Framing: packet.Framings[0]}
			s, r := window.New(f, 20, 200*unit.Microsecond)
			c.Add(outcome.Flow{Src: every[i].Src, Dst: every[i].Dst, Size: f.Size,
				SrcPort: f.SrcPort, DstPort: 7}, s, r)
		}
		c.UntilDone, c.Duration = true, unit.Second
		change(c)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := finite(func(*Config) {})
	last := unit.Time(0)
	for _, f := range r.Flows {
		last = max(last, f.FCT)
	}
	if r.End != outcome.AllDone || len(r.Unfinished) != 0 || r.Time != last+unit.Microsecond {
		t.Errorf("all done: %s at %v, last flow %v, unfinished %v", r.End, r.Time, last, r.Unfinished)
	}
	r = finite(func(c *Config) { c.Duration = 50 * unit.Microsecond })
	if r.End != outcome.TimeUp || len(r.Unfinished) != 8 || r.Time != 50*unit.Microsecond {
		t.Errorf("time up: %s at %v, unfinished %v", r.End, r.Time, r.Unfinished)
	}
	// no packet arrives: retransmissions continue to the end
	r = finite(func(c *Config) {
		for i := range c.Wiring.Network.Links {
			c.Wiring.Network.Links[i].Loss = 0.9999999
		}
		c.Duration = 100 * unit.Second
	})
	if r.End != outcome.TimeUp || len(r.Unfinished) != 8 || r.Time != 100*unit.Second {
		t.Errorf("nothing gets through: %s at %v, unfinished %v", r.End, r.Time, r.Unfinished)
	}
	// but not before the flows have started
	r = finite(func(c *Config) {
		for i := range c.Flows {
			s, rx := window.New(transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(c.Flows[i].Src + 1),
				Dst:     packet.Addr(c.Flows[i].Dst + 1),
				SrcPort: c.Flows[i].SrcPort, DstPort: 7, Version: 4, Size: 5000, Payload: 1000, Framing: packet.Framings[0],
				Start: 25 * unit.Second}, 20, unit.Millisecond)
			c.Endpoints[i] = transport.EndpointPair{Sender: s, Receiver: rx}
			c.Flows[i].Start, c.Flows[i].Size = 25*unit.Second, 5000
		}
		c.Duration = 60 * unit.Second
	})
	if r.End != outcome.AllDone || len(r.Unfinished) != 0 {
		t.Errorf("late flows: %s at %v, unfinished %v", r.End, r.Time, r.Unfinished)
	}
	calls := 0
	r = finite(func(c *Config) {
		c.Stopped = func() bool { calls++; return calls > 20 }
	})
	if r.End != outcome.Interrupted || len(r.Unfinished) == 0 {
		t.Errorf("interrupted: %s at %v, unfinished %v", r.End, r.Time, r.Unfinished)
	}
}

// TestBadConfigurations checks that impossible configurations are errors.
func TestBadConfigurations(t *testing.T) {
	for want, change := range map[string]func(*Config){
		"duration":              func(c *Config) { c.Duration = 0 },
		"warm-up":               func(c *Config) { c.Warmup = c.Duration },
		"switch configurations": func(c *Config) { c.Wiring.Switches = nil },
		"of the same host": func(c *Config) {
			c.Wiring.Network.Links = append(c.Wiring.Network.Links, topology.Link{Ends: [2]int{0, 9},
				Rate: unit.LinkRate{Bits: 1}})
			c.Flows[0].Src, c.Flows[0].Dst = 0, len(c.Wiring.Network.Nodes)
		},
		"must be hosts": func(c *Config) { c.Flows[0].Dst = c.Flows[0].Src },
		"exactly one":   func(c *Config) { c.Wiring.Network.Links[0].Rate = unit.LinkRate{} },
	} {
		c := config(t, 1, nil)
		change(c)
		if _, err := Run(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", want, err)
		}
	}
}

// TestNoAllocationPerPacket checks that no packet causes an allocation once queues, rings and heaps have grown.
func TestNoAllocationPerPacket(t *testing.T) {
	c := config(t, 1, func(c *Config) { c.Watches = nil; c.Duration = 10 * unit.Second })
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	at := 20 * unit.Millisecond
	s.fabric.Run(at, nil)
	hops := s.fabric.CountHops()
	if n := testing.AllocsPerRun(5, func() {
		at += 5 * unit.Millisecond
		s.fabric.Run(at, nil)
	}); n > 0 || s.fabric.CountHops() == hops {
		t.Errorf("%g allocations in 5 ms, %d hops", n, s.fabric.CountHops()-hops)
	}
}

// TestHostObeysPause checks PFC between a switch and a host's NIC: while class 0 is paused the host sends no packet,
// and none is lost.
func TestHostObeysPause(t *testing.T) {
	c := config(t, 1, nil)
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.fabric.Run(unit.Millisecond, nil)
	h := s.hosts[0]
	pfc := func(k packet.Kind) {
		p := s.threads[0].pool.Get()
		p.Kind = k
		h.Receive(unit.Millisecond, 0, p)
	}
	pfc(packet.Pause)
	if p, again := h.Dequeue(unit.Millisecond+unit.Second, 0); p != nil {
		t.Errorf("a paused host sends a packet (again %v)", again)
	}
	pfc(packet.Resume)
	if _, woken := h.wants.NextWoken(); !woken {
		t.Error("resuming does not wake the NIC")
	}
	if p, _ := h.Dequeue(unit.Millisecond+unit.Second, 0); p == nil {
		t.Error("a resumed host sends nothing")
	}
}

func BenchmarkRun(b *testing.B) {
	var hops uint64
	for b.Loop() {
		r, err := Run(config(b, 1, nil))
		if err != nil {
			b.Fatal(err)
		}
		hops += r.PacketHops
	}
	b.ReportMetric(float64(hops)/b.Elapsed().Seconds()/1e6, "Mhops/s")
}

func ExampleRun() {
	// two hosts and a switch; one flow of 10 packets
	n := &topology.Network{
		Nodes: []topology.Node{{Name: "a"}, {Name: "s", Switch: true}, {Name: "b"}},
		Links: []topology.Link{
			{Ends: [2]int{0, 1}, Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: unit.Microsecond},
			{Ends: [2]int{1, 2}, Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: unit.Microsecond},
		},
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n}, Duration: unit.Second, UntilDone: true}
	forwarding(c)
	f := transport.Flow{Src: 1, Dst: 3, SrcPort: 1, DstPort: 2, Version: 4, Size: 10_000, Payload: 1000,
		Framing: packet.Framings[0]}
	sender, receiver := window.New(f, 10, unit.Millisecond)
	c.Add(outcome.Flow{Src: 0, Dst: 2, Size: f.Size}, sender, receiver)
	r, err := Run(c)
	fmt.Println(err, r.End, r.Flows[0].FCT, r.PacketHops)
	// Output: <nil> all flows done 97.2us 40
}
