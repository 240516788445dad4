package udp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// What notices of the network said of a datagram.
const (
	nacked    uint8 = 1 << iota // it is gone
	throttled                   // its flow is an elephant
	noticed                     // it would have been marked
)

// receiveNack takes a notice of the network, p, which has ExtNotification (BS'19 §4.3; what
// follows from it is ours). It is refused, and changes nothing, unless it is about a
// datagram that is in flight and the first of its kind. Nothing is sent again: nacks:
// resend leaves everything to the controller.
func (s *ControlledSender) receiveNack(now unit.Time, p *packet.Packet) {
	var n packet.Notification
	readable := p.Notification(&n)
	marked := readable && n.Cause == packet.CauseMarked
	if s.config.Nacks == transport.NacksIgnored && !marked {
		return
	}
	genuine := readable && p.Proto == packet.ProtoUDP && p.SrcPort == s.flow.DstPort && p.DstPort == s.flow.SrcPort &&
		s.asker.Genuine(p)
	switch {
	case marked:
		if genuine && s.first(p.Seq, noticed) {
			s.control.OnNotice(now, cc.Notice{Kind: cc.CNPNotice, Seq: p.Seq * int64(s.flow.Payload)})
			s.decide()
		}
	case !genuine || !s.nack(now, p, &n):
		s.counters.NacksRefused++
		return
	default:
		s.counters.NacksTaken++
	}
	s.finish(now)
	s.schedule(now)
}

// nack takes a NACK in, unless it is refused. Spans count datagrams, as sequence numbers do.
func (s *ControlledSender) nack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	told := cc.Notice{Kind: cc.NackNotice, Seq: p.Seq * int64(s.flow.Payload), Supply: n.Supply, Demand: n.Demand}
	reduces := s.config.Nacks == transport.NacksLoss // with nacks: supply the notice is all that reduces
	rtt := s.roundTrip.Smoothed
	if rtt == 0 {
		rtt = s.flow.Path.BaseRTT
	}
	if n.Cause == packet.CauseElephant {
		if n.Lost != 0 || n.Spans != 0 || !s.first(p.Seq, throttled) {
			return false
		}
		s.control.OnNotice(now, told)
		s.decide()
		if reduces && s.state == cc.Open && s.gate.Reduce(now, now, rtt) {
			s.state, s.recover = cc.Reduced, s.next
			s.changeState(now, cc.Loss{Kind: cc.Warned})
		}
		return true
	}
	if !s.markNacked(p.Seq, n.Lost) {
		return false
	}
	told.Lost = unit.Bytes(n.Lost)
	lost := 1
	for _, x := range n.More[:n.Spans] {
		if s.markNacked(p.Seq+int64(x.Offset), x.Lost) {
			told.Lost += unit.Bytes(x.Lost)
			lost++
		}
	}
	// Nothing is sent again, so a datagram that is gone stands for one that was.
	s.hold.Nacked(now, s.trip(), true, n.Supply, int64(s.flow.Payload))
	s.control.OnNotice(now, told)
	s.decide()
	if reduces && s.gate.Reduce(now, now, rtt) {
		kind := cc.FastRecovery
		if s.state == cc.Reduced {
			kind = cc.LossInReduction
		}
		s.state, s.recover = cc.Recovery, s.next
		s.changeState(now, cc.Loss{Kind: kind, Lost: lost})
	}
	s.pass(s.done)
	return true
}

// trip is the round-trip time for the hold-off; before there is one, a timeout.
func (s *ControlledSender) trip() unit.Time {
	rtt := s.roundTrip.Smoothed
	if rtt == 0 {
		rtt = s.flow.Path.BaseRTT
	}
	if limit := s.rto(); rtt <= 0 || rtt > limit {
		return limit
	}
	return rtt
}

// markNacked takes datagram n, of so many bytes, out of flight, if it is there.
func (s *ControlledSender) markNacked(n int64, bytes int32) bool {
	if n < s.done || n >= s.next || bytes != s.payload(n) || !s.first(n, nacked) {
		return false
	}
	s.nacked++
	s.lost++
	return true
}

// first reports whether datagram n is in flight and has had no notice of this kind, and takes
// note of it if so.
func (s *ControlledSender) first(n int64, kind uint8) bool {
	if n < s.done || n >= s.next {
		return false
	}
	if s.next-s.done > int64(len(s.ring)) {
		s.grow()
	}
	x := &s.ring[n&int64(len(s.ring)-1)]
	if *x&(kind|nacked) != 0 {
		return false
	}
	*x |= kind
	return true
}

// grow makes room in the ring for all that is out, and the next datagram.
func (s *ControlledSender) grow() {
	size := int64(max(len(s.ring), 64))
	for size <= s.next-s.done {
		size *= 2
	}
	ring := make([]uint8, size)
	if known := int64(len(s.ring)); known > 0 {
		for n := s.done; n < min(s.next, s.done+known); n++ {
			ring[n&(size-1)] = s.ring[n&(known-1)]
		}
	}
	s.ring = ring
}

// forget makes a place in the ring for datagram n, the next.
func (s *ControlledSender) forget(n int64) {
	if n-s.done >= int64(len(s.ring)) {
		s.grow()
	}
	s.ring[n&int64(len(s.ring)-1)] = 0
}

// pass takes all datagrams below upTo out of flight, and those behind them that are gone.
func (s *ControlledSender) pass(upTo int64) {
	for ; s.nacked > 0 && (s.done < upTo || s.ring[s.done&int64(len(s.ring)-1)]&nacked != 0); s.done++ {
		if s.ring[s.done&int64(len(s.ring)-1)]&nacked != 0 {
			s.nacked--
		}
	}
	s.done = max(s.done, upTo)
}
