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
		s.requester.Genuine(p)
	switch {
	case marked:
		if genuine && s.first(p.Seq, noticed) {
			s.control.Notify(now, cc.Notice{Kind: cc.CNPNotice, Seq: p.Seq * int64(s.flow.Payload)})
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
	if n.Cause == packet.CauseElephant {
		if n.Lost != 0 || n.Spans != 0 || !s.first(p.Seq, throttled) {
			return false
		}
		s.control.Warn(now, s.acceptNack(now, n, p.Seq, 0, 0))
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
	// Nothing is sent again, so a datagram that is gone stands for one that was.
	s.hold.Nacked(now, s.timer.RTTWithin(s.timer.Timeout()), true, n.Supply, int64(s.flow.Payload))
	s.control.LoseByNack(now, s.acceptNack(now, n, p.Seq, bytes, lost))
	s.pass(s.done)
	return true
}

// acceptNack returns NACK n of datagram first for the controller. It reports the loss of some datagrams, with so many
// bytes in all. The sender does not store when a datagram was sent: any NACK counts as one of a datagram that is sent
// now.
func (s *ControlledSender) acceptNack(now unit.Time, n *packet.Notification, first int64, bytes unit.Bytes,
	lost int) transport.AcceptedNack {
	return transport.AcceptedNack{Notice: transport.NackNotice(n, first*int64(s.flow.Payload), bytes), Sent: now,
		RTT: s.timer.RTT(), UpTo: s.next, Loss: s.countLoss(cc.Loss{Lost: lost})}
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
func (d *datagrams) first(n int64, kind uint8) bool {
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

// forget prepares the entry of datagram n, the next one, unless there was no notice yet.
func (d *datagrams) forget(n int64) {
	if d.noticed.Len() > 0 {
		d.noticed.Reserve(d.done, n)
		*d.noticed.At(n) = 0
	}
}

// pass takes all datagrams below upTo out of flight, and those behind them that are gone.
func (d *datagrams) pass(upTo int64) {
	for ; d.nacked > 0 && (d.done < upTo || *d.noticed.At(d.done)&nacked != 0); d.done++ {
		if *d.noticed.At(d.done)&nacked != 0 {
			d.nacked--
		}
	}
	d.done = max(d.done, upTo)
}
