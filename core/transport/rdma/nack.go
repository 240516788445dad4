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
		if readable && n.Cause == packet.CauseMarked && s.comes(p) && s.asker.Genuine(p) {
			s.notice(now, p)
			s.schedule(now)
		}
		return
	}
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	if !readable || !s.comes(p) || !s.asker.Genuine(p) || !s.nack(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.schedule(now)
}

// out is the packet of this sequence number, if it is out and not SACKed, and its state; nil
// if it is not.
func (s *Sender) out(seq int64) (int64, *sent) {
	n := s.number(seq, s.una)
	if n < s.una || n >= s.top {
		return n, nil
	}
	if x := s.at(n); x.flags&sacked == 0 {
		return n, x
	}
	return n, nil
}

// nack takes a NACK in. It is refused, and changes nothing, unless it is about a whole packet
// that is out, in its last transmission, of which no such NACK has come: one of an
// earlier transmission is late or replayed. Further packets that it names have no
// numbers; of these the ones count that are out and have not been named.
func (s *Sender) nack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	first, x := s.out(p.Seq)
	if x == nil || p.Ack != int64(x.number) {
		return false
	}
	told := cc.Notice{Kind: cc.NackNotice, Seq: s.seq(first), Supply: n.Supply, Demand: n.Demand}
	if n.Cause == packet.CauseElephant {
		if x.flags&throttled != 0 || n.Lost != 0 || n.Spans != 0 {
			return false
		}
		x.flags |= throttled
		s.control.OnNotice(now, told)
		s.decide()
		if s.reduces() && s.state == cc.Open && s.gate.Reduce(now, x.at, s.rtt()) {
			before := s.decision
			s.state, s.recover = cc.Reduced, s.top
			s.changeState(now, cc.Loss{Kind: cc.Warned})
			if s.decision.Window >= before.Window && s.decision.Rate >= before.Rate {
				s.gate.Vain() // DCTCP without a history of marks, or without an answer to them: losses still reduce
			}
		}
		return true
	}
	if x.flags&nacked != 0 || int64(n.Lost) != s.bytes(first) {
		return false
	}
	again := x.flags&resent != 0
	if s.paths != nil {
		s.paths.alive(now, s.paths.now)
	}
	lost := s.name(first, x)
	told.Lost = unit.Bytes(n.Lost)
	for _, span := range n.More[:n.Spans] {
		if m, y := s.out(p.Seq + int64(span.Offset)); y != nil && y.flags&nacked == 0 && int64(span.Lost) == s.bytes(m) {
			again = again || y.flags&resent != 0
			lost += s.name(m, y)
			told.Lost += unit.Bytes(span.Lost)
		}
	}
	s.lostTotal += int64(lost)
	s.control.OnNotice(now, told)
	s.decide()
	if s.reduces() && s.gate.Reduce(now, x.at, s.rtt()) {
		kind := cc.FastRecovery
		if s.state == cc.Reduced {
			kind = cc.LossInReduction
		}
		s.state, s.recover = cc.Recovery, s.top
		s.changeState(now, cc.Loss{Kind: kind, Lost: lost})
	}
	s.hold.Nacked(now, s.trip(), again, n.Supply, s.payload)
	return true
}

// reduces reports whether NACKs are losses to the controller, once a round trip. With nacks: supply
// the notice is all that reduces.
func (s *Sender) reduces() bool { return s.config.Nacks == transport.NacksLoss }

// rtt is the round-trip time: smoothed, or before there is a sample without queues.
func (s *Sender) rtt() unit.Time {
	if s.roundTrip.Smoothed > 0 {
		return s.roundTrip.Smoothed
	}
	return s.config.BaseRTT
}

// name takes packet n for lost on the network's word, which holds for its last transmission
// and needs no packet that overtook it: it is sent again next, and nothing else is. A
// receiver of go-back-N, however, has dropped what came behind it, and so all from n on
// is sent again, unless it is to be anyway. It returns how many packets are found lost.
func (s *Sender) name(n int64, x *sent) int {
	if x.flags&waited != 0 { // the NACK proves the loss
		x.flags &^= waited
		s.waits.unproven--
	}
	x.flags |= nacked
	if s.config.Recovery == GoBackN {
		s.next, s.goBack = min(s.next, n), packet.ResentSwitch
		return 1
	}
	x.flags &^= resent
	lost := s.judge(n)
	if s.namedOut++; s.namedOut == 1 || n < s.namedHint {
		s.namedHint = n
	}
	return lost
}

// remain takes packet x, which was taken for lost, out of the books of those: it is sent
// again, or there.
func (s *Sender) remain(x *sent) {
	s.goneOut--
	if x.flags&nacked != 0 {
		s.namedOut--
	}
	if x.flags&waited != 0 {
		s.waits.unproven--
	}
	x.flags &^= gone
}

// repaired tells, with go-back-N, whether the first packet that is out was sent again on
// the network's word less than a round trip ago: that transmission
// cannot have reached the receiver, which now asks for it.
func (s *Sender) repaired(now unit.Time) bool {
	x := s.at(s.una)
	return x.flags&resent != 0 && now-x.at < s.rtt()
}

// trip is the round-trip time for the hold-off; before there is one, a retransmission timeout.
func (s *Sender) trip() unit.Time {
	limit := s.rto()
	if rtt := s.rtt(); rtt > 0 {
		return min(rtt, limit)
	}
	return limit
}
