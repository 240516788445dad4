package hpcc

import (
	"fmt"
	"math"
	"testing"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestEqualTimes checks A8 (4), equal and backward times. Such records are not used, and their bytes count in the next
// measurement.
func TestEqualTimes(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 12500), hop(2, 100*us, 0, 0))
	before := s.State()
	ack(s, 100*ns, 6000, 9000, hop(1, 100*ns, 1250, 12500), hop(2, 100*us, 1250, 0)) // hop 2's clock has not ticked
	ack(s, 150*ns, 6000, 9000, hop(1, -ns, 0, 12500), hop(2, 200*us, 1250, 0))       // overtaken
	if s.State() != before {
		t.Errorf("%+v became %+v", before, s.State())
	}
	ack(s, 200*ns, 6000, 9000, hop(1, 200*ns, 2500, 12500), hop(2, 100*us+ns, 2500, 0))
	// hop 1: 2500 B in 200 ns: 1, and 0.1 of queue; hop 2: 2500 B in 1 ns: 200.
	testkit.CheckNear(t, "U", s.State().U, 1-1e-4+1e-4*200, rounding)
	if s.State().LastUpdateSeq != 9000 {
		t.Error("the first usable ACK does not commit")
	}
}

// TestClockSetBack checks that a clock that was set back, or stalls, does not stop the control for longer than 2T.
func TestClockSetBack(t *testing.T) {
	s := newSender(t, newFlow(), nil)
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
	// Hop 2's clock stops: hop 1 counts every 2T.
	s = newSender(t, newFlow(), nil)
	uses := 0
	for i := range 100 {
		before := s.paths.one.track.arrival
		n := unit.Time(i) * us
		ack(s, n, int64(i), int64(i), hop(1, n, uint64(i)*12500, 12500), hop(2, 0, 0, 0))
		if s.paths.one.track.arrival != before {
			uses++
		}
	}
	if uses != 4 || s.State().U != 1.1 {
		t.Errorf("%d measurements in 100 µs beside a clock that stands, want 4", uses)
	}
}

// TestPathChange checks HPCC §4.1: a path change clears the sender's records of the old path.
func TestPathChange(t *testing.T) {
	changes := map[string]func(a *cc.Ack){
		"path id": func(a *cc.Ack) { a.Telemetry.Path ^= 5 },
		"switch":  func(a *cc.Ack) { a.Telemetry.Hops[1].Switch = 99 },
		"port":    func(a *cc.Ack) { a.Telemetry.Hops[0].Port = 7 },
		"rate":    func(a *cc.Ack) { a.Telemetry.Hops[1].Rate = 400 * gbps },
		"longer":  func(a *cc.Ack) { a.Telemetry.Hops = append(a.Telemetry.Hops, hop(3, 20*us, 0, 0)) },
		"shorter": func(a *cc.Ack) { a.Telemetry.Hops = a.Telemetry.Hops[:1] },
		"missed":  func(a *cc.Ack) { a.Telemetry.MissedHops = 1 },
		"restart": func(a *cc.Ack) { a.Telemetry.Hops[1].Flags |= telemetry.Restart },
		"counter": func(a *cc.Ack) { a.Telemetry.Hops[1].TxBytes = 3 },
	}
	for name, change := range changes {
		s := newSender(t, newFlow(), nil)
		at := func(i int64) *cc.Ack {
			n := unit.Time(i) * 10 * us
			return &cc.Ack{FirstUnacked: i * 1000, Next: i*1000 + 500, Telemetry: cc.Telemetry{Path: 3,
				Hops: []telemetry.Hop{hop(1, n, uint64(i)*100000+
					1000, 5000), hop(2, n, uint64(i)*125000+1000, 25000)}}}
		}
		for i := range int64(4) {
			s.OnAck(unit.Time(i)*10*us, at(i+1))
		}
		before := s.State()
		testkit.CheckNear(t, "U", before.U, 1.2, rounding)
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

// TestPathChangeStages checks lines 12 to 19 on a new path. Its additive increases are counted from 0, as for a new
// flow, for any stage on the old path. With a maxStage of 5 five round trips add W_ai, and the sixth multiplies.
func TestPathChangeStages(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.MaxStage, c.WAI = 5, 500 })
	s.w, s.ref.wc = 50_000, 50_000
	seq, tx := int64(0), uint64(0)
	roundTrip := func(path uint32) {
		seq, tx = seq+1000, tx+62_500 // half of the rate
		ack(s, unit.Time(seq/1000)*10*us, seq, seq, hop(path, unit.Time(seq/1000)*10*us, tx, 0))
	}
	roundTrip(1)
	for range 3 {
		roundTrip(1)
	}
	if st := s.State(); st.Stage != 3 || st.Wc != 51_500 {
		t.Fatalf("after three round trips: %+v", st)
	}
	roundTrip(2)
	if st := s.State(); st.Stage != 0 || st.U != 1 || st.Wc != 51_500 {
		t.Errorf("at the first records of another path: %+v", st)
	}
	for i := range 5 {
		roundTrip(2)
		if st := s.State(); st.Stage != i+1 || st.Wc != 51_500+500*float64(i+1) {
			t.Errorf("round trip %d of the new path: %+v; want W_ai added", i+1, st)
		}
	}
	roundTrip(2)
	testkit.CheckNear(t, "Wc after the sixth", s.State().Wc, 54_000/(0.5/0.95)+500, rounding)
}

// TestHopMissing checks that a switch without telemetry adds no record, and the others' count. So does a hop without a
// rate. Packets without any records change no state.
func TestHopMissing(t *testing.T) {
	s := newSender(t, newFlow(), nil)
	blind := hop(2, 0, 0, 1<<30)
	blind.Rate = 0
	ack(s, 0, 1000, 5000, hop(1, 0, 0, 25000), blind)
	ack(s, 10*us, 6000, 9000, hop(1, 10*us, 125000, 25000), blind)
	testkit.CheckNear(t, "U", s.State().U, 1.2, rounding)
	before := s.State()
	ack(s, 20*us, 10000, 12000)
	ack(s, 30*us, 13000, 15000, []telemetry.Hop{}...)
	if s.State() != before {
		t.Error("an ACK without records changes something")
	}
	s = newSender(t, newFlow(), nil)
	for i := range 5 { // none of the hops has a rate
		blind.Time += 10 * us
		ack(s, unit.Time(i)*10*us, int64(i), int64(i), blind)
	}
	if s.State().W != 125000 {
		t.Errorf("%+v", s.State())
	}
}

// TestSender_TimeoutLeavesOnePacket checks that a timeout sets one packet. W returns with the first measurement, or,
// without telemetry, by acknowledged bytes.
func TestSender_TimeoutLeavesOnePacket(t *testing.T) {
	for _, records := range []bool{true, false} {
		t.Run(fmt.Sprint("telemetry ", records), func(t *testing.T) {
			s := newSender(t, newFlow(), nil)
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
				return
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
		})
	}
}

// TestBaseRTT checks that T is given, or the path's, or the minimum measured. W_init follows it.
func TestBaseRTT(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.T = 20 * us })
	if s.State().T != 20*us || s.Decision().Window != 250000 {
		t.Errorf("given: %+v", s.State())
	}
	s.OnAck(0, &cc.Ack{RTT: cc.RTT{Min: us}})
	if s.State().T != 20*us {
		t.Error("a measured T replaces the given one")
	}
	f := newFlow()
	f.BaseRTT = 0
	s = newSender(t, f, func(c *Config) { c.MaxStage = 0 })
	if d := s.Decision(); d.Window != 10000 || d.Rate != 0 {
		t.Errorf("without T a flow starts with the initial window: %+v", d)
	}
	a := cc.Ack{FirstUnacked: 1000, Next: 10000, RTT: cc.RTT{Min: 40 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 0, 0, 0)}}}
	s.OnAck(40*us, &a)
	a = cc.Ack{FirstUnacked: 11000, Next: 20000, RTT: cc.RTT{Min: 40 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 40*us, 10000, 0)}}}
	s.OnAck(80*us, &a)
	testkit.CheckNear(t, "W", s.State().W, 10000/(10000./500000/0.95)+80, rounding) // B·T = 500 kB
	a = cc.Ack{FirstUnacked: 12000, Next: 30000, RTT: cc.RTT{Min: 10 * us},
		Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, 41*us, 10000, 0)}}}
	s.OnAck(81*us, &a)
	if d := s.Decision(); s.State().T != 10*us || d.Window > 125000 || d.Rate > 100*gbps {
		t.Errorf("a smaller T: %+v", d)
	}
	// No NIC rate: the path's smallest rate replaces it.
	f = newFlow()
	f.NICRate = 0
	s = newSender(t, f, func(c *Config) { c.MaxStage = 0 })
	slow := hop(2, 0, 0, 0)
	slow.Rate = 10 * gbps
	ack(s, 0, 1000, 2000, hop(1, 0, 0, 0), slow)
	slow.Time = 10 * us
	ack(s, 10*us, 3000, 4000, hop(1, 10*us, 0, 0), slow)
	if d := s.Decision(); d.Window != 12500 || d.Rate != 10*gbps {
		t.Errorf("bound by the path: %+v", d)
	}
}

// TestBaseRTTPerHop checks that in mode per_hop a smaller T clamps the reference window of each hop, too. The first
// update after it shrinks W from the new W_init, not from a window that the new T does not allow.
func TestBaseRTTPerHop(t *testing.T) {
	f := newFlow()
	f.BaseRTT = 0
	s := newSender(t, f, func(c *Config) { c.Mode, c.WAI, c.MaxStage = PerHop, 0, 0 })
	report := func(now, rtt unit.Time, tx uint64, queue unit.Bytes) {
		s.OnAck(now, &cc.Ack{FirstUnacked: int64(now / us), Next: 90, RTT: cc.RTT{Min: rtt},
			Telemetry: cc.Telemetry{Hops: []telemetry.Hop{hop(1, now, tx, queue)}}})
	}
	report(0, 40*us, 0, 0)
	s.lastUpdateSeq = 0
	report(40*us, 40*us, 50_000, 0) // a load of .1
	s.lastUpdateSeq = 0
	report(80*us, 40*us, 100_000, 0)
	if wc := s.paths.one.known.hop[0].wc; wc != 500_000 {
		t.Fatalf("Wc of the hop is %g, want W_init of 500 kB", wc)
	}
	report(90*us, 10*us, 225_000, 125_000) // W_init is 125 kB; the port is busy, its queue was empty: U is 1
	testkit.CheckNear(t, "W within the round trip", s.State().W, 125_000/(1/0.95), rounding)
	report(100*us, 10*us, 350_000, 125_000) // it ends the round trip: U is 2
	testkit.CheckNear(t, "W", s.State().Wc, 125_000/(2/0.95), rounding)
}

// TestUncongestedForgets checks draft-miao §6, telemetry only upon congestion: records from before a time without
// congestion are not compared with those after it. The port's counter and time have advanced meanwhile, so the
// difference would be a mean over the complete idle time.
func TestUncongestedForgets(t *testing.T) {
	s := newSender(t, newFlow(), func(c *Config) { c.WAI, c.MaxStage = 0, 0 })
	s.w, s.ref.wc = 50_000, 50_000
	ack(s, 0, 1000, 2000, hop(1, 0, 0, 25_000))
	ack(s, 10*us, 3000, 4000, hop(1, 10*us, 125_000, 25_000))
	w := 50_000 * 0.95 / 1.2
	testkit.CheckNear(t, "Wc with records", s.State().Wc, w, rounding)
	s.OnAck(20*us, &cc.Ack{FirstUnacked: 5000, Next: 6000, Telemetry: cc.Telemetry{Load: 0.8}})
	w *= 0.95 / 0.8
	testkit.CheckNear(t, "Wc without congestion", s.State().Wc, w, rounding)
	ack(s, 30*us, 7000, 8000, hop(1, 30*us, 250_000, 125_000)) // 62.5 Gb/s since the last records
	if st := s.State(); st.U != 1 || math.Abs(st.Wc-w) > 1e-9 || st.LastUpdateSeq != 8000 {
		t.Errorf("the first records again: %+v; want them stored only", st)
	}
	ack(s, 40*us, 9000, 9500, hop(1, 40*us, 375_000, 125_000))
	testkit.CheckNear(t, "U of the second", s.State().U, 2, rounding)
}

// TestSender_UncongestedAnswersOpenWindow checks draft-miao §6, telemetry only upon congestion: if no switch wrote to a
// packet, all loads are below the switches' threshold. The window grows by eta over it, once a round trip, up to
// W_init, and records restart.
func TestSender_UncongestedAnswersOpenWindow(t *testing.T) {
	f := newFlow()
	s := newSender(t, f, func(c *Config) { c.WAI, c.MaxStage = 0, 0 })
	s.w, s.ref.wc = 10_000, 10_000
	seq := int64(0)
	for i, want := range []float64{11_875, 14_101} {
		// · 0.95/0.8
		for range 3 { // only the first of a round trip commits
			s.OnAck(us, &cc.Ack{FirstUnacked: seq + 1000, Next: seq + 50_000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
		}
		if math.Abs(s.State().Wc-want) > 1 {
			t.Errorf("round trip %d: W %v, Wc %v, want %v", i, s.State().W, s.State().Wc, want)
		}
		seq += 50_000
	}
	for range 40 {
		s.OnAck(us, &cc.Ack{FirstUnacked: seq + 1000, Next: seq + 50_000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
		seq += 50_000
	}
	if s.State().W != 125_000 {
		t.Errorf("W %v", s.State().W)
	}
	p, err := NewPower(f, scheme.Defaults[PowerConfig]())
	if err != nil {
		t.Fatal(err)
	}
	p.w, p.old = 10_000, 10_000
	p.OnAck(us, &cc.Ack{FirstUnacked: 1000, Next: 2000, Bytes: 1000, Telemetry: cc.Telemetry{Load: 0.8}})
	if before := p.w; before < 12_000 || before > 16_000 { // 0.9·(10000/0.8 + 150 Mb/s · T) + 0.1·10000
		t.Errorf("PowerTCP's window is %v", before)
	}
}
