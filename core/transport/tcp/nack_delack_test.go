package tcp

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// TestNackDelayedACK checks a flight that is NACKed completely. Its resent segments arrive in order, one at a time, so
// no gap makes the receiver acknowledge at once as in RFC 5681 §4.2. The sender requests that by PSH, so it never waits
// for a delayed ACK (RFC 9293 §3.8.6.3) while it has data to send, for any number of lost transmissions.
func TestNackDelayedACK(t *testing.T) {
	for _, nacks := range []string{transport.NacksLoss, transport.NacksSupply, transport.NacksResend} {
		for _, segments := range []unit.Bytes{22, 25, 40, 80} {
			for lost := 1; lost < 23; lost++ {
				t.Run(fmt.Sprintf("%s, %d segments, %d transmissions lost", nacks, segments, lost), func(t *testing.T) {
					w := newPipe(t, "cubic", segments*1448, func(c *Config) { c.Nacks = nacks })
					w.rate, w.limit = unit.Gbps, 0
					w.nackDrops(ms)
					n, longest, since := 0, unit.Time(0), unit.Never
					w.onData = func(p *packet.Packet) (bool, unit.Time) {
						if p.Payload == 0 {
							return true, 0
						}
						n++
						return n <= 20 || n > 20+lost, 0 // after those that are acknowledged quickly
					}
					w.after = func() {
						left := w.s.waiting > 0 || w.s.next < w.s.app.end
						if !w.r.delayed || !left || w.s.plan.action != nothing || w.s.counters.NacksTaken == 0 {
							since = unit.Never
							return
						}
						since = min(since, w.now)
						longest = max(longest, w.now-since)
					}
					w.runUntil(5 * unit.Second)
					if w.s.counters.Finished == unit.Never || w.s.rto.timeouts > 0 || longest > 2*w.delay {
						t.Errorf("finished at %v, %d timeouts, it waits %v for a delayed ACK", w.s.counters.Finished, w.s.rto.timeouts,
							longest)
					}
				})
			}
		}
	}
}

// TestNoticeLeavesRoom checks that a notice reduces, but a waiting retransmission goes in any case, as at the start of
// a recovery (RFC 9937 §6). The receiver may delay the ACK of a single segment in flight.
func TestNoticeLeavesRoom(t *testing.T) {
	w := newPipe(t, "cubic", 80*1448, func(c *Config) { c.Nacks = transport.NacksLoss })
	w.rate, w.limit = unit.Gbps, 0
	w.nackDrops(ms)
	n, reductions := 0, 0
	w.onData = func(p *packet.Packet) (bool, unit.Time) {
		if p.Payload > 0 {
			n++
		}
		return n <= 20 || n%4 == 1, 0
	}
	w.after = func() {
		for k := w.s.queue.first; k != w.s.queue.end && w.s.waiting > 0; k++ {
			g := w.s.queue.at(k)
			inFlight := g.flags&sacked == 0 && g.flags&(lost|resent) != lost
			if !inFlight || g.sent < w.s.control.Gate.LastReduction() ||
				w.now < w.s.control.Gate.LastReduction()+w.s.roundTrip() {
				continue
			}
			reducedAt := w.s.control.Gate.LastReduction()
			w.s.Receive(w.now, nackOf(sentAs(w, g), packet.Notification{Cause: packet.CauseElephant}))
			if w.s.control.Gate.LastReduction() == reducedAt {
				continue
			}
			if reductions++; w.s.plan.action != sendResent {
				t.Errorf("%d segments wait after the notice, plan %+v, want a retransmission", w.s.waiting, w.s.plan)
			}
		}
	}
	w.runUntil(unit.Second)
	if reductions == 0 {
		t.Error("no notice reduced while a segment waited")
	}
}
