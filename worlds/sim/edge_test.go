package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"weir/core/cc"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/unit"
)

// pair is two hosts at a link, with flows in both directions that begin one after the other.
func pair(t testing.TB, make build, flows int) *Config {
	t.Helper()
	n := &topology.Network{Nodes: []topology.Node{{Name: "a"}, {Name: "b"}}, Links: []topology.Link{{Ends: [2]int{0, 1},
		Rate: unit.LinkRate{Bits: unit.Gbps}, Delay: 20 * unit.Microsecond}}}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: n, Switches: []wiring.SwitchConfig{{}, {}}, Hosts: n.Addresses(),
		Framing: packet.Framings[0]}, Duration: 50 * unit.Millisecond, Warmup: 300 * unit.Microsecond, UntilDone: true}
	m := &made{build: make}
	for i := range flows {
		src := i % 2
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(src + 1), Dst: packet.Addr(2 - src),
			SrcPort: uint16(1000 + i), DstPort: uint16(3000 + i), Version: 4, Size: 100_000, Payload: 1000,
			Framing: packet.Framings[0], Random: unit.NewRandom(1, fmt.Sprint(i)), Start: unit.Time(i) * 70 * unit.Microsecond,
			Stop: unit.Never, Path: cc.Path{NICRate: unit.Gbps, ReceiverRate: unit.Gbps, LineRate: 9 * unit.Gbps / 10,
				BaseRTT: 60 * unit.Microsecond, Hops: 1}}
		m.flows = append(m.flows, f)
		c.Flows = append(c.Flows, outcome.Flow{Src: src, Dst: 1 - src, Start: f.Start, Size: f.Size, SrcPort: f.SrcPort,
			DstPort: f.DstPort})
		for _, what := range []outcome.Quantity{outcome.ReceivedBytes, outcome.Window, outcome.InFlight} {
			c.Watches = append(c.Watches, outcome.Watch{What: what, Index: i, Every: 130 * unit.Microsecond})
		}
	}
	c.Flows[flows-1].After = []int{flows - 2}
	c.EndpointFactory = m
	return c
}

// cable is a link outside the simulation that accepts frames like the link of pair.
type cable struct {
	edge *Edge
	came [2][]frame // by host
}

type frame struct {
	at   unit.Time
	data []byte
}

func (x *cable) send(node int, now unit.Time, p *packet.Packet) {
	c := x.edge.config
	data, err := p.Emit(c.Wiring.Hosts, nil)
	if err != nil {
		panic(err)
	}
	l := c.Wiring.Network.Links[0]
	at := now + unit.TransmitTime(unit.Bytes(p.Size), l.Rate.Bits) + l.Delay
	x.came[1-node] = append(x.came[1-node], frame{at, data})
	x.edge.ReturnPacket(p)
}

// drive has the hosts and the cable take turns, in the order of time, and looks at the hosts no more often than
// they or frames want.
func (x *cable) drive(t *testing.T) *outcome.Result {
	for e := x.edge; ; {
		next, to := e.Next(), -1
		for node, came := range x.came {
			if len(came) > 0 && came[0].at <= next {
				next, to = came[0].at, node
			}
		}
		if to < 0 {
			if !e.Advance(next + 1) {
				break
			}
			continue
		}
		f := x.came[to][0]
		if x.came[to] = x.came[to][1:]; !e.DeliverFrame(f.at, to, f.data) && !e.over {
			t.Error("a frame of no flow")
		}
	}
	return x.edge.Result()
}

// TestEdge_MatchesSimulatedNetwork checks that hosts that are driven from outside do the same as in a simulated
// network: a link between two hosts outside equals one inside, to the event.
func TestEdge_MatchesSimulatedNetwork(t *testing.T) {
	all := transports()
	delete(all, "window") // its packets are no frames
	for name, make := range all {
		t.Run(name, func(t *testing.T) {
			for _, flows := range []int{2, 20} {
				want, err := Run(pair(t, make, flows))
				if err != nil {
					t.Fatal(err)
				}
				x := &cable{}
				if x.edge, err = NewEdge(pair(t, make, flows), nil, x.send); err != nil {
					t.Fatal(err)
				}
				got := x.drive(t)
				for i := range want.Flows { // how long frames took is known outside
					for _, r := range []*transport.Received{&want.Flows[i].Receiver, &got.Flows[i].Receiver} {
						r.DelaySum, r.DelayMin, r.DelayMax, r.Jitter = 0, 0, 0, 0
					}
				}
				if a, b := text(want.Flows), text(got.Flows); a != b {
					t.Errorf("%d flows: outside\n%s\ninside\n%s", flows, b, a)
				}
				if want.End != got.End || want.End != outcome.AllDone || text(want.Watched) != text(got.Watched) {
					t.Errorf("ended %s at %v, inside %s at %v; samples %v, inside %v", got.End, got.Time, want.End, want.Time,
						got.Watched, want.Watched)
				}
				if n := x.edge.threads[0].pool.LiveCount(); n != 0 || x.edge.countStrays() != 0 || x.edge.Err() != nil {
					t.Errorf("%d packets are left, %d strays, %v", n, x.edge.countStrays(), x.edge.Err())
				}
			}
		})
	}
}

func text(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// TestEdgeCarries checks that flows that others carry are absent.
func TestEdgeCarries(t *testing.T) {
	c := pair(t, transports()["rdma"], 4)
	c.Flows[3].After = nil
	x := &cable{}
	var err error
	if x.edge, err = NewEdge(c, []bool{true, false, true, false}, x.send); err != nil {
		t.Fatal(err)
	}
	r := x.drive(t)
	if got := c.EndpointFactory.(*made); got.senders != 2 || !slices.Equal(r.Unfinished, []int{1, 3}) ||
		r.End != outcome.AllDone {
		t.Errorf("%d senders, unfinished %v, %s", got.senders, r.Unfinished, r.End)
	}
}

// TestEdgeStrays checks that a host here refuses frames of others, damaged ones, and those after the end.
func TestEdgeStrays(t *testing.T) {
	x := &cable{}
	var err error
	if x.edge, err = NewEdge(pair(t, transports()["udp"], 2), nil, x.send); err != nil {
		t.Fatal(err)
	}
	for len(x.came[1]) == 0 {
		x.edge.Advance(x.edge.Next() + 1)
	}
	good := x.came[1][0].data
	other := slices.Clone(good)
	other[35]++ // its source port
	for name, c := range map[string]struct {
		node int
		data []byte
		want bool
	}{
		"its own": {1, good, true}, "of another flow": {1, other, false}, "cut": {1, good[:20], false},
		"empty": {1, nil, false},
		"ARP":   {1, append(slices.Clone(good[:12]), 8, 6, 0, 1), false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := x.edge.DeliverFrame(x.edge.Now(), c.node, c.data); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	x.edge.Advance(unit.Second)
	if x.edge.DeliverFrame(unit.Second, 1, good) || x.edge.Advance(2*unit.Second) {
		t.Error("it goes on behind its end")
	}
}

// TestBadEdges checks that a configuration that these hosts do not support is refused.
func TestBadEdges(t *testing.T) {
	for name, change := range map[string]func(c *Config) []bool{
		"warm-up": func(c *Config) []bool { c.Warmup = c.Duration; return nil },
		"watch": func(c *Config) []bool {
			c.Watches = []outcome.Watch{{What: outcome.QueueBytes,
				Every: 1}}
			return nil
		},
		"events": func(c *Config) []bool { c.Wiring.Events = []wiring.Event{{At: 1}}; return nil },
		"node":   func(c *Config) []bool { c.Flows[0].Dst = 2; return nil },
		"itself": func(c *Config) []bool { c.Flows[0].Dst = 0; return nil },
		"links": func(c *Config) []bool {
			c.Wiring.Network.Links = append(c.Wiring.Network.Links, c.Wiring.Network.Links[0])
			return nil
		},
		"without a NIC": func(c *Config) []bool { c.Wiring.Network.Links = nil; return nil },
		"waits for another's": func(*Config) []bool {
			return []bool{false, true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := pair(t, transports()["udp"], 2)
			carried := change(c)
			if _, err := NewEdge(c, carried, nil); err == nil {
				t.Error("it is taken")
			}
		})
	}
}
