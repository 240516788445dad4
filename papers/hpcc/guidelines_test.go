package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/worlds/sim"
)

// TestManySenders checks draft-miao §6.2 with W far below one packet. 150 flows share 82 kB of flight, half a packet
// each, also with acknowledgements that wait for more packets than exist. No flow deadlocks, the link stays in use, and
// all flows end.
func TestManySenders(t *testing.T) {
	for _, x := range [][3]string{
		{"rdma", "hpcc: {w_ai: 5 B}", ""},
		{"rdma", "hpcc: {w_ai: 0 B}", ", telemetry: probe"},
		{"rdma", "hpcc: {w_ai: 5 B, mode: per_hop}", ", ack_every: 16 packets"},
		{"rdma", "rx_hpcc: {}", ", ack_every: 16 packets"},
		{"rdma", "rx_hpcc: {w_ai: 0 B}", ", ack_every: 16 packets, ack_delay: 1ms, telemetry: rtt"},
		{"rdma", "hpcc_pint: {w_ai: 5 B}", ""},
		{"rdma", "powertcp: {n: 1500}", ""},
		{"tcp", "hpcc: {w_ai: 5 B}", ", rto_min: 1ms"},
		{"tcp", "rx_hpcc: {}", ", rto_min: 1ms"},
		{"udp_controlled", "hpcc: {w_ai: 5 B}", ""},
		{"udp_controlled", "rx_hpcc: {}", ", report_every: 16 packets"},
	} {
		r := runNetwork(t, dumbbell(150, "ecmp, {telemetry: {t: 13us}}", fmt.Sprintf(`
  - {name: many, from: "left*", to: right0, transport: %s, cc: {%s}, size: 100kB, start: 0s%s}`, x[0], x[1], x[2])),
			nil)
		last := unit.Time(0)
		for _, f := range r.Flows {
			last = max(last, f.FCT)
		}
		// 150 · 100 kB in frames of 1090 B take 1.31 ms.
		t.Logf("%v: %s, last FCT %v", x, r.End, last)
		if r.End != outcome.AllDone || last > 2*ms {
			t.Errorf("%v: %s, the last flow ends after %v", x, r.End, last)
		}
	}
}

// TestMoreThanN checks draft-miao §5 with more flows than N: utilisation stays full and the control stable, but the
// queue is not empty.
func TestMoreThanN(t *testing.T) {
	const every = 5 * us
	for _, n := range []int{32, 8, 2} {
		t.Run(fmt.Sprint(n, " senders"), func(t *testing.T) {
			r := runNetwork(t, dumbbell(16, "ecmp, telemetry", fmt.Sprintf(`
  - {name: flows, from: "left*", to: right0, transport: rdma, cc: {hpcc: {n: %d}}, start: 0s..20us}`, n)), watch(every))
			sum := func(at unit.Time) (bytes int64) {
				for _, w := range r.Watched[1:] {
					bytes += w[at/every]
				}
				return bytes
			}
			rate := float64(sum(6*ms-every)-sum(ms)) * 8 / (5*ms - every).Seconds() / 100e9 / payloadShare
			early, late := percentile(r.Watched[0][ms/every:3*ms/every], 95), percentile(r.Watched[0][4*ms/every:], 95)
			t.Logf("N = %d: %.3f of the link, queue %d B, then %d B", n, rate, early, late)
			if rate < 0.94 || rate > 1.001 || n < 16 && rate < 0.97 {
				t.Errorf("N = %d: 16 flows have %.3f of the link", n, rate)
			}
			// In the fixed point U is eta + 16·W_ai/(B·T), the queue what of it is above 1.
			most := int64(max(0, 0.95+16*0.05/float64(n)-1)*82_000) + 12_000
			if early > most || late > most {
				t.Errorf("N = %d: a queue of %d B, then %d B; more than %d B", n, early, late, most)
			}
		})
	}
}

// TestShortFlows checks draft-miao §6.2: a flow shorter than T is sent no window, and needs none. It is as fast with
// its receiver in control as without any.
func TestShortFlows(t *testing.T) {
	fct := func(control string) (all []unit.Time) {
		told := map[int64]bool{}
		c := configure(t, dumbbell(4, "ecmp, telemetry", fmt.Sprintf(`
  - {name: short, from: ["left0", "left1", "left2", "left3"], to: right0, transport: {rdma: {ack_every: 16 packets}},
     cc: {%s}, size: 20kB, start: 0s..1ms}`, control)), nil)
		for i := range c.Flows {
			c.Endpoints[i].Sender = &listening{Endpoint: c.Endpoints[i].Sender, onReceive: func(p *packet.Packet) {
				if b, ok := p.Extension(transport.Feedback); ok {
					told[int64(b[0])<<24|int64(b[1])<<16|int64(b[2])<<8|int64(b[3])] = true
				}
			}}
		}
		r, err := sim.Run(c)
		if err != nil || r.End != outcome.AllDone {
			t.Fatal(r, err)
		}
		for _, f := range r.Flows {
			all = append(all, f.FCT)
		}
		if len(told) > 1 {
			t.Errorf("%s: windows %v are told", control, told)
		}
		return all
	}
	with, without := fct("rx_hpcc: {}"), fct("hpcc: {}")
	for i := range with {
		if with[i] > without[i] || with[i] > 12*us { // 20 frames take 1.8 µs, the path 6.6 µs
			t.Errorf("flow %d: %v, with the sender in control %v", i, with[i], without[i])
		}
	}
}

// TestProbesTakeThePath checks draft-miao §6.1, guideline 4, for all transports and laws: probes use the path and the
// queues of the data, and data then requests no telemetry. Without probes data requests it (draft-miao §7.2).
func TestProbesTakeThePath(t *testing.T) {
	for _, x := range combinations {
		for _, ask := range []string{"packet", "probe"} {
			c := configure(t, mesh(x[0], x[1], x[2], ask, x[4]), nil)
			for i := range c.Flows {
				var data *packet.Packet
				probes, asks := 0, 0
				s := &emitting{Endpoint: c.Endpoints[i].Sender}
				s.onEmit = func(p *packet.Packet) {
					asked := p.HasHotExtension(telemetry.Extension) || p.HasHotExtension(telemetry.Stacked) ||
						p.HasHotExtension(telemetry.LoadCode)
					switch {
					case p.Payload == 0 && asked: // of rdma a kind of its own; TCP and UDP have nothing but data that is empty
						probes++
						if p.Kind != packet.Probe && x[1] == "rdma" || data != nil && (p.Hash != data.Hash || p.SrcPort != data.SrcPort ||
							p.DstPort != data.DstPort || p.Proto != data.Proto ||
							p.Src != data.Src || p.Dst != data.Dst || p.Version != data.Version ||
							p.TOS&^packet.ECN != data.TOS&^packet.ECN) {
							t.Errorf("%v: probe %+v, data %+v", x, p, data)
						}
					case p.Payload > 0:
						if asked {
							asks++
						}
						d := *p
						data = &d
					}
				}
				c.Endpoints[i].Sender = s
				defer func() {
					if ask == "probe" && (probes < 3 || asks > 0) || ask == "packet" && (probes > 0 || asks < 200) {
						t.Errorf("%v, %s, flow %d: %d probes, %d packets with data ask", x, ask, i, probes, asks)
					}
				}()
			}
			if r, err := sim.Run(c); err != nil || len(r.Unfinished) > 0 {
				t.Errorf("%v, %s: %v, %v", x, ask, err, r)
			}
		}
	}
}

// TestGoBack checks an incast in which each flow loses its second packet and repairs it by go-back-N. The round trips
// of resent packets count, too. Otherwise windows start from the burst's until all of it has arrived for the second
// time.
func TestGoBack(t *testing.T) {
	c := configure(t, dumbbell(32, "ecmp, telemetry", `
  - {name: incast, from: "left*", to: right0, transport: {rdma: {rto_min: 4ms}}, cc: {hpcc: {w_ai: 25 B, t: 13us}},
     size: 1MB, start: 0s`+"}"), watch(5*us))
	for i := range c.Flows {
		c.Endpoints[i].Receiver = &losing{Endpoint: c.Endpoints[i].Receiver, seq: 1000}
	}
	r := plantest.Simulate(t, c)
	last := unit.Time(0)
	for _, f := range r.Flows {
		last = max(last, f.FCT)
	}
	late := percentile(r.Watched[0][800*us/(5*us):2*ms/(5*us)], 95) // the burst takes 0.45 ms
	t.Logf("last FCT %v, queue after 0.8 ms: %d B", last, late)
	if r.End != outcome.AllDone || late > 30_000 {
		t.Errorf("%s, a queue of %d B", r.End, late)
	}
}

// losing loses the packet with a sequence number once.
type losing struct {
	transport.Endpoint
	seq  int64
	lost bool
}

func (l *losing) Receive(now unit.Time, p *packet.Packet) bool {
	if !l.lost && p.Seq == l.seq {
		l.lost = true
		return false
	}
	return l.Endpoint.Receive(now, p)
}

type emitting struct {
	transport.Endpoint
	onEmit func(p *packet.Packet)
}

func (e *emitting) Emit(now unit.Time, p *packet.Packet) {
	e.Endpoint.Emit(now, p)
	e.onEmit(p)
}
