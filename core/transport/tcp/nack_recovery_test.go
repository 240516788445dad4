package tcp

import (
	"fmt"
	"testing"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
	"weir/internal/testkit"
)

// TestNackUndo checks RFC 2883 and RFC 3708 with a NACK for a packet that is delivered after all: the duplicate is
// reported, and the reduction undone. A NACK is no guess, so Eifel (RFC 3522) does not apply: ACKs of data sent before
// the retransmission arrive continuously and undo no reduction.
func TestNackUndo(t *testing.T) {
	for _, name := range []string{"reno", "cubic"} {
		t.Run(name, func(t *testing.T) {
			for _, delivered := range []bool{true, false} {
				w := newPipe(t, name, 0, nil)
				w.rate, w.limit = unit.Gbps, 0
				w.runUntil(65 * ms)
				before, n := 0, 0
				undone := false
				var at unit.Time
				w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, loss: func(l cc.Loss) {
					if l.Kind == cc.FastRecovery {
						before = int(int64(w.s.control.Decision.Window) / 1448)
					}
					undone = undone || l.Kind == cc.Spurious
				}}
				w.onData = func(p *packet.Packet) (bool, unit.Time) {
					if p.Payload > 0 {
						if n++; n == 10 {
							w.inject(trimmed(p), 3*ms)
							at = w.now
							return delivered, 0
						}
					}
					return true, 0
				}
				for (at == 0 || w.now < at+6*ms) && w.step(unit.Second) {
				}
				if at == 0 || w.s.state != cc.Recovery || undone {
					t.Fatalf("%s: %v, undone %v", name, w.s.state, undone)
				}
				for w.s.state != cc.Open && w.step(unit.Second) {
				}
				w.runUntil(w.now + 8*ms) // the duplicate may come later
				if w.s.state != cc.Open || undone != delivered || w.s.cwnd() >= before != delivered ||
					w.s.counters.Retransmitted != 1 || w.r.counters.DuplicateCount() > 0 != delivered {
					t.Errorf("%s, delivered %v: %v, undone %v, window %d, before %d, %d sent again", name, delivered,
						w.s.state, undone,
						w.s.cwnd(), before, w.s.counters.Retransmitted)
				}
			}
		})
	}
}

// TestNackRACK checks that RACK finds its own losses (RFC 8985 §6.2) in front of a NACKed packet, within the same
// reduction. In a quiet recovery a loss that RACK finds reduces as any other.
func TestNackRACK(t *testing.T) {
	for mode, want := range map[string]int{transport.NacksLoss: 1, transport.NacksResend: 1} {
		t.Run(mode, func(t *testing.T) {
			w := newPipe(t, "reno", 0, func(c *Config) { c.Nacks = mode })
			w.rate, w.limit = 100*unit.Mbps, 0
			w.runUntil(60 * ms)
			reductions := 0
			w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, loss: func(l cc.Loss) {
				if l.Kind == cc.FastRecovery || l.Kind == cc.LossInReduction {
					reductions++
				}
			}}
			n := 0
			w.onData = func(p *packet.Packet) (bool, unit.Time) {
				if p.Payload > 0 {
					if n++; n == 5 { // dropped without a word
						return false, 0
					}
					if n == 8 {
						w.inject(trimmed(p), ms)
						return false, 0
					}
				}
				return true, 0
			}
			quiet := false
			w.after = func() { quiet = quiet || w.s.quiet }
			w.runUntil(300 * ms)
			if c := w.s.counters; reductions != want || c.Retransmitted != 2 || w.r.counters.DuplicateCount() != 0 ||
				w.s.rto.timeouts != 0 || quiet != (mode == transport.NacksResend) {
				t.Errorf("%s: %d reductions, %d sent again, %d duplicates, %d timeouts, quiet %v", mode, reductions,
					c.Retransmitted,
					w.r.counters.DuplicateCount(), w.s.rto.timeouts, quiet)
			}
		})
	}
}

// TestNackTLP checks RFC 8985 §7 with trimmed last packets: NACKs repair them in place of a TLP. No TLP is sent, and a
// pending one is cancelled; a NACK of a TLP's own packet counts as well.
func TestNackTLP(t *testing.T) {
	w := newPipe(t, "reno", 14480, nil)
	n := 0
	w.nackDrops(4 * ms)
	w.onData = numbered(func(i int, _ *packet.Packet) bool { return i == 9 })
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			n++
		}
	}
	w.runUntil(5 * unit.Second)
	if n != 11 || w.s.counters.Finished > 45*ms || w.s.tlp.end >= 0 {
		t.Errorf("%d packets, finished at %v", n, w.s.counters.Finished)
	}
	// the tail is dropped without a word, its TLP trimmed
	w = newPipe(t, "reno", 14480, nil)
	i := 0
	w.onData = numbered(func(n int, p *packet.Packet) bool {
		i = n
		if n == 10 {
			w.inject(trimmed(p), ms)
		}
		return n == 9 || n == 10
	})
	w.runUntil(5 * unit.Second)
	if c := w.s.counters; i != 11 || c.NacksTaken != 1 || w.s.rto.timeouts != 0 || c.Finished > 300*ms ||
		w.s.tlp.end >= 0 {
		t.Errorf("after a TLP: %d packets, %+v, %d timeouts", i+1, c, w.s.rto.timeouts)
	}
}

// TestNackFRTO checks RFC 5682 §3.1, step 3a: a NACK within F-RTO proves that a loss was real. The recovery after the
// timeout continues, and all data arrives. A NACK moves the RTO only by the retransmission.
func TestNackFRTO(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.rate = unit.Gbps
	w.runUntil(100 * ms)
	hold := w.now + 500*ms
	w.onData = func(p *packet.Packet) (bool, unit.Time) { return true, max(hold-w.now, 0) }
	for w.s.rto.timeouts == 0 && w.step(unit.Second) {
	}
	if !w.s.frto.active {
		t.Fatal("no F-RTO")
	}
	g := w.s.queue.at(w.s.queue.first)
	for g.flags&resent == 0 && w.step(unit.Second) {
	}
	timer := w.s.timer.at
	w.now += 2 * ms
	w.s.Receive(w.now, trimmed(sentAs(w, g)))
	w.s.check(t, w.now)
	if w.s.frto.active || w.s.state != cc.Timeout || w.s.timer.at != timer || w.s.counters.NacksTaken != 1 ||
		w.s.waiting == 0 {
		t.Errorf("F-RTO %v, %v, timer %v, before %v", w.s.frto.active, w.s.state, w.s.timer.at, timer)
	}
	b := w.r.counters.ReceivedBytes
	w.unchecked = true
	w.runUntil(w.now + 2*unit.Second)
	if w.s.state != cc.Open || w.s.rto.timeouts > 1 || w.r.counters.ReceivedBytes-b < 10_000_000 {
		t.Errorf("%v, %d timeouts, %d bytes", w.s.state, w.s.rto.timeouts, w.r.counters.ReceivedBytes-b)
	}
}

// TestNackPRR checks RFC 9937: a NACK frees the slots of its packets, and the retransmissions use them at once. All
// packets sent in the recovery, these included, are the reduction's share of the delivered ones. The window after it is
// the controller's.
func TestNackPRR(t *testing.T) {
	for name, share := range map[string]float64{"reno": 0.5, "cubic": 0.7} {
		t.Run(name, func(t *testing.T) {
			w := newPipe(t, name, 0, func(c *Config) { c.Bursts, c.Autotuning, c.CompressedACK = false, false, 0 })
			w.rate, w.limit, w.delay = 100*unit.Mbps, 0, 25*ms
			w.runUntil(400 * ms)
			n := 0
			w.nackDrops(2 * ms)
			w.onData = numbered(func(i int, _ *packet.Packet) bool { return i < 5 })
			for w.s.state != cc.Recovery && w.step(unit.Second) {
			}
			before, delivered := w.s.prr.prior, w.s.rate.Delivered
			w.emitted = func(p *packet.Packet) { n++ }
			for w.s.state == cc.Recovery && w.step(unit.Second) {
				if w.s.inFlight() > max(w.s.prr.window, before) {
					t.Fatalf("%s: %d in flight, PRR allows %d", name, w.s.inFlight(), w.s.prr.window)
				}
			}
			testkit.CheckNear(t, name+": packets sent in recovery", float64(n), float64(w.s.rate.Delivered-delivered)*share,
				testkit.Tolerance{Relative: 0.1})
			testkit.CheckNear(t, name+": window after it", float64(w.s.cwnd()), share*float64(before),
				testkit.Tolerance{Relative: 0.05})
			if w.s.counters.Retransmitted != 5 || w.s.rto.timeouts > 0 {
				t.Errorf("%s: %d sent again", name, w.s.counters.Retransmitted)
			}
		})
	}
}

// TestNackOnceARoundTrip checks that there is at most one reduction per round trip. A switch that trims every packet
// for 200 ms, at 1 ms from the sender on a path of 20 ms, halves the window once per round trip.
func TestNackOnceARoundTrip(t *testing.T) {
	w := newPipe(t, "reno", 0, nil)
	w.rate, w.limit, w.delay = unit.Gbps, 0, 10*ms
	w.runUntil(110 * ms)
	var at []unit.Time
	var windows []int
	w.s.control.Controller = &noticeSpy{Controller: w.s.control.Controller, loss: func(l cc.Loss) {
		if l.Kind == cc.FastRecovery {
			at = append(at, w.now)
			windows = append(windows, int(int64(w.s.control.Decision.Window)/w.s.mss))
		}
	}}
	w.nackDrops(ms)
	from := w.now
	w.onData = numbered(func(int, *packet.Packet) bool { return w.now < from+200*ms })
	w.runUntil(2 * unit.Second)
	t.Log(at, windows)
	for i := 1; i < len(at); i++ {
		if at[i]-at[i-1] < 20*ms || windows[i] > windows[i-1]/2+1 && windows[i] > 2 && at[i] < from+200*ms {
			t.Errorf("reductions at %v, of windows %v", at, windows)
		}
	}
	if len(at) < 3 || w.s.rto.timeouts > 0 || w.s.state != cc.Open {
		t.Errorf("%d reductions, %d timeouts, %v", len(at), w.s.rto.timeouts, w.s.state)
	}
}

// TestNackPacer checks a packet that is trimmed repeatedly while no data was delivered and no other packet is in
// flight. Its gap begins with a round trip and doubles, at random between a half and three halves of it, up to half of
// rto_min, so there is no timeout. Two packets of a flight go at once (TestNackExact, TestNackSpans).
func TestNackPacer(t *testing.T) {
	w := newPipe(t, "reno", 1448, func(c *Config) { c.RTOMin = 200 * ms })
	blocked := true
	w.nackDrops(ms)
	w.onData = func(p *packet.Packet) (bool, unit.Time) { return p.Payload == 0 || !blocked, 0 }
	var at []unit.Time
	w.emitted = func(p *packet.Packet) {
		if p.Payload > 0 {
			at = append(at, w.now)
		}
	}
	for len(at) < 12 && w.step(5*unit.Second) {
	}
	srtt := w.s.SRTT()
	for i := 1; i < len(at); i++ {
		gap := min(srtt<<(i-1), 100*ms)
		least, most := ms+gap/2, ms+gap*3/2 // with the NACK's way
		if got := at[i] - at[i-1]; got < least-ms/10 || got > most+ms/10 {
			t.Errorf("transmission %d comes %v after the one before, want %v to %v", i, got, least, most)
		}
	}
	blocked = false
	w.runUntil(5 * unit.Second)
	if w.s.counters.Finished == unit.Never || w.s.rto.timeouts != 0 {
		t.Errorf("finished %v, %d timeouts", w.s.counters.Finished != unit.Never, w.s.rto.timeouts)
	}
}

// star is a switch with one port, and many senders that all send to the host behind it: incast (BS'19 §2). The switch
// trims packets that find no room, and notifies the sender.
type star struct {
	flows     []*pipe
	trims     int
	delivered int
	last      unit.Time
}

// incast runs n senders of size bytes over links of 10 Gb/s and 5 µs, into a port with room for the given number of
// packets, with or without NACKs.
func incast(t *testing.T, n int, size unit.Bytes, room int, nacks bool) *star {
	const us = unit.Microsecond
	x := &star{}
	var free unit.Time
	var leaves []unit.Time
	for range n {
		w := newPipe(t, "reno", size, func(c *Config) { c.Bursts, c.DelayedACK = false, 0 })
		w.unchecked, w.limit, w.rate, w.nic, w.delay = true, 0, 10*unit.Gbps, 10*unit.Gbps, 10*us
		w.onData = func(p *packet.Packet) (bool, unit.Time) {
			if p.Payload == 0 {
				return true, 0
			}
			for len(leaves) > 0 && leaves[0] <= w.now {
				leaves = leaves[1:]
			}
			if len(leaves) >= room {
				x.trims++
				if nacks {
					w.inject(trimmed(p), 10*us)
				}
				return false, 0
			}
			free = max(free, w.now) + unit.TransmitTime(unit.Bytes(p.Size), 10*unit.Gbps)
			leaves = append(leaves, free)
			return true, free - w.now
		}
		x.flows = append(x.flows, w)
	}
	next := func(w *pipe) unit.Time {
		at := min(w.s.NextTimer(), w.r.NextTimer(), max(w.r.NextSend(), w.now))
		if s := w.s.NextSend(); s != unit.Never {
			at = min(at, max(s, w.nicFree, w.now))
		}
		if len(w.forward) > 0 {
			at = min(at, w.forward[0].at)
		}
		if len(w.backward) > 0 {
			at = min(at, w.backward[0].at)
		}
		return at
	}
	ats := make([]unit.Time, n)
	for i, w := range x.flows {
		ats[i] = next(w)
	}
	for range 10_000_000 {
		first := 0
		for i, at := range ats {
			if at < ats[first] {
				first = i
			}
		}
		if ats[first] > 20*unit.Second {
			break
		}
		w := x.flows[first]
		w.step(ats[first])
		ats[first] = next(w)
	}
	for _, w := range x.flows {
		x.last = max(x.last, w.s.counters.Finished)
		x.delivered += int(w.r.counters.ReceivedBytes)
	}
	return x
}

// TestNackIncast checks BS'19 §2 and §4.3: with NACKs an incast has no timeouts, of 200 ms here. Senders with windows
// of one packet do not overload the switch: the number of trimmed packets is a small multiple of the delivered ones.
func TestNackIncast(t *testing.T) {
	for _, n := range []int{8, 64, 256} {
		t.Run(fmt.Sprint(n, " senders"), func(t *testing.T) {
			const size = 20_000
			x, without := incast(t, n, size, 64, true), incast(t, n, size, 64, false)
			timeouts, most := int64(0), int64(0)
			for _, w := range x.flows {
				timeouts += w.s.rto.timeouts
				most = max(most, w.s.counters.SentPackets)
				if w.r.counters.DuplicateCount() > 0 {
					t.Errorf("%d senders: %d duplicates", n, w.r.counters.DuplicateCount())
				}
			}
			packets := n * (size + 1447) / 1448
			ideal := unit.TransmitTime(unit.Bytes(n*size)*1514/1448, 10*unit.Gbps)
			t.Logf("%3d senders of %d B: last FCT %v, %v at line rate, %v without NACKs; %d packets, %d trimmed; at most %d "+
				"sent by one; %d timeouts", n, size, x.last, ideal, without.last, packets, x.trims, most, timeouts)
			if x.delivered != n*size || timeouts > 0 || x.last > 8*ideal || x.trims > 6*packets {
				t.Errorf("%d senders: %d bytes, %d timeouts, last FCT %v, %d of %d packets trimmed", n, x.delivered, timeouts,
					x.last, x.trims, packets)
			}
		})
	}
}
