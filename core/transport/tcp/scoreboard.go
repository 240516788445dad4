package tcp

import "weir/core/unit"

// span is a range of sequence numbers.
type span struct{ left, right int64 }

// scoreboard is what is known of the segments that are out (RFC 6675 §3).
type scoreboard struct {
	queue                         segments
	sackedOut, lostOut, resentOut int
	waiting                       int     // lost, not sent again
	hint                          uint32  // no segment before it waits
	sackedEnd                     int64   // end of the highest segment that SACK has delivered
	cache                         [4]span // blocks of the last ACK
	cached                        int
	lostTotal                     int64 // segments found lost since the start
}

func newScoreboard() scoreboard { return scoreboard{queue: newSegments(), sackedEnd: -1} }

// inFlight is tcp_packets_in_flight.
func (b *scoreboard) inFlight() int { return b.queue.len() - b.sackedOut - b.lostOut + b.resentOut }

// markLost is tcp_mark_skb_lost.
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

// nextLost is the first segment that waits to be sent again.
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

// anyResent is tcp_any_retrans_done.
func (b *scoreboard) anyResent() bool {
	return b.resentOut > 0 || b.queue.len() > 0 && b.queue.at(b.queue.first).flags&everSent != 0
}

// detectLoss is RFC 8985 §6.2 step 5 (tcp_rack_detect_loss): it marks what RACK takes for lost,
// and returns how long it takes until the next would be; 0: none is waiting.
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

// unmark takes back all losses but those that NACKs have told (tcp_undo_cwnd_reduction).
func (b *scoreboard) unmark() {
	for n := b.queue.first; n != b.queue.end; n++ {
		g := b.queue.at(n)
		if g.flags&nacked != 0 { // no guess
			continue
		}
		if g.flags&lost != 0 {
			g.flags &^= lost
			b.lostOut--
			if g.flags&resent == 0 {
				b.waiting--
			}
		}
		if g.flags&sacked == 0 && !g.listed { // as good as any other now
			b.queue.insert(n)
		}
	}
}

// unsack forgets what SACK has reported, for the receiver has dropped it (RFC 2018 §8).
func (b *scoreboard) unsack() {
	for n := b.queue.first; n != b.queue.end; n++ {
		if g := b.queue.at(n); g.flags&sacked != 0 {
			g.flags &^= sacked
			b.sackedOut--
		}
	}
	b.cached = 0
}
