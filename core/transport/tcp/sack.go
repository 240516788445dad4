package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// highestSacked returns the end of the highest SACKed segment, or snd_una without one (tcp_highest_sack_seq).
func (s *Sender) highestSacked() int64 {
	if s.sackedOut == 0 {
		return s.una
	}
	return s.sackedEnd
}

// tagSACK marks the segments that the blocks report (RFC 2018 §5), finds DSACKs (RFC 2883), and adds the effects to e
// (tcp_sacktag_write_queue).
func (s *Sender) tagSACK(now unit.Time, t *packet.Segment, ack int64, e *event) {
	if s.sackedOut == 0 {
		s.sackedEnd = s.una
		s.cached = 0
	}
	var blocks [4]span
	n := 0
	for i := range t.Blocks {
		b := span{extendSeq(int64(t.SACK[i].Left), s.una), extendSeq(int64(t.SACK[i].Right), s.una)}
		duplicate := false
		if i == 0 {
			second := span{-1, -1}
			if t.Blocks > 1 {
				second = span{extendSeq(int64(t.SACK[1].Left), s.una), extendSeq(int64(t.SACK[1].Right), s.una)}
			}
			duplicate = b.left < ack || second.left >= 0 && b.left >= second.left && b.right <= second.right
			duplicate = duplicate && s.countDSACK(b, e)
		}
		if b.right <= b.left || b.right > s.next || b.left <= s.una || b.left >= s.next { // tcp_is_sackblock_valid
			continue
		}
		if duplicate {
			s.tagDuplicate(b, e)
		}
		i := n // in the order of sequence, or a block of this ACK would look reordered
		for ; i > 0 && blocks[i-1].left > b.left; i-- {
			blocks[i] = blocks[i-1]
		}
		blocks[i] = b
		n++
	}
	for i := range n {
		s.tagBlock(now, blocks[i], e)
	}
	copy(s.cache[:], blocks[:n])
	s.cached = n
	if s.state != cc.Timeout || s.undo.armed() {
		s.rack.sawReordering(e.reorder, s.highestSacked(), s.mss)
	}
}

// countDSACK counts a duplicate that the receiver reports (tcp_check_dsack). It returns false if the duplicate is not
// of this sender's retransmissions. A valid duplicate counts as a delivery.
func (s *Sender) countDSACK(b span, e *event) bool {
	if b.right <= b.left || b.right-b.left > s.peer.maxWindow {
		return false
	}
	dups := int((b.right - b.left + s.mss - 1) / s.mss)
	if dups == 1 && s.tlp.outstanding() && s.tlp.end == b.right {
		e.flags |= dsackedTLP
	}
	if s.dsackDups += dups; s.dsackDups > s.totalResent {
		return false
	}
	if s.rack.reorderSeen > 0 && e.flags&dsackedTLP == 0 {
		s.rack.dsack = true
	}
	e.flags |= dsacked
	s.rate.Delivered += int64(dups) // a spurious retransmission is a delivery too
	e.again += dups
	if b.right <= e.priorUna {
		s.undo.duplicated(b.right, dups)
	}
	return true
}

// tagDuplicate handles a DSACK's range b of segments that are still in the queue. Those that were resent count as
// duplicates, and no longer as resent in flight.
func (s *Sender) tagDuplicate(b span, e *event) {
	for n := s.queue.find(b.left, s.mss); n != s.queue.end; n++ {
		g := s.queue.at(n)
		if g.end > b.right {
			return
		}
		if g.seq < b.left || g.flags&everSent == 0 {
			continue
		}
		s.undo.duplicated(g.end, 1)
		if g.flags&sacked != 0 {
			e.reorder = min(e.reorder, g.seq)
		}
		if g.flags&(resent|lost) == resent {
			g.flags &^= resent
			s.resentOut--
		}
	}
}

// tagBlock marks the segments of one block, except for those of blocks of the last ACK.
func (s *Sender) tagBlock(now unit.Time, b span, e *event) {
	n := s.queue.find(b.left, s.mss)
	for n != s.queue.end {
		g := s.queue.at(n)
		if g.end > b.right {
			return
		}
		skip := false
		for _, c := range s.cache[:s.cached] {
			if c.left <= g.seq && g.end <= c.right && g.flags&sacked != 0 {
				n, skip = max32(s.queue.find(c.right, s.mss), n+1, s.queue.first), true
				break
			}
		}
		if skip {
			continue
		}
		if g.seq >= b.left && g.flags&sacked == 0 {
			s.markSacked(now, n, g, e)
		}
		n++
	}
}

// max32 returns the later of two numbers of segments, counted from first.
func max32(a, b, first uint32) uint32 {
	if a-first > b-first {
		return a
	}
	return b
}

// markSacked marks segment n, g, as delivered by SACK (tcp_sacktag_one). It updates RACK and the counts, and adds the
// effects to e.
func (s *Sender) markSacked(now unit.Time, n uint32, g *segment, e *event) {
	s.rack.deliver(now, g.sent, g.end, g.flags&everSent != 0, s.rtt.min.get())
	if g.flags&resent != 0 {
		if g.flags&lost != 0 {
			g.flags &^= lost | resent
			s.lostOut--
			s.resentOut--
		}
	} else {
		if g.flags&everSent == 0 {
			if g.seq < s.highestSacked() {
				e.reorder = min(e.reorder, g.seq)
			}
			if g.end <= s.highSeq {
				e.flags |= originalSacked
			}
			if !e.anySack {
				e.anySack, e.firstSack = true, g.sent
			}
			e.lastSack = g.sent
		}
		if g.flags&lost != 0 {
			g.flags &^= lost
			s.lostOut--
			s.waiting--
		}
	}
	if g.flags&nacked != 0 {
		s.hold.HandleRefutation()
	}
	g.flags = g.flags&^nacked | sacked
	e.flags |= dataSacked
	s.sackedOut++
	s.recordDelivery(now, g, e)
	e.bytes += g.end - g.seq
	s.sackedEnd = max(s.sackedEnd, g.end)
	s.queue.remove(n)
}
