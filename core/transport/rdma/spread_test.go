package rdma

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// fabric has several paths of unequal rates, each with a queue. Switches spread packets over them at random.
type fabric struct {
	random unit.Random
	free   []unit.Time // when the queue of a path is empty
	rates  []unit.Rate
	loss   float64
	dead   int // path that loses everything; −1: none does
}

// send is a hook of a pipe: it returns how long a packet waits beyond the time of its link.
func (f *fabric) send(at unit.Time, p *packet.Packet) (copies int, later unit.Time) {
	k := f.random.IntN(len(f.rates))
	if k == f.dead || f.loss > 0 && f.random.Float64() < f.loss {
		return 0, 0
	}
	f.free[k] = max(f.free[k], at) + unit.TransmitTime(unit.Bytes(p.Size), f.rates[k])
	return 1, f.free[k] - at
}

// spreadPipe returns a pipe over a fabric of n paths. The last path has the given share of the others' rate.
func spreadPipe(t testing.TB, size unit.Bytes, n int, share float64, queueing unit.Time, c *fixed,
	change func(*Config)) (*pipe, *fabric) {
	t.Helper()
	f := newFlow(size, c, 0)
	f.Path.Reorders, f.Path.Uneven, f.Path.MaxQueueing = true, true, queueing
	conf := Defaults()
	conf.Recovery, conf.Reordering = SelectiveRepeat, reorderAdaptive
	if change != nil {
		change(&conf)
	}
	c.timer = unit.Never
	s, r, err := New(f, conf)
	if err != nil {
		t.Fatal(err)
	}
	w := &pipe{t: t, s: s, r: r, c: c}
	x := &fabric{random: unit.NewRandom(1, "fabric"), free: make([]unit.Time, n), dead: -1}
	for range n {
		x.rates = append(x.rates, lineRate)
	}
	x.rates[n-1] = unit.Rate(share * float64(lineRate))
	w.onData = func(p *packet.Packet) (int, unit.Time) { return x.send(w.free+delay, p) }
	return w, x
}

// bounded fails the test if more than a window and a packet is between the sender and the receiver.
func (w *pipe) bounded(window func() unit.Bytes) {
	w.emitted = func(*packet.Packet) {
		if n := int64(len(w.data)+1) * payload; n > int64(window())+payload {
			w.t.Fatalf("%v: %d bytes in the network, the window has %d", w.now, n, window())
		}
	}
}

// TestSpreadWaits checks that packets that wait on a slow path, or behind other flows there, are not resent. At most a
// window and a packet are in the network, with or without a limit of the path's queues. Packets that wait when the flow
// starts can take a hundred round trips.
func TestSpreadWaits(t *testing.T) {
	for _, n := range []int{2, 4, 8} {
		for _, share := range []float64{0.1, 0.25, 0.5, 0.75} {
			for _, queueing := range []unit.Time{10 * unit.Millisecond, unit.Never} {
				for _, behind := range []unit.Time{0, 400 * us} {
					t.Run(fmt.Sprint(n, share, queueing, behind), func(t *testing.T) {
						c := &fixed{window: 50_000}
						w, x := spreadPipe(t, 3000*payload, n, share, queueing, c, nil)
						x.free[n-1] = behind
						w.bounded(func() unit.Bytes { return c.window })
						w.runUntil(unit.Second)
						w.done(3000 * payload)
						if s := w.s.Counters(); s.Retransmitted != 0 || w.s.Timeouts() != 0 {
							t.Errorf("%d packets sent again, %d timeouts", s.Retransmitted, w.s.Timeouts())
						}
					})
				}
			}
		}
	}
}

// TestWindowBoundsNetwork checks that every recovery with every reordering keeps to the window on unequal paths without
// losses, unless it takes a packet for lost because another one arrived first. This holds on a path that keeps the
// order, with a fixed window above the longest wait, with an adaptive one, and on paths that the sender chooses. IRN's
// rule and go-back-N take an overtaken packet for lost: IRN §3.1 sends it again at once, and go-back-N's receiver drops
// what follows. Their packets in the network exceed the window as long as the originals wait, in IRN as in its paper.
// There what the sender counts as in flight is within the window.
func TestWindowBoundsNetwork(t *testing.T) {
	for _, recovery := range []string{GoBackN, SelectiveRepeat, NoRecovery} {
		for _, reordering := range []string{reorderNone, reorderFixed, reorderAdaptive} {
			if recovery != SelectiveRepeat && reordering != reorderNone {
				continue
			}
			for _, n := range []int{1, 4} {
				again := n > 1 && reordering == reorderNone && recovery != NoRecovery
				for _, rate := range []float64{0.05, 0.3} {
					t.Run(fmt.Sprint(recovery, reordering, n, rate), func(t *testing.T) {
						c := &fixed{window: 40_000}
						w, _ := spreadPipe(t, 1000*payload, n, rate, 20*unit.Millisecond, c, func(f *Config) {
							f.Recovery, f.Reordering = recovery, reordering
							if reordering == reorderFixed {
								f.ReorderWindow = 20 * unit.Millisecond
							}
						})
						random := unit.NewRandom(2, "windows")
						c.onAck = func(unit.Time, *cc.Ack) { c.window += unit.Bytes(random.IntN(100)) }
						if w.bounded(func() unit.Bytes { return c.window }); again {
							w.emitted = func(*packet.Packet) {
								if n := w.s.inFlight() * payload; n > int64(c.window) {
									t.Fatalf("%v: the sender counts %d bytes, the window has %d", w.now, n, c.window)
								}
							}
						}
						w.runUntil(unit.Second)
						w.done(1000 * payload)
						if resent := w.s.Counters().Retransmitted; (resent != 0) != again {
							t.Errorf("%d packets sent again", resent)
						}
					})
				}
			}
		}
	}
	t.Run("chosen", func(t *testing.T) {
		w, each := chosen(t, 500_000, []unit.Bytes{10_000, 20_000, 5000}, []unit.Time{0, 40 * us, us},
			func(f *Config) { f.RTOMin = 0 })
		w.bounded(func() unit.Bytes { return each[0].window + each[1].window + each[2].window })
		w.runUntil(unit.Second)
		w.done(500_000)
	})
}

// TestSpreadChanges checks a path that becomes slow while a flow runs: packets that wait there ever longer are not
// resent, because the flow detects the growth. When others fill a path at once, some packets are taken for lost, and
// the copies count until they arrive.
func TestSpreadChanges(t *testing.T) {
	for _, x := range []struct {
		name   string
		change func(f *fabric, now unit.Time)
		again  bool
	}{
		{"slow", func(f *fabric, _ unit.Time) { f.rates[3] = lineRate / 4 }, false},
		{"filled", func(f *fabric, now unit.Time) { f.free[3] = now + 29*us }, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &fixed{window: 50_000}
			w, f := spreadPipe(t, 6000*payload, 4, 1, 10*unit.Millisecond, c, nil)
			w.bounded(func() unit.Bytes { return c.window })
			check, sent := w.emitted, 0
			w.emitted = func(p *packet.Packet) {
				if sent++; sent == 4000 {
					x.change(f, w.now)
				}
				check(p)
			}
			w.runUntil(unit.Second)
			w.done(6000 * payload)
			if s := w.s.Counters(); s.Retransmitted > 0 != x.again || w.s.Timeouts() != 0 {
				t.Errorf("%d packets sent again, %d timeouts", s.Retransmitted, w.s.Timeouts())
			}
		})
	}
}

// TestSpreadLosses checks that a run of later packets detects losses on equal paths within a few round trips. A path
// that loses all packets does not stop the flow.
func TestSpreadLosses(t *testing.T) {
	for _, x := range []struct {
		name    string
		loss    float64
		dead    int
		longest unit.Time // of 3000 packets, which take 252 us at line rate
	}{{"1 %", 0.01, -1, 2 * unit.Millisecond}, {"dead path", 0, 3, 40 * unit.Millisecond}} {
		t.Run(x.name, func(t *testing.T) {
			c := &fixed{window: 50_000}
			w, f := spreadPipe(t, 3000*payload, 8, 1, 10*unit.Millisecond, c, nil)
			f.loss, f.dead = x.loss, x.dead
			w.bounded(func() unit.Bytes { return c.window })
			w.runUntil(unit.Second)
			w.done(3000 * payload)
			s, twice := w.s.Counters(), w.r.Counters().DuplicateCount()
			if s.Finished > x.longest || twice > 0 {
				t.Errorf("done at %v; %d sent again, %d of them twice there", s.Finished, s.Retransmitted, twice)
			}
		})
	}
}

// TestWaits_PatienceFollowsLateness checks that the patience of a flow halves with experience, follows lateness, and is
// longer after an unnecessary retransmission. A packet that was taken for lost after it, and is sent again, counts
// until twice the patience, or until it arrives.
func TestWaits_PatienceFollowsLateness(t *testing.T) {
	const rtt, limit = 10 * us, 10 * unit.Millisecond
	w := newWaits(limit, rtt, 1000)
	want := func(name string, want unit.Time) {
		t.Helper()
		if got := w.limitPatience(rtt, rtt, limit); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	learn := func(times int) {
		for range experience * times {
			w.recordLateness(0, 1000, rtt)
		}
	}
	want("at first", firstPatience*rtt)
	learn(3)
	want("after three halvings", firstPatience*rtt/8)
	learn(20)
	want("at last", minPatience*rtt)
	w.recordLateness(100*us, 0, rtt)
	want("with a packet that was 100 us late", lateness*100*us)
	w.raisePatience(rtt, limit)
	if want("raised", 4*lateness*100*us); w.proof != 2*provenRun {
		t.Errorf("raised to a run of %d", w.proof)
	}
	w.addWaiting(1, 0, 30*us)
	w.addWaiting(2, 0, 20*us)
	w.addWaiting(3, 0, 40*us)
	w.confirmExpired(20 * us)
	if w.recordAnswered(3) || !w.recordAnswered(3) || w.recordAnswered(7) {
		t.Errorf("answers to waitingCopies: %v", w.waitingCopies)
	}
	w.removeCopy(3)
	w.removeCopy(7)
	if w.inNetwork(rtt) != 1 || w.waitingCopies[0].n != 1 {
		t.Errorf("%v are in the network", w.waitingCopies)
	}
}

// TestConfirmedLosses checks that each confirmed loss among the packets resent since the previous one leaves a quarter
// of the patience. In the end the flow takes overdue packets for lost, and no copy counts. A time without losses ends
// this, and so does an unnecessary retransmission.
func TestConfirmedLosses(t *testing.T) {
	const rtt, limit = 10 * us, 10 * unit.Millisecond
	for _, end := range []string{"experience", "unnecessary"} {
		w := newWaits(limit, rtt, 1000)
		for range experience * 20 {
			w.recordLateness(0, 1000, rtt)
		}
		w.addWaiting(1, 40*us, 80*us)
		w.addWaiting(2, 41*us, 81*us)
		w.confirmExpired(80 * us)
		w.confirmExpired(81 * us)
		if got := w.limitPatience(rtt, 2*us, limit); got != minPatience*rtt/4 || w.trustsOrder(rtt) {
			t.Errorf("after two losses at once: %v", got)
		}
		w.addWaiting(3, 90*us, 100*us)
		w.addWaiting(4, 90*us, 200*us)
		w.confirmExpired(100 * us)
		if got := w.limitPatience(rtt, 2*us, limit); got != 2*us || !w.trustsOrder(rtt) || w.inNetwork(rtt) != 0 {
			t.Errorf("after another loss: %v, %d in the network", got, w.inNetwork(rtt))
		}
		if end == "unnecessary" {
			w.raisePatience(rtt, limit)
		}
		for range experience * 20 {
			w.recordLateness(0, 1000, rtt)
		}
		if got := w.limitPatience(rtt, 2*us, limit); got != minPatience*rtt || w.inNetwork(rtt) != 1 {
			t.Errorf("%s: %v at the end, %d in the network", end, got, w.inNetwork(rtt))
		}
	}
}

// TestPathFailsUnderWay checks that a path that fails during a flow costs a few waits, not one for each packet. A flow
// that loses a quarter of its packets for 2 ms has two thirds of line rate then, 23,800 packets, and no packet arrives
// twice.
func TestPathFailsUnderWay(t *testing.T) {
	c := &fixed{window: 50_000}
	w, f := spreadPipe(t, 40_000*payload, 4, 1, 10*unit.Millisecond, c, nil)
	deliver, down := w.onData, int64(-1)
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		f.dead = -1
		if w.now > 500*us && w.now < 2500*us {
			if down < 0 {
				down = w.s.una
			}
			f.dead = 3
		}
		return deliver(p)
	}
	w.runUntil(2500 * us)
	got := w.s.una - down
	w.runUntil(unit.Second)
	w.done(40_000 * payload)
	if twice := w.r.Counters().DuplicateCount(); got < 15_800 || twice > 0 {
		t.Errorf("%d packets in 2 ms, %d twice there", got, twice)
	}
}

// TestRunAndLateness checks that a run of later packets proves no loss of a packet that was overdue once and no longer
// is, since another was later.
func TestRunAndLateness(t *testing.T) {
	for _, late := range []unit.Time{0, unit.Millisecond} {
		w, _ := spreadPipe(t, 0, 4, 1, 10*unit.Millisecond, &fixed{window: 1 << 20}, nil)
		s := w.s
		for n := range 2 * provenRun {
			s.Emit(unit.Time(n)*us, &packet.Packet{})
			if n < 12 {
				continue
			}
			s.Receive(unit.Time(n)*us, answer(packet.Nack, 0, int64(n-10)*payload))
			if n == provenRun/2 {
				s.waits.late = max(s.waits.late, late)
			}
		}
		if lost := s.Counters().Retransmitted > 0; lost != (late == 0) {
			t.Errorf("%v late: lost is %v", late, lost)
		}
	}
}

// TestEarlyAnswers checks that an answer is too early for a retransmission only if no path is that short. A flow that
// starts in a full queue has measured longer round trips than the later ones.
func TestEarlyAnswers(t *testing.T) {
	w, _ := spreadPipe(t, 0, 4, 1, 10*unit.Millisecond, &fixed{window: 1 << 20}, nil)
	base, x := w.s.config.BaseRTT, &sent{flags: everSent}
	w.s.timer.Trip.AddSample(30 * base)
	if w.s.isEarly(base, x) || !w.s.isEarly(base-1, x) {
		t.Errorf("base %v, measured %v", base, 30*base)
	}
}

// TestReorderOncePerRoundTrip checks that the adaptive window grows once for all unnecessary retransmissions within a
// round trip.
func TestReorderOncePerRoundTrip(t *testing.T) {
	w := newPipe(t, 0, reorder(reorderAdaptive, 0), &fixed{window: 1 << 20}, 0)
	s := w.s
	for n := range 3 {
		s.Emit(unit.Time(n), &packet.Packet{})
	}
	s.Receive(4*us, answer(packet.Nack, 0, 2000))
	s.Advance(6 * us) // 0 and 1 are lost
	s.Emit(6*us, &packet.Packet{})
	s.Emit(6*us, &packet.Packet{})
	s.Receive(7*us, answer(packet.Nack, 0, 1000)) // both sooner than a round trip
	s.Receive(8*us, answer(packet.Ack, 3000, 0))
	if s.tolerance.vain != 2 || s.tolerance.steps != 2 {
		t.Errorf("%d sent again unnecessarily, the window has %d steps", s.tolerance.vain, s.tolerance.steps)
	}
}

// TestPathBackoffEnds checks that a path that has failed and works again begins with the first timeout: its next
// failure is found as soon.
func TestPathBackoffEnds(t *testing.T) {
	w, _ := chosen(t, 40_000_000, []unit.Bytes{10_000, 20_000}, []unit.Time{0, 0}, nil)
	deliver, backoff := w.onData, 0
	w.onData = func(p *packet.Packet) (int, unit.Time) {
		if w.s.paths.pathOf(p.SrcPort) == 0 && w.now > 100*us && w.now < 3*unit.Millisecond {
			backoff = max(backoff, w.s.paths.each[0].backoff)
			return 0, 0
		}
		return deliver(p)
	}
	w.runUntil(9 * unit.Millisecond)
	if p := &w.s.paths.each[0]; backoff < 2 || p.backoff != 0 || p.silent {
		t.Errorf("the timeout doubled %d times, and %d times after the failure; silent: %v", backoff, p.backoff, p.silent)
	}
}
