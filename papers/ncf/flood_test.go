package ncf

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
)

// TestErrorOfForwarded checks that the error about a port's traffic is relative to the port's sent bytes, for any
// arrivals. With 300 flows that bring ten times those bytes and lose 95 %, at most delta of the answers is off by more
// than epsilon of the sent bytes.
func TestErrorOfForwarded(t *testing.T) {
	const epsilon, delta, flows, windows, each = 0.01, 0.01, 300, 4, 100_000
	width, depth := Dimensions(epsilon, delta)
	answers, over, overArrivals := 0, 0, 0
	for seed := range uint64(40) {
		s := NewSketch(SketchConfig{Windows: windows, Duration: milli, Width: width, Depth: depth, Bits: 32, Seed: seed})
		key := func(i int) uint64 { return (uint64(i)+1)*0x9e3779b97f4a7c15 + seed }
		for w := range unit.Time(windows) {
			for i := range flows {
				s.Count(w*milli, key(i), each)
				s.RecordDrop(w*milli, w*milli, key(i), each*95/100)
			}
		}
		total := uint64(windows * flows * each * 5 / 100)
		for i := range flows {
			c := s.Estimate(windows*milli-1, key(i))
			arrived, _ := c.Sum()
			sent := s.ForwardedTotals(c)
			s.ForwardedFlow(sent)
			flow, all := sent.Sum()
			if all != total || flow < windows*each*5/100 {
				t.Fatalf("flow %d has %d of %d, want %d of %d or more", i, flow, all, windows*each*5/100, total)
			}
			answers++
			if float64(flow-windows*each*5/100) > epsilon*float64(total) {
				over++
			}
			if float64(arrived-windows*each) > epsilon*float64(total) {
				overArrivals++
			}
		}
	}
	if share := float64(over) / float64(answers); share > delta {
		t.Errorf("%.4f of the answers are more than epsilon of what is sent off", share)
	}
	if share := float64(overArrivals) / float64(answers); share < delta {
		t.Errorf("by arrivals, %.4f of the answers are: the test shows no difference", share)
	}
}

// classes records the class of flows' last packets.
type classes map[uint16]uint8

func (classes) Name() string { return "classes" }

func (c classes) Ingress(_ *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	c[p.SrcPort] = p.Meta.Class
	return dataplane.Accept
}

// TestElephantsInFlood checks that a flow's share is relative to the port's capacity in any flood. A flow with 8 % of
// the port is an elephant, and the 300 flows that bring ten times the port's rate are mice. Elephants that respond to
// NACKs stay elephants in the flood, also below the threshold, but no longer, and with half of it they become elephants
// there. Datagrams, which cause no NACKs, do not.
func TestElephantsInFlood(t *testing.T) {
	const flows, gap = 300, 8528 * unit.Nanosecond // of frames of 1066 B at 1 Gb/s
	for _, x := range []struct {
		name         string
		proto        uint8
		share, later float64 // of the port, of each of four flows, before the flood and in it
		want         Class   // in the flood
	}{
		{"8 %", packet.ProtoUDP, 0.08, 0.08, Elephants},
		{"falls to 2 %", packet.ProtoTCP, 0.08, 0.02, Elephants},
		{"datagrams fall to 2 %", packet.ProtoUDP, 0.08, 0.02, Mice},
		{"always 2.6 %", packet.ProtoTCP, 0.026, 0.026, Elephants},
		{"datagrams always 2.6 %", packet.ProtoUDP, 0.026, 0.026, Mice},
		{"always 1 %", packet.ProtoTCP, 0.01, 0.01, Mice},
	} {
		for _, times := range []float64{1.5, 5, 10} {
			t.Run(fmt.Sprintf("%s, %g times the port", x.name, times), func(t *testing.T) {
				seen := classes{}
				r := newRig(t, setup{ports: 4, queues: 3, rates: map[int]unit.Rate{0: 10 * unit.Gbps, 2: 100 * unit.Gbps},
					after: []dataplane.Program{seen},
					given: []string{"memory", "500kB", "duration", "2ms", "spike", "0%", "least", "5kB"}})
				r.sent = func(unit.Time, packet.PortID, *packet.Packet) {}
				const began, ended = 20 * ms, 60 * ms
				var due, mouse, rest unit.Time
				for i, now := 0, unit.Time(0); now < ended+20*ms; now += 100 * unit.Nanosecond {
					if share := x.share; now >= due {
						if now >= began {
							share = x.later
						}
						due += unit.Time(float64(gap) / share / 4)
						p := r.data(1, 2, uint16(10+i%4), int64(i)*1000, 1000, func(p *packet.Packet) { p.Proto = x.proto })
						r.come(now, 0, p)
						i++
					}
					if now >= began && now < ended && now >= mouse {
						mouse = max(mouse, began) + unit.Time(float64(gap)/times) + now%7
						r.come(now, 2, r.data(3, 2, uint16(1000+int(now/100/unit.Nanosecond*7919)%flows), int64(now), 1000))
					}
					if now >= rest { // other traffic of 0.45 of the port, in flows of one packet
						rest += gap * 100 / 45
						r.come(now, 2, r.data(3, 2, uint16(10_000+now/gap%50_000), 0, 1000))
					}
					if now != began-ms && now != ended-ms && now != ended+19*ms {
						continue
					}
					want := Mice
					switch {
					case now < began && x.share > 0.05, now > ended && x.later > 0.05:
						want = Elephants
					case now > began && now < ended:
						want = x.want
					}
					for port, c := range seen {
						switch {
						case port < 20 && c != uint8(want):
							t.Errorf("at %v flow %d is in class %d, want %v", now, port, c, want)
						case port >= 1000 && c != uint8(Mice):
							t.Fatalf("at %v flow %d of the flood is in class %d", now, port, c)
						}
					}
				}
			})
		}
	}
}

// offerSpy records what the last flow with payload for port 1 would be offered if its packet were dropped. Traffic from
// address 3 is not recorded.
type offerSpy struct {
	g     *Program
	class Class
	rate  unit.Rate
}

func (*offerSpy) Name() string { return "offers" }

func (o *offerSpy) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Src != 3 && p.Meta.Out == 1 {
		x := o.g.portAt(p.Meta.Out)
		_, class := o.g.estimateDemand(env, x, p)
		o.class, o.rate = Class(p.Meta.Class), o.g.supply(env, x, class)
	}
	return dataplane.Accept
}

// TestWayBack checks that a mouse that was an elephant within n windows is offered an elephant's part, with which it
// becomes one again. A mouse's part, one of hundreds, would not suffice. It is offered that later.
func TestWayBack(t *testing.T) {
	for _, x := range []struct {
		name  string
		pause unit.Time // of the elephant, while mice bring less than half of what the port can send
		want  float64   // Mb/s
	}{{"at once", 4 * ms, 500}, {"after n windows", 12 * ms, 4}} {
		t.Run(x.name, func(t *testing.T) {
			spy := &offerSpy{}
			r := newRig(t, setup{ports: 4, queues: 3, rates: map[int]unit.Rate{2: 10 * unit.Gbps},
				after: []dataplane.Program{spy}, given: []string{"memory", "500kB", "duration", "2ms", "least", "15kB"}})
			spy.g = r.g
			now := r.fatten(20*ms, 1, 2, 9, 20)
			if spy.class != Elephants {
				t.Fatalf("it is in class %v", spy.class)
			}
			for i := range 400 {
				r.come(now+x.pause+unit.Time(i)*us, 2, r.data(3, 2, uint16(1000+i%200), int64(i), 1000))
			}
			now += x.pause + ms/2
			if r.come(now, 0, r.data(1, 2, 9, 90_000, 1000)); spy.class != Mice {
				t.Fatalf("it is in class %v", spy.class)
			}
			if got := float64(spy.rate) / 1e6; got < 0.5*x.want || got > 2*x.want {
				t.Errorf("it is offered %.1f Mb/s, want about %.1f", got, x.want)
			}
		})
	}
}
