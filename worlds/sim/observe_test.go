package sim

import (
	"encoding/json"
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// chain is a – s – b, whose second link is ten times slower: 100 and 10 Mb/s, 1 ms each.
func chain(change func(c *Config)) *Config {
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}, {Name: "s", Switch: true}}}
	for i, r := range []unit.Rate{100 * unit.Mbps, 10 * unit.Mbps} {
		n.Links = append(n.Links, topology.Link{Ends: [2]int{i, 2}, Rate: unit.LinkRate{Bits: r}, Delay: unit.Millisecond})
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n}, Duration: 100 * unit.Millisecond}
	forwarding(c)
	if change != nil {
		change(c)
	}
	return c
}

const toB = 3 // port s->b

// datagrams adds a flow from a to b, starting at a time: datagrams of 1000 bytes, 1042 with headers.
func datagrams(t *testing.T, c *Config, start unit.Time, size unit.Bytes, rate unit.Rate) {
	t.Helper()
	i := len(c.Flows)
	f := transport.Flow{ID: packet.FlowID(i), Src: 1, Dst: 2, SrcPort: uint16(100 + i), DstPort: 7, Version: 4, Size: size,
		Payload: 1000,
		Start:   start, Stop: unit.Never, Framing: packet.Framings[0], Random: unit.NewRandom(1, fmt.Sprint(i))}
	s, r, err := udp.New(f, udp.Config{Rate: rate, Pattern: udp.CBR})
	if err != nil {
		t.Fatal(err)
	}
	c.Add(outcome.Flow{Src: 0, Dst: 1, Start: start, Size: size, SrcPort: f.SrcPort,
		DstPort: f.DstPort}, s, r)
}

// hook is a program at the ingress, after the program that chooses the port.
type hook func(env *dataplane.Env, p *packet.Packet) dataplane.Verdict

func (hook) Name() string { return "hook" }
func (h hook) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	return h(env, p)
}

func withHook(c *Config, h hook) {
	for i := range c.Wiring.Switches {
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{ecmp.New(site, 1), h}, nil
		}
	}
}

// TestReorderingInNetwork checks reordering: the second of six datagrams waits in a lower class until the others, which
// arrive within the 833.6 µs of the first one, have departed. It arrives four places late.
func TestReorderingInNetwork(t *testing.T) {
	c := chain(func(c *Config) {
		c.Ordering = true
		c.Wiring.Switches[2].Queues = 2
		withHook(c, func(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			if p.Seq == 1 {
				p.Meta.Class = 1
			}
			return dataplane.Accept
		})
	})
	datagrams(t, c, 0, 6000, 100*unit.Mbps)
	for _, wire := range []bool{false, true} {
		c.Wire = wire
		c.Flows = nil
		datagrams(t, c, 0, 6000, 100*unit.Mbps)
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		if r.Reordering[0] != (outcome.Reordering{Arrived: 6, Reordered: 1, Extent: 4}) {
			t.Errorf("wire %v: %+v", wire, r.Reordering[0])
		}
	}
}

// TestRun_CountsNoticesAndDelays checks a switch that answers every datagram by a notice. Its own program drops each
// third when it is injected, and passes the sent ones. One takes 5.12 µs to the host, and 1 ms.
func TestRun_CountsNoticesAndDelays(t *testing.T) {
	notice := func(env *dataplane.Env, of *packet.Packet) *packet.Packet {
		n := env.NewPacket()
		n.Kind, n.Flow, n.Src, n.Dst, n.SrcPort, n.DstPort = packet.Nack, of.Flow, of.Src, of.Dst, of.SrcPort, of.DstPort
		n.Proto, n.Version, n.Size, n.Seq = packet.ProtoRDMA, 4, 64, of.Seq
		n.SwapEnds()
		return n
	}
	run := func(change func(c *Config)) *outcome.Result {
		c := chain(func(c *Config) {
			c.Notices = true
			withHook(c, func(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
				switch {
				case p.Kind == packet.Nack && p.Seq%3 == 0:
					return dataplane.Drop(dataplane.EarlyDrop)
				case p.Kind == packet.Data && p.Seq%2 == 0:
					env.InjectPacket(notice(env, p))
				case p.Kind == packet.Data:
					env.SendPacket(notice(env, p), p.Meta.In, 0)
				}
				return dataplane.Accept
			})
			change(c)
		})
		datagrams(t, c, 0, 30_000, 5*unit.Mbps) // one every 1.6 ms
		c.Flows[0].Size = 0                     // and the run goes on to its end
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const delay = 5_120*unit.Nanosecond + unit.Millisecond
	for _, wire := range []bool{false, true} {
		n := run(func(c *Config) { c.Wire = wire }).Notices
		// 30 are made, 15 of them injected, and 0, 6, 12, 18 and 24 are dropped
		if n.Made != 30 || n.Dropped != 5 || n.Delivered != 25 || n.DelaySum != 25*delay || n.DelayMax != delay ||
			n.Delay.Count() != 25 {
			t.Errorf("wire %v: %+v, %d delays", wire, n, n.Delay.Count())
		}
	}
	// The first arrives at 83.36 µs + 1 ms. From 16 ms on, notices of datagrams 10 to 29 arrive; the notice of number
	// 9, sent at 15.48 ms, arrives within the measured part.
	n := run(func(c *Config) { c.Warmup = 16 * unit.Millisecond }).Notices
	if n.Made != 20 || n.Dropped != 3 || n.Delivered != 18 {
		t.Errorf("with a warm-up: %+v", n)
	}
	n = run(func(c *Config) { c.Wiring.Network.Links[0].Loss = 0.5 }).Notices
	if n.Made == 0 || n.Made == 30 || n.Dropped <= n.Made/4 || n.Made != n.Dropped+n.Delivered {
		t.Errorf("with losses: %+v", n)
	}
}

// scripted is a sender that sends no packet, and whose window and rate follow a script.
type scripted struct {
	transport.Passive
	counters transport.Counters
	steps    []step
	now      transport.Gauge
}

type step struct {
	at           unit.Time
	window, rate int64
	derived      bool
}

func script(c *Config, steps ...step) {
	s, r := &scripted{steps: steps}, &scripted{}
	s.counters.Finished, r.counters.Finished = unit.Never, unit.Never
	i := len(c.Flows)
	c.Add(outcome.Flow{Src: 0, Dst: 1, SrcPort: uint16(500 + i), DstPort: 9}, s, r)
}

func (s *scripted) Receive(unit.Time, *packet.Packet) bool { return false }
func (s *scripted) Counters() *transport.Counters          { return &s.counters }
func (s *scripted) Gauge() transport.Gauge                 { return s.now }
func (s *scripted) NextTimer() unit.Time {
	if len(s.steps) == 0 {
		return unit.Never
	}
	return s.steps[0].at
}
func (s *scripted) Advance(now unit.Time) {
	for len(s.steps) > 0 && s.steps[0].at <= now {
		x := s.steps[0]
		s.now = transport.Gauge{Window: unit.Bytes(x.window), InFlight: unit.Bytes(x.window / 2), Rate: unit.Rate(x.rate),
			Derived: x.derived}
		s.steps = s.steps[1:]
	}
}

// Datagrams every 400 µs enter a link that takes 833.6 µs for each. After the arrival of number k, k − ⌊400k/833.6⌋
// wait there, and more than three for k = 6: at 83.36 µs + 1 ms + 6·400 µs.
const congested = 83_360*unit.Nanosecond + unit.Millisecond + 2400*unit.Microsecond

func TestOnset_FindsFirstReduction(t *testing.T) {
	const ms, us = unit.Millisecond, unit.Microsecond
	scripts := [][]step{
		// by a tenth: not at 95
		{{1 * ms, 100, 0, false}, {4 * ms, 95, 0, false}, {5 * ms, 89, 0, false}},
		// of the largest since: 80, and 72 is not below
		{{1 * ms, 50, 0, false}, {6 * ms, 80, 0, false}, {7 * ms, 72, 0, false}, {8 * ms, 71, 0, false}},
		// it had reduced before: its value then counts
		{{1 * ms, 100, 0, false}, {3 * ms, 20, 0, false}, {5 * ms, 19, 0, false}},
		{{1 * ms, 0, 1000, false}, {5500 * us, 0, 500, false}}, // a rate alone
		// which follows from the round-trip time
		{{1 * ms, 100, 1000, true}, {5 * ms, 100, 500, true}},
		// the first one counts
		{{1 * ms, 100, 0, false}, {5 * ms, 200, 0, false}, {9 * ms, 179, 0, false}, {10 * ms, 1, 0, false}},
		{{1 * ms, 100, 0, false}, {congested, 10, 0, false}}, // not because of it
	}
	want := []unit.Time{5 * ms, 8 * ms, unit.Never, 5500 * us, unit.Never, 9 * ms, unit.Never}
	for name, x := range map[string]struct {
		o  outcome.Onset
		at unit.Time
	}{
		"a queue in packets": {outcome.Onset{Port: toB, Above: unit.Length{Packets: 3}}, congested},
		"in bytes":           {outcome.Onset{Port: toB, Above: unit.Length{Bytes: 4*1042 - 1}}, congested},
		"a time":             {outcome.Onset{Port: -1, After: congested}, congested},
		"full already": {outcome.Onset{Port: toB, After: congested + us, Above: unit.Length{Packets: 3}},
			congested + us},
		"never": {outcome.Onset{Port: toB, Above: unit.Length{Packets: 300}}, unit.Never},
	} {
		for _, window := range []unit.Time{0, 100 * us, unit.Second} { // nodes run ahead of each other by so much
			c := chain(func(c *Config) { c.Window = window })
			datagrams(t, c, 0, 0, 20*unit.Mbps)
			x.o.By = 0.1
			x.o.Flows = nil
			for _, s := range scripts {
				x.o.Flows = append(x.o.Flows, len(c.Flows))
				script(c, s...)
			}
			c.Onsets, c.Peaks = []outcome.Onset{x.o}, true
			r, err := Run(c)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Onsets[0].At; got != x.at {
				t.Errorf("%s, window %v: it began at %v", name, window, got)
			}
			for i, got := range r.Onsets[0].Reduced {
				if w := want[i]; x.at != unit.Never && got != w || x.at == unit.Never && got != unit.Never {
					t.Errorf("%s, window %v: sender %d reduced at %v, want %v", name, window, i, got, w)
				}
			}
			if r.Peaks[2] != 40 || r.Peaks[6] != 100 || r.Peaks[0] != 0 {
				t.Errorf("in flight at most %v, %v", r.Peaks[2], r.Peaks[6])
			}
		}
	}
}

// TestOnsetInFlight checks that the flight is half of the script's window: 50, 45, 0. No value is below 45, and the
// flight falls where the window has no limit.
func TestOnsetInFlight(t *testing.T) {
	const ms = unit.Millisecond
	for _, inFlight := range []bool{false, true} {
		c := chain(nil)
		script(c, step{at: ms, window: 100}, step{at: 4 * ms, window: 90}, step{at: 5 * ms})
		c.Onsets = []outcome.Onset{{Port: -1, After: 2 * ms, By: 0.1, InFlight: inFlight, Flows: []int{0}}}
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		want := unit.Never // a window of 0 is none
		if inFlight {
			want = 5 * ms
		}
		if got := r.Onsets[0].Reduced[0]; got != want {
			t.Errorf("in flight %v: %v", inFlight, got)
		}
	}
}

// TestPeakAfterWarmup checks that the flight at the warm-up's end counts, and no earlier one.
func TestPeakAfterWarmup(t *testing.T) {
	c := chain(func(c *Config) { c.Warmup = 10 * unit.Millisecond; c.Peaks = true })
	script(c, step{at: unit.Millisecond, window: 90}, step{at: 2 * unit.Millisecond, window: 50},
		step{at: 20 * unit.Millisecond, window: 10})
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.Peaks[0] != 25 {
		t.Errorf("in flight at most %v", r.Peaks[0])
	}
}

// TestObservedSame checks that an observer changes no result.
func TestObservedSame(t *testing.T) {
	run := func(observe bool) string {
		r, err := Run(config(t, 3, func(c *Config) {
			if observe {
				c.Peaks, c.Notices, c.Ordering = true, true, true
				c.Onsets = []outcome.Onset{{Port: 1, By: 0.1, Above: unit.Length{Packets: 2}, After: 3 * unit.Microsecond,
					Flows: []int{0, 2, 4}}}
			}
		}))
		if err != nil {
			t.Fatal(err)
		}
		r.Onsets, r.Notices = nil, outcome.Notices{}
		r.Peaks, r.Reordering = nil, nil
		b, _ := json.Marshal(r)
		return string(b)
	}
	if run(true) != run(false) {
		t.Error("an observed run has another outcome")
	}
}

func TestBadOnsets(t *testing.T) {
	good := outcome.Onset{Port: toB, By: 0.1, Above: unit.Length{Packets: 1}, Flows: []int{0}}
	for i, change := range []func(o *outcome.Onset){
		nil,
		func(o *outcome.Onset) { o.After = -1 }, func(o *outcome.Onset) { o.By = 0 }, func(o *outcome.Onset) { o.By = 1 },
		func(o *outcome.Onset) {
			o.Port = 4
		},
		func(o *outcome.Onset) { o.Port = 0 }, func(o *outcome.Onset) { o.Above = unit.Length{} },
		func(o *outcome.Onset) { o.Flows = []int{1} },
		func(o *outcome.Onset) { o.Flows = []int{0, 0} },
	} {
		c := chain(nil)
		script(c)
		o := good
		if change != nil {
			change(&o)
		}
		c.Onsets = []outcome.Onset{o}
		if _, err := New(c); (err == nil) != (change == nil) {
			t.Errorf("%d: %v", i, err)
		}
	}
}
