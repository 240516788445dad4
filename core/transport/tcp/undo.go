package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// undo is what a sender keeps to find that it need not have reduced (Eifel, RFC 3522, RFC 4015;
// DSACK, RFC 3708), and to take the reduction back.
type undo struct {
	marker   int64  // SND.UNA when the recovery began; −1: there is nothing to undo
	resent   int    // retransmissions that DSACK has not yet shown to be spurious; −1: none was made
	possible bool   // the window before it is known (prior_ssthresh)
	stamp    uint32 // of the first retransmission; 0: none was made
}

// armed reports whether there is something to undo.
func (u *undo) armed() bool { return u.marker >= 0 }

// disarm forgets it.
func (u *undo) disarm() { u.marker = -1 }

// arm is tcp_init_undo: so many retransmissions are out, among them an outstanding TLP.
func (u *undo) arm(una int64, resent int) {
	if u.marker, u.resent = una, resent; resent == 0 {
		u.resent = -1
	}
}

// retransmitted counts a retransmission.
func (u *undo) retransmitted() { u.resent = max(u.resent, 0) + 1 }

// duplicated is called when DSACK reports so many duplicates of what ends at end.
func (u *undo) duplicated(end int64, n int) {
	if u.marker >= 0 && u.resent > 0 && end > u.marker {
		u.resent = max(0, u.resent-n)
	}
}

// allSpurious reports whether DSACK has shown that every retransmission was a duplicate.
func (u *undo) allSpurious() bool { return u.marker >= 0 && u.resent == 0 }

// precedes reports whether an ACK is for what was sent before the first retransmission
// (tcp_packet_delayed, Eifel).
func (u *undo) precedes(t *packet.Segment) bool {
	if u.stamp == 0 { // nothing was sent again yet
		return true
	}
	return t != nil && t.Has&packet.HasTimestamps != 0 && t.TSEcho != 0 && int32(t.TSEcho-u.stamp) < 0
}

// armUndo is tcp_init_undo.
func (s *Sender) armUndo() {
	resent := s.resentOut
	if s.tlp.outstanding() && s.tlp.resent {
		resent++
	}
	s.undo.arm(s.una, resent)
}

// mayUndo is tcp_may_undo.
func (s *Sender) mayUndo(t *packet.Segment) bool {
	return s.undo.allSpurious() || s.undo.armed() && s.packetDelayed(t)
}

// packetDelayed is tcp_packet_delayed. After a NACK, ACKs of what is below it come all the time.
func (s *Sender) packetDelayed(t *packet.Segment) bool { return !s.known && s.undo.precedes(t) }

// undoReduction is tcp_undo_cwnd_reduction; unmark: what was found lost is not, either.
func (s *Sender) undoReduction(now unit.Time, unmark bool) {
	if unmark {
		s.unmark()
	}
	if s.undo.possible {
		s.changeState(now, cc.Loss{Kind: cc.Spurious})
		s.cwrDue = false
	}
	s.prr.end()
	s.prr.window = max(int(int64(s.control.Decision.Window)/s.mss), 1)
	s.usage.used, s.usage.since = 0, now // snd_cwnd_stamp
	s.undo.disarm()
	s.rack.advanced = true
}

// undoRecovery is tcp_try_undo_recovery.
func (s *Sender) undoRecovery(now unit.Time, t *packet.Segment) {
	if s.mayUndo(t) {
		s.undoReduction(now, false)
	} else {
		s.rack.recovered()
	}
	s.setState(now, cc.Open) // a late DSACK may still undo
}

// undoDSACK is tcp_try_undo_dsack: all retransmissions were duplicates (RFC 3708).
func (s *Sender) undoDSACK(now unit.Time) bool {
	if !s.undo.allSpurious() {
		return false
	}
	s.rack.undone()
	s.undoReduction(now, false)
	return true
}

// undoPartial is tcp_try_undo_partial.
func (s *Sender) undoPartial(now unit.Time, t *packet.Segment, e *event) bool {
	if !s.undo.armed() || !s.packetDelayed(t) {
		return false
	}
	s.rack.sawReordering(e.priorUna, s.highestSacked(), s.mss)
	if s.resentOut > 0 {
		return true
	}
	if !s.anyResent() {
		s.undo.stamp = 0
	}
	s.undoReduction(now, true)
	s.keepOpen(now)
	return false
}

// undoTimeout is tcp_try_undo_loss.
func (s *Sender) undoTimeout(now unit.Time, t *packet.Segment, byFRTO bool) bool {
	if !byFRTO && !s.mayUndo(t) {
		return false
	}
	s.undoReduction(now, true)
	s.rto.retries = 0
	s.frto.active = false
	s.setState(now, cc.Open)
	if s.lostOut > 0 {
		s.enterNackRecovery(now, false)
	}
	return true
}
