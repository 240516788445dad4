package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// currentRTO returns the retransmission timeout. It has a floor, which is lower when few packets are in flight (IRN
// §3.1). It is SRTT + 4 RTTVAR (RFC 6298 §2.3) if that is more, at least 1¼ SRTT, and doubles for each timeout since
// there was progress (RFC 6298 §5.5).
func (r *recovery) currentRTO() unit.Time { return r.timeoutAfter(r.inFlight(), r.timer.Backoff) }

// timeoutAfter returns the timeout with inFlight packets in flight, after backoff doublings.
func (r *recovery) timeoutAfter(inFlight int64, backoff int) unit.Time {
	floor := r.timer.Floor
	if r.config.RTOLow > 0 && inFlight <= int64(r.config.RTOLowPackets) {
		floor = r.config.RTOLow
	}
	return r.timer.TimeoutWith(floor, backoff)
}

// handleTimeout declares all packets in flight lost, and notifies the controller of a timeout. Go-back-N resends from
// the first byte that is not acknowledged. Selective repeat resends the first packet (IRN §3.1), and either all others
// or those that SACKs show to be lost.
func (s *Sender) handleTimeout(now unit.Time) {
	s.timer.RecordExpiry(now)
	lost := int(s.inFlight())
	if s.repeats {
		for n := s.una; n < s.top; n++ {
			s.packetState(n).flags &^= resent
			s.expirePacket(n)
		}
		s.hint = s.una
		if s.eligible = max(s.eligible, s.una+1); s.config.Resends == resendAll {
			s.eligible = s.top
		}
		s.judged = max(s.judged, s.top)
	} else {
		s.goBackTo(s.una, packet.ResentTimeout)
	}
	s.recordTimeout(now, lost)
}

// resendCause returns why packet x is resent, by the flags of its last transmission; with go-back-N, why next last fell
// behind top.
func (r *recovery) resendCause(x *sent) packet.ResendCause {
	switch {
	case !r.repeats && r.config.Recovery == GoBackN:
		return r.goBack
	case x.flags&nacked != 0:
		return packet.ResentSwitch
	case x.flags&expired != 0:
		return packet.ResentTimeout
	case x.flags&proven != 0:
		return packet.ResentProbe
	}
	return packet.ResentReceiver
}

// unaTime returns when the first unacknowledged packet was sent, or when the limit of the LossTimer last expired if
// that was later.
func (r *recovery) unaTime() unit.Time { return max(r.packetState(r.una).sentAt, r.limitedAt) }

// lossTimeout handles the expiry of the LossTimer. It sends a probe or, when the path cannot hold the first packet any
// more, declares packets lost that were sent as long ago.
func (s *Sender) lossTimeout(now unit.Time) {
	s.timer.RecordExpiry(now)
	if !s.loss.HasExpired(now, s.unaTime()) {
		s.loss.ProbeDue = true
		return
	}
	s.limitedAt = now
	s.loss.DoubleLimit()
	s.recordTimeout(now, s.declareLostBefore(now-s.loss.Limit+1, expired))
}

// recordTimeout counts a retransmission timeout that found lost packets lost, and enters the state Timeout, which
// notifies the controller.
func (s *Sender) recordTimeout(now unit.Time, lost int) {
	s.timer.Timeouts++
	s.lostTotal += int64(lost)
	s.enterState(now, cc.Timeout, cc.Loss{Kind: cc.RetransmissionTimeout, Lost: lost, Again: s.control.State != cc.Open})
}

// declareLostBefore declares packets lost that were last sent before the deadline and are not acknowledged, resent ones
// as well. why is the flag of the reason. It returns the number of packets newly lost. Go-back-N goes back to the first
// unacknowledged packet if that is such a packet, and counts one.
func (r *recovery) declareLostBefore(deadline unit.Time, why uint16) (lost int) {
	if !r.repeats {
		if r.next == r.una || r.packetState(r.una).sentAt >= deadline {
			return 0
		}
		if r.goBackTo(r.una, packet.ResentTimeout); why == proven {
			r.goBack = packet.ResentProbe
		}
		return 1
	}
	for n := r.una; n < r.top; n++ {
		if x := r.packetState(n); x.sentAt < deadline && x.flags&sacked == 0 {
			x.flags &^= resent
			if r.declareLost(n) > 0 {
				x.flags |= why
				lost++
			}
			r.judged, r.eligible = max(r.judged, n+1), max(r.eligible, n+1)
		}
	}
	return lost
}

// lossProbe returns the timer that asks for a probe on path k; nil: the probe is for telemetry.
func (r *recovery) lossProbe(k int) *transport.LossTimer {
	switch {
	case r.paths != nil && r.loss.Enabled && r.paths.each[k].silent:
		return &r.paths.each[k].loss
	case r.loss.ProbeDue:
		return &r.loss
	}
	return nil
}

// number24 returns the sequence number of probe number of a LossTimer on path k, which identifies its answer, and
// stores it as the path's latest one. It is beyond all packets that can be in flight.
func (r *recovery) number24(number int64, k int) int64 {
	const numbers = 1 << 14
	n := (r.una + 2*maxOutstanding + number%numbers*maxPaths + int64(k)) & packet.PSNMask
	if r.paths != nil {
		r.paths.each[k].probeSeq = n
	} else {
		r.probeSeq = n
	}
	return n
}

// receiveProbeReply handles p, the answer to a probe. It reports whether the probe was the latest one of the LossTimer.
// Then packets sent before the probe have arrived or are lost; p may be handled as an ACK, and changes.
func (s *Sender) receiveProbeReply(now unit.Time, p *packet.Packet) bool {
	l, number := &s.loss, s.probeSeq
	if s.paths != nil {
		x := &s.paths.each[s.paths.selected]
		l, number = &x.loss, x.probeSeq
	}
	if l.UnansweredProbe() == 0 || p.Seq != number {
		return false
	}
	sent := l.RecordProbeAnswer()
	if s.paths != nil {
		s.loss.RecordAnswer()
		s.paths.recordAnswer(now, s.paths.selected)
	}
	ack := s.findPacket(p.Ack, s.una)
	if ack < 0 || ack > s.top {
		return true
	}
	s.timer.Trip.AddProbeSample(max(now-sent, 1))
	if ack > s.una { // acknowledgements were lost, or wait
		p.Kind, p.Seq = packet.Ack, s.top&packet.PSNMask
		s.handleAck(now, p)
	}
	if s.una == s.packets || s.una == s.top {
		return true
	}
	lost := 0
	switch {
	case s.paths != nil:
		s.orders[s.paths.selected].recordDelivered(now, sent)
		lost = s.findOverdue(now)
	case s.orders != nil: // within the reordering window
		s.orders[0].recordDelivered(now, sent)
		lost = s.findOverdue(now)
	case s.loss.ProbesProve:
		lost = s.declareLostBefore(sent, proven)
	}
	if lost > 0 {
		s.timer.WaitStart = now
		s.recordTimeout(now, lost)
	}
	return true
}
