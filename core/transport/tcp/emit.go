package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// Emit fills p with the planned segment, or a probe for telemetry that is due. It records the segment and plans the
// next one.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	t := &p.TCP
	if s.probeAt() <= now { // draft-miao §6.1, guideline 4; without data, since TCP has no other probe
		s.requester.AskByProbe(now, p)
		s.fillAck(now, p)
		return
	}
	switch s.plan.action {
	case sendSYN:
		if s.phase == idle {
			s.phase = opening
			s.control.Pacer.LastSend = now
		}
		p.Seq = s.initial
		t.Flags, t.Window, t.MSS = packet.SYN, 65535, uint16(s.mss+timestampBytes)
		t.Present, t.Scale = packet.HasSACKPermitted|packet.HasScale, s.scale
		if s.config.ECN && !(s.syn.resent && s.config.ECNFallback) { // tcp_ecn_clear_syn
			t.Flags |= packet.ECE | packet.CWR // RFC 3168 §6.1.1
		}
		writeStamp(t, now, 0)
		s.fillHeaders(p, 0, s.ecnOf(true))
		s.syn.sentAt, s.next = now, s.initial+1
		s.setTimer(retransmission, now+s.rto.value)
		s.plan.action, s.plan.sendAt = nothing, unit.Never
		return
	case sendProbe:
		s.probeWindow = false
		s.fillAck(now, p)
		p.Seq = s.una - 1
	case sendResent:
		s.emitResent(now, p)
	case sendNew:
		if s.plan.bytes == 0 { // it waited for the application
			s.planNext(now)
		}
		switch s.plan.action {
		case sendNew:
			s.sendNew(now, p)
		case sendResent:
			s.emitResent(now, p)
		default:
			s.fillAck(now, p) // no segment may be sent any more; an ACK does no harm
		}
	}
	s.planNext(now)
}

// ecnOf returns the ECN field of a segment. Data that is sent for the first time is ECT (RFC 3168 §6.1.2, §6.1.5). With
// DCTCP every segment is (tcp_ecn_send). control: the segment has no new data.
func (s *Sender) ecnOf(control bool) uint8 {
	if s.dctcp || s.ecn && !control {
		return packet.ECT0
	}
	return packet.NotECT
}

// fillAck fills p, with an empty p.TCP, with a pure ACK of the peer's data at the sequence number next. It changes no
// state.
func (s *Sender) fillAck(now unit.Time, p *packet.Packet) {
	p.Seq, p.Ack = s.next, s.peer.next
	p.TCP.Flags, p.TCP.Window = packet.ACK, 65535>>s.scale
	writeStamp(&p.TCP, now, s.peer.tsRecent)
	s.fillHeaders(p, 0, s.ecnOf(true))
}

// sendNew fills p with the next new segment, and records it. After an idle time the window first becomes smaller. It
// notifies the controller (OnSend), and sets the timer.
func (s *Sender) sendNew(now unit.Time, p *packet.Packet) {
	// tcp_slow_start_after_idle_check
	if !s.ownRecovery && s.queue.len() == 0 && now-s.control.Pacer.LastSend > s.rto.value {
		window, least := s.cwnd(), min(s.config.InitialWindow, s.cwnd())
		for gone := now - s.control.Pacer.LastSend - s.rto.value; gone > 0 && window > least; gone -= s.rto.value {
			window /= 2
		}
		s.changeState(now, cc.Loss{Kind: cc.Idled, Window: max(window, least)})
		s.usage.since, s.usage.used = now, 0
	}
	size := s.plan.bytes
	sent := cc.Sent{Bytes: unit.Bytes(size), InFlight: s.inFlight(), AppLimited: s.rate.AppLimited > 0}
	if s.queue.len() == 0 {
		sent.Idle = now - s.control.Pacer.LastSend
	}
	if s.control.Controller.OnSend(now, sent); !s.keepsDecision {
		s.control.ReadDecision()
	}

	n, g := s.queue.push()
	g.seq, g.end = s.next, s.next+size
	p.Seq, p.Ack = s.next, s.peer.next
	t := &p.TCP
	t.Flags, t.Window = packet.ACK, 65535>>s.scale
	if g.end == s.app.end { // the application closes after its last write
		g.end++
		g.flags |= final
		t.Flags |= packet.FIN
		s.app.finSent = true
	}
	s.burst.left = max(s.burst.left-size, 0)
	s.burst.segments++
	if size < s.mss {
		s.burst.smallEnd = g.end
	}
	switch { // also at the end of a burst, as Linux does
	case size > 0 && (s.burst.left == 0 && s.burst.segments > 1 || size < s.mss || g.end >= s.app.end),
		size > 0 && s.requestsAck():
		t.Flags |= packet.PSH
	}
	if s.cwrDue && size > 0 { // RFC 3168 §6.1.2: on the first new data packet
		t.Flags |= packet.CWR
		s.cwrDue = false
	}
	writeStamp(t, now, s.peer.tsRecent)
	s.requester.AskIfDue(now, p, s.SRTT())
	s.fillHeaders(p, int32(size), s.ecnOf(size == 0))
	first := s.queue.len() == 1
	s.next = g.end
	s.squeeze = false
	s.recordTransmission(now, n, g)
	s.counters.SentBytes += unit.Bytes(size)
	if size > 0 {
		s.counters.SentPackets++
	}
	s.burst.sent = true
	if s.tlp.sendNew {
		s.tlp.sendNew = false
		s.tlp.sent(s.next, false)
		s.timer.kind = noTimer
		s.rearmTimer(now)
		return
	}
	if first || s.timer.kind == lossProbe {
		s.rearmTimer(now)
	}
	s.scheduleProbe(now, false)
}

// requestsAck reports whether a segment asks for an acknowledgement at once, by PSH: after a NACK with a window of one
// segment. If its whole flight was NACKed it arrives in order, and no second segment follows it, so that the receiver
// would delay the ACK by up to 40 ms. In Linux PSH has no such effect if the application has read a segment with it
// (tcp_cleanup_rbuf).
func (s *Sender) requestsAck() bool { return s.counters.NacksTaken > 0 && s.cwnd() == 1 }

// emitResent fills p with the planned segment that was sent before, and records it. It notifies the controller
// (OnSend), and sets the timer.
func (s *Sender) emitResent(now unit.Time, p *packet.Packet) {
	n := s.plan.segment
	g := s.queue.at(n)
	if g.seq < s.una { // its first part was acknowledged
		g.seq = s.una
	}
	size := g.end - g.seq
	t := &p.TCP
	t.Flags, t.Window = packet.ACK, 65535>>s.scale
	if g.flags&final != 0 {
		size--
		t.Flags |= packet.FIN
	}
	if size > 0 && (size < s.mss || g.end >= s.app.end || s.requestsAck()) {
		t.Flags |= packet.PSH
	}
	p.Seq, p.Ack = g.seq, s.peer.next
	s.control.Controller.OnSend(now, cc.Sent{Bytes: unit.Bytes(size), InFlight: s.inFlight(), Retransmitted: true,
		AppLimited: s.rate.AppLimited > 0})
	s.control.ReadDecision()
	writeStamp(t, now, s.peer.tsRecent)
	s.requester.AskIfDue(now, p, s.SRTT())
	s.fillHeaders(p, int32(size), s.ecnOf(true))
	p.Resent = s.resendCause(g)
	if s.tlp.sendLast {
		s.tlp.sendLast = false
		s.tlp.sent(s.next, true)
		s.timer.kind = noTimer
		s.rearmTimer(now)
	} else {
		if s.undo.stamp == 0 {
			s.undo.stamp = stampOf(now)
		}
		if g.flags&lost != 0 && g.flags&resent == 0 {
			s.waiting--
		}
		if g.flags&resent == 0 {
			g.flags |= resent
			s.resentOut++
		}
		s.undo.retransmitted()
		// as in tcp_xmit_retransmit_queue
		if s.timer.kind == noTimer || n == s.queue.first && s.timer.kind != reorderingTimer {
			s.setTimer(retransmission, now+s.rto.value)
		}
	}
	g.flags |= everSent
	s.totalResent++
	s.recordTransmission(now, n, g)
	s.counters.SentPackets++
	s.counters.Retransmitted++
}

// resendCause returns why segment g is resent.
func (s *Sender) resendCause(g *segment) packet.ResendCause {
	switch {
	case s.tlp.sendLast:
		return packet.ResentProbe
	case g.flags&nacked != 0:
		return packet.ResentSwitch
	case s.state == cc.Timeout:
		return packet.ResentTimeout
	}
	return packet.ResentReceiver
}

// recordTransmission records a transmission of segment n, g, for RACK, the delivery rate, PRR and pacing.
func (s *Sender) recordTransmission(now unit.Time, n uint32, g *segment) {
	// tcp_rate_skb_sent
	if s.inFlightSamples() == 0 {
		s.rate.BeginFlight(now)
	}
	g.sent = now
	g.Departure = s.rate.NewDeparture()
	g.flags = g.flags&^(limited|nacked|notified) | rated
	if s.rate.AppLimited > 0 {
		g.flags |= limited
	}
	if g.flags&sacked == 0 {
		s.queue.append(n)
	}
	if s.isReducing() {
		s.prr.sent()
	}
	s.control.Pacer.LastSend = now
	s.hold.RecordSend(now, s.header.hash)
	if rate := s.spacingRate(); rate > 0 {
		s.control.Pacer.ExtendGap(now, unit.Time(float64(g.end-g.seq)/rate*float64(unit.Second)))
	}
}

// inFlightSamples returns packets_out as tcp_rate_skb_sent sees it: 0 if the only segment is being sent for the first
// time.
func (s *Sender) inFlightSamples() int {
	n := s.queue.len()
	if n == 1 && s.queue.at(s.queue.first).flags&(everSent|rated) == 0 {
		return 0
	}
	return n
}
