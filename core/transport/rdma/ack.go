package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// recordDelivery records that packet n, in the window and not SACKed, has arrived. It counts n in the report, and
// stores n's state in e if n was sent last of those delivered.
func (s *Sender) recordDelivery(now unit.Time, n int64, e *sampling) {
	x := s.packetState(n)
	if s.orders != nil {
		s.trackArrival(now, x)
	}
	if x.flags&gone != 0 {
		s.uncountLost(x)
	}
	s.report.Packets++
	s.report.Bytes += unit.Bytes(s.payloadOf(n))
	s.rate.Delivered++
	if !e.has || x.Delivered > e.Delivered || x.Delivered == e.Delivered && x.sentAt >= e.sentAt {
		e.sent, e.has = *x, true
	}
}

// handleAck handles an ACK or NACK p of the receiver: it moves the window, declares packets lost, updates recovery and
// calls the controller's OnAck. One that acknowledges packets never sent has no effect, and one without news calls no
// OnAck.
func (s *Sender) handleAck(now unit.Time, p *packet.Packet) {
	ack, about := s.findPacket(p.Ack, s.una), s.findPacket(p.Seq, s.una)
	if ack < 0 || ack > s.top {
		return
	}
	if s.paths != nil {
		s.paths.recordAnswer(now, s.paths.selected)
	}
	if s.orders != nil {
		s.recordAnswer(now, about, s.payload)
	}
	prior := s.inFlight()
	full := s.isLimited(prior)
	s.report = cc.Ack{}
	s.loss.RecordAnswer()
	var e sampling
	var rtt unit.Time
	out := about >= s.una && about < s.top
	if out {
		if x := s.packetState(about); x.flags&(everSent|sacked) == 0 && (about < ack || p.Kind == packet.Nack && s.repeats) {
			rtt = max(now-x.sentAt, 1)
		}
	}
	if ack > s.una {
		for n := s.una; n < ack; n++ {
			if s.packetState(n).flags&sacked != 0 {
				s.sackedOut--
			} else {
				s.recordDelivery(now, n, &e)
			}
		}
		s.una = ack
		s.next = max(s.next, ack)
		s.timer.RestartWait(now)
		s.report.Advanced = true
		if ack == s.packets && s.counters.Finished == unit.Never {
			s.counters.Finished = now
		}
	}
	lost := 0
	if p.Kind == packet.Nack {
		lost = s.handleReceiverNack(now, ack, about, &e)
	}
	if s.orders != nil {
		lost += s.findOverdue(now)
	}
	if out || s.report.Packets > 0 { // a packet has left the network, also if the receiver dropped it
		s.hold.HandleDelivery(max(s.report.Packets, 1), s.nackRTT())
	}
	if s.requester.ReadFeedback(now, p, &s.report) {
		if about >= 0 {
			s.report.Seq = s.packetSeq(about + 1)
		}
	} else if s.report.Packets == 0 && lost == 0 {
		return
	}
	s.requester.ReadAnswer(p, &s.report.Telemetry)
	if rtt > 0 {
		s.timer.Trip.AddSample(rtt)
	}
	s.rate.EndLimit()
	s.lostTotal += int64(lost)
	s.updateState(now, lost, s.report.Packets > 0 && p.TCP.Flags&packet.ECE != 0)
	s.reportAck(now, p, lost, rtt, prior, full, &e)
}

// handleReceiverNack handles the selective part of a NACK, which acknowledges packets below ack and is about packet
// about. ack is the sender's una or below. It returns the number of packets newly declared lost.
func (s *Sender) handleReceiverNack(now unit.Time, ack, about int64, e *sampling) (lost int) {
	if !s.repeats {
		if s.config.Recovery == GoBackN && ack == s.una && s.next > s.una && !s.isRepaired(now) { // HPCC simulator
			s.goBackTo(s.una, packet.ResentReceiver)
			return 1
		}
		return 0
	}
	if about >= s.una && about < s.top && about > ack {
		if x := s.packetState(about); x.flags&sacked == 0 {
			s.recordDelivery(now, about, e)
			x.flags |= sacked
			s.sackedOut++
		}
		if s.orders == nil { // IRN §3.1: a packet is lost if one with a higher number was received.
			for n := max(s.judged, s.una); n < about; n++ {
				lost += s.declareLost(n)
			}
			s.judged, s.eligible = max(s.judged, about), max(s.eligible, about)
		}
	}
	if about == ack && ack == s.una && s.una < s.top { // its first packet was trimmed
		lost += s.declareLost(s.una)
		s.judged, s.eligible = max(s.judged, s.una+1), max(s.eligible, s.una+1)
	}
	return lost
}

// declareLost declares packet n lost, unless it is SACKed, is already declared lost, or was resent since. It returns
// the number of packets newly lost.
func (r *recovery) declareLost(n int64) int {
	x := r.packetState(n)
	if x.flags&(sacked|gone|resent) != 0 {
		return 0
	}
	x.flags |= gone
	r.goneOut++
	if r.paths != nil {
		r.paths.each[x.path].out--
	}
	r.hint = min(r.hint, n)
	return 1
}

// expirePacket declares packet n lost, like declareLost, because no answer arrived in time. It returns the number of
// packets newly lost.
func (r *recovery) expirePacket(n int64) int {
	lost := r.declareLost(n)
	if lost > 0 {
		r.packetState(n).flags |= expired
	}
	return lost
}

// updateState changes the state of recovery after an acknowledgement that found lost packets lost. echoed: it echoes a
// mark, which is a reduction once per window of data (RFC 8257 §3.3), unless CNPs replace echoes.
func (s *Sender) updateState(now unit.Time, lost int, echoed bool) {
	if s.control.State != cc.Open && s.una >= s.control.RecoverTo {
		s.enterState(now, cc.Open, cc.Loss{Kind: cc.Recovered})
		if t := &s.tolerance; t.steps > 1 {
			if t.recovered--; t.recovered <= 0 {
				t.steps = 1
			}
		}
		lost = max(lost, s.goneOut-s.namedOut) // lost during the recovery
	}
	switch {
	case lost > 0 && s.control.State == cc.Open:
		s.enterState(now, cc.Recovery, cc.Loss{Kind: cc.FastRecovery, Lost: lost})
	case lost > 0 && s.control.State == cc.Reduced:
		s.enterState(now, cc.Recovery, cc.Loss{Kind: cc.LossInReduction, Lost: lost})
	case echoed && s.control.State == cc.Open && s.config.ECN == ecnEcho && s.una < s.packets:
		s.enterState(now, cc.Reduced, cc.Loss{Kind: cc.ECNEcho})
	}
}

// enterState changes the state of recovery until all packets sent so far are acknowledged, and passes l with the
// sender's counts to the controller.
func (s *Sender) enterState(now unit.Time, state cc.RecoveryState, l cc.Loss) {
	s.control.EnterState(now, state, s.top, s.countLoss(l, s.packetSeq(s.top)))
}

// countLoss returns l with the sender's counts. next is the first sequence number that was never sent.
func (o *outstanding) countLoss(l cc.Loss, next int64) cc.Loss {
	l.InFlight, l.Next, l.LostTotal = int(o.inFlight()), next, o.lostTotal
	return l
}

// reportAck completes the report with the sender's state, passes it to the controller (OnAck), and reads the decision.
// prior is the number of packets in flight before the acknowledgement, full whether the window limited the sender then.
func (s *Sender) reportAck(now unit.Time, p *packet.Packet, lost int, rtt unit.Time, prior int64, full bool,
	e *sampling) {
	a := &s.report
	a.ECN.Echo = p.TCP.Flags&packet.ECE != 0
	if a.ECN.Echo {
		s.rate.DeliveredCE += int64(a.Packets)
	}
	a.FirstUnacked, a.Next, a.Losses.New = s.packetSeq(s.una), s.packetSeq(s.top), lost
	a.Delivered, a.ECN.Delivered, a.Losses.Total = s.rate.Delivered, s.rate.DeliveredCE, s.lostTotal
	a.RTT.Sample, a.RTT.Smoothed, a.RTT.Min = rtt, s.timer.Trip.Smoothed, s.timer.Trip.Min
	a.RTT.Delayed = s.config.AckEvery > 1 && a.Packets < s.config.AckEvery && (!e.has || e.flags&unasked != 0)
	a.Flight.Before, a.Flight.After, a.Flight.NextSend = int(prior), int(s.inFlight()), max(now,
		s.control.Pacer.NextSend())
	a.Limited, a.Losses.State = full, s.control.State
	if e.has {
		s.rate.FirstSent, s.rate.DeliveredAt = e.sentAt, now
		if d, ok := s.rate.SampleRate(now, e.sentAt, &e.Departure, s.timer.Trip.Min); ok {
			d.AppLimited, d.Retransmitted = e.flags&limited != 0, e.flags&everSent != 0
			a.Delivery = d
		}
	}
	s.control.Controller.OnAck(now, a)
	s.control.ReadDecision()
	if s.control.Decision.AppLimited {
		s.rate.LimitByApplication(s.inFlight())
	}
}

// isLimited reports whether the window limits the sender with inFlight packets in flight. A flow with several paths has
// a window on each: then the window is that on the acknowledgement's path.
func (s *Sender) isLimited(inFlight int64) bool {
	d := &s.control.Decision
	if s.paths != nil {
		p := &s.paths.each[s.paths.selected]
		d, inFlight = &p.decision, p.out
	}
	return d.IsLimited(inFlight*s.payload, s.payload)
}
