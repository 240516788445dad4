package tcp

import (
	"weir/core/unit"
)

// timerKind is the purpose for which the one timer is set (icsk_pending).
type timerKind uint8

const (
	noTimer timerKind = iota
	retransmission
	lossProbe
	reorderingTimer
	persist
)

// timer is the sender's one timer.
type timer struct {
	kind timerKind
	at   unit.Time
}

// setTimer sets the one timer to expire at a time for a purpose, in place of any earlier one.
func (s *Sender) setTimer(kind timerKind, expiry unit.Time) { s.timer.kind, s.timer.at = kind, expiry }

// rearmTimer sets the retransmission timer, or stops the timer if no segment is in flight (tcp_rearm_rto).
func (s *Sender) rearmTimer(now unit.Time) {
	if s.queue.len() == 0 {
		s.setTimer(noTimer, unit.Never)
		return
	}
	at := now + s.rto.value
	if s.timer.kind == reorderingTimer || s.timer.kind == lossProbe {
		at = max(s.queue.at(s.queue.first).sent+s.rto.value, now+1)
	}
	s.setTimer(retransmission, at)
}

// Advance runs the controller's timer and the sender's, if they have expired, and plans the next segment. After the
// last SYN without an answer it closes the connection.
func (s *Sender) Advance(now unit.Time) {
	s.control.RunTimer(now)
	if s.timer.at > now {
		s.planNext(now)
		return
	}
	switch kind := s.timer.kind; {
	case s.phase == opening:
		if !s.rto.repeatSYN() {
			s.closeConnection()
			return
		}
		s.syn.resent = true
		s.setTimer(noTimer, unit.Never)
		s.plan.action, s.plan.sendAt = sendSYN, now
		return
	case kind == retransmission:
		s.handleTimeout(now)
	case kind == lossProbe:
		s.makeProbeDue(now)
	case kind == reorderingTimer:
		s.reorderingTimeout(now)
	case kind == persist:
		if s.queue.len() > 0 {
			s.setTimer(noTimer, unit.Never)
			s.rearmTimer(now)
			break
		}
		s.windowProbe(now)
		s.setTimer(persist, now+s.rto.persist(s.config.RTOMin))
	default:
		s.setTimer(noTimer, unit.Never)
	}
	s.planNext(now)
}

// windowProbe lets planNext send into a small window the data that fits. For a closed window it requests a segment
// without data, out of sequence so that it is answered (tcp_write_wakeup).
func (s *Sender) windowProbe(now unit.Time) {
	end, _ := s.app.writtenEnd(now, s.next, s.mss)
	left := min(end-s.next, s.mss)
	if s.squeeze = left > 0 && s.una+s.peer.window > s.next; !s.squeeze {
		s.probeWindow = true
	}
}
