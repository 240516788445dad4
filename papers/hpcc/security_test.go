package hpcc_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/worlds/sim"
)

// attacker is a program in a switch on the way back. It makes packets from the feedback of flow 0, changes every 4th,
// or drops it. It marks the packets that it has touched by a bit of the TOS byte that has no other use.
type attacker struct {
	mode string
	old  packet.Packet
	n    int
}

const touched uint8 = 0x80

func (*attacker) Name() string { return "attacker" }

func (a *attacker) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	_, records := p.Extension(telemetry.Extension &^ telemetry.Asked)
	_, told := p.Extension(transport.Feedback)
	if p.Meta.In == packet.NoPort || p.Flow != 0 || !records && !told {
		return dataplane.Accept
	}
	switch a.n++; {
	case a.mode == "alter" && a.n%4 == 0:
		a.lie(p)
	case a.mode == "drop" && a.n%4 == 0:
		return dataplane.Drop(dataplane.Policed)
	case a.mode == "forge":
		q := env.ClonePacket(p, false)
		if a.lie(q); a.n%2 == 0 {
			if b, ok := q.Extension(transport.Authentication); ok { // a number that has not been
				b[3]++
			}
		}
		env.InjectPacket(q)
	case a.mode == "replay" && a.n == 20:
		a.old = *p
	case a.mode == "replay" && a.n > 20:
		q := env.ClonePacket(&a.old, false)
		q.TOS |= touched
		env.InjectPacket(q)
	}
	return dataplane.Accept
}

// lie reports that the first hop's queue is as long as the format allows, a nanosecond later, or that the window is a
// byte.
func (a *attacker) lie(p *packet.Packet) {
	p.TOS |= touched
	if b, ok := p.Extension(telemetry.Extension &^ telemetry.Asked); ok {
		for i := range int(b[0] >> 4) {
			w := binary.BigEndian.Uint64(b[2+8*i:])
			binary.BigEndian.PutUint64(b[2+8*i:], w&^(1<<17-1)+1<<37|1<<17-1)
		}
	}
	if b, ok := p.Extension(transport.Feedback); ok {
		binary.BigEndian.PutUint32(b, 1)
	}
}

// attack is what an attacker does.
type attack struct{ mode string }

func (c *attack) Params(p *scheme.Params) {
	p.Text(&c.mode, "mode", "none", "what it does", "Weir").Words("none", "forge", "replay", "alter", "drop")
}

// hostile returns the registry with the attacker. It keeps the senders' controllers in controllers, one a flow.
func hostile(controllers *[]cc.Controller) *experiment.Registry {
	r := registry()
	r.Programs = append(r.Programs, dataplane.Define(scheme.Scheme{Name: "attacker", Doc: "for tests"},
		func(_ *dataplane.Site, c attack) (*attacker, error) { return &attacker{mode: c.mode}, nil }))
	for i := range r.Controllers {
		build := r.Controllers[i].Build
		r.Controllers[i].Build = func(f cc.Flow, config scheme.Config) (cc.Controller, error) {
			c, err := build(f, config)
			*controllers = append(*controllers, c)
			return c, err
		}
	}
	return r
}

// under makes the first run of an experiment with a registry.
func under(t testing.TB, r *experiment.Registry, text string) *sim.Config {
	t.Helper()
	return plantest.Configure(t, r, text)
}

// victim is a sender that is watched when it gets what the attacker has touched.
type victim struct {
	transport.Endpoint
	state   func() string
	attacks int
	changes int
}

func (v *victim) Receive(now unit.Time, p *packet.Packet) bool {
	if p.TOS&touched == 0 {
		return v.Endpoint.Receive(now, p)
	}
	v.attacks++
	before := v.state()
	reply := v.Endpoint.Receive(now, p)
	if v.state() != before || reply {
		v.changes++
	}
	return reply
}

// TestSeal_KeyDefeatsAttacks checks draft-miao §9.1: a switch on the return path forges an acknowledgement for each
// that passes, replays an old one, or alters each fourth. With a key the attacks change no field of the controller, nor
// the sender's window, rate, next send and timer. The flow ends in the picosecond in which it ends without the attack,
// or where altered packets are dropped. Without a key forgeries are accepted. TestAttacksFull has longer flows, and
// every attack without a key.
func TestSeal_KeyDefeatsAttacks(t *testing.T) { attacks(t, "2100kB", "forge") }

// attacks runs every attack on flows of a size with a key, and the open ones without a key, too.
func attacks(t *testing.T, size string, openModes ...string) {
	t.Helper()
	for _, x := range [][2]string{{"rdma", "hpcc"}, {"rdma", "rx_hpcc"}, {"tcp", "hpcc"}, {"udp_controlled", "hpcc"},
		{"udp_controlled", "rx_hpcc"}} {
		attack := func(integrity, mode string) (fct unit.Time, v *victim) {
			var controllers []cc.Controller
			r := hostile(&controllers)
			text := strings.Replace(dumbbell(2, "ecmp, telemetry", fmt.Sprintf(`
  - {name: one, from: left0, to: right0, transport: %[1]s, integrity: %[2]s, cc: {%[3]s: {w_ai: 150 B}}, size: %[4]s,
     start: 0s}
  - {name: two, from: left1, to: right1, transport: %[1]s, integrity: %[2]s, cc: {%[3]s: {w_ai: 150 B}}, size: %[4]s,
     start: 0s}`, x[0], integrity, x[1], size)),
				`{"*": {programs: [ecmp, telemetry]}}`,
				fmt.Sprintf(`{"*": {programs: [ecmp, telemetry]}, right: {programs: [{attacker: {mode: %s}}, ecmp, telemetry]}}`,
					mode), 1)
			controllers = nil
			c := under(t, r, text)
			c.Duration = 20 * ms
			control := controllers[len(controllers)-2]
			s := c.Endpoints[0].Sender
			v = &victim{Endpoint: s, state: func() string {
				return fmt.Sprintf("%+v %+v %v %v %+v", control, s.(transport.Gauged).Gauge(), s.NextSend(), s.NextTimer(),
					control.Decision())
			}}
			c.Endpoints[0].Sender = v
			result := plantest.Simulate(t, c)
			if fct = result.Flows[0].FCT; fct == unit.Never {
				fct = 20 * ms
			}
			return fct, v
		}
		quiet, _ := attack("keyed", "none")
		without, _ := attack("keyed", "drop")
		for _, mode := range []string{"forge", "replay", "alter"} {
			fct, v := attack("keyed", mode)
			if v.attacks < 500 || v.changes > 0 {
				t.Errorf("%s over %s, %s: %d of %d attacks change something", x[1], x[0], mode, v.changes, v.attacks)
			}
			want := quiet
			if mode == "alter" {
				want = without
			}
			if fct != want {
				t.Errorf("%s over %s, %s: FCT %v, want %v", x[1], x[0], mode, fct, want)
			}
			if !slices.Contains(openModes, mode) {
				continue
			}
			if open, o := attack("none", mode); mode == "forge" && (o.changes < o.attacks/2 || open < 3*quiet/2) {
				t.Errorf("%s over %s: without a key %d of %d forgeries count, FCT %v", x[1], x[0], o.changes, o.attacks, open)
			}
		}
	}
}

// TestSealedForms checks that sealed feedback is the same in wire form, in every transport, and no feedback is refused.
func TestSealedForms(t *testing.T) { sealedForms(t, 150) }

// sealedForms compares the forms of a mesh with the given size of its flows in kB.
func sealedForms(t *testing.T, size int) {
	t.Helper()
	for _, x := range combinations {
		text := meshOf(size, x[0], x[1], x[2], x[3], x[4]+", integrity: keyed, feedback_key: tested")
		with := func(wire bool) string {
			return transcript(t, configure(t, text, func(c *sim.Config) { c.Wire, c.Tally = wire, true }))
		}
		want := with(false)
		if !strings.Contains(want, `"Unfinished":null`) {
			t.Errorf("%v: %.200s", x, want)
		}
		if got := with(true); got != want {
			t.Errorf("%v: another result\n%.400s\n%.400s", x, got, want)
		}
	}
}

// TestSealedBytes checks that a code's bytes count. An acknowledgement with HPCC's 42 bytes, 48 with their header, has
// 72 with a code, one with a window has 32 in place of 16, and frames of a fixed size grow by 24.
func TestSealedBytes(t *testing.T) {
	for _, transport := range []string{"rdma", "tcp", "udp_controlled"} {
		t.Run(transport, func(t *testing.T) {
			for _, framing := range []string{"l2", "hpcc"} {
				for control, want := range map[string]int32{"hpcc": 24, "rx_hpcc": 16} {
					if framing == "hpcc" {
						want = 24
					} else if transport == "udp_controlled" {
						want = 24 // 34 B of the report with 8 are 48 of 44, with 22 more 72 of 66
					}
					var sizes [2]int32
					for i, integrity := range []string{"none", "keyed"} {
						text := strings.Replace(dumbbell(1, "ecmp, telemetry", fmt.Sprintf(`
  - {name: one, from: left0, to: right0, transport: %s, integrity: %s, cc: %s, size: 20kB, start: 0s}`, transport,
							integrity, control)), "framing: hpcc", "framing: "+framing, 1)
						c := configure(t, text, nil)
						c.Endpoints[0].Sender = &listening{Endpoint: c.Endpoints[0].Sender, onReceive: func(p *packet.Packet) {
							sizes[i] = p.Size
						}}
						if r, err := sim.Run(c); err != nil || r.Flows[0].FCT == unit.Never {
							t.Fatal(r, err)
						}
					}
					if sizes[1]-sizes[0] != want {
						t.Errorf("%s over %s, framing %s: an acknowledgement has %d bytes, with a code %d", control, transport, framing,
							sizes[0], sizes[1])
					}
				}
			}
		})
	}
}

// liar is a receiver that reports the best that its format allows: no queue, hardly a byte sent since the first record,
// while time passes.
type liar struct {
	transport.Endpoint
	sent map[int]uint64
}

func (l *liar) Receive(now unit.Time, p *packet.Packet) bool {
	reply := l.Endpoint.Receive(now, p)
	if b, ok := p.Extension(telemetry.Extension &^ telemetry.Asked); reply && ok {
		for i := range int(b[0] >> 4) {
			w := binary.BigEndian.Uint64(b[2+8*i:])
			if _, ok := l.sent[i]; !ok {
				l.sent[i] = w >> 17 & (1<<20 - 1)
			}
			binary.BigEndian.PutUint64(b[2+8*i:], w>>37<<37|l.sent[i]<<17)
		}
	}
	return reply
}

// boundless is Rx-HPCC's part of a receiver that requests the largest possible window.
type boundless struct{ cc.Receiver }

func (boundless) Feedback() cc.Feedback { return cc.Feedback{Window: math.MaxInt64} }

// TestLyingReceivers checks a lying receiver (draft-miao §9.1, which points to RFC 8888). Its key is valid, so
// integrity does not help. The harm is bounded because a window is at most W_init = B_NIC·T, and the rate B_NIC. So the
// queue stays within W_init of frames for each liar, in addition to the honest flows' queue. With k liars and h honest
// flows the latter keep the additive increase: the law is stable where W = W_ai/(1 − eta/U), with U = k + h·W/W_init. A
// packet that waits occasionally makes that less.
func TestLyingReceivers(t *testing.T) {
	const every = 10 * us
	for _, x := range []struct {
		control string
		liars   int
		honest  string
		wai     float64
	}{
		{"hpcc", 0, "hpcc: {}", 80},
		{"hpcc", 1, "hpcc: {}", 80},
		{"hpcc", 2, "hpcc: {}", 80},
		{"hpcc", 1, "hpcc: {n: 4}", 82_500 * 0.05 / 4},
		{"rx_hpcc", 1, "rx_hpcc: {}", 80},
	} {
		t.Run(fmt.Sprintf("%s, %d liars", x.honest, x.liars), func(t *testing.T) {
			c, senders := lying(t, x.control, x.honest, x.liars, every)
			result := plantest.Simulate(t, c)
			const wInit = 100e9 / 8 * 6.6e-6 // B_NIC·T
			want := 0.95
			if x.liars > 0 {
				w := 1000.0
				for range 1000 {
					w = (w + x.wai/(1-0.95/(float64(x.liars)+2*w/wInit))) / 2
				}
				if want = 2 * w / wInit; w > 1000 { // of a window of packets, in a round trip of U·T
					want /= float64(x.liars) + want
				}
			}
			share := func(flow int) float64 {
				w := result.Watched[1+flow]
				return float64(w[5*ms/every]-w[3*ms/every]) * 8 / 2e-3 / 100e9 / payloadShare
			}
			honest, liars := share(0)+share(1), 0.0
			for i := range x.liars {
				liars += share(2 + i)
				if senders[2+i].most > wInit+1000 {
					t.Errorf("a liar has %v in flight, W_init is %v", senders[2+i].most, unit.Bytes(wInit))
				}
			}
			queue := percentile(result.Watched[0][2*ms/every:], 100)
			t.Logf("two honest flows have %.4f of the link, the law says %.4f, liars %.3f; a queue of "+
				"%d B at most", honest, want, liars, queue)
			if honest < want/2 || honest > want*1.25 {
				t.Errorf("honest flows have %.4f of the link, want %.4f", honest, want)
			}
			if x.liars > 0 && honest+liars < 0.93 || float64(queue) > float64(x.liars)*wInit*1.09+30_000 {
				t.Errorf("%.3f of the link in use, a queue of %d B", honest+liars, queue)
			}
		})
	}
}

// lying returns a network of two honest flows and some with lying receivers. It is watched at the given interval.
// bounded has what each sender has in flight at most.
func lying(t *testing.T, control, honest string, liars int, every unit.Time) (*sim.Config, []*bounded) {
	var controllers []cc.Controller
	r := hostile(&controllers)
	rx := hpcc.RxScheme()
	receiver := rx.Receiver
	rx.Name = "rx_liar"
	rx.Receiver = func(f cc.Flow, c scheme.Config, host *cc.Host) (cc.Receiver, error) {
		inner, err := receiver(f, c, host)
		return boundless{inner}, err
	}
	r.Controllers = append(r.Controllers, rx)
	liarControl := control + ": {}"
	if control == "rx_hpcc" {
		liarControl = "rx_liar: {}"
	}
	text := dumbbell(2+max(liars, 1), "ecmp, telemetry", fmt.Sprintf(`
  - {name: honest, from: [left0, left1], to: right0, transport: rdma, integrity: keyed, cc: {%s}, start: 0s}`,
		honest))
	for i := range liars {
		text += fmt.Sprintf(`
  - {name: liar%d, from: left%d, to: right1, transport: rdma, integrity: %s, cc: {%s}, start: 1ms}`, i, 2+
			i, map[bool]string{true: "keyed", false: "none"}[control == "rx_hpcc"], liarControl)
	}
	c := under(t, r, text)
	watch(every)(c)
	var senders []*bounded
	for i := range c.Flows {
		b := &bounded{Endpoint: c.Endpoints[i].Sender, t: t, name: fmt.Sprint(control, " flow ", i), payload: 1000}
		c.Endpoints[i].Sender = b
		if senders = append(senders, b); i >= 2 && control == "hpcc" {
			c.Endpoints[i].Receiver = &liar{Endpoint: c.Endpoints[i].Receiver, sent: map[int]uint64{}}
		}
	}
	return c, senders
}

// TestRelativeConverges checks draft-miao §9.1, "only convey the relative ratio": with format relative two flows, and
// 16, converge as with HPCC's records. The last flow ends at the same time within 3 %, and the queue is short; likewise
// at receivers. A second, later flow has its half as well.
func TestRelativeConverges(t *testing.T) {
	const every = 5 * us
	for _, x := range []struct {
		hosts   int
		control string
		size    string
	}{{2, "hpcc: {w_ai: 150 B}", "10MB"}, {2, "hpcc: {w_ai: 150 B, mode: per_rtt}", "10MB"}, {16, "hpcc: {w_ai: 25 B}",
		"1MB"}, {2, "rx_hpcc: {w_ai: 150 B}", "10MB"}} {
		t.Run(x.control, func(t *testing.T) {
			var last [2]unit.Time
			var queue [2]int64
			for i, format := range []string{"hpcc", "relative"} {
				r := runNetwork(t, dumbbell(x.hosts, fmt.Sprintf("ecmp, {telemetry: {format: %s, t: 7us}}", format), fmt.Sprintf(`
  - {name: all, from: "left*", to: right0, transport: rdma, cc: {%s}, size: %s, start: 0s}`, x.control, x.size)),
					watch(every))
				for _, f := range r.Flows {
					last[i] = max(last[i], f.FCT)
				}
				queue[i] = percentile(r.Watched[0][400*us/every:unit.Time(900)*us/every], 95)
			}
			t.Logf("%d flows, %s: last FCT %v with records, %v relative; queue %d and %d B", x.hosts, x.control,
				last[0], last[1],
				queue[0], queue[1])
			if math.Abs(float64(last[1])/float64(last[0])-1) > 0.03 || queue[1] > 20_000 {
				t.Errorf("%d flows, %s: last FCT %v with records, %v relative; queue %d and %d B", x.hosts, x.control, last[0],
					last[1], queue[0], queue[1])
			}
		})
	}
	for _, format := range []string{"hpcc", "relative"} {
		t.Run(format, func(t *testing.T) {
			r := runNetwork(t, dumbbell(2, fmt.Sprintf("ecmp, {telemetry: {format: %s, t: 7us}}", format), `
  - {name: one, from: left0, to: right0, transport: rdma, cc: {hpcc: {w_ai: 150 B}}, start: 0s}
  - {name: two, from: left1, to: right1, transport: rdma, cc: {hpcc: {w_ai: 150 B}}, start: 1ms}`), watch(every))
			for flow := range 2 {
				w := r.Watched[1+flow]
				x := float64(w[6*ms/every-1]-w[4*ms/every-1]) * 8 / 2e-3 / 100e9 / payloadShare
				if t.Logf("%s: flow %d has %.3f of the link", format, flow, x); x < 0.475*0.95 || x > 0.475*1.05 {
					t.Errorf("%s: flow %d has %.3f of the link", format, flow, x)
				}
			}
		})
	}
}

// TestRelativeOnTheWire checks that hosts get only two bytes of format relative, a load: no rate, count of bytes,
// queue, time, switch or number of hops, in data at the receiver or in acknowledgements at the sender. It cannot hide
// the capacity from the only host on a path, which has its own rate: that over the load is the capacity.
func TestRelativeOnTheWire(t *testing.T) {
	c := configure(t, dumbbell(2, "ecmp, {telemetry: {format: relative, t: 7us}}", `
  - {name: one, from: left0, to: right0, transport: rdma, cc: {hpcc: {}}, size: 5MB, start: 0s}`), nil)
	seen, load := 0, 0.0
	look := func(kind uint8) func(p *packet.Packet) {
		return func(p *packet.Packet) {
			b := p.AppendExtensions(nil, 0)
			if len(b) == 0 {
				return
			}
			if len(b) != 4 || b[0] != kind || b[1] != 2 {
				t.Fatalf("%x", b)
			}
			if u := telemetry.DecodeRelative(binary.BigEndian.Uint16(b[2:])); seen > 4000 {
				load += u / 2000
			}
			seen++
		}
	}
	c.Endpoints[0].Sender = &listening{Endpoint: c.Endpoints[0].Sender,
		onReceive: look(telemetry.RelativeLoad &^ telemetry.Asked)}
	c.Endpoints[0].Receiver = &listening{Endpoint: c.Endpoints[0].Receiver, onReceive: look(telemetry.RelativeLoad)}
	c.Watches = append(c.Watches, outcome.Watch{What: outcome.ReceivedBytes, Index: 0, Every: 100 * us})
	r, err := sim.Run(c)
	if err != nil || r.End != outcome.AllDone || seen != 10_000 {
		t.Fatal(r, err, seen)
	}
	own := float64(r.Watched[0][4]-r.Watched[0][2]) * 8 / 200e-6 / payloadShare
	load /= 3 // of 6000
	if guess := own / load; guess < 97e9 || guess > 103e9 {
		t.Errorf("%.4g bit/s at load %.3f: a capacity of %.4g", own, load, guess)
	}
}

// TestRelativeOncePerRoundTrip checks loads without records. Each moves the window, but in mode per_rtt loads of the
// present round trip do not. Wc moves once a round trip in both. W_init is 125 kB: 100 Gb/s, 10 µs.
func TestRelativeOncePerRoundTrip(t *testing.T) {
	for mode, want := range map[hpcc.Mode][2]float64{hpcc.PlusPlus: {125_000, 125_000.0 / 2}, hpcc.PerRTT: {125_000,
		125_000}} {
		s, err := hpcc.New(cc.Flow{MSS: 1000, InitialWindow: 10, Loads: true, Path: cc.Path{NICRate: 100 * unit.Gbps,
			BaseRTT: 10 * us}}, hpcc.Config{Eta: 1, Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		for i, a := range []cc.Ack{{Telemetry: cc.Telemetry{Load: 1}, Seq: 1000, Next: 100_000},
			{Telemetry: cc.Telemetry{Load: 2},
				Seq: 2000, Next: 101_000}} {
			s.OnAck(unit.Time(i)*us, &a)
			if x := s.State(); math.Abs(x.W-want[i]) > 1 || math.Abs(x.Wc-125_000) > 1 || x.LastUpdateSeq != 100_000 {
				t.Errorf("%v, ACK %d: %+v, want W %v", mode, i, x, want[i])
			}
		}
		s.OnAck(20*us, &cc.Ack{Telemetry: cc.Telemetry{Load: 2}, Seq: 101_000, Next: 200_000})
		if x := s.State(); math.Abs(x.W-62_500) > 1 || math.Abs(x.Wc-62_500) > 1 {
			t.Errorf("%v, next round trip: %+v", mode, x)
		}
	}
}

// TestRelativeErrors checks that laws that need fields that format relative lacks are refused, and so are impossible
// requests.
func TestRelativeErrors(t *testing.T) {
	for traffic, want := range map[string]string{
		"cc: {hpcc: {mode: per_hop}}": "the controller needs", "cc: {hpcc: {mode: rx_rate}}": "the controller needs",
		"cc: {hpcc: {delay: sojourn}}": "the controller needs",
		"cc: powertcp":                 "the controller needs", "cc: hpcc, telemetry: congestion": "has none",
		"cc: hpcc_pint":              "",
		"cc: hpcc, integrity: keyed": "",
	} {
		t.Run(traffic, func(t *testing.T) {
			for averages, want := range map[string]string{"7us": want, "0s": "average loads"} {
				if want == "average loads" && strings.Contains(traffic, "powertcp") || strings.Contains(traffic, "{") &&
					averages == "0s" {
					continue
				}
				s, err := plan.Load(registry(), &experiment.Source{Name: "test", File: "test.yaml",
					Data: []byte(dumbbell(1, fmt.Sprintf("ecmp, {telemetry: {format: relative, t: %s}}", averages), `
  - {name: one, from: left0, to: right0, transport: rdma, `+traffic+`, size: 1MB, start: 0s}`))}, experiment.Options{})
				if err == nil {
					_, err = plan.ListRuns(s)[0].Config()
				}
				if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
					t.Errorf("%s, t: %s: %v, want %q", traffic, averages, err, want)
				}
			}
		})
	}
}
