package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// NACKs of the network (BS'19 §4.3, §5): a switch tells the sender which packet is gone, or
// that the flow is an elephant. What the text leaves open is ours: the checks, the number of
// a transmission, what is sent again and when, and what reaches the controller.

// notified takes a notice of the network, p, which has ExtNotification: a CNP goes the way of
// those that receivers make, and a NACK is counted as taken or refused.
func (s *Sender) notified(now unit.Time, p *packet.Packet) {
	var n packet.Notification
	readable := p.Notification(&n)
	if p.Kind == packet.Notice || readable && n.Cause == packet.CauseMarked {
		if readable && n.Cause == packet.CauseMarked && s.matchFlow(p) && s.requester.Genuine(p) {
			s.notice(now, p)
			s.schedule(now)
		}
		return
	}
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	if !readable || !s.matchFlow(p) || !s.requester.Genuine(p) || !s.nack(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.schedule(now)
}

// nack takes a NACK in. It is refused, and changes nothing, unless it is about a whole packet
// that is out, in its last transmission, of which no such NACK has come: one of an
// earlier transmission is late or replayed. Further packets that it names have no
// numbers; of these the ones count that are out and have not been named.
func (s *Sender) nack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	first := s.number(p.Seq, s.una)
	x := s.out(first)
	if x == nil || p.Ack != int64(x.number) {
		return false
	}
	accepted := transport.AcceptedNack{Notice: transport.NackNotice(n, s.seq(first), 0), Sent: x.at,
		RTT: s.timer.RTT(), UpTo: s.top}
	if n.Cause == packet.CauseElephant {
		if x.flags&throttled != 0 || n.Lost != 0 || n.Spans != 0 {
			return false
		}
		x.flags |= throttled
		accepted.Loss = s.countLoss(cc.Loss{}, s.seq(s.top))
		s.control.Warn(now, accepted)
		return true
	}
	if x.flags&nacked != 0 || int64(n.Lost) != s.bytes(first) {
		return false
	}
	again := x.flags&resent != 0
	if s.paths != nil {
		s.paths.alive(now, s.paths.now)
	}
	lost := s.confirmLoss(first, x)
	accepted.Notice.Lost = unit.Bytes(n.Lost)
	for _, span := range n.More[:n.Spans] {
		m := s.number(p.Seq+int64(span.Offset), s.una)
		if y := s.out(m); y != nil && y.flags&nacked == 0 && int64(span.Lost) == s.bytes(m) {
			again = again || y.flags&resent != 0
			lost += s.confirmLoss(m, y)
			accepted.Notice.Lost += unit.Bytes(span.Lost)
		}
	}
	s.lostTotal += int64(lost)
	accepted.Loss = s.countLoss(cc.Loss{Lost: lost}, s.seq(s.top))
	s.control.LoseByNack(now, accepted)
	s.hold.Nacked(now, s.nackRTT(), again, n.Supply, s.payload)
	return true
}

// confirmLoss takes packet n for lost on the network's word, which holds for its last transmission
// and needs no packet that overtook it: it is sent again next, and nothing else is. A
// receiver of go-back-N, however, has dropped what came behind it, and so all from n on
// is sent again, unless it is to be anyway. It returns how many packets are found lost.
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
	lost := r.judge(n)
	if r.namedOut++; r.namedOut == 1 || n < r.namedHint {
		r.namedHint = n
	}
	return lost
}

// uncountLost takes packet x, which was taken for lost, out of the books of those: it is sent
// again, or there.
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

// repaired tells, with go-back-N, whether the first packet that is out was sent again on
// the network's word less than a round trip ago: that transmission
// cannot have reached the receiver, which now asks for it.
func (r *recovery) repaired(now unit.Time) bool {
	x := r.at(r.una)
	return x.flags&resent != 0 && now-x.at < r.timer.RTT()
}

// nackRTT is the round-trip time for the hold-off; before there is one, a retransmission timeout.
func (r *recovery) nackRTT() unit.Time { return r.timer.RTTWithin(r.rto()) }
