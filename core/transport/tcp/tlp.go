package tcp

import (
	"weir/core/cc"
	"weir/core/unit"
)

// tlp is the state of the tail loss probe (RFC 8985 §7.1): a segment that is sent when ACKs are missing, so that RACK
// finds losses at the end of a flight without a timeout.
type tlp struct {
	end      int64 // TLP.end_seq: SND.NXT when the outstanding probe was sent; −1: no probe
	resent   bool  // TLP.is_retrans
	sendNew  bool  // a probe with new data is due
	sendLast bool  // a probe with the last segment is due
}

// outstanding reports whether a probe was sent and is not answered yet.
func (p *tlp) outstanding() bool { return p.end >= 0 }

// clear removes the outstanding probe.
func (p *tlp) clear() { p.end = -1 }

// cancel withdraws a probe that is due.
func (p *tlp) cancel() { p.sendNew, p.sendLast = false, false }

// sent records a probe that is sent, with next as SND.NXT (RFC 8985 §7.3).
func (p *tlp) sent(next int64, resent bool) { p.end, p.resent = next, resent }

// timeout returns the PTO of RFC 8985 §7.2. It is two round trips and two ticks. For a single segment the ticks are
// replaced by the longest delay of an ACK, for which Linux takes the minimum RTO, minRTO. Before the first sample it is
// 1 s.
func (p *tlp) timeout(e *rttEstimator, segments int, minRTO unit.Time) unit.Time {
	switch {
	case e.srtt == 0:
		return initialRTO
	case segments == 1:
		return e.srtt/4 + minRTO
	}
	return e.srtt/4 + probeSlack
}

// handleAck handles an ACK while a probe is outstanding (RFC 8985 §7.4.2, tcp_process_tlp_ack). The probe ends when its
// fate is known. It returns true if the probe has repaired a loss, so that a reduction is due. flags are the event's.
func (p *tlp) handleAck(ack int64, flags uint16) (repaired bool) {
	if ack < p.end {
		return false
	}
	switch {
	case !p.resent, // it was new data
		flags&dsackedTLP != 0: // both have arrived
		p.clear()
	case ack > p.end: // beyond the probe, and no DSACK: the first transmission was lost
		p.clear()
		return true
	case flags&(advanced|notDuplicate|dataSacked) == 0: // a pure duplicate: the probe's
		p.clear()
	}
	return false
}

// scheduleProbe sets the timer to the probe timeout of RFC 8985 §7.2, but not beyond the retransmission timeout
// (tcp_schedule_loss_probe). It returns false if no probe is possible. advancing: an ACK has advanced, so that the
// retransmission timeout counts from now.
func (s *Sender) scheduleProbe(now unit.Time, advancing bool) bool {
	if s.queue.len() == 0 || s.state != cc.Open && s.state != cc.Reduced {
		return false
	}
	wait := s.tlp.timeout(&s.rtt, s.queue.len(), s.config.RTOMin)
	left := s.rto.value
	if !advancing {
		left = s.queue.at(s.queue.first).sent + s.rto.value - now
	}
	if left > 0 {
		wait = min(wait, left)
	}
	s.setTimer(lossProbe, now+wait)
	return true
}

// makeProbeDue makes a probe due: new data if there is any, else the last segment (tcp_send_loss_probe, RFC 8985 §7.3).
func (s *Sender) makeProbeDue(now unit.Time) {
	if !s.tlp.outstanding() && s.queue.len() > 0 {
		s.setTimer(noTimer, unit.Never)
		s.tlp.sendNew = true
		if end, _ := s.app.writtenEnd(now, s.next, s.mss); min(end, s.una+s.sendBufferBytes()) <= s.next {
			s.tlp.sendNew, s.tlp.sendLast = false, true
		}
	}
	s.rearmTimer(now)
}

// tlpAcked handles an ACK while a probe is outstanding. If the probe has repaired a loss, it notifies the controller of
// a reduction, which ends at once (RFC 8985 §7.4.2).
func (s *Sender) tlpAcked(now unit.Time, ack int64, e *event) {
	if s.tlp.handleAck(ack, e.flags) && s.state < cc.Reduced {
		s.startReduction(now, cc.Loss{Kind: cc.FastRecovery})
		s.setState(now, cc.Reduced)
		s.endReduction()
		s.keepOpen(now)
	}
}
