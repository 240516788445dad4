package rdma

import (
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// reorder is selective repeat that tolerates reordering.
func reorder(how string, window unit.Time) func(c *Config) {
	return func(c *Config) {
		c.Recovery, c.Reordering, c.ReorderWindow = SelectiveRepeat, how, window
	}
}

// jitter delays each packet by a random time, and loses the share of first transmissions.
func jitter(seed uint64, most unit.Time, loss float64) func(*packet.Packet) (int, unit.Time) {
	random := unit.NewRandom(seed, "jitter")
	seen := map[int64]bool{}
	return func(p *packet.Packet) (int, unit.Time) {
		first := !seen[p.Seq]
		seen[p.Seq] = true
		if first && random.Float64() < loss {
			return 0, 0
		}
		return 1, unit.Time(random.Int64N(int64(most)))
	}
}

// TestSender_ReorderWindowAvoidsResends checks a path that delays each packet by up to half a round trip. IRN's rule
// resends many packets unnecessarily, a window above that delay none, and an adaptive window few. Either repairs losses
// without timeouts.
func TestSender_ReorderWindowAvoidsResends(t *testing.T) {
	const packets = 3000
	for _, x := range []struct {
		name           string
		conf           func(c *Config)
		loss           float64
		least, most    int64 // duplicates at the receiver
		delay          unit.Time
		fewestTimeouts int64
	}{
		{"none", reorder(reorderNone, 0), 0, 500, packets, 2 * us, 0},
		{"fixed", reorder(reorderFixed, 2*us), 0, 0, 0, 2 * us, 0},
		{"fixed, too small", reorder(reorderFixed, us/10), 0, 20, packets, 2 * us, 0},
		{"adaptive", reorder(reorderAdaptive, 0), 0, 0, 30, 2 * us, 0},
		{"adaptive, long", reorder(reorderAdaptive, 0), 0, 0, 100, 4 * us, 0},
		{"fixed, losses", reorder(reorderFixed, 2*us), 0.01, 0, 0, 2 * us, 0},
		{"adaptive, losses", reorder(reorderAdaptive, 0), 0.01, 0, 30, 2 * us, 0},
		{"adaptive, one path", reorder(reorderAdaptive, 0), 0.01, 0, 0, 1, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			w := newPipe(t, packets*payload, x.conf, &fixed{window: 50_000}, 0)
			w.onData = jitter(1, x.delay, x.loss)
			w.runUntil(unit.Second)
			w.done(packets * payload)
			s, twice := w.s.Counters(), w.r.Counters().DuplicateCount()
			if twice < x.least || twice > x.most || w.s.Timeouts() != 0 {
				t.Errorf("%d packets came twice, %d … %d are right; %d timeouts, %d sent again", twice, x.least, x.most,
					w.s.Timeouts(), s.Retransmitted)
			}
			if lost := s.Retransmitted - twice; x.loss > 0 && (lost < packets/200 || lost > packets/50) {
				t.Errorf("%d were lost", lost)
			}
		})
	}
}

// TestReorderTimer checks RFC 8985 §6.2: a packet is lost when a later one has arrived, and a round trip and the window
// have passed since its departure. A timer detects it without further arrivals.
func TestReorderTimer(t *testing.T) {
	w := newPipe(t, 3000, reorder(reorderFixed, 5*us), &fixed{window: 40_000}, 0)
	for n := range 3 {
		w.s.Emit(unit.Time(n)*us, &packet.Packet{})
	}
	w.s.Receive(11*us, answer(packet.Nack, 0, 1000)) // a round trip of 10 µs: packet 0 is due at 0 + 10 + 5
	if at := w.s.NextTimer(); at != 15*us {
		t.Fatalf("the timer is at %v", at)
	}
	if w.s.Receive(14*us, answer(packet.Nack, 0, 2000)); w.s.control.State != cc.Open || w.s.NextTimer() != 17*us {
		t.Fatalf("%v before the time has come; timer at %v", w.s.control.State, w.s.NextTimer())
	}
	if w.s.Advance(17 * us); w.s.control.State != cc.Recovery || w.s.plan != 0 || w.s.lostTotal != 1 {
		t.Errorf("%v, packet %d is next, %d lost", w.s.control.State, w.s.plan, w.s.lostTotal)
	}
	// the retransmission is lost as well, and a packet sent after it arrives: it counts as lost, too
	w = newPipe(t, 4000, reorder(reorderFixed, us), &fixed{window: 40_000}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(4*us, answer(packet.Nack, 0, 1000))
	w.s.Emit(us, &packet.Packet{}) // 2
	w.s.Receive(5*us, answer(packet.Nack, 0, 2000))
	if w.s.plan != 0 {
		t.Fatalf("packet %d is next", w.s.plan)
	}
	w.s.Emit(5*us, &packet.Packet{})
	w.s.Emit(6*us, &packet.Packet{}) // 3
	w.s.Receive(10*us, answer(packet.Nack, 0, 3000))
	if w.s.plan != 0 || w.s.lostTotal != 2 || w.s.Timeouts() != 0 {
		t.Errorf("packet %d is next, %d lost", w.s.plan, w.s.lostTotal)
	}
}

// TestReorderWindow checks RFC 8985 §6.2, step 4: the window grows by a quarter of the minimum round-trip time for each
// round trip with an unnecessary retransmission, up to a smoothed round trip. After 16 recoveries it is small again.
func TestReorderWindow(t *testing.T) {
	w := newPipe(t, 0, reorder(reorderAdaptive, 0), &fixed{window: 1 << 20}, 0)
	s := w.s
	now, una := unit.Time(0), int64(0)
	send := func() { s.Emit(now, &packet.Packet{}); now++ }
	send()
	now = 4 * us
	una++
	s.Receive(now, answer(packet.Ack, una*payload, 0))
	if got := s.reorderWindow(); got != us {
		t.Fatalf("the first window is %v", got)
	}
	// recovery loses the first of some packets. Arrived packets count as resent unnecessarily if late is before a round
	// trip
	recovery := func(late unit.Time) {
		t.Helper()
		for range 3 {
			send()
		}
		now += 4 * us
		s.Receive(now, answer(packet.Nack, una*payload, (una+1)*payload))
		now = s.NextTimer()
		s.Advance(now)
		if s.plan != una {
			t.Fatalf("%v: packet %d is next, not %d", now, s.plan, una)
		}
		send()
		now += late
		s.Receive(now, answer(packet.Ack, (una+2)*payload, una*payload))
		una += 3
		now += 4 * us
		s.Receive(now, answer(packet.Ack, una*payload, (una-1)*payload))
	}
	for n := range 3 {
		recovery(us)
		if got, want := s.reorderWindow(), min(unit.Time(n+2)*us, s.timer.Trip.Smoothed); got != want {
			t.Fatalf("after %d in vain the window is %v, want %v", n+1, got, want)
		}
	}
	if s.tolerance.vain != 3 {
		t.Fatalf("%d in vain", s.tolerance.vain)
	}
	for range 20 {
		recovery(us)
	}
	if got := s.reorderWindow(); got != s.timer.Trip.Smoothed {
		t.Errorf("the window is %v, SRTT is %v", got, s.timer.Trip.Smoothed)
	}
	for n := range persistence {
		if recovery(5 * us); (s.reorderWindow() == us) != (n >= persistence-2) { // the last in vain was a recovery as well
			t.Fatalf("after %d recoveries the window is %v", n+1, s.reorderWindow())
		}
	}
}

// TestReorderDuplicates checks that a packet that is acknowledged twice was resent unnecessarily, however late the
// first acknowledgement arrives.
func TestReorderDuplicates(t *testing.T) {
	w := newPipe(t, 0, reorder(reorderFixed, us), &fixed{window: 1 << 20}, 0)
	s := w.s
	for range 3 {
		s.Emit(0, &packet.Packet{})
	}
	s.Receive(4*us, answer(packet.Nack, 0, 1000))
	s.Advance(s.NextTimer()) // 0 is lost, at 5 µs
	s.Emit(5*us, &packet.Packet{})
	s.Receive(20*us, answer(packet.Ack, 2000, 0)) // of either
	if s.tolerance.vain != 0 {
		t.Fatal("the first acknowledgement tells nothing")
	}
	if s.Receive(21*us, answer(packet.Ack, 2000, 0)); s.tolerance.vain != 1 {
		t.Error("the second one does")
	}
	s.Receive(22*us, answer(packet.Nack, 2000, 2000)) // 2 was sent once
	if s.Receive(22*us, answer(packet.Ack, 3000, 2000)); s.tolerance.vain != 1 {
		t.Error("a packet that was sent once was not sent in vain")
	}
}

// TestReorderTimeout checks that after a timeout the packets after the first are resent as soon as it has arrived: any
// that had arrived would have been acknowledged.
func TestReorderTimeout(t *testing.T) {
	w := newPipe(t, 6000, reorder(reorderAdaptive, 0), &fixed{window: 40_000}, 0)
	w.onData = drop(0, 1, 2, 3, 4, 5)
	w.runUntil(unit.Second)
	w.done(6000)
	if c := w.s.Counters(); w.s.Timeouts() != 1 || c.Retransmitted != 6 || c.Finished > 340*us {
		t.Errorf("%d timeouts, %d sent again, done at %v", w.s.Timeouts(), c.Retransmitted, c.Finished)
	}
}

// TestNeedsOrder checks that a switch that reorders packets can report in advance the cost for flows of rdma.
func TestNeedsOrder(t *testing.T) {
	for _, x := range []struct {
		recovery, reordering string
		needs                bool
	}{
		{GoBackN, reorderNone, true}, {SelectiveRepeat, reorderNone, true}, {SelectiveRepeat, reorderFixed, false},
		{SelectiveRepeat, reorderAdaptive, false}, {NoRecovery, reorderNone, false},
	} {
		t.Run(x.recovery+" "+x.reordering, func(t *testing.T) {
			c := Defaults()
			c.Recovery, c.Reordering = x.recovery, x.reordering
			if why := c.Traits().WhyInOrder; (why != "") != x.needs {
				t.Errorf("%q", why)
			}
		})
	}
}
