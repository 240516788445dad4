package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// undo is the state with which a sender finds that a reduction was unnecessary (Eifel, RFC 3522, RFC 4015; DSACK,
// RFC 3708), and withdraws it.
type undo struct {
	marker   int64  // SND.UNA when the recovery began; −1: there is no reduction to undo
	resent   int    // retransmissions that DSACK has not yet shown to be spurious; −1: no retransmission
	possible bool   // the earlier window is known (prior_ssthresh)
	stamp    uint32 // of the first retransmission; 0: no retransmission
}

// armed reports whether there is a reduction to undo.
func (u *undo) armed() bool { return u.marker >= 0 }

// disarm makes undo impossible.
func (u *undo) disarm() { u.marker = -1 }

// arm starts a recovery at una with a number of retransmissions in flight, with an outstanding TLP (tcp_init_undo).
func (u *undo) arm(una int64, resent int) {
	if u.marker, u.resent = una, resent; resent == 0 {
		u.resent = -1
	}
}

// retransmitted counts a retransmission.
func (u *undo) retransmitted() { u.resent = max(u.resent, 0) + 1 }

// duplicated subtracts n duplicates that a DSACK reports, of data that ends at end, from the retransmissions that may
// be necessary. Data from before the recovery does not count.
func (u *undo) duplicated(end int64, n int) {
	if u.marker >= 0 && u.resent > 0 && end > u.marker {
		u.resent = max(0, u.resent-n)
	}
}

// allSpurious reports whether DSACK has shown that every retransmission was a duplicate.
func (u *undo) allSpurious() bool { return u.marker >= 0 && u.resent == 0 }

// precedes reports whether an ACK is for data sent before the first retransmission (tcp_packet_delayed, Eifel).
func (u *undo) precedes(t *packet.Segment) bool {
	if u.stamp == 0 { // no data was resent yet
		return true
	}
	return t != nil && t.Present&packet.HasTimestamps != 0 && t.TSEcho != 0 && int32(t.TSEcho-u.stamp) < 0
}

// armUndo starts the undo state of a recovery that begins now, with the retransmissions in flight (tcp_init_undo).
func (s *Sender) armUndo() {
	resent := s.resentOut
	if s.tlp.outstanding() && s.tlp.resent {
		resent++
	}
	s.undo.arm(s.una, resent)
}

// mayUndo reports whether an ACK shows that the reduction was unnecessary (tcp_may_undo).
func (s *Sender) mayUndo(t *packet.Segment) bool {
	return s.undo.allSpurious() || s.undo.armed() && s.packetDelayed(t)
}

// packetDelayed reports whether an ACK is for data sent before the first retransmission (tcp_packet_delayed). After a
// NACK it is false, because ACKs of data below the NACKed one arrive all the time.
func (s *Sender) packetDelayed(t *packet.Segment) bool { return !s.known && s.undo.precedes(t) }

// undoReduction ends the reduction, and restores the earlier window if that is known (tcp_undo_cwnd_reduction). unmark:
// losses are withdrawn, too.
func (s *Sender) undoReduction(now unit.Time, unmark bool) {
	if unmark {
		s.unmarkLosses()
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

// undoRecovery ends a recovery when its data is acknowledged, with an undo if that is justified
// (tcp_try_undo_recovery).
func (s *Sender) undoRecovery(now unit.Time, t *packet.Segment) {
	if s.mayUndo(t) {
		s.undoReduction(now, false)
	} else {
		s.rack.recovered()
	}
	s.setState(now, cc.Open) // a late DSACK may still undo
}

// undoDSACK undoes a reduction if all retransmissions were duplicates (RFC 3708), and reports whether it did
// (tcp_try_undo_dsack).
func (s *Sender) undoDSACK(now unit.Time) bool {
	if !s.undo.allSpurious() {
		return false
	}
	s.rack.undone()
	s.undoReduction(now, false)
	return true
}

// undoPartial undoes a recovery after a partial ACK of original data (tcp_try_undo_partial). It returns true if the
// decision has to wait for retransmissions in flight.
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

// undoTimeout undoes a timeout, and reports whether it did (tcp_try_undo_loss). byFRTO: F-RTO found it unnecessary.
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
