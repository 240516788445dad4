package tcp

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestRACK_ToleratesLearnedReordering checks RFC 8985 §6.2: reordering within a quarter of the minimum RTT causes no
// retransmission after its first occurrence. A lost retransmission is found without a timeout.
func TestRACK_ToleratesLearnedReordering(t *testing.T) {
	w := newPipe(t, "cubic", 0, nil)
	w.rate, w.limit = 200*unit.Mbps, 0
	w.s.rack.reorderSeen = 1
	i := 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if i++; i%20 == 0 {
			return true, ms // 10 ms of RTT: the window is 2.5 ms, of which an ACK may wait for 1 ms
		}
		return true, 0
	}
	w.runUntil(unit.Second)
	if w.s.counters.Retransmitted > 0 || w.r.counters.DuplicateCount() > 0 {
		t.Errorf("reordering by 1 ms: %d packets sent again, %d duplicates", w.s.counters.Retransmitted,
			w.r.counters.DuplicateCount())
	}
	// without having seen any, DupThresh decides at first (RFC 6675); then it learns
	w = newPipe(t, "cubic", 0, nil)
	w.rate, w.limit = 200*unit.Mbps, 0
	i = 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if i++; i%50 == 0 {
			return true, 2 * ms
		}
		return true, 0
	}
	w.runUntil(unit.Second)
	learned := w.s.counters.Retransmitted
	w.runUntil(2 * unit.Second)
	if w.s.rack.reorderSeen == 0 || w.s.counters.Retransmitted > learned {
		t.Errorf("reordering by 2 ms: seen %d times, %d packets sent again in the first half, %d later", w.s.rack.reorderSeen,
			learned, w.s.counters.Retransmitted-learned)
	}
}

// TestDupThresh checks RFC 6675 §5, with DupThresh = 3: the third packet SACKed above a hole starts recovery at once.
// With two, it takes RACK's reordering window, a quarter of the RTT.
func TestDupThresh(t *testing.T) {
	for _, beyond := range []int{2, 3} {
		t.Run(fmt.Sprint(beyond, " beyond the hole"), func(t *testing.T) {
			w := newPipe(t, "reno", unit.Bytes(1448*(1+beyond)), nil)
			w.onData = lose(2)
			for w.s.counters.Retransmitted == 0 && w.step(unit.Second) {
			}
			if after := w.now - 21*ms; (after < ms) != (beyond == 3) || after > 5*ms {
				t.Errorf("%d packets beyond the hole: retransmission at %v", beyond, w.now)
			}
		})
	}
}

// board is a scoreboard of segments of 1000 bytes, sent at these times.
func board(sent ...unit.Time) *scoreboard {
	b := newScoreboard()
	for i, at := range sent {
		n, g := b.queue.push()
		g.seq, g.end, g.sent = int64(i)*1000, int64(i+1)*1000, at
		b.queue.append(n)
	}
	return &b
}

// losses are the numbers of the segments that are marked lost.
func (b *scoreboard) losses() (l []uint32) {
	for n := b.queue.first; n != b.queue.end; n++ {
		if b.queue.at(n).flags&lost != 0 {
			l = append(l, n)
		}
	}
	return l
}

// TestRACKSteps checks RFC 8985 §6.2, steps 2 and 3.
func TestRACKSteps(t *testing.T) {
	t.Run("step 2: the most recently sent of those delivered", func(t *testing.T) {
		r := newRACK()
		r.deliver(50*ms, 40*ms, 2000, false, 10*ms)
		r.deliver(51*ms, 30*ms, 1000, false, 10*ms) // delivered later, but sent before
		if r.sent != 40*ms || r.end != 2000 || r.rtt != 21*ms || !r.advanced {
			t.Errorf("%+v", r)
		}
		r.deliver(52*ms, 40*ms, 3000, false, 10*ms) // RACK_sent_after: equal times, the higher end
		if r.end != 3000 {
			t.Errorf("of one time of transmission the end is %d", r.end)
		}
	})
	t.Run("step 2: an ACK of the first transmission", func(t *testing.T) {
		r := newRACK()
		r.deliver(50*ms, 45*ms, 2000, true, 10*ms) // 5 ms after its retransmission, min_RTT is 10 ms
		if r.advanced || r.sent != 0 {
			t.Errorf("%+v", r)
		}
		if r.deliver(50*ms, 45*ms, 2000, false, 10*ms); !r.advanced { // a new minimum
			t.Errorf("%+v", r)
		}
	})
	t.Run("step 3: reordering", func(t *testing.T) {
		r := newRACK()
		if r.sawReordering(5000, 5000, 1000); r.reorderSeen != 0 || r.reordering != reordering {
			t.Errorf("in order: %+v", r)
		}
		r.sawReordering(1000, 3000, 1000)
		if r.reorderSeen != 1 || r.reordering != reordering {
			t.Errorf("by two: %+v", r)
		}
		r.sawReordering(1000, 8500, 1000)
		if r.reorderSeen != 2 || r.reordering != 8 {
			t.Errorf("by eight: %+v", r)
		}
		if r.sawReordering(0, 1<<30, 1000); r.reordering != maxReordering {
			t.Errorf("bound: %+v", r)
		}
	})
}

// TestRACKWindow checks RFC 8985 §6.2 step 4, the reordering window.
func TestRACKWindow(t *testing.T) {
	for _, c := range []struct {
		name       string
		seen       int
		steps      int
		sacked     int
		recovering bool
		want       unit.Time
	}{
		// "If no reordering has been observed": zero in recovery or from DupThresh segments on
		{"no reordering seen", 0, 1, 2, false, 10 * ms},
		{"no reordering seen, DupThresh", 0, 1, 3, false, 0},
		{"no reordering seen, recovery", 0, 1, 0, true, 0},
		// "RACK.reo_wnd = RACK.min_RTT / 4 * RACK.reo_wnd_mult, at most SRTT"
		{"reordering seen, DupThresh", 1, 1, 3, false, 10 * ms},
		{"reordering seen, recovery", 1, 1, 0, true, 10 * ms},
		{"after two rounds with DSACK", 1, 3, 0, true, 30 * ms},
		{"after many", 1, 200, 0, true, 60 * ms},
	} {
		t.Run("step 4: "+c.name, func(t *testing.T) {
			r := newRACK()
			r.reorderSeen, r.steps = c.seen, c.steps
			if got := r.window(40*ms, 60*ms, c.sacked, c.recovering); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	t.Run("step 4: DSACK", func(t *testing.T) {
		r := newRACK()
		r.dsack = true
		if r.updateSteps(0, 10); r.steps != 2 || r.round != 10 || r.dsack || r.persist != persistRounds {
			t.Errorf("the first: %+v", r)
		}
		r.dsack = true
		if r.updateSteps(9, 15); r.steps != 2 || r.dsack { // "at most once per round trip"
			t.Errorf("in the same round: %+v", r)
		}
		r.dsack = true
		if r.updateSteps(10, 20); r.steps != 3 {
			t.Errorf("in the next: %+v", r)
		}
		for range persistRounds - 1 { // "after 16 loss recoveries reset it"
			r.recovered()
			r.updateSteps(30, 30)
		}
		if r.steps != 3 {
			t.Errorf("before %d recoveries: %+v", persistRounds, r)
		}
		r.recovered()
		if r.updateSteps(30, 30); r.steps != 1 {
			t.Errorf("after %d recoveries: %+v", persistRounds, r)
		}
	})
}

// TestRACKLosses checks RFC 8985 §6.2, step 5: the lost packets, and when the others would be lost.
func TestRACKLosses(t *testing.T) {
	t.Run("step 5: what was sent before", func(t *testing.T) {
		b, r := board(0, 5*ms, 10*ms, 20*ms), newRACK()
		r.deliver(60*ms, 20*ms, 4000, false, 40*ms) // the fourth, after 40 ms
		// At 60 ms: lost is what was sent before 60 − 40 − 10 ms; the third has 0 ms left and is, too.
		if wait := b.detectLoss(&r, 60*ms, 10*ms); wait != 0 || !slices.Equal(b.losses(), []uint32{0, 1, 2}) {
			t.Errorf("wait %v, lost %v", wait, b.losses())
		}
		if b.lostOut != 3 || b.waiting != 3 || b.inFlight() != 1 {
			t.Errorf("%d lost, %d waiting, %d in flight", b.lostOut, b.waiting, b.inFlight())
		}
	})
	t.Run("step 5: the reordering timer", func(t *testing.T) {
		b, r := board(0, 5*ms, 12*ms, 20*ms, 21*ms), newRACK()
		r.deliver(60*ms, 20*ms, 4000, false, 40*ms)
		// "timeout = MAX(remaining, timeout)": the third has 2 ms left; the fifth is not judged.
		if wait := b.detectLoss(&r, 60*ms, 10*ms); wait != 2*ms || !slices.Equal(b.losses(), []uint32{0, 1}) {
			t.Errorf("wait %v, lost %v", wait, b.losses())
		}
		if wait := b.detectLoss(&r, 62*ms, 10*ms); wait != 0 || !slices.Equal(b.losses(), []uint32{0, 1, 2}) {
			t.Errorf("2 ms later: wait %v, lost %v", wait, b.losses())
		}
	})
	t.Run("step 5: a retransmission that is lost", func(t *testing.T) {
		b, r := board(0, 5*ms), newRACK()
		b.markLost(0)
		g := b.queue.at(0)
		g.sent, g.flags = 10*ms, g.flags|resent|everSent
		b.resentOut, b.waiting = 1, 0
		b.queue.append(0)
		r.deliver(80*ms, 30*ms, 2000, false, 40*ms)
		if b.detectLoss(&r, 80*ms, 0); b.lostOut != 2 || b.resentOut != 0 || b.waiting != 2 || b.lostTotal != 3 {
			t.Errorf("%d lost, %d resent, %d waiting, %d in all", b.lostOut, b.resentOut, b.waiting, b.lostTotal)
		}
	})
}
