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
)

const (
	ns   = unit.Nanosecond
	us   = unit.Microsecond
	ms   = unit.Millisecond
	gbps = unit.Gbps
)

// flow has a BDP of 125 kB.
func flow() cc.Flow {
	return cc.Flow{MSS: 1000, MTU: 1052, InitialWindow: 10, Path: cc.Path{NICRate: 100 * gbps, BaseRTT: 10 * us},
		Random: unit.NewRandom(1, "flow")}
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
	a := cc.Ack{Una: seq, Next: next, Telemetry: cc.Telemetry{Hops: hops}, Advanced: true, Packets: 1, Bytes: 1000}
	for i := range hops {
		a.Telemetry.Path ^= uint16(hops[i].Switch) & 0xfff
	}
	s.OnAck(now, &a)
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s: %.9g, want %.9g", what, got, want)
	}
}

// §4.2 lines 3 to 9, 13 and 27, worked out by hand: 100 Gb/s, T = 10 µs, B·T = 125 kB.
func TestFormulas(t *testing.T) {
	s := newSender(t, flow(), nil)
	if d := s.Decision(); d.Window != 125000 || d.Rate != 100*gbps {
		t.Errorf("flows start at line rate (§5): %+v", d)
	}
	ack(s, 100*us, 1000, 125000, hop(1, 50*us, 7, 30000))
	// line 4: 62500 B in 5 µs = 100 Gb/s; line 5: min(25000, 30000)/125000 + 1 = 1.2
	// line 9: (1 − ½)·1 + ½·1.2 = 1.1; line 13: 125000/(1.1/0.95) + 80
	ack(s, 105*us, 2000, 126000, hop(1, 55*us, 62507, 25000))
	near(t, "U", s.State().U, 1.1)
	near(t, "W", s.State().W, 125000/(1.1/0.95)+80)
	if d := s.Decision(); d.Window != 108034 || d.Rate != 86_427_636_363 {
		t.Errorf("line 27: R = W/T: %+v", d)
	}
	// line 8: tau is T at most. 25000 B in 20 µs is 0.1; the queue's smaller value is 0.
	ack(s, 125*us, 3000, 127000, hop(1, 75*us, 87507, 0))
	near(t, "U", s.State().U, 0.1)
	near(t, "W", s.State().W, 125000) // 125000/(0.1/0.95) + 80 is beyond W_init
	near(t, "Wc", s.State().Wc, 125000)
}

// Lines 6 to 8: U is that of the hop with the largest load, and so is tau.
func TestTauOfWorstHop(t *testing.T) {
	for _, worst := range []int{0, 1, 2} {
		s := newSender(t, flow(), nil)
		var a, b [3]telemetry.Hop
		for i := range a {
			a[i] = hop(uint32(i+1), unit.Time(i)*unit.Second, 0, 0)
			b[i] = hop(uint32(i+1), unit.Time(i)*unit.Second+unit.Time(i+1)*us, uint64(i+1)*6250, 0) // 50 Gb/s
		}
		a[worst].Queue, b[worst].Queue = 125000, 125000 // load 1.5
		ack(s, 0, 1000, 5000, a[:]...)
		ack(s, 5*us, 2000, 5000, b[:]...)
		w := float64(worst+1) / 10
		near(t, "U", s.State().U, (1-w)+w*1.5)
		if s.State().Bottleneck != worst {
			t.Errorf("the bottleneck is hop %d, want %d", s.State().Bottleneck, worst)
		}
	}
	// No hop raises u above 0: line 7 never runs. tau is then the first hop's.
	s := newSender(t, flow(), nil)
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 0), hop(2, 0, 0, 0))
	ack(s, 5*us, 2000, 5000, hop(1, 2*us, 0, 0), hop(2, 4*us, 0, 0))
	near(t, "U of an idle path", s.State().U, 0.8)
}

// The first records have none before them: they are stored (A5), and begin the first round trip.
func TestFirstACK(t *testing.T) {
	s := newSender(t, flow(), nil)
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

// Lines 22 to 26 and §6.1, guideline 1: Wc moves at most once per round trip, whatever the
// path says; and within it W always starts from the same Wc.
func TestOncePerRoundTrip(t *testing.T) {
	for _, mode := range []Mode{PlusPlus, PerRTT, RxRate, PerHop} {
		s := newSender(t, flow(), func(c *Config) { c.Mode = mode })
		random := rand.New(rand.NewPCG(1, uint64(mode)))
		now, seq, tx, sent, commits := unit.Time(0), int64(0), uint64(0), int64(125000), 0
		for range 5000 {
			now += 80 * ns
			seq += 1000
			tx += uint64(random.IntN(1001))
			before, hop0 := s.State(), s.hop[0].wc
			ack(s, now, seq, sent, hop(1, now, tx, unit.Bytes(random.IntN(300000))))
			if st := s.State(); st.LastUpdateSeq != before.LastUpdateSeq {
				commits++
				if seq <= before.LastUpdateSeq {
					t.Fatalf("%v: commits at %d, the last was at %d", mode, seq, before.LastUpdateSeq)
				}
			} else if mode != PerHop && st.Wc != before.Wc || s.hop[0].wc != hop0 { // with PerHop State.Wc is W
				t.Fatalf("%v: Wc moves within a round trip", mode)
			}
			sent = max(sent, seq+int64(s.Decision().Window))
		}
		if commits < 10 {
			t.Errorf("%v: %d commits", mode, commits)
		}
	}
}

// Line 24's snd_nxt falls back when the sender goes back (go-back-N), though Ack.Next
// does not: what is acknowledged of what was sent again after the last update ends the round
// trip, what was sent before, or comes too soon to be an answer, does not.
func TestGoneBack(t *testing.T) {
	s := newSender(t, flow(), nil)
	power, err := NewPower(flow(), PowerDefaults())
	if err != nil {
		t.Fatal(err)
	}
	pint, err := NewPINT(flow(), PINTConfig{Defaults(), 1})
	if err != nil {
		t.Fatal(err)
	}
	pint.OnAck(0, &cc.Ack{Una: 1000, Next: 125000, Delivered: 1, Telemetry: cc.Telemetry{Load: 1}})
	for i, x := range []struct {
		prior   int64 // what had been delivered when the packet was sent again; −1: no sample
		commits bool
	}{{-1, true}, {0, false}, {-1, false}, {1, true}, {2, false}, {3, false}, {4, true}} {
		now := unit.Time(i) * 10 * us
		a := &cc.Ack{Una: int64(i+1) * 1000, Next: 125000, Delivered: int64(i + 1)}
		if x.prior >= 0 {
			a.Delivery = cc.Delivery{Packets: 1, Interval: 10 * us, PriorDelivered: x.prior, Retransmitted: true}
		}
		a.Telemetry.Hops = []telemetry.Hop{hop(1, now, uint64(i)*125000, 250000)}
		wc, old := s.State().Wc, power.old
		s.OnAck(now, a)
		power.OnAck(now, a)
		if i > 0 && (s.State().Wc != wc) != x.commits || i > 0 && (power.old != old) != x.commits {
			t.Errorf("ACK %d: Wc is %.0f after %.0f, PowerTCP's old window %.0f after %.0f", i, s.State().Wc, wc, power.old, old)
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

// Lines 12 to 19: below the target the window grows by W_ai so many times, then by as much
// as there is room for.
func TestStages(t *testing.T) {
	s := newSender(t, flow(), func(c *Config) { c.MaxStage = 2 })
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
		near(t, fmt.Sprint("W after round ", i), s.State().Wc, want)
		if stage := (i + 1) % 3; s.State().Stage != stage {
			t.Errorf("round %d: incStage %d, want %d", i, s.State().Stage, stage)
		}
	}
	// Above the target it does not wait.
	ack(s, now+10*us, 100, 100, hop(1, now+10*us, uint64(now/us)*12500/4+125000, 0))
	near(t, "W above the target", s.State().Wc, 125000*0.95+80)
}

// Line 12 is U >= eta: at the target itself the stage begins anew.
func TestStageAtTarget(t *testing.T) {
	s := newSender(t, flow(), func(c *Config) { c.MaxStage, c.Eta = 5, 0.75 })
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

// A8 (4): equal and backward times. Such records are of no use and nothing is lost by
// them: bytes count in the next measurement.
func TestEqualTimes(t *testing.T) {
	s := newSender(t, flow(), nil)
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 12500), hop(2, 100*us, 0, 0))
	before := s.State()
	ack(s, 100*ns, 6000, 9000, hop(1, 100*ns, 1250, 12500), hop(2, 100*us, 1250, 0)) // hop 2's clock has not ticked
	ack(s, 150*ns, 6000, 9000, hop(1, -ns, 0, 12500), hop(2, 200*us, 1250, 0))       // overtaken
	if s.State() != before {
		t.Errorf("%+v became %+v", before, s.State())
	}
	ack(s, 200*ns, 6000, 9000, hop(1, 200*ns, 2500, 12500), hop(2, 100*us+ns, 2500, 0))
	// hop 1: 2500 B in 200 ns: 1, and 0.1 of queue; hop 2: 2500 B in 1 ns: 200.
	near(t, "U", s.State().U, 1-1e-4+1e-4*200)
	if s.State().LastUpdateSeq != 9000 {
		t.Error("the first usable ACK does not commit")
	}
}

// A clock that was set back, or stands still, does not stop the control for longer than 2T.
func TestClockSetBack(t *testing.T) {
	s := newSender(t, flow(), nil)
	now, at, tx := unit.Time(0), unit.Second, uint64(0)
	used := func() bool {
		now, at, tx = now+us, at+us, tx+12500
		before := s.State().U
		ack(s, now, int64(now), int64(now), hop(1, at, tx, 12500))
		return s.State().U != before
	}
	used()
	if !used() {
		t.Error("an ordinary record is not used")
	}
	at -= unit.Second / 2
	waited := 0
	for !used() && waited < 100 {
		waited++
	}
	if waited > 22 {
		t.Errorf("%d µs without a measurement after the clock was set back; 2T is 20", waited)
	}
	// Hop 2's clock stands: hop 1 counts every 2T.
	s = newSender(t, flow(), nil)
	uses := 0
	for i := range 100 {
		before := s.track.at
		n := unit.Time(i) * us
		ack(s, n, int64(i), int64(i), hop(1, n, uint64(i)*12500, 12500), hop(2, 0, 0, 0))
		if s.track.at != before {
			uses++
		}
	}
	if uses != 4 || s.State().U != 1.1 {
		t.Errorf("%d measurements in 100 µs beside a clock that stands, want 4", uses)
	}
}

// HPCC §4.1: another path makes the sender forget what it knew of the old one.
func TestPathChange(t *testing.T) {
	changes := map[string]func(a *cc.Ack){
		"path id": func(a *cc.Ack) { a.Telemetry.Path ^= 5 },
		"switch":  func(a *cc.Ack) { a.Telemetry.Hops[1].Switch = 99 },
		"port":    func(a *cc.Ack) { a.Telemetry.Hops[0].Port = 7 },
		"rate":    func(a *cc.Ack) { a.Telemetry.Hops[1].Rate = 400 * gbps },
		"longer":  func(a *cc.Ack) { a.Telemetry.Hops = append(a.Telemetry.Hops, hop(3, 20*us, 0, 0)) },
		"shorter": func(a *cc.Ack) { a.Telemetry.Hops = a.Telemetry.Hops[:1] },
		"missed":  func(a *cc.Ack) { a.Telemetry.Missed = 1 },
		"restart": func(a *cc.Ack) { a.Telemetry.Hops[1].Flags |= telemetry.Restart },
		"counter": func(a *cc.Ack) { a.Telemetry.Hops[1].TxBytes = 3 },
	}
	for name, change := range changes {
		s := newSender(t, flow(), nil)
		at := func(i int64) *cc.Ack {
			n := unit.Time(i) * 10 * us
			return &cc.Ack{Una: i * 1000, Next: i*1000 + 500, Telemetry: cc.Telemetry{Path: 3,
				Hops: []telemetry.Hop{hop(1, n, uint64(i)*100000+
					1000, 5000), hop(2, n, uint64(i)*125000+1000, 25000)}}}
		}
		for i := range int64(4) {
			s.OnAck(unit.Time(i)*10*us, at(i+1))
		}
		before := s.State()
		near(t, "U", before.U, 1.2)
		a := at(5)
		change(a)
		s.OnAck(40*us, a)
		if st := s.State(); st.U != 1 || st.W != before.W || st.Wc != before.Wc || st.LastUpdateSeq != a.Next {
			t.Errorf("%s: %+v became %+v", name, before, st)
		}
		b := at(6)
		change(b)
		b.Telemetry.Hops[1%len(b.Telemetry.Hops)].Flags &^= telemetry.Restart
		if name == "counter" {
			b.Telemetry.Hops[1].TxBytes = 125003
		}
		if name == "longer" {
			b.Telemetry.Hops[2].Time = 50 * us
		}
		s.OnAck(50*us, b)
		if st := s.State(); st.W == before.W {
			t.Errorf("%s: the new path's second record does not count", name)
		}
	}
}

// A switch without telemetry leaves no record: the others' count. A hop that says no
// rate is one too. No records at all change nothing.
func TestHopMissing(t *testing.T) {
	s := newSender(t, flow(), nil)
	blind := hop(2, 0, 0, 1<<30)
	blind.Rate = 0
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 25000), blind)
	ack(s, 10*us, 6000, 9000, hop(1, 10*us, 125000, 25000), blind)
	near(t, "U", s.State().U, 1.2)
	before := s.State()
	ack(s, 20*us, 10000, 12000)
	ack(s, 30*us, 13000, 15000, []telemetry.Hop{}...)
	if s.State() != before {
		t.Error("an ACK without records changes something")
	}
	s = newSender(t, flow(), nil)
	for i := range 5 { // none of the hops has a rate
		blind.Time += 10 * us
		ack(s, unit.Time(i)*10*us, int64(i), int64(i), blind)
	}
	if s.State().W != 125000 {
		t.Errorf("%+v", s.State())
	}
}

// A timeout leaves one packet; W is back with the first measurement, or, without telemetry,
// by what is acknowledged.
func TestTimeout(t *testing.T) {
	for _, records := range []bool{true, false} {
		s := newSender(t, flow(), nil)
		ack(s, 0, 1000, 125000, hop(1, 0, 0, 0))
		ack(s, 10*us, 2000, 125000, hop(1, 10*us, 125000, 0))
		w := s.Decision().Window
		s.OnLoss(20*us, cc.Loss{Kind: cc.FastRecovery})
		if s.Decision().Window != w {
			t.Error("a loss moves the window")
		}
		s.OnLoss(ms, cc.Loss{Kind: cc.RetransmissionTimeout})
		if s.Decision().Window != 1000 {
			t.Errorf("after a timeout: %+v", s.Decision())
		}
		if !records {
			for i := range 200 {
				before := s.Decision().Window
				ack(s, 2*ms, int64(i)*1000, 300000)
				if after := s.Decision().Window; after != min(before+1000, w) {
					t.Fatalf("%v became %v", before, after)
				}
			}
			continue
		}
		ack(s, 2*ms, 3000, 4000, hop(1, 2*ms, 1e6, 0))
		if s.Decision().Window != 2000 {
			t.Errorf("after the first records: %+v", s.Decision())
		}
		ack(s, 2*ms+10*us, 5000, 9000, hop(1, 2*ms+10*us, 1e6+62500, 0))
		if st := s.State(); st.LastUpdateSeq != 9000 || s.Decision().Window != 125000 {
			t.Errorf("after the second: %+v", st)
		}
		s.OnLoss(3*ms, cc.Loss{Kind: cc.RetransmissionTimeout})
		s.OnLoss(3*ms, cc.Loss{Kind: cc.Spurious})
		if s.Decision().Window != 125000 {
			t.Errorf("after a spurious one: %+v", s.Decision())
		}
	}
}

// T is given, or the path's, or the least measured; W_init follows it.
func TestBaseRTT(t *testing.T) {
	s := newSender(t, flow(), func(c *Config) { c.T = 20 * us })
	if s.State().T != 20*us || s.Decision().Window != 250000 {
		t.Errorf("given: %+v", s.State())
	}
	s.OnAck(0, &cc.Ack{RTT: cc.RTT{Min: us}})
	if s.State().T != 20*us {
		t.Error("a measured T replaces the given one")
	}
	f := flow()
	f.BaseRTT = 0
	s = newSender(t, f, nil)
	if d := s.Decision(); d.Window != 10000 || d.Rate != 0 {
		t.Errorf("without T a flow starts with the initial window: %+v", d)
	}
	a := cc.Ack{Una: 1000, Next: 10000, RTT: cc.RTT{Min: 40 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 0, 0, 0)}}}
	s.OnAck(40*us, &a)
	a = cc.Ack{Una: 11000, Next: 20000, RTT: cc.RTT{Min: 40 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 40*us, 10000, 0)}}}
	s.OnAck(80*us, &a)
	near(t, "W", s.State().W, 10000/(10000./500000/0.95)+80) // B·T = 500 kB
	a = cc.Ack{Una: 12000, Next: 30000, RTT: cc.RTT{Min: 10 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 41*us, 10000, 0)}}}
	s.OnAck(81*us, &a)
	if d := s.Decision(); s.State().T != 10*us || d.Window > 125000 || d.Rate > 100*gbps {
		t.Errorf("a smaller T: %+v", d)
	}
	// No NIC rate: the path's least one stands for it.
	f = flow()
	f.NICRate = 0
	s = newSender(t, f, nil)
	slow := hop(2, 0, 0, 0)
	slow.Rate = 10 * gbps
	ack(s, 0, 1000, 2000, hop(1, 0, 0, 0), slow)
	slow.Time = 10 * us
	ack(s, 10*us, 3000, 4000, hop(1, 10*us, 0, 0), slow)
	if d := s.Decision(); d.Window != 12500 || d.Rate != 10*gbps {
		t.Errorf("bound by the path: %+v", d)
	}
}

// §5: W_ai = W_init·(1−eta)/N. HPCC's footnote 4: 100 Gb/s, 13 µs, 100 flows: about 80 B.
func TestIncreaseRule(t *testing.T) {
	s := newSender(t, flow(), func(c *Config) { c.N, c.T = 100, 13*us })
	near(t, "W_ai", s.State().WAI, 162500*0.05/100)
	a := &cc.Ack{Feedback: cc.Feedback{Flows: 10}, Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 0, 0, 0)}}}
	s.OnAck(0, a)
	near(t, "W_ai with 10 flows reported", s.State().WAI, 812.5)
	s.OnAck(0, &cc.Ack{})
	near(t, "W_ai after an ACK that says nothing", s.State().WAI, 812.5)
	a.Feedback.Flows = 0
	s.OnAck(0, a)
	near(t, "W_ai when no longer reported", s.State().WAI, 81.25)
}

// The ablations.
func TestModes(t *testing.T) {
	// Five ACKs of one round trip say 1.9: HPCC++ reacts once, per ACK five times (HPCC
	// §3.2), per round trip not at all.
	for _, c := range []struct {
		mode Mode
		want float64
	}{{PlusPlus, 125000 / (1.9 / 0.95)}, {PerACK, 125000 / 32.}, {PerRTT, 125000}} {
		s := newSender(t, flow(), func(f *Config) { f.Mode, f.WAI = c.mode, 0 })
		for i := range 6 {
			n := unit.Time(i) * 10 * us
			ack(s, n, int64(i), 100, hop(1, n, uint64(i)*125000, 112500))
		}
		near(t, c.mode.String(), s.State().W, c.want)
		// The next round trip's ACK: per round trip it measures all of it at once.
		ack(s, 60*us, 101, 200, hop(1, 60*us, 6*125000, 112500))
		if c.mode == PerRTT {
			near(t, "per_rtt, U", s.State().U, 1.9)
			near(t, "per_rtt, W", s.State().W, 62500)
		}
	}
	// Arrivals: 62500 B left and the queue grew by 25000 B in 10 µs: 0.7, and 0.1 of queue.
	s := newSender(t, flow(), func(c *Config) { c.Mode = RxRate })
	ack(s, 0, 1, 1, hop(1, 0, 0, 12500))
	ack(s, 10*us, 2, 2, hop(1, 10*us, 62500, 37500))
	near(t, "rx_rate", s.State().U, 0.8)
	ack(s, 20*us, 3, 3, hop(1, 20*us, 72500, 0)) // the queue shrank by more than what left
	near(t, "rx_rate of a port that drains", s.State().U, 0)
	// Each hop has its own U and Wc: the least window holds.
	s = newSender(t, flow(), func(c *Config) { c.Mode, c.WAI = PerHop, 0 })
	load := func(i int, one, two unit.Bytes) {
		n := unit.Time(i) * 10 * us
		ack(s, n, int64(i)+1, int64(i)+1, hop(1, n, 0, one), hop(2, n, 0, two))
	}
	load(0, 250000, 125000)
	load(1, 250000, 125000) // 2 and 1
	near(t, "per_hop", s.State().W, 125000*0.95/2)
	load(2, 62500, 125000)
	load(3, 62500, 125000) // ½ and 1: hop 1's Wc has come back twice, hop 2's has gone down thrice
	near(t, "per_hop, relieved", s.State().W, 125000*0.95*0.95*0.95)
}

// §9.4: the packet's time in the switch instead of the queue.
func TestSojourn(t *testing.T) {
	s := newSender(t, flow(), func(c *Config) { c.Sojourn = true })
	h := hop(1, 0, 0, 1<<20)
	h.Flags, h.Sojourn = 0, 3*us
	ack(s, 0, 1, 1, h)
	h.Time, h.TxBytes, h.Sojourn = 10*us, 62500, 2*us
	ack(s, 10*us, 2, 2, h)
	near(t, "U", s.State().U, 0.2+0.5)
	h.Time, h.TxBytes, h.Queue, h.Flags = 20*us, 125000, 12500, telemetry.NoSojourn
	ack(s, 20*us, 3, 3, h)
	near(t, "U of a format without sojourn times", s.State().U, 0.1+0.5)
}

// story plays random acknowledgements, with anything in their records, and checks what
// always holds: the window is from a packet to W_init, the rate up to the NIC's.
func story(c cc.Controller, f cc.Flow, base unit.Time, data []byte) error {
	most := max(unit.Bytes(int64(f.NICRate/1e6)*int64(base)/8e6), unit.Bytes(f.MSS))
	var now unit.Time
	var una, next int64 = 0, 10000
	hops := make([]telemetry.Hop, 10)
	for i := range hops {
		hops[i] = hop(uint32(i), 0, 0, 0)
	}
	for len(data) >= 4 {
		kind, n, x, y := data[0], int(data[1]), uint64(data[2]), uint64(data[3])
		data = data[4:]
		now += unit.Time(x) * 50 * ns
		if kind%4 > 0 {
			una = min(una+int64(n)*10, next)
		}
		next = max(next, una+int64(c.Decision().Window))
		for i := range hops {
			h := &hops[i]
			h.Time = now + unit.Time(i)*ms
			h.TxBytes += x * y * uint64(i+1) / 4
			h.Queue = unit.Bytes(y) * unit.Bytes(n*i*i)
		}
		switch h := &hops[n%5]; kind % 16 {
		case 0:
			h.Time -= unit.Time(y) * us
		case 1:
			h.TxBytes = y * 1000
		case 2:
			h.Rate = unit.Rate(n) * gbps
		case 3:
			h.Queue = -h.Queue
		case 4:
			c.OnLoss(now, cc.Loss{Kind: cc.LossKind(n % 7)})
		case 5:
			h.Sojourn, h.Flags = unit.Time(y)*us, uint8(n)
		case 6:
			h.TxBytes, h.Queue, h.Time = math.MaxUint64>>(y%64), math.MaxInt64>>(x%64), math.MaxInt64>>(y%64)
		}
		a := &cc.Ack{Una: una, Next: next, Bytes: unit.Bytes(n), Telemetry: cc.Telemetry{Hops: hops[:n%len(hops)],
			Path: uint16(kind >> 7),
			Load: float64(y) / 100},
			Feedback: cc.Feedback{Window: unit.Bytes(x*y) * 100, Flows: n % 3}, RTT: cc.RTT{Min: base}}
		if kind%16 == 7 {
			a.Telemetry.Load, a.Feedback.Window = math.Inf(1), math.MaxInt64
		}
		if kind%16 == 8 {
			a.Telemetry.Load, a.Seq = math.NaN(), next+1
		}
		c.OnAck(now, a)
		d := c.Decision()
		if d.Window < unit.Bytes(f.MSS) || d.Window > most || d.Rate < 1 || d.Rate > f.NICRate || d.NextTimer != unit.Never {
			return fmt.Errorf("at %v: %+v; the window is at most %v", now, d, most)
		}
	}
	return nil
}

// controllers makes one of each.
func controllers(t testing.TB, f cc.Flow, change func(c *Config)) map[string]cc.Controller {
	t.Helper()
	out := map[string]cc.Controller{}
	var c Config
	for m := range modes {
		out[modes[m]] = newSender(t, f, func(c *Config) {
			c.Mode, c.Sojourn = Mode(m), m%2 == 1
			if change != nil {
				change(c)
			}
		})
	}
	if c = Defaults(); change != nil {
		change(&c)
	}
	var err error
	add := func(name string, c cc.Controller, e error) {
		if e != nil {
			err = e
		}
		out[name] = c
	}
	p, e := NewPower(f, PowerConfig{Gamma: 0.9, Beta: 150 * unit.Mbps, Eta: 0.95, Floor: 0.5})
	add("powertcp", p, e)
	pint, e := NewPINT(f, PINTConfig{c, 0.5})
	add("hpcc_pint", pint, e)
	add("rx_hpcc", NewFollower(f, c), nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A8 (1): the draft never clips W.
func TestWindowBounds(t *testing.T) {
	random := rand.New(rand.NewPCG(8, 9))
	for range 200 {
		data := make([]byte, 2000)
		for i := range data {
			data[i] = byte(random.IntN(256))
		}
		f := flow()
		f.NICRate, f.BaseRTT = unit.Rate(1+random.Int64N(400))*100*unit.Mbps, unit.Time(1+random.Int64N(200))*us
		for name, c := range controllers(t, f, func(c *Config) {
			c.MaxStage, c.WAI, c.N = random.IntN(6), unit.Bytes(random.IntN(5000)), random.IntN(3)
		}) {
			if err := story(c, f, f.BaseRTT, data); err != nil {
				t.Fatalf("%s, %v, %v: %v", name, f.NICRate, f.BaseRTT, err)
			}
		}
	}
}

func FuzzSender(f *testing.F) {
	f.Add([]byte{9, 9, 9, 9, 6, 1, 60, 3, 9, 9, 9, 9, 7, 7, 7, 7})
	f.Fuzz(func(t *testing.T, data []byte) {
		fl := flow()
		for name, c := range controllers(t, fl, nil) {
			if err := story(c, fl, fl.BaseRTT, data); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// Clocks are never compared with each other: their offsets change no decision.
func TestOffsets(t *testing.T) {
	for m := range modes {
		random := rand.New(rand.NewPCG(1, 1))
		a := newSender(t, flow(), func(c *Config) { c.Mode = Mode(m) })
		b := newSender(t, flow(), func(c *Config) { c.Mode = Mode(m) })
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

// Through the wire format of the paper, with its rounding and many wraps, the window stays
// within 1 % of that from exact records.
func TestOnTheWire(t *testing.T) {
	format, err := telemetry.NewHPCC(4)
	if err != nil {
		t.Fatal(err)
	}
	wrap := telemetry.Unwrapper{Span: format.Span()}
	a, b := newSender(t, flow(), nil), newSender(t, flow(), nil)
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
		a.OnAck(now, &cc.Ack{Una: seq, Next: seq + 40000, Telemetry: cc.Telemetry{Hops: hops[:]}})
		b.OnAck(now, &cc.Ack{Una: seq, Next: seq + 40000, Telemetry: cc.Telemetry{Hops: r.Hops(), Path: r.Path(),
			Missed: uint8(r.Missed())}})
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

// What every controller must hold (cc/cctest), with telemetry and without.
func TestModel(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 60 {
		var s []byte
		for len(s) < 4000 {
			a, b := byte(random.IntN(16)), byte(random.IntN(256))
			for range 1 + random.IntN(12) {
				s = append(s, a, b, byte(random.IntN(3)), 31, byte(3+random.IntN(6)), byte(random.IntN(192)))
			}
		}
		f := cctest.Flow(7)
		if i%3 > 0 {
			f.NICRate = gbps
		}
		for name, c := range controllers(t, f, nil) {
			if i%2 > 0 {
				c = &withHops{Controller: c, random: rand.New(rand.NewPCG(1, uint64(i)))}
			}
			if err := (&cctest.Model{Controller: c, Own: true}).Run(s); err != nil {
				t.Errorf("%s, story %d: %v", name, i, err)
			}
		}
	}
}

// Every parameter has a default that its scheme takes, and a source.
func TestSchemes(t *testing.T) {
	for _, s := range []cc.Scheme{Scheme(), RxScheme(), PowerScheme(), PINTScheme()} {
		t.Run(s.Name, func(t *testing.T) {
			for _, p := range s.Parameters() {
				if p.Source == "" || p.Doc == "" {
					t.Errorf("%s has source %q and text %q", p.Name, p.Source, p.Doc)
				}
			}
			c, err := s.Build(flow(), s.Default())
			if err != nil || c.Decision().Window != 125000 || !s.OwnRecovery {
				t.Error(err)
			}
		})
	}
	c, err := cctest.Make(Scheme(), flow())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := c.(*Sender).config, (Config{Eta: 0.95, WAI: 80}); got != want || want != Defaults() {
		t.Errorf("defaults are %+v, want %+v", got, want)
	}
	c, err = cctest.Make(Scheme(), flow(), "mode", "per_hop", "delay", "sojourn")
	if err != nil || c.(*Sender).config.Mode != PerHop || !c.(*Sender).config.Sojourn {
		t.Errorf("%+v, %v", c, err)
	}
	if got, want := PowerDefaults(), (PowerConfig{Gamma: 0.9, Beta: 150 * unit.Mbps, Eta: 1}); got != want {
		t.Errorf("PowerTCP's defaults are %+v, want %+v", got, want)
	}
}

// What is out of range is refused.
func TestConfigs(t *testing.T) {
	for _, bad := range []scheme.Config{&Config{}, &Config{Eta: 1.1}, &Config{Eta: math.NaN()},
		&Config{Eta: 1, MaxStage: -1}, &Config{Eta: 1, WAI: -1}, &Config{Eta: 1, N: -1}, &Config{Eta: 1, T: -1},
		&Config{Eta: 1, MinRate: -1}, &Config{Eta: 1, Mode: 9},
		&PowerConfig{}, &PowerConfig{Gamma: 1}, &PowerConfig{Gamma: 1, Eta: 2}, &PowerConfig{Gamma: 1, Eta: 1, Floor: 2},
		&PowerConfig{Gamma: 1, Eta: 1, N: -1}, &PINTConfig{Defaults(), 2}, &RxConfig{Config{Eta: 2}}} {
		t.Run(fmt.Sprintf("%T%+v", bad, bad), func(t *testing.T) {
			if scheme.Validate(bad) == nil {
				t.Error("it is taken")
			}
		})
	}
	for _, good := range []scheme.Config{&Config{Eta: 1, Mode: PerHop}, &PowerConfig{Gamma: 1, Eta: 1}} {
		if err := scheme.Validate(good); err != nil {
			t.Errorf("%+v: %v", good, err)
		}
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
		s.OnAck(0, &cc.Ack{Una: int64(1 + i), Next: int64(1 + i), Telemetry: cc.Telemetry{Hops: []telemetry.Hop{h}}})
	}
	fmt.Println(s.Decision().Window) // 125 kB/(1.2/0.95) + 80 B
	// Output:
	// 125kB 100Gbps
	// 99.038kB
}

// benchmark gives five hops at each ACK.
func benchmark(b *testing.B, c cc.Controller) {
	var hops [5]telemetry.Hop
	for i := range hops {
		hops[i] = hop(uint32(i), 0, 0, unit.Bytes(i*1000))
	}
	a := cc.Ack{Telemetry: cc.Telemetry{Hops: hops[:], Path: 4}}
	now := unit.Time(0)
	b.ReportAllocs()
	for range b.N {
		now += 80 * ns
		for i := range hops {
			hops[i].Time += 80 * ns
			hops[i].TxBytes += 900
		}
		a.Una += 1000
		a.Next = a.Una + 100000
		c.OnAck(now, &a)
		_ = c.Decision()
	}
}

// At most 150 ns, without allocation.
func BenchmarkOnAck(b *testing.B) {
	for m := range modes {
		b.Run(modes[m], func(b *testing.B) { benchmark(b, newSender(b, flow(), func(c *Config) { c.Mode = Mode(m) })) })
	}
	b.Run("powertcp", func(b *testing.B) {
		p, err := NewPower(flow(), PowerDefaults())
		if err != nil {
			b.Fatal(err)
		}
		benchmark(b, p)
	})
}

func TestOnAckAllocatesNothing(t *testing.T) {
	for name, c := range controllers(t, flow(), nil) {
		hops := []telemetry.Hop{hop(1, 0, 0, 0), hop(2, 0, 0, 0)}
		a := cc.Ack{Telemetry: cc.Telemetry{Hops: hops, Load: 1}, Feedback: cc.Feedback{Window: 5000}}
		now := unit.Time(0)
		if n := testing.AllocsPerRun(100, func() {
			now += 10 * us
			a.Una += 1000
			hops[0].Time, hops[1].Time = now, now
			c.OnAck(now, &a)
		}); n != 0 {
			t.Errorf("%s: OnAck allocates %v times", name, n)
		}
	}
}

// §6, telemetry upon congestion only: of a packet that no switch wrote to all loads are
// below the switches' threshold. The window grows by eta over it, once a round trip, up
// to W_init; records begin anew.
func TestUncongested(t *testing.T) {
	f := flow()
	s := newSender(t, f, func(c *Config) { c.WAI = 0 })
	s.w, s.ref.wc = 10_000, 10_000
	seq := int64(0)
	for _, want := range []float64{11_875, 14_101} { // · 0.95/0.8
		for range 3 { // only the first of a round trip commits
			s.OnAck(us, &cc.Ack{Una: seq + 1000, Next: seq + 50_000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
		}
		if math.Abs(s.State().Wc-want) > 1 {
			t.Errorf("W %v, Wc %v, want %v", s.State().W, s.State().Wc, want)
		}
		seq += 50_000
	}
	for range 40 {
		s.OnAck(us, &cc.Ack{Una: seq + 1000, Next: seq + 50_000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
		seq += 50_000
	}
	if s.State().W != 125_000 {
		t.Errorf("W %v", s.State().W)
	}
	p, err := NewPower(f, PowerDefaults())
	if err != nil {
		t.Fatal(err)
	}
	p.w, p.old = 10_000, 10_000
	p.OnAck(us, &cc.Ack{Una: 1000, Next: 2000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
	if before := p.w; before < 12_000 || before > 16_000 { // 0.9·(10000/0.8 + 150 Mb/s · T) + 0.1·10000
		t.Errorf("PowerTCP's window is %v", before)
	}
}
