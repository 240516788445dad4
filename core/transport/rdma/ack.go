package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// deliver notes that packet n has arrived.
func (s *Sender) deliver(now unit.Time, n int64, e *sampling) {
	x := s.at(n)
	if s.orders != nil {
		s.follow(now, x)
	}
	if x.flags&gone != 0 {
		s.remain(x)
	}
	s.report.Packets++
	s.report.Bytes += unit.Bytes(s.bytes(n))
	s.delivered++
	if !e.has || x.delivered > e.delivered || x.delivered == e.delivered && x.at >= e.at {
		e.sent, e.has = *x, true
	}
}

// acknowledged takes an ACK or NACK.
func (s *Sender) acknowledged(now unit.Time, p *packet.Packet) {
	ack, about := s.number(p.Ack, s.una), s.number(p.Seq, s.una)
	if ack < 0 || ack > s.top {
		return
	}
	if s.paths != nil {
		s.paths.alive(now, s.paths.now)
	}
	if s.orders != nil {
		s.heard(now, about)
	}
	prior := s.inFlight()
	full := s.full(prior)
	s.report = cc.Ack{}
	s.loss.Answered()
	var e sampling
	var rtt unit.Time
	out := about >= s.una && about < s.top
	if out {
		if x := s.at(about); x.flags&(everSent|sacked) == 0 && (about < ack || p.Kind == packet.Nack && s.repeats) {
			rtt = max(now-x.at, 1)
		}
	}
	if ack > s.una {
		for n := s.una; n < ack; n++ {
			if s.at(n).flags&sacked != 0 {
				s.sackedOut--
			} else {
				s.deliver(now, n, &e)
			}
		}
		s.una = ack
		s.next = max(s.next, ack)
		s.backoff, s.timerFrom = 0, now
		s.report.Advanced = true
		if ack == s.packets && s.counters.Finished == unit.Never {
			s.counters.Finished = now
		}
	}
	lost := 0
	if p.Kind == packet.Nack {
		lost = s.negative(now, ack, about, &e)
	}
	if s.orders != nil {
		lost += s.overdue(now)
	}
	if out || s.report.Packets > 0 { // a packet has left the network, also if the receiver did not want it
		s.hold.Delivered(max(s.report.Packets, 1), s.trip())
	}
	if s.asker.Read(now, p, &s.report) {
		if about >= 0 {
			s.report.Seq = s.seq(about + 1)
		}
	} else if s.report.Packets == 0 && lost == 0 {
		return
	}
	s.asker.Answered(p, &s.report.Telemetry)
	if rtt > 0 {
		s.roundTrip.Measure(rtt)
	}
	if s.delivered > s.appLimited {
		s.appLimited = 0
	}
	s.lostTotal += int64(lost)
	s.updateState(now, lost, s.report.Packets > 0 && p.TCP.Flags&packet.ECE != 0)
	s.conclude(now, p, lost, rtt, prior, full, &e)
}

// negative takes what a NACK says beyond its acknowledgement and returns how many
// packets are found lost.
func (s *Sender) negative(now unit.Time, ack, about int64, e *sampling) (lost int) {
	if !s.repeats {
		if s.config.Recovery == GoBackN && ack == s.una && s.next > s.una && !s.repaired(now) { // HPCC simulator
			s.next, s.goBack = s.una, packet.ResentReceiver
			return 1
		}
		return 0
	}
	if about >= s.una && about < s.top && about > ack {
		if x := s.at(about); x.flags&sacked == 0 {
			s.deliver(now, about, e)
			x.flags |= sacked
			s.sackedOut++
		}
		if s.orders == nil { // IRN §3.1: a packet is lost if one with a higher number was received.
			for n := max(s.judged, s.una); n < about; n++ {
				lost += s.judge(n)
			}
			s.judged, s.eligible = max(s.judged, about), max(s.eligible, about)
		}
	}
	if about == ack && ack == s.una && s.una < s.top { // its first packet was trimmed
		lost += s.judge(s.una)
		s.judged, s.eligible = max(s.judged, s.una+1), max(s.eligible, s.una+1)
	}
	return lost
}

// judge takes packet n for lost, unless it is known to be there, or to be sent again.
func (s *Sender) judge(n int64) int {
	x := s.at(n)
	if x.flags&(sacked|gone|resent) != 0 {
		return 0
	}
	x.flags |= gone
	s.goneOut++
	if s.paths != nil {
		s.paths.each[x.path].out--
	}
	s.hint = min(s.hint, n)
	return 1
}

// expire takes packet n for lost as judge does, because no answer arrived in time.
func (s *Sender) expire(n int64) int {
	lost := s.judge(n)
	if lost > 0 {
		s.at(n).flags |= expired
	}
	return lost
}

// updateState changes the state of recovery after an acknowledgement. An echo of a mark is a
// reduction once per window of data (RFC 8257 §3.3), unless CNPs stand for it.
func (s *Sender) updateState(now unit.Time, lost int, echoed bool) {
	if s.state != cc.Open && s.una >= s.recover {
		s.state = cc.Open
		s.changeState(now, cc.Loss{Kind: cc.Recovered})
		if t := &s.tolerance; t.steps > 1 {
			if t.recovered--; t.recovered <= 0 {
				t.steps = 1
			}
		}
		lost = max(lost, s.goneOut-s.namedOut) // lost while the recovery went on
	}
	switch {
	case lost > 0 && s.state == cc.Open:
		s.state, s.recover = cc.Recovery, s.top
		s.changeState(now, cc.Loss{Kind: cc.FastRecovery, Lost: lost})
	case lost > 0 && s.state == cc.Reduced:
		s.state, s.recover = cc.Recovery, s.top
		s.changeState(now, cc.Loss{Kind: cc.LossInReduction, Lost: lost})
	case echoed && s.state == cc.Open && s.config.ECN == ECNEcho && s.una < s.packets:
		s.state, s.recover = cc.Reduced, s.top
		s.changeState(now, cc.Loss{Kind: cc.ECNEcho})
	}
}

// changeState tells the controller of a change of state.
func (s *Sender) changeState(now unit.Time, l cc.Loss) {
	if l.Kind != cc.Recovered {
		s.gate.Note(now) // NACKs count what else reduces
	}
	l.InFlight, l.Next, l.LostTotal = int(s.inFlight()), s.seq(s.top), s.lostTotal
	s.control.OnLoss(now, l)
	s.decide()
}

// conclude lets the controller decide about an acknowledgement.
func (s *Sender) conclude(now unit.Time, p *packet.Packet, lost int, rtt unit.Time, prior int64, full bool,
	e *sampling) {
	a := &s.report
	a.ECN.Echo = p.TCP.Flags&packet.ECE != 0
	if a.ECN.Echo {
		s.deliveredCE += int64(a.Packets)
	}
	a.Una, a.Next, a.Losses.New = s.seq(s.una), s.seq(s.top), lost
	a.Delivered, a.ECN.Delivered, a.Losses.Total = s.delivered, s.deliveredCE, s.lostTotal
	a.RTT.Sample, a.RTT.Smoothed, a.RTT.Min = rtt, s.roundTrip.Smoothed, s.roundTrip.Min
	a.RTT.Delayed = s.config.AckEvery > 1 && a.Packets < s.config.AckEvery && (!e.has || e.flags&unasked != 0)
	a.Flight.Before, a.Flight.After, a.Flight.NextSend = int(prior), int(s.inFlight()), max(now, s.pacedUntil)
	a.Limited, a.Losses.State = full, s.state
	if e.has {
		s.firstSent, s.deliveredAt = e.at, now
		d := cc.Delivery{Packets: int(s.delivered - e.delivered), Interval: max(e.at-e.first, now-e.deliveredAt),
			PriorDelivered: e.delivered, AppLimited: e.flags&limited != 0, Retransmitted: e.flags&everSent != 0}
		if d.Interval >= s.roundTrip.Min && d.Interval > 0 { // a shorter one is of a spurious retransmission
			a.Delivery = d
		}
	}
	s.control.OnAck(now, a)
	s.decide()
	if s.decision.AppLimited {
		s.appLimited = max(s.delivered+s.inFlight(), 1)
	}
}

// full reports whether the window limits the sender with so many packets in flight. A flow with several paths has a
// window on each: then it is the window of the path of the acknowledgement.
func (s *Sender) full(inFlight int64) bool {
	d := &s.decision
	if s.paths != nil {
		p := &s.paths.each[s.paths.now]
		d, inFlight = &p.decision, p.out
	}
	return transport.IsWindowLimited(d, inFlight*s.payload, s.payload)
}
