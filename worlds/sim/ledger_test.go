package sim

import (
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// at does something to the hundredth packet that a switch gets.
type at struct {
	do      func(*at, *dataplane.Env, *packet.Packet) dataplane.Verdict
	packets int
	kept    *packet.Packet
}

func (*at) Name() string { return "at" }
func (a *at) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if a.packets++; a.packets == 100 {
		return a.do(a, env, p)
	}
	return dataplane.Accept
}

// TestRun_AccountsForEveryPacket checks that every packet is delivered, dropped with a reason, or in the network. A
// program that loses one, makes one from no packet, or changes its length while it waits ends the run, which names the
// switch.
func TestRun_AccountsForEveryPacket(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(*at, *dataplane.Env, *packet.Packet) dataplane.Verdict
		want string
	}{
		{"nothing", func(*at, *dataplane.Env, *packet.Packet) dataplane.Verdict { return dataplane.Accept }, ""},
		{"consumed", func(*at, *dataplane.Env, *packet.Packet) dataplane.Verdict { return dataplane.Consume }, ""},
		{"a copy sent", func(_ *at, env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			env.InjectPacket(env.ClonePacket(p, true))
			return dataplane.Accept
		}, ""},
		{"a copy given back", func(_ *at, env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			env.FreePacket(env.ClonePacket(p, true))
			return dataplane.Accept
		}, ""},
		{"a copy forgotten", func(a *at, env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			a.kept = env.ClonePacket(p, true)
			return dataplane.Accept
		}, "switch s"},
		{"a packet that was sent elsewhere, too", func(_ *at, env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			c := *p // not from the pool
			env.SendPacket(&c, 0, 0)
			return dataplane.Accept
		}, "switch s"},
		{"given back, and sent", func(_ *at, env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
			c := env.NewPacket()
			*c = *p
			c.Next = nil
			env.FreePacket(c)
			env.FreePacket(env.NewPacket())
			env.FreePacket(env.NewPacket())
			env.FreePacket(c)
			return dataplane.Accept
		}, "switch s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := config(t, 1, nil)
			for i := range k.Wiring.Switches {
				k.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
					return []dataplane.Program{&at{do: c.do}, ecmp.New(site, 1)}, nil
				}
			}
			r, err := Run(k)
			if err != nil {
				t.Fatal(err)
			}
			if (r.End == outcome.Violated) != (c.want != "") || !strings.Contains(r.Violation, c.want) {
				t.Errorf("%s: %q, want %q", r.End, r.Violation, c.want)
			}
			if c.want != "" && r.Time >= k.Duration {
				t.Errorf("the run ends at %v only", r.Time)
			}
		})
	}
}

// stretcher makes a packet longer while it waits.
type stretcher struct{ done bool }

func (*stretcher) Name() string { return "stretcher" }
func (s *stretcher) Book(env *dataplane.Env, p *packet.Packet) {
	if !s.done {
		s.done = true
		p.Size += 10
	}
}

func TestConservedBytes(t *testing.T) {
	k := config(t, 1, nil)
	for i := range k.Wiring.Switches {
		k.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			return []dataplane.Program{&stretcher{}, ecmp.New(site, 1)}, nil
		}
	}
	r, err := Run(k)
	if err != nil || r.End != outcome.Violated || !strings.Contains(r.Violation, "bytes") {
		t.Errorf("%v: %s %q", err, r.End, r.Violation)
	}
}

// TestConservedEverywhere checks that mistakes of the simulator itself are found as well: at a host, on a link, in
// the pool, in a buffer's count.
func TestConservedEverywhere(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(*Simulation)
		want   string
	}{
		{"a host forgets one", func(s *Simulation) { s.hosts[0].ended-- }, "host h0"},
		{"a host makes one", func(s *Simulation) { s.hosts[1].made++ }, "host h1"},
		{"a packet leaks", func(s *Simulation) { s.threads[0].pool.Get() }, "in use"},
		{"a port counts one twice", func(s *Simulation) {
			s.portOf(s.linkOf[0]).CountSent(&packet.Packet{})
		}, "its link took"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := New(config(t, 1, nil))
			if err != nil {
				t.Fatal(err)
			}
			c.damage(s)
			if r := s.Run(); r.End != outcome.Violated || !strings.Contains(r.Violation, c.want) {
				t.Errorf("%s: %q", r.End, r.Violation)
			}
		})
	}
}

// silent is a sender of one datagram that waits for an answer for ever, without a timer.
type silent struct {
	transport.Endpoint
	counters transport.Counters
}

func (s *silent) Counters() *transport.Counters { return &s.counters }

// clock is a program that only ticks; idle is one that declares that its ticks have no effect.
type clock struct{ ticks int }

func (*clock) Name() string { return "clock" }
func (c *clock) Tick(env *dataplane.Env) unit.Time {
	c.ticks++
	return env.Now() + 10*unit.Microsecond
}

type idle struct{ clock }

func (*idle) Idle() bool { return true }

// TestRun_EndsOnIdleRepetition checks that events that only repeat themselves do not keep a run alive, and events with
// possible effects do.
func TestRun_EndsOnIdleRepetition(t *testing.T) {
	run := func(program dataplane.Program, change func(*Config)) *outcome.Result {
		c := config(t, 1, nil)
		f := transport.Flow{Src: 1, Dst: 2, SrcPort: 1, DstPort: 2, Version: 4, Size: 1000, Payload: 1000,
			Framing: packet.Framings[0]}
		u, r, err := udp.New(f, udp.Config{Rate: unit.Gbps, Pattern: udp.CBR})
		if err != nil {
			t.Fatal(err)
		}
		s := &silent{Endpoint: u}
		s.counters.Finished = unit.Never
		c.Flows = nil
		c.Add(outcome.Flow{Src: 0, Dst: 1, Size: 1000, SrcPort: 1, DstPort: 2}, s, r)
		c.Duration = unit.Second
		for i := range c.Wiring.Switches {
			c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
				return []dataplane.Program{program, ecmp.New(site, 1)}, nil
			}
		}
		if change != nil {
			change(c)
		}
		out, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	for _, c := range []struct {
		name    string
		program dataplane.Program
		change  func(*Config)
		end     outcome.EndReason
		at      unit.Time
	}{
		{"ticks that may do something", &clock{}, nil, outcome.TimeUp, unit.Second},
		{"idle ticks and samples", &idle{}, nil, outcome.NoProgress, unit.Millisecond},
		{"idle ticks and stalls", &idle{}, func(c *Config) {
			c.Stalls = Stalls{Every: 300 * unit.Microsecond, Length: 100 * unit.Microsecond}
		}, outcome.NoProgress, unit.Millisecond},
		{"a link that changes its rate later", &idle{}, func(c *Config) {
			c.Wiring.Events = []wiring.Event{{At: 700 * unit.Millisecond, Link: 0, Down: true}}
		}, outcome.NoProgress, 701 * unit.Millisecond}, // the first look after it
		{"a packet on a long link", &idle{}, func(c *Config) { c.Wiring.Network.Links[1].Delay = 300 * unit.Millisecond },
			outcome.NoProgress, 301 * unit.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := run(c.program, c.change)
			if r.End != c.end || r.Time != c.at {
				t.Errorf("%s at %v, want %s at %v", r.End, r.Time, c.end, c.at)
			}
			if len(r.Waits) != 1 || !strings.Contains(r.Waits[0].String(), "no event") {
				t.Errorf("it waits for %v", r.Waits)
			}
		})
	}
}

// TestWaitsForFlow checks that a flow after one that does not arrive waits for it.
func TestWaitsForFlow(t *testing.T) {
	c := config(t, 1, nil)
	c.Flows = nil
	flow := func(src, dst int) {
		u, r, err := udp.New(transport.Flow{Src: packet.Addr(src + 1), Dst: packet.Addr(dst + 1), SrcPort: 1, DstPort: 2,
			Version: 4, Size: 1000, Payload: 1000, Framing: packet.Framings[0]}, udp.Config{Rate: unit.Gbps, Pattern: udp.CBR})
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: src, Dst: dst, Size: 1000, SrcPort: 1, DstPort: 2}, u, r)
	}
	flow(0, 1)
	flow(1, 0)
	c.Flows[1].After = []int{0}
	c.Wiring.Network.Links[0].Loss = 0.9999999
	r, err := Run(c)
	if err != nil {
		t.Fatal(err)
	}
	if r.End != outcome.NoProgress || len(r.Waits) != 1 || r.Waits[0].Flow != 1 ||
		r.Waits[0].For != "its predecessor, flow 0" {
		t.Errorf("%s, waits %v", r.End, r.Waits)
	}
}
