package sim

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/transport/ndp"
	"weir/core/transport/rdma"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/core/transport/window"
	"weir/core/unit"
)

// build makes the two endpoints of a flow.
type build func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error)

// made makes the endpoints of flows when they begin, and counts them.
type made struct {
	flows              []transport.Flow
	build              build
	senders, receivers int
}

func (m *made) Sender(flow int, start unit.Time) (transport.Endpoint, error) {
	m.senders++
	f := m.flows[flow]
	f.Start = start
	s, _, err := m.build(f)
	return s, err
}

func (m *made) Receiver(flow int) (transport.Endpoint, error) {
	m.receivers++
	_, r, err := m.build(m.flows[flow])
	return r, err
}

// transports returns the transports whose endpoints these tests make and give back.
func transports() map[string]build {
	dctcp, reno := dctcp.Scheme(), reno.Scheme()
	with := func(s *cc.Scheme, f transport.Flow) transport.Flow {
		f.CC = s
		return f
	}
	return map[string]build{
		"window": func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			s, r := window.New(f, 20, 200*unit.Microsecond)
			return s, r, nil
		},
		"tcp": func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			c := tcp.Defaults()
			c.RTOMin = unit.Millisecond
			return ends(tcp.New(with(&reno, f), c))
		},
		"rdma": func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			return ends(rdma.New(with(&dctcp, f), rdma.Defaults()))
		},
		"udp": func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			return ends(udp.New(f, udp.Config{Rate: unit.Gbps, Pattern: udp.CBR}))
		},
		"ndp": func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			return ends(ndp.New(f, ndp.Config{Window: 20, PullRate: unit.Gbps, RTOMin: unit.Millisecond}))
		},
	}
}

func ends[S, R transport.Endpoint](s S, r R, err error) (transport.Endpoint, transport.Endpoint, error) {
	return s, r, err
}

// oneByOne returns a config with n short flows from hosts to their neighbours, one after the other at each host.
func oneByOne(t testing.TB, make build, n int) (*Config, *made) {
	c := config(t, 1, func(c *Config) {
		for i := range c.Wiring.Network.Links {
			c.Wiring.Network.Links[i].Loss = 0
		}
		c.Flows, c.Endpoints, c.UntilDone, c.Duration = nil, nil, true, unit.Second
	})
	hosts := 0
	for _, node := range c.Wiring.Network.Nodes {
		if !node.Switch {
			hosts++
		}
	}
	m := &made{build: make}
	for i := range n {
		src := i % hosts
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(src + 1), Dst: packet.Addr((src+1)%hosts + 1),
			SrcPort: uint16(1000 + i), DstPort: 7, Version: 4, Size: 3000, Payload: 1000, Framing: packet.Framings[0],
			Random: unit.NewRandom(1, fmt.Sprint(i)), Start: unit.Time(i/hosts) * 100 * unit.Microsecond, Stop: unit.Never,
			Path: cc.Path{NICRate: 10 * unit.Gbps, ReceiverRate: 10 * unit.Gbps, LineRate: 9 * unit.Gbps,
				BaseRTT: 50 * unit.Microsecond, Hops: 4}}
		m.flows = append(m.flows, f)
		c.Flows = append(c.Flows, outcome.Flow{Src: src, Dst: (src + 1) % hosts, Start: f.Start, Size: f.Size,
			SrcPort: f.SrcPort,
			DstPort: f.DstPort})
	}
	c.EndpointFactory = m
	return c, m
}

// TestEndsAreGivenBack checks that endpoints are made once each, when their flow begins, and are returned. Of
// thousands of flows, a few at a time, only a few endpoints exist at any time. The outcome equals that of endpoints
// that exist from the start and stay.
func TestEndsAreGivenBack(t *testing.T) { endsAreGivenBack(t, 800) }

// endsAreGivenBack runs the given number of flows of each transport.
func endsAreGivenBack(t *testing.T, flows int) {
	t.Helper()
	for name, make := range transports() {
		t.Run(name, func(t *testing.T) {
			c, m := oneByOne(t, make, flows)
			if s, err := New(c); err != nil || m.senders == 0 || m.senders > 20 || m.receivers > 0 {
				t.Fatalf("%d senders and %d receivers before the run, %v", m.senders, m.receivers, err)
			} else {
				s.Run()
				slots, live := 0, 0
				for _, h := range s.hosts {
					if h == nil {
						continue
					}
					slots += len(h.slot)
					for i := range h.slot {
						if h.slot[i].endpoint != nil {
							live++
						}
					}
				}
				if m.senders != flows || m.receivers != flows {
					t.Errorf("%d senders and %d receivers were made", m.senders, m.receivers)
				}
				if slots > 2*flows/5 || live > 4*minFinished {
					t.Errorf("%d places for the ends of %d flows, and %d ends in the end", slots, flows, live)
				}
			}
			c, _ = oneByOne(t, make, flows)
			got := transcript(t, c)
			c, _ = oneByOne(t, make, flows)
			if c.sweeps = 1 << 30; c.MakeEndpoints() != nil || transcript(t, c) != got {
				t.Error("another result with ends that are there from the beginning, and stay")
			}
		})
	}
}

// TestLatePacketIsAMistake checks that a packet of a flow with returned ends is a mistake of the simulator, which ends
// the run.
func TestLatePacketIsAMistake(t *testing.T) {
	c, _ := oneByOne(t, transports()["window"], 300)
	c.sweeps = 1
	s, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.fabric.Run(2*unit.Millisecond, func(unit.Time) bool {
		s.gatherThreads()
		s.sweepFlows()
		return false
	})
	f := &c.Flows[0]
	if s.sender[0] != closed || s.receiver[0] != closed {
		t.Fatal("flow 0 is not over")
	}
	p := s.threads[0].pool.Get()
	p.Flow, p.Kind = 0, packet.Data
	s.hosts[f.Dst].Receive(2*unit.Millisecond, 0, p)
	if err := s.checkConservation(); err == nil {
		t.Error("nothing is said")
	}
}

// TestOutcomeIsOfTheMeasuredPart checks that finished flows are not in the measured part, and flows in progress count
// their later arrivals.
func TestOutcomeIsOfTheMeasuredPart(t *testing.T) {
	with := func(sweeps int) *outcome.Result {
		c, _ := oneByOne(t, transports()["tcp"], 400)
		c.Warmup, c.sweeps = 1300*unit.Microsecond, sweeps
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	given, kept := with(1), with(1<<30)
	before, after := 0, 0
	for i := range given.Flows {
		g, k := &given.Flows[i], &kept.Flows[i]
		if *g != *k {
			t.Errorf("flow %d: %+v, with ends that stay %+v", i, g, k)
		}
		switch {
		case g.Start+g.FCT < 1200*unit.Microsecond && g.Sender.SentBytes == 0 && g.Receiver.ReceivedBytes == 0 &&
			g.Receiver.DelayMin == unit.Never && g.Receiver.DelayMax == 0:
			before++
		case g.Start > 1300*unit.Microsecond && g.Sender.SentBytes == 3000 && g.Receiver.ReceivedBytes == 3000:
			after++
		}
	}
	if before < 50 || after < 50 {
		t.Errorf("%d flows ended before, %d began after", before, after)
	}
}

// belated is a program that sends a flow's source a NACK long after it has seen one of its packets.
type belated struct {
	flow     packet.FlowID
	src, dst packet.Addr
	at       unit.Time
	sent     int
	tells    bool // which flow it has in mind
}

func (*belated) Name() string { return "belated" }

func (b *belated) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if b.at == unit.Never && p.Kind == packet.Data {
		b.flow, b.src, b.dst, b.at = p.Flow, p.Src, p.Dst, env.Now()+400*unit.Microsecond
		env.TickAt(b, b.at)
	}
	return dataplane.Accept
}

func (b *belated) Tick(env *dataplane.Env) unit.Time {
	if b.at <= env.Now() {
		n := env.NewPacket()
		n.Flow, n.Src, n.Dst, n.Kind, n.Size, n.Version, n.HopLimit = b.flow, b.dst, b.src, packet.Nack, 64, 4, 64
		n.Proto, n.SrcPort, n.DstPort = packet.ProtoOwn, 7, uint16(1000+b.flow)
		env.InjectPacket(n)
		b.sent++
		b.at = unit.Never
	}
	return b.at
}

func (b *belated) PendingFlows(see func(flow packet.FlowID)) {
	if b.at != unit.Never && b.tells {
		see(b.flow)
	}
}

// TestRememberedFlowsStay checks that the endpoints of flows stay while a switch may still send a notice about
// them. If a program does not report these flows, the run ends as a violation.
func TestRememberedFlowsStay(t *testing.T) {
	run := func(sweeps int, tells bool) (string, *outcome.Result, int) {
		c, _ := oneByOne(t, transports()["rdma"], 300)
		c.sweeps = sweeps
		all := []*belated{}
		for i := range c.Wiring.Switches {
			others := c.Wiring.Switches[i].Programs
			c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
				p, err := others(site)
				b := &belated{at: unit.Never, tells: tells}
				all = append(all, b)
				return append([]dataplane.Program{b}, p...), err
			}
		}
		r, err := Run(c)
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		for _, b := range all {
			sent += b.sent
		}
		return fmt.Sprint(r.Flows, r.Drops, r.End), r, sent
	}
	want, _, _ := run(1<<30, true)
	got, r, sent := run(1, true)
	if got != want || r.End != outcome.AllDone || sent < 20 {
		t.Errorf("%s, %d late NACKs; another result than with ends that stay: %v", r.End, sent, got != want)
	}
	if _, r, _ := run(1, false); r.End != outcome.Violated || !strings.Contains(r.Violation, "flows that had ended") {
		t.Errorf("a program that does not tell: %s", r.End)
	}
}
