package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// frto is the state of F-RTO (RFC 5682 §3.1), which finds unnecessary timeouts.
type frto struct {
	active  bool // a timeout is being examined
	sendNew bool // step 2b: new data is to be sent, and no retransmission
}

// end ends F-RTO without a result: the usual recovery follows.
func (f *frto) end() { f.active, f.sendNew = false, false }

// handleReneging reports whether the receiver has dropped SACKed data: its acknowledgement ends exactly where that
// begins. The timer is set then (tcp_check_sack_reneging).
func (s *Sender) handleReneging(now unit.Time, e *event) bool {
	if e.flags&advanced == 0 || s.queue.len() == 0 || s.queue.at(s.queue.first).flags&sacked == 0 {
		return false
	}
	// Linux waits for half an RTT, at least 10 ms, before it acts on that.
	s.setTimer(retransmission, now+max(s.rtt.srtt/16, 10*unit.Millisecond))
	e.flags &^= setTimer
	return true
}

// handleTimeout handles the retransmission timeout: it marks segments lost and notifies the controller
// (tcp_retransmit_timer, tcp_enter_loss). After the maximum number of retries it closes the connection.
func (s *Sender) handleTimeout(now unit.Time) {
	if s.queue.len() == 0 {
		s.setTimer(noTimer, unit.Never)
		return
	}
	if s.rto.mustGiveUp(s.peer.window == 0) {
		s.closeConnection()
		return
	}
	s.rto.timeouts++
	head := s.queue.at(s.queue.first)
	newRecovery := s.state < cc.Recovery
	reneged := head.flags&sacked != 0
	if reneged { // the receiver has dropped what it had SACKed (RFC 2018 §8)
		s.removeSACKs()
	}
	for n := s.queue.first; n != s.queue.end; n++ {
		g := s.queue.at(n)
		if n != s.queue.first && !reneged && g.flags&sacked == 0 && s.rack.rtt-(now-g.sent) > 0 {
			continue // sent a short time ago
		}
		s.markLost(n)
		s.queue.remove(n)
	}
	again := !(s.state <= cc.Disorder || s.una >= s.highSeq || s.state == cc.Timeout && s.rto.retries == 0)
	if !again {
		s.undo.possible = true
		s.armUndo()
	}
	if s.state <= cc.Disorder && s.sackedOut >= reordering { // then it was no reordering
		s.rack.reordering = min(s.rack.reordering, reordering)
	}
	s.prr.end()
	s.usage.used, s.usage.since = 0, now
	s.state, s.quiet = cc.Timeout, false
	s.changeState(now, cc.Loss{Kind: cc.RetransmissionTimeout, Again: again})
	s.resetHoldOff(now)
	s.highSeq = s.next
	s.tlp.clear()
	s.tlp.cancel()
	s.burst.left = 0
	if s.ecn {
		s.cwrDue = true
	}
	s.frto.active = newRecovery || s.rto.retries > 0
	s.frto.sendNew = false
	s.rto.expire()
	s.setTimer(retransmission, now+s.rto.value)
}

// inTimeout handles an ACK with effects e in the state Timeout, by F-RTO; it may undo the timeout, end the state or
// request new data (tcp_process_loss; RFC 5682 §3.1, the SACK-enhanced version).
func (s *Sender) inTimeout(now unit.Time, t *packet.Segment, e *event) {
	recovered := s.una >= s.highSeq
	if e.flags&advanced != 0 && s.undoTimeout(now, t, false) {
		return
	}
	if s.frto.active {
		// Step 3b: data that was never resent has arrived.
		if e.flags&originalSacked != 0 && s.undoTimeout(now, t, true) {
			return
		}
		if s.next > s.highSeq {
			if e.flags&dataSacked != 0 || e.duplicate {
				s.frto.active = false // step 3a: the loss was real
			}
		} else if e.flags&advanced != 0 && !recovered {
			s.highSeq = s.next // step 2b: send new data
			if end, _ := s.app.writtenEnd(now, s.next, s.mss); end > s.next && s.una+s.peer.window > s.next {
				s.frto.sendNew = true
				return
			}
			s.frto.active = false
		}
	}
	if recovered { // step 2a
		s.undoRecovery(now, t)
	}
}
