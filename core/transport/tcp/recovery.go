package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// recovery is the sender's state of the recovery from losses.
type recovery struct {
	state   cc.RecoveryState
	quiet   bool // Recovery from the losses that NACKs report, without a reduction
	cwrDue  bool // CWR is to be sent
	frto    frto
	highSeq int64 // SND.NXT when the state was entered

	rack rack
	prr  prr
	tlp  tlp
	undo undo

	totalResent int
	dsackDups   int
}

// newRecovery returns the state without losses.
func newRecovery() recovery {
	return recovery{rack: newRACK(), tlp: tlp{end: -1}, undo: undo{marker: -1, resent: -1}}
}

// isReducing reports whether PRR limits the packets in flight (tcp_in_cwnd_reduction).
func (r *recovery) isReducing() bool {
	return r.state == cc.Reduced || r.state == cc.Recovery && !r.quiet
}

// handleAlert is the state machine of recovery after an ACK with effects e (tcp_fastretrans_alert). It ends states
// whose data is acknowledged, undoes spurious reductions, finds losses, and enters Recovery or Reduced.
func (s *Sender) handleAlert(now unit.Time, p *packet.Packet, e *event) {
	t := &p.TCP
	if e.flags&echoed != 0 {
		s.undo.possible = false
	}
	if s.handleReneging(now, e) {
		return
	}
	// D. states that end when high_seq is acknowledged
	if s.state == cc.Open {
		s.undo.stamp = 0
	} else if s.una >= s.highSeq {
		switch s.state {
		case cc.Reduced:
			if s.una != s.highSeq {
				s.endReduction()
				s.setState(now, cc.Open)
			}
		case cc.Recovery:
			s.undoRecovery(now, t)
			s.endReduction()
		}
	}
	// E.
	switch s.state {
	case cc.Recovery:
		if e.flags&advanced != 0 && s.undoPartial(now, t, e) {
			return
		}
		if s.undoDSACK(now) {
			s.tryOpen(now, e)
		}
		before := s.lostTotal
		s.identifyLosses(now, e)
		if s.quiet && s.state == cc.Recovery && s.lostTotal > before { // losses that no NACK has reported
			s.enterRecovery(now, e)
		}
		if s.state != cc.Recovery {
			if s.lostOut == 0 {
				return
			}
			s.enterRecovery(now, e)
		}
	case cc.Timeout:
		s.inTimeout(now, t, e)
		s.identifyLosses(now, e)
		if s.state != cc.Open && e.flags&lostResent == 0 {
			return
		}
		if s.state <= cc.Disorder {
			s.undoDSACK(now)
		}
		s.toRecover(now, e)
	default:
		if s.state <= cc.Disorder {
			s.undoDSACK(now)
		}
		s.identifyLosses(now, e)
		s.toRecover(now, e)
	}
}

// toRecover enters Recovery if a segment is lost, or else Open, Disorder or Reduced (tcp_time_to_recover).
func (s *Sender) toRecover(now unit.Time, e *event) {
	if s.lostOut == 0 { // tcp_time_to_recover
		s.tryOpen(now, e)
		return
	}
	s.enterRecovery(now, e)
}

// setState changes the state, and notifies the controller of the end of a recovery with a reduction.
func (s *Sender) setState(now unit.Time, state cc.RecoveryState) {
	if s.state == state {
		return
	}
	before, quiet := s.state, s.quiet
	s.state = state
	if state != cc.Recovery {
		s.quiet = false
	}
	if before >= cc.Reduced && state < cc.Reduced && !quiet {
		s.changeState(now, cc.Loss{Kind: cc.Recovered})
	}
}

// tryOpen enters Reduced after an ECN echo, or else Open or Disorder (tcp_try_to_open).
func (s *Sender) tryOpen(now unit.Time, e *event) {
	if !s.anyResent() {
		s.undo.stamp = 0
	}
	if e.flags&echoed != 0 {
		s.enterReduced(now, cc.Loss{Kind: cc.ECNEcho})
	}
	if s.state != cc.Reduced {
		s.keepOpen(now)
	}
}

// keepOpen enters Open, or Disorder if segments are SACKed, lost or resent (tcp_try_keep_open).
func (s *Sender) keepOpen(now unit.Time) {
	state := cc.Open
	if s.sackedOut+s.lostOut > 0 || s.anyResent() {
		state = cc.Disorder
	}
	if s.state != state {
		s.setState(now, state)
		s.highSeq = s.next
	}
}

// enterReduced enters Reduced with a reduction for l, unless a recovery is in progress (tcp_enter_cwr).
func (s *Sender) enterReduced(now unit.Time, l cc.Loss) {
	s.undo.possible = false
	if s.state < cc.Reduced {
		s.undo.disarm()
		s.startReduction(now, l)
		s.setState(now, cc.Reduced)
	}
}

// enterRecovery enters Recovery with a reduction, or by NACKs if they reported all losses (tcp_enter_recovery).
func (s *Sender) enterRecovery(now unit.Time, e *event) {
	if s.onlyNacked() {
		s.enterNackRecovery(now, s.mayReduce(now, now))
		return
	}
	s.undo.possible = false
	s.armUndo()
	if !s.isReducing() {
		s.undo.possible = e.flags&echoed == 0
		s.startReduction(now, cc.Loss{Kind: cc.FastRecovery})
	} else if s.state == cc.Reduced {
		s.changeState(now, cc.Loss{Kind: cc.LossInReduction})
	}
	s.setState(now, cc.Recovery)
}

// startReduction starts PRR and notifies the controller of l (tcp_init_cwnd_reduction). It ends a tail loss probe, and
// with ECN requests CWR.
func (s *Sender) startReduction(now unit.Time, l cc.Loss) {
	s.highSeq = s.next
	s.tlp.clear()
	s.prr.start(s.cwnd())
	s.changeState(now, l)
	s.quiet = false
	s.control.Gate.RecordReduction(now)
	if s.ecn {
		s.cwrDue = true
	}
}

// endReduction ends PRR: then the window is the controller's (tcp_end_cwnd_reduction). The measurement of the window's
// use restarts.
func (s *Sender) endReduction() {
	s.prr.end()
	s.usage.used = 0
	s.usage.since = max(s.usage.since, s.control.Pacer.LastSend)
}

// reorderingWindow returns how long RACK waits for late segments.
func (s *Sender) reorderingWindow() unit.Time {
	return s.rack.window(s.rtt.min.get(), s.rtt.smoothed(), s.sackedOut, s.state >= cc.Recovery)
}

// identifyLosses marks segments lost with RACK if a segment was delivered since the last call
// (tcp_identify_packet_loss). It sets the reordering timer for those that may be lost later, and flags a lost
// retransmission in e.
func (s *Sender) identifyLosses(now unit.Time, e *event) {
	if !s.rack.advanced {
		return
	}
	before := s.resentOut
	s.rack.advanced = false
	if wait := s.detectLoss(&s.rack, now, s.reorderingWindow()); wait > 0 {
		s.setTimer(reorderingTimer, now+wait+probeSlack)
		e.flags &^= setTimer
	}
	if before > s.resentOut {
		e.flags |= lostResent
	}
}

// reorderingTimeout marks segments lost with RACK when its timer expires, enters Recovery if there are any, and sets
// the timer again (tcp_rack_reo_timeout).
func (s *Sender) reorderingTimeout(now unit.Time) {
	inFlight := s.inFlight()
	s.detectLoss(&s.rack, now, s.reorderingWindow())
	if inFlight != s.inFlight() && (s.state != cc.Recovery || s.quiet) {
		var e event
		s.enterRecovery(now, &e)
		if !s.ownRecovery {
			s.updateReduction(1, false)
		}
	}
	s.rearmTimer(now)
}

// updateReduction updates PRR's limit of packets in flight after a number of deliveries (tcp_cwnd_reduction). safe: the
// ACK has advanced and found no loss.
func (s *Sender) updateReduction(delivered int, safe bool) {
	s.prr.updateOnAck(delivered, s.inFlight(), max(int(int64(s.control.Decision.Window)/s.mss), 1), safe)
}
