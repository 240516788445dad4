package sim

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/cc/bbr"
	"weir/core/cc/dctcp"
	"weir/core/cc/reno"
	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/fabric/wiring"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/rdma"
	"weir/core/transport/udp"
	"weir/core/unit"
)

// marker marks packets that find more than three packets in their queue.
type marker struct{}

func (marker) Name() string { return "marker" }

func (marker) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if env.Port(p.Meta.Out).Packets() > 3 && p.TOS&packet.ECN == packet.ECT0 {
		p.TOS |= packet.CE
	}
	return dataplane.Accept
}

// queuePairs replaces the transports of a config by rdma with several controllers.
func queuePairs(t testing.TB, c *Config) {
	schemes := []cc.Scheme{dctcp.Scheme(), bbr.Scheme(), reno.Scheme()}
	schemes[2].ECN = cc.CNPMode
	for i := range c.Wiring.Switches {
		others := c.Wiring.Switches[i].Programs
		c.Wiring.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := others(site)
			return append(p, marker{}), err
		}
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		config := rdma.Defaults()
		config.Recovery = []string{rdma.GoBackN, rdma.SelectiveRepeat}[i%2]
		config.AckEvery, config.Class, config.AckPriority = 1+i%4, i%8, i%3 == 0
		s, r, err := rdma.New(transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1),
			SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: uint8(4 + 2*(i%2)), Size: f.Size, Payload: 1000, Framing: packet.Framings[0],
			Random: unit.NewRandom(c.Wiring.Seed, "rdma"),
			Start:  f.Start, Stop: unit.Never, Path: cc.Path{NICRate: 10 * unit.Gbps, LineRate: 9 * unit.Gbps,
				BaseRTT: 50 * unit.Microsecond}, CC: &schemes[i%3]}, config)
		if err != nil {
			t.Fatal(err)
		}
		c.Endpoints[i] = transport.EndpointPair{Sender: s, Receiver: r}
	}
}

// TestSameResultRDMA checks that the result is the same in every form with queue pairs, too: echoes, NACKs, CNPs,
// classes.
func TestSameResultRDMA(t *testing.T) { sameResultRDMA(t, 0, 1500*unit.Microsecond, endForms) }

// sameResultRDMA compares forms of a run with queue pairs, and checks that it loses packets and ends flows.
func sameResultRDMA(t *testing.T, seed uint64, duration unit.Time, forms []form) {
	t.Helper()
	build := func(change func(*Config)) *Config {
		c := config(t, seed, change)
		c.Duration = duration
		queuePairs(t, c)
		return c
	}
	sameInEveryForm(t, fmt.Sprint("seed ", seed), forms, build, nil)
	r, err := Run(build(nil))
	if err != nil {
		t.Fatal(err)
	}
	resent, done := int64(0), 0
	for _, f := range r.Flows {
		resent += f.Sender.Retransmitted
		if f.FCT != unit.Never {
			done++
		}
	}
	if resent == 0 || done == 0 {
		t.Errorf("seed %d: %d packets sent again, %d of %d flows done", seed, resent, done, len(r.Flows))
	}
}

// nacker trims packets that find the queue full and notifies their sender (BS'19 §4.3), ahead of all other packets.
type nacker struct{ made int64 }

func (*nacker) Name() string { return "nacker" }

func (x *nacker) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.Class = 1; p.IsNotification() {
		p.Meta.Class = 0
	}
	return dataplane.Accept
}

func (x *nacker) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	if p.Kind != packet.Data {
		return
	}
	q := env.ClonePacket(p, true)
	q.ClearExtensions()
	q.SetNotification(&packet.Notification{Cause: packet.CauseTrimmed, Lost: p.Payload})
	q.SwapEnds()
	q.Kind, q.Data, q.Size = packet.Nack, nil, p.Size-p.Payload+q.ExtensionBytes()
	if p.Proto == packet.ProtoUDP { // the number of a datagram stands in its first bytes, and no header says what it is
		q.Kind, q.Payload = packet.Data, 8
	}
	env.InjectPacket(q)
	x.made++
}

// rack has n hosts that send to one more behind one switch, at 100 Gb/s and 1 µs per link.
func rack(t *testing.T, n int, build func(f transport.Flow) (sender, receiver transport.Endpoint, err error)) (*Config,
	*nacker) {
	network := &topology.Network{}
	for i := range n + 1 {
		network.Nodes = append(network.Nodes, topology.Node{Name: fmt.Sprint("h", i)})
	}
	network.Nodes = append(network.Nodes, topology.Node{Name: "s", Switch: true})
	for i := range n + 1 {
		network.Links = append(network.Links, topology.Link{Ends: [2]int{i, n + 1},
			Rate: unit.LinkRate{Bits: 100 * unit.Gbps}, Delay: unit.Microsecond, Buffer: unit.Length{Packets: 50}})
	}
	c := &Config{Wiring: wiring.Config{Seed: 1, Network: network}, Duration: 20 * unit.Millisecond, UntilDone: true}
	forwarding(c)
	x := &nacker{}
	s := &c.Wiring.Switches[n+1]
	s.Queues = 2
	s.Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
		return []dataplane.Program{ecmp.New(site, 1), x}, nil
	}
	control := reno.Scheme()
	for i := range n {
		f := transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(i + 1), Dst: packet.Addr(n + 1), SrcPort: uint16(1000 + i),
			DstPort: 7, Version: uint8(4 + 2*(i%2)),
			Size: 20_000, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(1, fmt.Sprint(i)), Stop: unit.Never,
			Path: cc.Path{NICRate: 100 * unit.Gbps, LineRate: 95 * unit.Gbps, BaseRTT: 4300 * unit.Nanosecond}, CC: &control}
		s, r, err := build(f)
		if err != nil {
			t.Fatal(err)
		}
		c.Add(outcome.Flow{Src: i, Dst: n, Size: f.Size, SrcPort: f.SrcPort,
			DstPort: f.DstPort}, s, r)
	}
	return c, x
}

// TestNacksInNetwork checks an incast of 256 hosts of a rack that start at line rate, with a switch that trims.
// NACKs cross links and queues like any packet, and no sender waits for a timeout. There are at most two NACKs per
// packet.
//
// The last flow ends within twice the link's time for all bytes. With go-back-N, which retransmits packets that the
// receiver did not accept, it ends within five times. These factors were 1.1 and 2 while senders answered each NACK
// at once, which cost 10 to 24 NACKs per packet. NACKs of packets that go-back-N has already retransmitted are
// refused.
//
// The wire form gives the same result, also for datagrams, whose trimmed packets are lost and not retransmitted.
func TestNacksInNetwork(t *testing.T) {
	pairs := func(recovery string) func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
		return func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
			config := rdma.Defaults()
			config.Recovery = recovery
			return rdma.New(f, config)
		}
	}
	datagrams := func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error) {
		return udp.NewControlled(f, scheme.Defaults[udp.ControlledConfig]())
	}
	for _, x := range []struct {
		name  string
		n     int
		build func(f transport.Flow) (transport.Endpoint, transport.Endpoint, error)
		most  float64
	}{
		{"selective repeat", 256, pairs(rdma.SelectiveRepeat), 2}, {"go-back-N", 256, pairs(rdma.GoBackN), 5},
		{"selective repeat", 16, pairs(rdma.SelectiveRepeat), 0}, {"go-back-N", 16, pairs(rdma.GoBackN), 0},
		{"datagrams", 16, datagrams, 0},
	} {
		t.Run(fmt.Sprintf("%s, %d senders", x.name, x.n), func(t *testing.T) {
			c, made := rack(t, x.n, x.build)
			r, err := Run(c)
			if err != nil {
				t.Fatal(err)
			}
			var taken, refused, timeouts int64
			var last unit.Time
			for i, f := range r.Flows {
				taken, refused, last = taken+f.Sender.NacksTaken, refused+f.Sender.NacksRefused, max(last, f.FCT)
				if s, ok := c.Endpoints[i].Sender.(*rdma.Sender); ok {
					timeouts += s.Timeouts()
				}
			}
			ideal := unit.TransmitTime(unit.Bytes(x.n)*20*1050, 100*unit.Gbps)
			t.Logf("%s, %d hosts: %d NACKs, %d taken, %d refused, %d timeouts, last FCT %v of %v", x.name, x.n, made.made, taken,
				refused, timeouts, last, ideal)
			if made.made == 0 || taken+refused != made.made || refused > 0 && strings.HasPrefix(x.name, "sel") || timeouts > 0 ||
				last == unit.Never || x.most > 0 && made.made > int64(2*20*x.n) || x.most > 0 &&
				float64(last) > x.most*float64(ideal) {
				t.Errorf("%s, %d hosts: %d NACKs, %d taken, %d refused, %d timeouts, last FCT %v of %v", x.name, x.n, made.made,
					taken, refused, timeouts, last, ideal)
			}
			if x.n < 100 {
				c, _ = rack(t, x.n, x.build)
				want := transcript(t, c)
				c, _ = rack(t, x.n, x.build)
				c.Wire = true
				if got := transcript(t, c); got != want {
					t.Errorf("%s: another result in wire form\n%s\n%s", x.name, got, want)
				}
			}
		})
	}
}
