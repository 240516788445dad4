package tcp

import "weir/core/unit"

// span is a range of sequence numbers.
type span struct{ left, right int64 }

// scoreboard is the state of the segments that are sent and not acknowledged (RFC 6675 §3).
type scoreboard struct {
	queue                         segments
	sackedOut, lostOut, resentOut int
	waiting                       int     // lost, not resent
	hint                          uint32  // no segment before it waits
	sackedEnd                     int64   // end of the highest segment that SACK has delivered
	cache                         [4]span // blocks of the last ACK
	cached                        int
	lostTotal                     int64 // segments found lost since the start
}

// newScoreboard returns the scoreboard without segments.
func newScoreboard() scoreboard { return scoreboard{queue: newSegments(), sackedEnd: -1} }

// inFlight returns the number of segments in flight (tcp_packets_in_flight).
func (b *scoreboard) inFlight() int { return b.queue.len() - b.sackedOut - b.lostOut + b.resentOut }

// markLost marks segment n, or its retransmission, as lost unless it is SACKed (tcp_mark_skb_lost).
func (b *scoreboard) markLost(n uint32) {
	g := b.queue.at(n)
	if g.flags&sacked != 0 {
		return
	}
	if g.flags&lost != 0 {
		if g.flags&resent == 0 {
			return
		}
		g.flags &^= resent | lostByNack // lost again
		b.resentOut--
		b.waiting++
	} else {
		g.flags = g.flags&^lostByNack | lost
		b.lostOut++
		if g.flags&resent == 0 {
			b.waiting++
		}
	}
	b.lostTotal++
	if int32(n-b.hint) < 0 {
		b.hint = n
	}
}

// nextLost returns the first segment that waits to be resent; false: there is no such segment.
func (b *scoreboard) nextLost() (uint32, bool) {
	if int32(b.hint-b.queue.first) < 0 {
		b.hint = b.queue.first
	}
	for ; b.hint != b.queue.end; b.hint++ {
		if g := b.queue.at(b.hint); g.flags&(lost|resent|sacked) == lost {
			return b.hint, true
		}
	}
	return 0, false
}

// anyResent reports whether a retransmission is in flight, or the first segment was ever resent (tcp_any_retrans_done).
func (b *scoreboard) anyResent() bool {
	return b.resentOut > 0 || b.queue.len() > 0 && b.queue.at(b.queue.first).flags&everSent != 0
}

// detectLoss marks segments that RACK declares lost (RFC 8985 §6.2 step 5, tcp_rack_detect_loss). It returns the time
// after which all others that were sent before the latest delivered one would be lost; 0: no packets.
func (b *scoreboard) detectLoss(r *rack, now, window unit.Time) (wait unit.Time) {
	for slot := b.queue.head; slot != none; {
		g := &b.queue.ring[slot]
		n := b.queue.number(slot)
		slot = g.after
		if g.flags&lost != 0 && g.flags&resent == 0 {
			continue
		}
		if !r.sentAfter(g.sent, g.end) {
			break
		}
		if left := r.left(now, g.sent, window); left <= 0 {
			b.markLost(n)
			b.queue.remove(n)
		} else {
			wait = max(wait, left)
		}
	}
	return wait
}

// unmarkLosses withdraws all losses except those that NACKs have reported (tcp_undo_cwnd_reduction). Their segments
// count as in flight again.
func (b *scoreboard) unmarkLosses() {
	for n := b.queue.first; n != b.queue.end; n++ {
		g := b.queue.at(n)
		if g.flags&nacked != 0 { // a report, not an estimate
			continue
		}
		if g.flags&lost != 0 {
			g.flags &^= lost
			b.lostOut--
			if g.flags&resent == 0 {
				b.waiting--
			}
		}
		if g.flags&sacked == 0 && !g.listed { // it counts as in flight again
			b.queue.insert(n)
		}
	}
}

// removeSACKs removes all SACK marks, because the receiver has dropped the data (RFC 2018 §8).
func (b *scoreboard) removeSACKs() {
	for n := b.queue.first; n != b.queue.end; n++ {
		if g := b.queue.at(n); g.flags&sacked != 0 {
			g.flags &^= sacked
			b.sackedOut--
		}
	}
	b.cached = 0
}
