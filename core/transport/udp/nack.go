package udp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Notices of the network about a datagram, as bits.
const (
	nacked    uint8 = 1 << iota // it is lost
	throttled                   // its flow is an elephant
	noticed                     // it would have been marked
)

// receiveNack handles a notice of the network, p, which has ExtNotification (BS'19 §4.3; Weir defines the response). It
// is refused, and has no effect, unless it is about a datagram in flight and the first of its kind. Datagrams are not
// resent: nacks: resend leaves everything to the controller.
func (s *ControlledSender) receiveNack(now unit.Time, p *packet.Packet) {
	var n packet.Notification
	readable := p.Notification(&n)
	marked := readable && n.Cause == packet.CauseMarked
	if s.config.Nacks == transport.NacksIgnored && !marked {
		return
	}
	genuine := readable && p.Proto == packet.ProtoUDP && p.SrcPort == s.flow.DstPort && p.DstPort == s.flow.SrcPort &&
		s.requester.IsGenuine(p)
	switch {
	case marked:
		if genuine && s.recordNotice(p.Seq, noticed) {
			s.control.NotifyController(now, cc.Notice{Kind: cc.CNPNotice, Seq: p.Seq * int64(s.flow.Payload)})
		}
	case !genuine || !s.handleNack(now, p, &n):
		s.counters.NacksRefused++
		return
	default:
		s.counters.NacksTaken++
	}
	s.recordFinish(now)
	s.planNext(now)
}

// handleNack handles a NACK and reports whether it is accepted. Spans count datagrams, as sequence numbers do.
func (s *ControlledSender) handleNack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	if n.Cause == packet.CauseElephant {
		if n.Lost != 0 || n.Spans != 0 || !s.recordNotice(p.Seq, throttled) {
			return false
		}
		s.control.HandleWarning(now, s.acceptNack(now, n, p.Seq, 0, 0))
		return true
	}
	if !s.markNacked(p.Seq, n.Lost) {
		return false
	}
	lost, bytes := 1, unit.Bytes(n.Lost)
	for _, x := range n.More[:n.Spans] {
		if s.markNacked(p.Seq+int64(x.Offset), x.Lost) {
			bytes += unit.Bytes(x.Lost)
			lost++
		}
	}
	// Datagrams are not resent, so a lost datagram counts as one that was resent.
	s.hold.HandleNack(now, s.timer.RTTWithin(s.timer.Timeout()), true, n.Supply, int64(s.flow.Payload))
	s.control.HandleNackLosses(now, s.acceptNack(now, n, p.Seq, bytes, lost))
	s.removeBelow(s.done)
	return true
}

// acceptNack returns NACK n of datagram first for the controller. It reports the loss of lost datagrams with this total
// of bytes. The sender does not store when a datagram was sent: any NACK counts as one of a datagram that is sent now.
func (s *ControlledSender) acceptNack(now unit.Time, n *packet.Notification, first int64, bytes unit.Bytes,
	lost int) transport.AcceptedNack {
	return transport.AcceptedNack{Notice: transport.NackNotice(n, first*int64(s.flow.Payload), bytes), Sent: now,
		RTT: s.timer.RTT(), UpTo: s.next, Loss: s.countLoss(cc.Loss{Lost: lost})}
}

// markNacked removes datagram n from flight and reports true, if it is in flight and has this payload in bytes.
func (s *ControlledSender) markNacked(n int64, bytes int32) bool {
	if n < s.done || n >= s.next || bytes != s.payloadOf(n) || !s.recordNotice(n, nacked) {
		return false
	}
	s.nacked++
	s.lost++
	return true
}

// recordNotice reports whether datagram n is in flight and has had no notice of this kind. It records the notice then.
func (d *datagrams) recordNotice(n int64, kind uint8) bool {
	if n < d.done || n >= d.next {
		return false
	}
	d.noticed.Reserve(d.done, d.next-1)
	x := d.noticed.At(n)
	if *x&(kind|nacked) != 0 {
		return false
	}
	*x |= kind
	return true
}

// clearNotice prepares the entry of datagram n, the next one, unless there was no notice yet.
func (d *datagrams) clearNotice(n int64) {
	if d.noticed.Len() > 0 {
		d.noticed.Reserve(d.done, n)
		*d.noticed.At(n) = 0
	}
}

// removeBelow removes all datagrams below upTo from flight, and the lost ones that follow them.
func (d *datagrams) removeBelow(upTo int64) {
	for ; d.nacked > 0 && (d.done < upTo || *d.noticed.At(d.done)&nacked != 0); d.done++ {
		if *d.noticed.At(d.done)&nacked != 0 {
			d.nacked--
		}
	}
	d.done = max(d.done, upTo)
}
