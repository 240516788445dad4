package rdma

import (
	"strings"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// TestSelectiveRepeat checks IRN §3.1: only lost packets are resent, once.
func TestSelectiveRepeat(t *testing.T) {
	w := newPipe(t, 200_000, repeat, &fixed{window: 40_000, keep: true}, 0)
	seen := map[int64]bool{}
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		n := p.Seq
		first := !seen[n]
		seen[n] = true
		if first && (n == 10 || n >= 20 && n <= 22 || n == 60) {
			return 0, 0
		}
		return 1, 0
	}
	w.runUntil(unit.Second)
	w.done(200_000)
	if c := w.s.Counters(); c.Retransmitted != 5 || w.s.Timeouts() != 0 || w.r.Counters().DuplicateCount() != 0 {
		t.Errorf("%d sent again, %d timeouts, %d duplicates", c.Retransmitted, w.s.Timeouts(),
			w.r.Counters().DuplicateCount())
	}
	if got := w.s.lostTotal; got != 5 {
		t.Errorf("%d found lost", got)
	}
	// a trimmed first packet is sent at once
	w = newPipe(t, 5000, repeat, &fixed{window: 40_000}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(us, answer(packet.Nack, 0, 0))
	if w.s.plan != 0 || w.s.control.State != cc.Recovery {
		t.Errorf("plan %d, %v", w.s.plan, w.s.control.State)
	}
	w.s.Emit(us, &packet.Packet{}) // once: a replay gets nothing
	w.s.Receive(2*us, answer(packet.Nack, 0, 0))
	if w.s.plan == 0 || w.s.Counters().Retransmitted != 1 {
		t.Error("a replayed NACK makes it go again")
	}
	// a loss during a recovery begins a new one when that ends
	w = newPipe(t, 10_000, repeat, &fixed{window: 40_000, keep: true}, 0)
	for range 5 {
		w.s.Emit(0, &packet.Packet{})
	}
	w.s.Receive(us, answer(packet.Nack, 0, 1000))
	for range 3 {
		w.s.Emit(us, &packet.Packet{}) // 0 again, 5, 6
	}
	w.s.Receive(2*us, answer(packet.Nack, 0, 6000))
	w.s.Receive(2*us, answer(packet.Ack, 5000, 0))
	if got := strings.Join(w.c.log, ", "); w.s.control.State != cc.Recovery || w.s.plan != 5 ||
		got != "1us fast-recovery, 2us recovered, 2us fast-recovery" {
		t.Errorf("%v, packet %d is next; %s", w.s.control.State, w.s.plan, got)
	}
}

// TestSender_RTODoublesUntilProgress checks IRN §3.1, RTO_low with few packets in flight, and RFC 6298 §5.5: the
// timeout doubles up to its maximum, and progress resets it.
func TestSender_RTODoublesUntilProgress(t *testing.T) {
	conf := func(c *Config) { c.RTO, c.RTOLow, c.RTOLowPackets = fixedRTO, 100*us, 3 }
	w := newPipe(t, 0, conf, &fixed{window: 5000}, 0)
	for n, want := range []unit.Time{100 * us, 100 * us, 100 * us, 320 * us, 320 * us} {
		w.s.Emit(0, &packet.Packet{})
		if w.s.NextTimer() != want {
			t.Errorf("%d in flight: timeout at %v, want %v", n+1, w.s.NextTimer(), want)
		}
	}
	w.s.Receive(10*us, answer(packet.Ack, 1000, 0))
	w.s.Emit(10*us, &packet.Packet{})
	if w.s.NextTimer() != 330*us { // it starts anew with progress
		t.Errorf("after progress: %v", w.s.NextTimer())
	}
	now, want := w.s.NextTimer(), 100*us
	for range 12 {
		w.s.Advance(now)
		w.s.Emit(now, &packet.Packet{}) // one goes again
		if want = min(2*want, 20480*us); w.s.NextTimer() != now+want {
			t.Fatalf("timeout after %v, want %v", w.s.NextTimer()-now, want)
		}
		now = w.s.NextTimer()
	}
	w.s.Receive(now, answer(packet.Ack, 2000, 1000))
	w.s.Emit(now, &packet.Packet{})
	if got := w.s.NextTimer() - now; got != 100*us {
		t.Errorf("after progress %v", got)
	}
}

// TestNoTimeoutWhilePaced checks that there is no timeout without packets in flight while the next packet only waits
// for its time.
func TestNoTimeoutWhilePaced(t *testing.T) {
	w := newPipe(t, 10_000, nil, &fixed{window: 5000, rate: unit.Mbps}, 0)
	w.s.Emit(0, &packet.Packet{})
	w.s.Emit(8000*us, &packet.Packet{})
	w.s.Receive(8001*us, answer(packet.Nack, 0, 0))
	if w.s.NextSend() != 16000*us || w.s.NextTimer() != unit.Never {
		t.Errorf("the next goes at %v, timeout at %v", w.s.NextSend(), w.s.NextTimer())
	}
	if w.s.Emit(16000*us, &packet.Packet{}); w.s.NextTimer() != 16320*us {
		t.Errorf("timeout at %v", w.s.NextTimer())
	}
}

// TestNoTimeoutWhileHeld checks that a packet that is known to be lost and waits for the hold-off causes no timeout,
// for any other packets in flight.
func TestNoTimeoutWhileHeld(t *testing.T) {
	w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.RTO, c.BaseRTT = SelectiveRepeat, fixedRTO, 250*us },
		&fixed{window: 5000}, 0)
	first := &packet.Packet{}
	w.s.Emit(0, first)
	for range 4 {
		w.s.Emit(0, &packet.Packet{})
	}
	for _, at := range []unit.Time{200 * us, 400 * us} {
		w.s.Receive(at, nackOf(first, packet.CauseTrimmed))
		w.s.Emit(at, first)
	}
	w.s.Receive(600*us, nackOf(first, packet.CauseTrimmed))
	at := w.s.NextSend()
	if at <= 720*us || at > 975*us || w.s.inFlight() != 4 || w.s.NextTimer() != unit.Never {
		t.Fatalf("the first packet goes again at %v, %d are in flight, timeout at %v", at, w.s.inFlight(), w.s.NextTimer())
	}
	if w.s.Emit(at, first); w.s.NextTimer() != at+320*us {
		t.Errorf("sent again at %v, timeout at %v", at, w.s.NextTimer())
	}
}

// TestTimeout_KeepsMarginOfQuarter checks that a measured timeout is a quarter longer than the round trip, however
// little round trips vary. The floor does not help on paths that are long compared with it.
func TestTimeout_KeepsMarginOfQuarter(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.BaseRTT = 400 * us }, &fixed{window: 1000}, 0)
	now := unit.Time(0)
	for n := range int64(60) {
		w.s.Emit(now, &packet.Packet{})
		now += 400 * us
		w.s.Receive(now, answer(packet.Ack, 1000*(n+1), 1000*n))
	}
	w.s.Emit(now, &packet.Packet{})
	if got := w.s.NextTimer() - now; got != 500*us || w.s.timer.Trip.Variation > us {
		t.Errorf("RTTVAR %v, timeout after %v", w.s.timer.Trip.Variation, got)
	}
}

// TestMeasuredRTO checks RFC 6298 §2: SRTT + 4 RTTVAR where that is above the floor. Packets that were sent twice give
// no sample.
func TestMeasuredRTO(t *testing.T) {
	w := newPipe(t, 0, func(c *Config) { c.BaseRTT = 200 * us }, &fixed{window: 3000}, 0)
	w.s.Emit(0, &packet.Packet{})
	if w.s.NextTimer() != 600*us { // a base RTT counts as a sample: R + 4·R/2
		t.Errorf("before a sample: %v", w.s.NextTimer())
	}
	w.s.Emit(0, &packet.Packet{})
	w.s.Receive(400*us, answer(packet.Ack, 1000, 0))
	if w.s.timer.Trip.Smoothed != 400*us || w.s.NextTimer() != 400*us+1200*us {
		t.Errorf("SRTT %v, timeout at %v", w.s.timer.Trip.Smoothed, w.s.NextTimer())
	}
	w.s.Receive(480*us, answer(packet.Ack, 2000, 1000)) // 480: RTTVAR ¾·200+¼·80, SRTT ⅞·400+⅛·480
	if w.s.timer.Trip.Smoothed != 410*us || w.s.timer.Trip.Variation != 170*us {
		t.Errorf("SRTT %v, RTTVAR %v", w.s.timer.Trip.Smoothed, w.s.timer.Trip.Variation)
	}
	w.s.Emit(500*us, &packet.Packet{})
	w.s.Advance(w.s.NextTimer())
	w.s.Emit(9000*us, &packet.Packet{})
	w.s.Receive(9001*us, answer(packet.Ack, 3000, 2000))
	if w.s.timer.Trip.Smoothed != 410*us {
		t.Errorf("SRTT %v after a sample of a retransmission", w.s.timer.Trip.Smoothed)
	}
}

// TestEverythingLost checks that a sender that loses all packets for a time tries again at doubling intervals. It
// finishes when the path works again.
func TestEverythingLost(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		t.Run(recovery, func(t *testing.T) {
			for _, resends := range []string{resendFirst, resendAll} {
				w := newPipe(t, 30_000, func(c *Config) { c.Recovery, c.Resends = recovery, resends },
					&fixed{window: 8000, keep: true}, 0)
				w.onData = func(*packet.Packet) (int, unit.Time) {
					if w.now < 5*unit.Millisecond {
						return 0, 0
					}
					return 1, 0
				}
				w.runUntil(unit.Second)
				w.done(30_000)
				// 0.32 + 0.64 + … ms: the fourth ends after 4.8 ms, the fifth after 9.92
				if n := w.s.Timeouts(); recovery == GoBackN && n != 5 || n < 5 {
					t.Errorf("%s: %d timeouts", recovery, n)
				}
			}
		})
	}
}

// TestTailLoss checks a flow that loses its complete end, so no later packet shows it. IRN §3.1 then needs a timeout
// per packet; resending all, or go-back-N, needs one.
func TestTailLoss(t *testing.T) {
	for _, x := range []struct {
		recovery, resends string
		timeouts          int64
	}{{GoBackN, resendFirst, 1}, {SelectiveRepeat, resendAll, 1}, {SelectiveRepeat, resendFirst, 4}} {
		t.Run(x.recovery+", "+x.resends, func(t *testing.T) {
			w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.Resends = x.recovery, x.resends }, &fixed{window: 20_000}, 0)
			w.onData = drop(6, 7, 8, 9)
			w.runUntil(unit.Second)
			w.done(10_000)
			if w.s.Timeouts() != x.timeouts || w.s.Counters().Retransmitted != 4 {
				t.Errorf("%s, %s: %d timeouts, %d sent again", x.recovery, x.resends, w.s.Timeouts(), w.s.Counters().Retransmitted)
			}
		})
	}
}

// TestNoRecovery checks that without recovery no packet is resent, and packets out of order are kept.
func TestNoRecovery(t *testing.T) {
	none := func(c *Config) { c.Recovery = NoRecovery }
	w := newPipe(t, 100_000, none, &fixed{window: 20_000}, 0)
	i := 0
	w.onData = func(*packet.Packet) (int, unit.Time) { i++; return 1, unit.Time(i*7%5) * us }
	w.runUntil(unit.Second)
	w.done(100_000)
	w = newPipe(t, 100_000, none, &fixed{window: 20_000}, 0)
	w.onData = drop(30)
	w.runUntil(unit.Second)
	if c := w.s.Counters(); c.Finished != unit.Never || c.Retransmitted != 0 || w.r.firstMissing() != 30_000 {
		t.Errorf("%+v", *c)
	}
}

// TestNackInterval follows the HPCC simulator: at most one NACK per expected sequence number and interval.
func TestNackInterval(t *testing.T) {
	w := newPipe(t, 0, nil, &fixed{window: 1 << 40}, 0)
	data := func(n int64) *packet.Packet {
		return &packet.Packet{Seq: n, Payload: payload, SrcPort: 10, DstPort: 20, Proto: packet.ProtoRDMA}
	}
	for i, x := range []struct {
		at    unit.Time
		n     int64
		reply bool
		kind  packet.Kind
	}{
		{0, 0, true, packet.Ack}, {1, 2, true, packet.Nack}, {2, 3, false, 0}, {500*us + 0, 4, false, 0},
		{500*us + 1, 5, true, packet.Nack},
		{500*us + 2, 1, true, packet.Ack}, {500*us + 3, 3, true, packet.Nack}, {500*us + 4, 1, true, packet.Ack},
	} {
		p := data(x.n)
		if got := w.r.Receive(x.at, p); got != x.reply || got && p.Kind != x.kind {
			t.Errorf("%d: packet %d at %v: %v, %s", i, x.n, x.at, got, describe(p))
		}
	}
	// a trimmed packet is asked for
	p := data(2)
	p.Payload, p.Meta.Flags = 0, packet.Trimmed
	if !w.r.Receive(2000*us, p) || p.Kind != packet.Nack || p.Ack != 2 || p.Seq != 2 {
		t.Errorf("a trimmed packet gives %s", describe(p))
	}
}

// TestNoTimer checks that rto: none has no timer, as in HPCC's simulator. A lost last packet leaves the flow
// unfinished; NACKs repair other losses.
func TestNoTimer(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat} {
		for lost, want := range map[int]int64{9: 9000, 5: 10_000} {
			w := newPipe(t, 10_000, func(c *Config) { c.Recovery, c.RTO = recovery, noRTO }, &fixed{window: 20_000}, 0)
			w.onData = drop(lost)
			w.runUntil(unit.Second)
			if w.r.firstMissing() != want || w.s.Timeouts() != 0 || w.s.NextTimer() != unit.Never {
				t.Errorf("%s: packet %d lost: %d bytes arrived, %d timeouts, the timer is at %v", recovery, lost,
					w.r.firstMissing(), w.s.Timeouts(), w.s.NextTimer())
			}
		}
	}
}
