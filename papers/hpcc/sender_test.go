package hpcc

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"weir/core/cc"
	"weir/core/cc/cctest"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

// rounding is the tolerance of loads and of windows in bytes.
var rounding = testkit.Tolerance{Relative: 1e-9, Absolute: 1e-9}

const (
	ns   = unit.Nanosecond
	us   = unit.Microsecond
	ms   = unit.Millisecond
	gbps = unit.Gbps
)

// newFlow returns a flow on a path of 100 Gb/s and 10 µs, with a BDP of 125 kB.
func newFlow() cc.Flow {
	return cctest.NewFlow(1, cctest.SetRandom(1, "flow"), cctest.SetPath(cc.Path{NICRate: 100 * gbps, BaseRTT: 10 * us}))
}

func newSender(t testing.TB, f cc.Flow, change func(c *Config)) *Sender {
	t.Helper()
	c := Defaults()
	if change != nil {
		change(&c)
	}
	s, err := New(f, c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hop is a record of a 100 Gb/s port.
func hop(id uint32, at unit.Time, tx uint64, queue unit.Bytes) telemetry.Hop {
	return telemetry.Hop{Switch: id, Time: at, TxBytes: tx, Queue: queue, Rate: 100 * gbps, Flags: telemetry.NoSojourn}
}

// ack acknowledges up to seq, when the sender has sent up to next.
func ack(s cc.Controller, now unit.Time, seq, next int64, hops ...telemetry.Hop) {
	a := cc.Ack{FirstUnacked: seq, Next: next, Telemetry: cc.Telemetry{Hops: hops}, Advanced: true, Packets: 1,
		Bytes: 1000}
	for i := range hops {
		a.Telemetry.Path ^= uint16(hops[i].Switch) & 0xfff
	}
	s.OnAck(now, &a)
}

// TestSender_FollowsPaperLinesByHand follows draft-miao §4.2, lines 3 to 9, 13 and 27, by hand: 100 Gb/s, T = 10 µs,
// B·T = 125 kB.
func TestSender_FollowsPaperLinesByHand(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	if d := s.Decision(); d.Window != 125000 || d.Rate != 100*gbps {
		t.Errorf("flows start at line rate (§5): %+v", d)
	}
	ack(s, 100*us, 1000, 125000, hop(1, 50*us, 7, 30000))
	// line 4: 62500 B in 5 µs = 100 Gb/s; line 5: min(25000, 30000)/125000 + 1 = 1.2
	// line 9: (1 − ½)·1 + ½·1.2 = 1.1; line 13: 125000/(1.1/0.95) + 80
	ack(s, 105*us, 2000, 126000, hop(1, 55*us, 62507, 25000))
	testkit.CheckNear(t, "U", s.State().U, 1.1, rounding)
	testkit.CheckNear(t, "W", s.State().W, 125000/(1.1/0.95)+80, rounding)
	if d := s.Decision(); d.Window != 108034 || d.Rate != 86_427_636_363 {
		t.Errorf("line 27: R = W/T: %+v", d)
	}
	// line 8: tau is T at most. 25000 B in 20 µs is 0.1; the queue's smaller value is 0.
	ack(s, 125*us, 3000, 127000, hop(1, 75*us, 87507, 0))
	testkit.CheckNear(t, "U", s.State().U, 0.1, rounding)
	testkit.CheckNear(t, "W", s.State().W, 125000, rounding) // 125000/(0.1/0.95) + 80 is beyond W_init
	testkit.CheckNear(t, "Wc", s.State().Wc, 125000, rounding)
}

// TestTauOfWorstHop checks lines 6 to 8: U and tau belong to the hop with the largest load.
func TestTauOfWorstHop(t *testing.T) {
	for _, worst := range []int{0, 1, 2} {
		t.Run(fmt.Sprint("hop ", worst), func(t *testing.T) {
			s := newSender(t, newFlow(), nil)
			var a, b [3]telemetry.Hop
			for i := range a {
				a[i] = hop(uint32(i+1), unit.Time(i)*unit.Second, 0, 0)
				b[i] = hop(uint32(i+1), unit.Time(i)*unit.Second+unit.Time(i+1)*us, uint64(i+1)*6250, 0) // 50 Gb/s
			}
			a[worst].Queue, b[worst].Queue = 125000, 125000 // load 1.5
			ack(s, 0, 1000, 5000, a[:]...)
			ack(s, 5*us, 2000, 5000, b[:]...)
			w := float64(worst+1) / 10
			testkit.CheckNear(t, "U", s.State().U, (1-w)+w*1.5, rounding)
			if s.State().Bottleneck != worst {
				t.Errorf("the bottleneck is hop %d, want %d", s.State().Bottleneck, worst)
			}
		})
	}
	// No hop raises u above 0: line 7 never runs. tau is then the first hop's.
	s := newSender(t, newFlow(), nil)
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 0), hop(2, 0, 0, 0))
	ack(s, 5*us, 2000, 5000, hop(1, 2*us, 0, 0), hop(2, 4*us, 0, 0))
	testkit.CheckNear(t, "U of an idle path", s.State().U, 0.8, rounding)
}

// TestFirstACK checks that the first records, which have no predecessors, are stored (A5), and begin the first round
// trip.
func TestFirstACK(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	ack(s, 0, 1000, 77000, hop(1, 0, 0, 1<<20))
	if st := s.State(); st.W != 125000 || st.U != 1 || st.LastUpdateSeq != 77000 {
		t.Errorf("%+v", st)
	}
	ack(s, us, 77000, 90000, hop(1, us, 12500, 1<<20))
	if st := s.State(); st.Wc != 125000 || st.LastUpdateSeq != 77000 || st.W >= 125000 {
		t.Errorf("line 22 is ack.seq > lastUpdateSeq: %+v", st)
	}
	ack(s, 2*us, 77001, 95000, hop(1, 2*us, 25000, 1<<20))
	if st := s.State(); st.Wc != st.W || st.LastUpdateSeq != 95000 {
		t.Errorf("the packet behind it commits: %+v", st)
	}
}

// TestOncePerRoundTrip checks lines 22 to 26 of HPCC and draft-miao §6.1, guideline 1: Wc moves at most once per round
// trip for any records. Within it W always starts from the same Wc.
func TestOncePerRoundTrip(t *testing.T) {
	for _, mode := range []Mode{PlusPlus, PerRTT, RxRate, PerHop} {
		s := newSender(t, newFlow(), func(c *Config) { c.Mode = mode })
		random := rand.New(rand.NewPCG(1, uint64(mode)))
		now, seq, tx, sent, commits := unit.Time(0), int64(0), uint64(0), int64(125000), 0
		for range 5000 {
			now += 80 * ns
			seq += 1000
			tx += uint64(random.IntN(1001))
			before, hop0 := s.State(), s.paths.one.known.hop[0].wc
			ack(s, now, seq, sent, hop(1, now, tx, unit.Bytes(random.IntN(300000))))
			if st := s.State(); st.LastUpdateSeq != before.LastUpdateSeq {
				commits++
				if seq <= before.LastUpdateSeq {
					t.Fatalf("%v: commits at %d, the last was at %d", mode, seq, before.LastUpdateSeq)
				}
			} else if mode != PerHop && st.Wc != before.Wc || s.paths.one.known.hop[0].wc != hop0 { // with PerHop State.Wc is W
				t.Fatalf("%v: Wc moves within a round trip", mode)
			}
			sent = max(sent, seq+int64(s.Decision().Window))
		}
		if commits < 10 {
			t.Errorf("%v: %d commits", mode, commits)
		}
	}
}

// TestGoneBack checks line 24's snd_nxt, which falls back when the sender goes back (go-back-N), though Ack.Next does
// not. An acknowledgement of data resent after the last update ends the round trip. One of earlier data, or one too
// early for an answer, does not.
func TestGoneBack(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	power, err := NewPower(newFlow(), scheme.Defaults[PowerConfig]())
	if err != nil {
		t.Fatal(err)
	}
	pint, err := NewPINT(newFlow(), PINTConfig{Defaults(), 1})
	if err != nil {
		t.Fatal(err)
	}
	pint.OnAck(0, &cc.Ack{FirstUnacked: 1000, Next: 125000, Delivered: 1, Telemetry: cc.Telemetry{Load: 1}})
	for i, x := range []struct {
		prior   int64 // what had been delivered when the packet was sent again; −1: no sample
		commits bool
	}{{-1, true}, {0, false}, {-1, false}, {1, true}, {2, false}, {3, false}, {4, true}} {
		now := unit.Time(i) * 10 * us
		a := &cc.Ack{FirstUnacked: int64(i+1) * 1000, Next: 125000, Delivered: int64(i + 1)}
		if x.prior >= 0 {
			a.Delivery = cc.Delivery{Packets: 1, Interval: 10 * us, PriorDelivered: x.prior, Retransmitted: true}
		}
		a.Telemetry.Hops = []telemetry.Hop{hop(1, now, uint64(i)*125000, 250000)}
		wc, old := s.State().Wc, power.old
		s.OnAck(now, a)
		power.OnAck(now, a)
		if i > 0 && (s.State().Wc != wc) != x.commits || i > 0 && (power.old != old) != x.commits {
			t.Errorf("ACK %d: Wc is %.0f after %.0f, PowerTCP's old window %.0f after %.0f", i, s.State().Wc, wc,
				power.old, old)
		}
		if i == 0 {
			continue
		}
		wc = pint.ref.wc
		a.Telemetry.Hops, a.Telemetry.Load = nil, 2
		if pint.OnAck(now, a); (pint.ref.wc != wc) != x.commits {
			t.Errorf("ACK %d: PINT's Wc is %.0f after %.0f", i, pint.ref.wc, wc)
		}
	}
}

// TestSender_StagesLimitAdditiveIncrease checks lines 12 to 19: below the target the window grows by W_ai for the
// number of stages, then by the available room.
func TestSender_StagesLimitAdditiveIncrease(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.MaxStage = 2 })
	s.ref.wc, s.w = 20000, 20000
	now := unit.Time(0)
	ack(s, 0, 1, 1, hop(1, 0, 0, 0))
	want := 20000.0
	for i := range 6 {
		now += 10 * us
		tx := uint64(now/us) * 12500 / 4 // load 0.25
		ack(s, now, int64(i)+2, int64(i)+2, hop(1, now, tx, 0))
		if i%3 == 2 {
			want = min(want/(0.25/0.95)+80, 125000)
		} else {
			want += 80
		}
		testkit.CheckNear(t, fmt.Sprint("W after round ", i), s.State().Wc, want, rounding)
		if stage := (i + 1) % 3; s.State().Stage != stage {
			t.Errorf("round %d: incStage %d, want %d", i, s.State().Stage, stage)
		}
	}
	// Above the target it does not wait.
	ack(s, now+10*us, 100, 100, hop(1, now+10*us, uint64(now/us)*12500/4+125000, 0))
	testkit.CheckNear(t, "W above the target", s.State().Wc, 125000*0.95+80, rounding)
}

// TestStageAtTarget checks that line 12 is U >= eta: at the target itself the stage restarts.
func TestStageAtTarget(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.MaxStage, c.Eta = 5, 0.75 })
	ack(s, 0, 1, 1, hop(1, 0, 0, 0))
	ack(s, 10*us, 2, 2, hop(1, 10*us, 62500, 0))
	if s.State().Stage != 1 {
		t.Errorf("incStage below the target: %d", s.State().Stage)
	}
	ack(s, 20*us, 3, 3, hop(1, 20*us, 62500+93750, 0))
	if s.State().Stage != 0 || s.State().U != 0.75 {
		t.Errorf("incStage at the target: %+v", s.State())
	}
}

// TestIncreaseRule checks draft-miao §5: W_ai = W_init·(1−eta)/N. HPCC's footnote 4: 100 Gb/s, 13 µs, 100 flows: about
// 80 B.
func TestIncreaseRule(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.N, c.T = 100, 13*us })
	testkit.CheckNear(t, "W_ai", s.State().WAI, 162500*0.05/100, rounding)
}

// TestReportedIncrease checks draft-miao §5: N may be reported by the receiver. It applies while the last hop is the
// bottleneck, and W_init is that hop's B·T: 25 Gb/s here, of a NIC of 100.
func TestReportedIncrease(t *testing.T) {
	for _, census := range []bool{true, false} {
		t.Run(fmt.Sprintf("census %v", census), func(t *testing.T) {
			s := newSender(t, newFlow(), func(c *Config) { c.N, c.T, c.Census = 100, 13*us, census })
			now, seq := unit.Time(0), int64(0)
			step := func(first, last unit.Bytes, flows int) float64 {
				now, seq = now+6*us, seq+1
				slow := hop(2, now, uint64(now/ns)*3, last)
				slow.Rate = 25 * gbps
				s.OnAck(now, &cc.Ack{FirstUnacked: seq, Next: seq, Feedback: cc.Feedback{Flows: int32(flows)},
					Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, now, uint64(now/ns)*3, first), slow}}})
				return s.State().WAI
			}
			step(0, 0, 10)
			step(0, 50000, 10)
			counted := 40625 * 0.05 / 10
			if !census {
				counted = 162500 * 0.05 / 100
			}
			testkit.CheckNear(t, "W_ai with 10 flows reported", step(0, 50000, 10), counted, rounding)
			step(500_000, 0, 10) // the law takes the smaller of two queues
			testkit.CheckNear(t, "W_ai where another hop is the bottleneck", step(500_000, 0, 10), 162500*0.05/100, rounding)
			step(0, 500_000, 10)
			testkit.CheckNear(t, "W_ai with 10 flows reported again", step(0, 500_000, 10), counted, rounding)
			testkit.CheckNear(t, "W_ai when no longer reported", step(0, 500_000, 0), 162500*0.05/100, rounding)
		})
	}
	if _, err := New(cc.Flow{MSS: 1000, Path: cc.Path{NICRate: 100 * gbps}}, Config{Eta: 0.95, Census: true}); err == nil {
		t.Error("a census without T")
	}
}

// TestSender_BoundSetsWindow follows the HPCC simulator, HAS_WIN and VAR_WIN: the law's rate comes with its window, a
// new flow's window, or none.
func TestSender_BoundSetsWindow(t *testing.T) {
	f := newFlow()
	for _, c := range []struct {
		bound InFlightLimit
		want  unit.Bytes
	}{{VariableWindow, 62500}, {InitialWindow, 125000}, {NoWindow, f.FreeWindow()}} {
		t.Run(c.bound.String(), func(t *testing.T) {
			s := newSender(t, f, func(x *Config) { x.Bound, x.WAI = c.bound, 0 })
			if d := s.Decision(); c.bound != NoWindow && d.Window != 125000 {
				t.Errorf("at first %v", d.Window)
			}
			ack(s, 0, 1, 100, hop(1, 0, 0, 112500))
			ack(s, 10*us, 101, 200, hop(1, 10*us, 125000, 112500))
			if d := s.Decision(); d.Window != c.want || d.Rate != 50*gbps {
				t.Errorf("a load of twice the target gives %v and %v, want %v and 50Gbps", d.Window, d.Rate, c.want)
			}
			s.OnLoss(20*us, cc.Loss{Kind: cc.RetransmissionTimeout})
			if d := s.Decision(); d.Window != 1000 {
				t.Errorf("after a timeout %v", d.Window)
			}
		})
	}
}

// TestSampledFeedback follows the HPCC simulator, SAMPLE_FEEDBACK: between updates hops without a queue are omitted and
// keep the records of the last update. An update uses all of them.
func TestSampledFeedback(t *testing.T) {
	load := func(sampled bool, queue unit.Bytes, update bool) float64 {
		s := newSender(t, newFlow(), func(c *Config) { c.WAI, c.SamplesQueues = 0, sampled })
		ack(s, 0, 1, 100, hop(1, 0, 0, queue))
		ack(s, 10*us, 101, 200, hop(1, 10*us, 62500, queue)) // U is what half the link and the queue make
		seq := int64(150)
		if update {
			seq = 201
		}
		ack(s, 20*us, seq, 300, hop(1, 20*us, 62500+125000, queue))
		return s.State().U
	}
	for _, c := range []struct {
		name    string
		sampled bool
		queue   unit.Bytes
		update  bool
		want    float64
	}{
		{"all hops", false, 0, false, 1}, {"no queue", true, 0, false, 0.5},
		{"queue", true, 12500, false, 1.1}, {"short queue", true, 1250, false, 1.01},
		{"update", true, 0, true, 1},
	} {
		t.Run(c.name, func(t *testing.T) { testkit.CheckNear(t, "U", load(c.sampled, c.queue, c.update), c.want, rounding) })
	}
	// An omitted record is measured from the last one that counted.
	s := newSender(t, newFlow(), func(c *Config) { c.WAI, c.SamplesQueues = 0, true })
	ack(s, 0, 1, 100, hop(1, 0, 0, 0))
	ack(s, 5*us, 50, 100, hop(1, 5*us, 62500, 0))
	ack(s, 10*us, 101, 200, hop(1, 10*us, 62500, 0))
	testkit.CheckNear(t, "U over both", s.State().U, 0.5, rounding)
}

// TestSender_ModesReactAsDescribed checks the modes of the paper's ablations: reactions by ACK and by round trip, rates
// of arrivals, and windows per hop.
func TestSender_ModesReactAsDescribed(t *testing.T) {
	// Five ACKs of one round trip report 1.9: HPCC++ reacts once, per ACK five times (HPCC §3.2), per round trip not at
	// all.
	for _, c := range []struct {
		mode Mode
		want float64
	}{{PlusPlus, 125000 / (1.9 / 0.95)}, {PerACK, 125000 / 32.}, {PerRTT, 125000}} {
		t.Run(c.mode.String(), func(t *testing.T) {
			s := newSender(t, newFlow(), func(f *Config) { f.Mode, f.WAI = c.mode, 0 })
			for i := range 6 {
				n := unit.Time(i) * 10 * us
				ack(s, n, int64(i), 100, hop(1, n, uint64(i)*125000, 112500))
			}
			testkit.CheckNear(t, c.mode.String(), s.State().W, c.want, rounding)
			// The next round trip's ACK: per round trip it measures all of it at once.
			ack(s, 60*us, 101, 200, hop(1, 60*us, 6*125000, 112500))
			if c.mode == PerRTT {
				testkit.CheckNear(t, "per_rtt, U", s.State().U, 1.9, rounding)
				testkit.CheckNear(t, "per_rtt, W", s.State().W, 62500, rounding)
			}
		})
	}
	// Arrivals: 62500 B left and the queue grew by 25000 B in 10 µs: 0.7, and 0.1 of queue.
	s := newSender(t, newFlow(), func(c *Config) { c.Mode = RxRate })
	ack(s, 0, 1, 1, hop(1, 0, 0, 12500))
	ack(s, 10*us, 2, 2, hop(1, 10*us, 62500, 37500))
	testkit.CheckNear(t, "rx_rate", s.State().U, 0.8, rounding)
	ack(s, 20*us, 3, 3, hop(1, 20*us, 72500, 0)) // the queue shrank by more than what left
	testkit.CheckNear(t, "rx_rate of a port that drains", s.State().U, 0, rounding)
	// Each hop has its own U and Wc: the least window holds.
	s = newSender(t, newFlow(), func(c *Config) { c.Mode, c.WAI, c.MaxStage = PerHop, 0, 0 })
	load := func(i int, one, two unit.Bytes) {
		n := unit.Time(i) * 10 * us
		ack(s, n, int64(i)+1, int64(i)+1, hop(1, n, 0, one), hop(2, n, 0, two))
	}
	load(0, 250000, 125000)
	load(1, 250000, 125000) // 2 and 1
	testkit.CheckNear(t, "per_hop", s.State().W, 125000*0.95/2, rounding)
	load(2, 62500, 125000)
	load(3, 62500, 125000) // ½ and 1: hop 1's Wc has come back twice, hop 2's has gone down thrice
	testkit.CheckNear(t, "per_hop, relieved", s.State().W, 125000*0.95*0.95*0.95, rounding)
}

// TestSender_SojournReplacesQueue checks draft-miao §9.4: the packet's time in the switch replaces the queue.
func TestSender_SojournReplacesQueue(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.Sojourn = true })
	h := hop(1, 0, 0, 1<<20)
	h.Flags, h.Sojourn = 0, 3*us
	ack(s, 0, 1, 1, h)
	h.Time, h.TxBytes, h.Sojourn = 10*us, 62500, 2*us
	ack(s, 10*us, 2, 2, h)
	testkit.CheckNear(t, "U", s.State().U, 0.2+0.5, rounding)
	h.Time, h.TxBytes, h.Queue, h.Flags = 20*us, 125000, 12500, telemetry.NoSojourn
	ack(s, 20*us, 3, 3, h)
	testkit.CheckNear(t, "U of a format without sojourn times", s.State().U, 0.1+0.5, rounding)
}

// TestSender_ClockOffsetsChangeNoDecision checks that clocks are never compared with each other: their offsets change
// no decision.
func TestSender_ClockOffsetsChangeNoDecision(t *testing.T) {
	for m := range modes {
		random := rand.New(rand.NewPCG(1, 1))
		a := newSender(t, newFlow(), func(c *Config) { c.Mode = Mode(m) })
		b := newSender(t, newFlow(), func(c *Config) { c.Mode = Mode(m) })
		var clocks [5]telemetry.Clock
		for i := range clocks {
			clocks[i].Offset = unit.Time(random.Int64N(2e15)) - 1e15
		}
		var tx [5]uint64
		now, seq := unit.Time(0), int64(0)
		for range 3000 {
			now += unit.Time(random.IntN(200)) * ns
			seq += 1000
			var x, y [5]telemetry.Hop
			for i := range x {
				tx[i] += uint64(random.IntN(2000))
				x[i] = hop(uint32(i), now, tx[i], unit.Bytes(random.IntN(100000)))
				y[i] = x[i]
				y[i].Time = clocks[i].Read(now)
			}
			ack(a, now, seq, seq+50000, x[:]...)
			ack(b, now, seq, seq+50000, y[:]...)
			if a.Decision() != b.Decision() || a.State() != b.State() {
				t.Fatalf("%v at %v: %+v and %+v", Mode(m), now, a.State(), b.State())
			}
		}
	}
}

// TestOnTheWire checks that through the paper's wire format, with its rounding and many wraps, the window stays within
// 1 % of the one from exact records.
func TestOnTheWire(t *testing.T) {
	format := telemetry.NewHPCC(4)
	wrap := telemetry.Unwrapper{Span: format.WrapSpan()}
	a, b := newSender(t, newFlow(), nil), newSender(t, newFlow(), nil)
	random := rand.New(rand.NewPCG(3, 3))
	now, seq, worst := unit.Time(0), int64(0), 0.0
	var tx uint64
	var last [5]unit.Bytes
	for range 300000 { // 75 ms: four wraps of time, six of bytes
		now += unit.Time(200+random.IntN(100)) * ns
		seq += 1000
		tx += uint64(2700 + random.IntN(800)) // about 100 Gb/s
		var header [telemetry.HPCCBytes]byte
		var hops [5]telemetry.Hop
		for i := range hops {
			last[i] = max(0, last[i]+unit.Bytes(random.IntN(2001)-1000))
			hops[i] = hop(uint32(i), now+unit.Time(i)*unit.Second, tx, last[i])
			format.Push(header[:], &hops[i])
		}
		var r telemetry.Records
		if err := format.Decode(header[:], &r); err != nil {
			t.Fatal(err)
		}
		wrap.Unwrap(now, &r)
		a.OnAck(now, &cc.Ack{FirstUnacked: seq, Next: seq + 40000, Telemetry: cc.Telemetry{Hops: hops[:]}})
		b.OnAck(now, &cc.Ack{FirstUnacked: seq, Next: seq + 40000, Telemetry: cc.Telemetry{Hops: r.Hops(), Path: r.PathID(),
			MissedHops: uint8(r.MissedHops())}})
		worst = max(worst, math.Abs(b.State().U/a.State().U-1))
	}
	if worst > 0.01 || worst == 0 {
		t.Errorf("U differs by up to %.4f", worst)
	}
}

// withHops puts records into the model's acknowledgements.
type withHops struct {
	cc.Controller
	random *rand.Rand
	tx     uint64
}

func (w *withHops) OnAck(now unit.Time, a *cc.Ack) {
	own := *a
	w.tx += uint64(w.random.IntN(20000))
	if w.random.IntN(10) > 0 {
		own.Telemetry.Hops = []telemetry.Hop{hop(1, now, w.tx, unit.Bytes(w.random.IntN(20000))), hop(2, now, w.tx, 0)}
	}
	own.Telemetry.Load, own.Feedback.Window = w.random.Float64()*2, unit.Bytes(w.random.IntN(100000))
	w.Controller.OnAck(now, &own)
}

// TestSchemes_DocumentEveryParameter checks that every parameter has a default that its scheme accepts, and a source.
func TestSchemes_DocumentEveryParameter(t *testing.T) {
	for _, s := range []cc.Scheme{Scheme(), RxScheme(), PowerScheme(), PINTScheme()} {
		t.Run(s.Name, func(t *testing.T) {
			for _, p := range s.Parameters() {
				if p.Source == "" || p.Doc == "" {
					t.Errorf("%s has source %q and text %q", p.Name, p.Source, p.Doc)
				}
			}
			c, err := s.Build(newFlow(), s.NewConfig())
			if err != nil || c.Decision().Window != 125000 || !s.OwnRecovery {
				t.Error(err)
			}
		})
	}
	c, err := cctest.BuildController(Scheme(), newFlow())
	if err != nil {
		t.Fatal(err)
	}
	want := Config{Eta: 0.95, MaxStage: -1, WAI: 80}
	if got := c.(*Sender).config; got != want.resolved() || want != Defaults() {
		t.Errorf("defaults are %+v, %+v, want %+v", got, Defaults(), want)
	}
	c, err = cctest.BuildController(Scheme(), newFlow(), "mode", "per_hop", "delay", "sojourn")
	if err != nil || c.(*Sender).config.Mode != PerHop || !c.(*Sender).config.Sojourn {
		t.Errorf("%+v, %v", c, err)
	}
	if got, want := scheme.Defaults[PowerConfig](), (PowerConfig{Gamma: 0.9, Beta: 150 * unit.Mbps, Eta: 1}); got != want {
		t.Errorf("PowerTCP's defaults are %+v, want %+v", got, want)
	}
}

// TestConfigs_RejectValuesOutOfRange checks that values out of range are refused.
func TestConfigs_RejectValuesOutOfRange(t *testing.T) {
	for name, bad := range map[string]scheme.Config{
		"no eta":             &Config{},
		"eta above 1":        &Config{Eta: 1.1},
		"eta NaN":            &Config{Eta: math.NaN()},
		"maxStage":           &Config{Eta: 1, MaxStage: -2},
		"w_ai":               &Config{Eta: 1, WAI: -1},
		"n":                  &Config{Eta: 1, N: -1},
		"T":                  &Config{Eta: 1, T: -1},
		"min_rate":           &Config{Eta: 1, MinRate: -1},
		"mode":               &Config{Eta: 1, Mode: 9},
		"power, no gamma":    &PowerConfig{},
		"power, no eta":      &PowerConfig{Gamma: 1},
		"power, eta above 1": &PowerConfig{Gamma: 1, Eta: 2},
		"power, floor":       &PowerConfig{Gamma: 1, Eta: 1, MinCurrent: 2},
		"power, n":           &PowerConfig{Gamma: 1, Eta: 1, N: -1},
		"pint, probability":  &PINTConfig{Defaults(), 2},
		"rx, eta above 1":    &RxConfig{Config{Eta: 2}},
		"draft, w_ai":        &Config{Eta: 1, Preset: Draft, WAI: 300},
	} {
		t.Run(name, func(t *testing.T) {
			if scheme.Validate(bad) == nil {
				t.Errorf("%+v is taken", bad)
			}
		})
	}
	for name, good := range map[string]scheme.Config{"per hop": &Config{Eta: 1, Mode: PerHop},
		"power": &PowerConfig{Gamma: 1, Eta: 1}} {
		t.Run(name, func(t *testing.T) {
			if err := scheme.Validate(good); err != nil {
				t.Errorf("%+v: %v", good, err)
			}
		})
	}
}

func ExampleNew() {
	s, err := New(cc.Flow{MSS: 1000, Path: cc.Path{NICRate: 100 * unit.Gbps, BaseRTT: 10 * unit.Microsecond}}, Defaults())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Decision().Window, s.Decision().Rate)
	// The port sends at its rate, and 25 kB wait: bytes in flight are 1.2 of B·T.
	for i := range unit.Time(2) {
		h := telemetry.Hop{Time: i * 10 * unit.Microsecond, TxBytes: uint64(i) * 125_000, Queue: 25_000,
			Rate: 100 * unit.Gbps}
		s.OnAck(0, &cc.Ack{FirstUnacked: int64(1 + i), Next: int64(1 + i), Telemetry: cc.Telemetry{Hops: []telemetry.Hop{h}}})
	}
	fmt.Println(s.Decision().Window) // 125 kB/(1.2/0.95) + 80 B
	// Output:
	// 125kB 100Gbps
	// 99.038kB
}
