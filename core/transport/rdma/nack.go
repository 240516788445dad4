package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// NACKs of the network (BS'19 §4.3, §5): a switch notifies the sender that a packet is lost, or that the flow is an
// elephant. The text leaves open the checks, the number of a transmission, the order of retransmissions, and the
// controller's part. Weir defines them.

// handleNotice handles a notice of the network, p, which has ExtNotification. A CNP is handled like a receiver's. A
// NACK is counted as taken or refused.
func (s *Sender) handleNotice(now unit.Time, p *packet.Packet) {
	var n packet.Notification
	readable := p.Notification(&n)
	if p.Kind == packet.Notice || readable && n.Cause == packet.CauseMarked {
		if readable && n.Cause == packet.CauseMarked && s.matchFlow(p) && s.requester.IsGenuine(p) {
			s.passNotice(now, p)
			s.planNext(now)
		}
		return
	}
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	if !readable || !s.matchFlow(p) || !s.requester.IsGenuine(p) || !s.handleNetworkNack(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.planNext(now)
}

// handleNetworkNack handles a NACK and reports whether it is accepted. It must be about a whole packet in flight, in
// its last transmission, for which no such NACK was accepted: a NACK of an earlier transmission is late or replayed. A
// refused one has no effect. Further packets that it names have no numbers. They count if they are in flight and were
// not named.
func (s *Sender) handleNetworkNack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	first := s.findPacket(p.Seq, s.una)
	x := s.outstandingPacket(first)
	if x == nil || p.Ack != int64(x.number) {
		return false
	}
	accepted := transport.AcceptedNack{Notice: transport.NackNotice(n, s.packetSeq(first), 0), Sent: x.sentAt,
		RTT: s.timer.RTT(), UpTo: s.top}
	if n.Cause == packet.CauseElephant {
		if x.flags&throttled != 0 || n.Lost != 0 || n.Spans != 0 {
			return false
		}
		x.flags |= throttled
		accepted.Loss = s.countLoss(cc.Loss{}, s.packetSeq(s.top))
		s.control.HandleWarning(now, accepted)
		return true
	}
	if x.flags&nacked != 0 || int64(n.Lost) != s.payloadOf(first) {
		return false
	}
	again := x.flags&resent != 0
	if s.paths != nil {
		s.paths.recordAnswer(now, s.paths.selected)
	}
	lost := s.confirmLoss(first, x)
	accepted.Notice.Lost = unit.Bytes(n.Lost)
	for _, span := range n.More[:n.Spans] {
		m := s.findPacket(p.Seq+int64(span.Offset), s.una)
		if y := s.outstandingPacket(m); y != nil && y.flags&nacked == 0 && int64(span.Lost) == s.payloadOf(m) {
			again = again || y.flags&resent != 0
			lost += s.confirmLoss(m, y)
			accepted.Notice.Lost += unit.Bytes(span.Lost)
		}
	}
	s.lostTotal += int64(lost)
	accepted.Loss = s.countLoss(cc.Loss{Lost: lost}, s.packetSeq(s.top))
	s.control.HandleNackLosses(now, accepted)
	s.hold.HandleNack(now, s.nackRTT(), again, n.Supply, s.payload)
	return true
}

// confirmLoss declares packet n, x, lost on the network's notice, which is about its last transmission. No packet that
// overtook it is needed. The packet is resent next, and no other is. A receiver of go-back-N, however, has dropped the
// packets after it, so all from n on are resent. It returns the number of packets newly lost.
func (r *recovery) confirmLoss(n int64, x *sent) int {
	if x.flags&waited != 0 { // the NACK proves the loss
		x.flags &^= waited
		r.waits.unproven--
	}
	x.flags |= nacked
	if r.config.Recovery == GoBackN {
		r.goBackTo(min(r.next, n), packet.ResentSwitch)
		return 1
	}
	x.flags &^= resent
	lost := r.declareLost(n)
	if r.namedOut++; r.namedOut == 1 || n < r.namedHint {
		r.namedHint = n
	}
	return lost
}

// uncountLost removes packet x, which must be declared lost, from the counts of lost packets: it is resent, or has
// arrived.
func (r *recovery) uncountLost(x *sent) {
	r.goneOut--
	if x.flags&nacked != 0 {
		r.namedOut--
	}
	if x.flags&waited != 0 {
		r.waits.unproven--
	}
	x.flags &^= gone
}

// isRepaired reports whether go-back-N resent the first packet in flight on the network's notice less than a round trip
// ago. That transmission cannot have reached the receiver yet, which now asks for it.
func (r *recovery) isRepaired(now unit.Time) bool {
	x := r.packetState(r.una)
	return x.flags&resent != 0 && now-x.sentAt < r.timer.RTT()
}

// nackRTT returns the round-trip time for the hold-off, at most a retransmission timeout.
func (r *recovery) nackRTT() unit.Time { return r.timer.RTTWithin(r.currentRTO()) }
