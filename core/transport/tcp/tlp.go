package tcp

import (
	"weir/core/cc"
	"weir/core/unit"
)

// tlp is the state of the tail loss probe (RFC 8985 §7.1): a segment that is sent when ACKs
// stay away, so that RACK finds losses at the end of a flight without a timeout.
type tlp struct {
	end      int64 // TLP.end_seq: SND.NXT when the outstanding probe was sent; −1: none is
	resent   bool  // TLP.is_retrans
	sendNew  bool  // a probe is due: new data
	sendLast bool  // a probe is due: the last segment again
}

// outstanding reports whether a probe was sent and not answered yet.
func (p *tlp) outstanding() bool { return p.end >= 0 }

// clear forgets the outstanding probe.
func (p *tlp) clear() { p.end = -1 }

// cancel takes back a probe that is due.
func (p *tlp) cancel() { p.sendNew, p.sendLast = false, false }

// sent notes that a probe was sent, with next as SND.NXT (§7.3).
func (p *tlp) sent(next int64, resent bool) { p.end, p.resent = next, resent }

// timeout is the PTO of §7.2: two round trips; for a single segment the longest delay of an
// ACK more, for which Linux takes the least RTO, else two ticks; 1 s before the first sample.
func (p *tlp) timeout(e *rttEstimator, segments int, least unit.Time) unit.Time {
	switch {
	case e.srtt == 0:
		return initialRTO
	case segments == 1:
		return e.srtt/4 + least
	}
	return e.srtt/4 + probeSlack
}

// acked is called for an ACK while a probe is outstanding (§7.4.2, tcp_process_tlp_ack). It
// returns true if the probe has repaired a loss, which is a reason to reduce.
func (p *tlp) acked(ack int64, flags uint16) (repaired bool) {
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

// scheduleProbe is tcp_schedule_loss_probe: the probe timeout of RFC 8985 §7.2, but not beyond
// the retransmission timeout.
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

// probe is tcp_send_loss_probe (RFC 8985 §7.3): new data if there is any, else the
// last segment.
func (s *Sender) probe(now unit.Time) {
	if !s.tlp.outstanding() && s.queue.len() > 0 {
		s.setTimer(noTimer, unit.Never)
		s.tlp.sendNew = true
		if end, _ := s.app.written(now, s.next, s.mss); min(end, s.una+s.buffered()) <= s.next {
			s.tlp.sendNew, s.tlp.sendLast = false, true
		}
	}
	s.rearm(now)
}

// tlpAcked reduces if the probe has repaired a loss (RFC 8985 §7.4.2).
func (s *Sender) tlpAcked(now unit.Time, ack int64, e *event) {
	if s.tlp.acked(ack, e.flags) && s.state < cc.Reduced {
		s.startReduction(now, cc.Loss{Kind: cc.FastRecovery})
		s.setState(now, cc.Reduced)
		s.endReduction()
		s.keepOpen(now)
	}
}
