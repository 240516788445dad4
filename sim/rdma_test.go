package sim

import (
	"testing"

	"weir/cc"
	"weir/cc/bbr"
	"weir/cc/dctcp"
	"weir/cc/reno"
	"weir/dataplane"
	"weir/packet"
	"weir/scheme"
	"weir/transport"
	"weir/transport/rdma"
	"weir/unit"
)

// marker marks what finds more than three packets in its queue.
type marker struct{}

func (marker) Name() string { return "marker" }

func (marker) Admit(env *dataplane.Env, p *packet.Packet, m *dataplane.Metadata) dataplane.Verdict {
	if env.Port(m.Out).Packets() > 3 && p.TOS&packet.ECN == packet.ECT0 {
		p.TOS |= packet.CE
	}
	return dataplane.Accept
}

// queuePairs replaces the transports of a config by rdma with several controllers.
func queuePairs(t testing.TB, c *Config) {
	schemes := []cc.Scheme{dctcp.Scheme(), bbr.Scheme(), reno.Scheme()}
	schemes[2].ECN = cc.CNPMode
	for i := range c.Switches {
		others := c.Switches[i].Programs
		c.Switches[i].Programs = func(site *dataplane.Site) ([]dataplane.Program, error) {
			p, err := others(site)
			return append(p, marker{}), err
		}
	}
	for i := range c.Flows {
		f := &c.Flows[i]
		config := rdma.Defaults()
		config.Recovery = []string{rdma.GoBackN, rdma.SelectiveRepeat}[i%2]
		config.AckEvery, config.Class, config.AckPriority = 1+i%4, uint8(i%8), i%3 == 0
		s, r, err := rdma.New(transport.Flow{ID: packet.FlowID(i), Src: packet.Addr(f.Src + 1), Dst: packet.Addr(f.Dst + 1), SrcPort: f.SrcPort, DstPort: f.DstPort,
			Version: uint8(4 + 2*(i%2)), Size: f.Size, Payload: 1000, Framing: packet.Framings[0], Random: unit.NewRandom(c.Seed, "rdma"),
			Start: f.Start, Stop: unit.Never, Path: cc.Path{NICRate: 10 * unit.Gbps, LineRate: 9 * unit.Gbps, BaseRTT: 50 * unit.Microsecond}, CC: &schemes[i%3], CCValues: scheme.NewValues("dctcp", map[string]any{"g": 0.0625, "initial_alpha": 1.0, "slow_start": true})}, config)
		if err != nil {
			t.Fatal(err)
		}
		f.Sender, f.Receiver = s, r
	}
}

// The same result in every form holds with queue pairs, too: echoes, NACKs, CNPs,
// classes.
func TestSameResultRDMA(t *testing.T) {
	for seed := range uint64(3) {
		with := func(change func(*Config)) string {
			c := config(t, seed, change)
			queuePairs(t, c)
			return outcome(t, c)
		}
		want := with(nil)
		for name, change := range map[string]func(*Config){
			"again":        nil,
			"small window": func(c *Config) { c.Window = 300 * unit.Nanosecond },
			"one group":    func(c *Config) { c.Window = unit.Second },
			"wire":         func(c *Config) { c.Wire = true },
		} {
			if got := with(change); got != want {
				t.Errorf("seed %d, %s: another result\n%s\n%s", seed, name, got, want)
			}
		}
		c := config(t, seed, nil)
		queuePairs(t, c)
		r, err := Run(c)
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
}
