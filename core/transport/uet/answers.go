package uet

import (
	"encoding/binary"
	"math/bits"
	"weir/core/transport"

	"weir/core/cc/nscc"
	"weir/core/packet"
	"weir/core/unit"
)

// answer is the content of an acknowledgement or a NACK. On the wire the number of the packet that caused it is the
// header's sequence number, and the first packet that has not arrived its acknowledgement. The rest of an
// acknowledgement is in an extension.
type answer struct {
	nack     bool
	ev       uint16
	flags    uint8
	caused   int64
	expected int64
	base     int64  // number of the bitmap's first packet
	bitmap   uint64 // packets that have arrived
	got      int64  // total bytes of frames
	ahead    int64  // packets that have arrived out of order
	penalty  uint8
}

// answerBytes is the size of the extension.
const answerBytes = 27

var be = binary.BigEndian

// writeTo fills p with the answer, as a packet of end e.
func (a *answer) writeTo(e *ends, p *packet.Packet) {
	p.ClearExtensions()
	p.Seq, p.Ack = a.caused, a.expected
	if a.nack {
		e.fillHeaders(p, packet.Nack, a.ev, false, 0, a.flags)
		return
	}
	var b [answerBytes]byte
	be.PutUint64(b[:], uint64(a.base))
	be.PutUint64(b[8:], a.bitmap)
	be.PutUint64(b[16:], uint64(a.got))
	be.PutUint16(b[24:], uint16(min(a.ahead, 1<<16-1)))
	b[26] = a.penalty
	p.SetExtension(packet.ExtUET, b[:])
	e.fillHeaders(p, packet.Ack, a.ev, false, 0, a.flags)
}

// readFrom reads an answer from p, and reports whether p is a valid one.
func (a *answer) readFrom(p *packet.Packet) bool {
	*a = answer{nack: p.Kind == packet.Nack, ev: p.DstPort, flags: p.TCP.Flags, caused: p.Seq, expected: p.Ack}
	if a.nack {
		return true
	}
	b := p.LeadingExtension(packet.ExtUET, answerBytes)
	if b == nil {
		return false
	}
	a.base, a.bitmap, a.got = int64(be.Uint64(b)), be.Uint64(b[8:]), int64(be.Uint64(b[16:]))
	a.ahead, a.penalty = int64(be.Uint16(b[24:])), b[26]
	return a.base >= 0 && a.got >= 0
}

// Receive handles an acknowledgement, a NACK or a PULL. A packet of another flow, or about packets that were never
// sent, has no effect. It sets the timer, and always returns false.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if !s.maySend {
		s.turn = now
	}
	if p.SrcPort != s.port || p.DstPort&^s.paths != s.first && p.Kind != packet.Notice || p.Proto != packet.ProtoOwn ||
		p.Payload != 0 || s.done {
		return false
	}
	switch p.Kind {
	case packet.Ack, packet.Nack:
		var a answer
		if !a.readFrom(p) || a.caused >= s.next && a.flags&probing == 0 || a.expected > s.next || a.got-s.got > 1<<40 {
			s.counters.NacksRefused++
			return false
		}
		if a.nack {
			s.onNack(now, &a)
		} else {
			s.onAck(now, &a)
		}
	case packet.Notice:
		s.endSpeculation()
		if more := p.Seq - s.pulled; more > 0 && more < 1<<32 {
			s.credit = min(s.credit+more*int64(s.config.Quantum), s.maxCredit)
			s.pulled, s.asks = p.Seq, 0
			if s.pulledAt > 0 {
				s.every = now - s.pulledAt
			}
			s.pulledAt = now
		}
	default:
		return false
	}
	if p.TCP.Flags&probing == 0 {
		s.quiet = now
	}
	s.setTimer(now)
	return false
}

// onAck handles an acknowledgement: it updates the bytes in flight, the window, the balancer, the congestion law and
// the estimate of the round trip. With Sleek it also finds losses. It ends the first window, or the flow.
func (s *Sender) onAck(now unit.Time, a *answer) {
	newly := max(a.got-s.got, 0)
	s.got += newly
	s.inFlight -= newly
	s.timer.Backoff = 0
	if s.law != nil {
		s.law.ApplyPenalty(newly, a.penalty)
	}
	rtt := s.sampleRTT(now, a)
	s.advanceUna(a.expected)
	for b := a.bitmap; b != 0; b &= b - 1 {
		if n := a.base + int64(bits.TrailingZeros64(b)); n >= s.una && n < s.next {
			s.recordArrival(n)
		}
	}
	for s.una < s.next && s.recordOf(s.una).state == acked {
		s.una++
	}
	heard := good
	if a.flags&echoes != 0 {
		heard = marked
	}
	s.balance.handleFeedback(now, a.ev, heard)
	if s.law != nil {
		s.law.OnAck(now, nscc.Ack{Bytes: newly, Marked: heard == marked, RTT: rtt, InFlight: s.inFlight})
	}
	if s.config.Sleek {
		s.findLosses(now, a, rtt)
	}
	s.endSpeculation()
	if s.last >= 0 && a.expected > s.last {
		s.finishFlow(now)
	}
}

// finishFlow ends the flow: all packets are acknowledged. It frees memory beyond the first size.
func (s *Sender) finishFlow(now unit.Time) {
	s.done = true
	s.wantsAsk, s.sleek.due, s.sleek.probeAt = false, false, unit.Never
	s.counters.Finished = now
	if s.ring.Len() > firstRing {
		s.ring, s.flights, s.repairs = transport.Ring[record]{}, transport.Flights{}, nil
	}
	s.flights.Renew(0)
	s.una = s.next
}

// sampleRTT returns the round trip of the packet that caused acknowledgement a. The packet must have been sent once, or
// twice and the acknowledgement is of the second transmission. Otherwise it returns 0. The sample of a packet, but not
// of a probe, also updates the timer's estimate.
func (s *Sender) sampleRTT(now unit.Time, a *answer) unit.Time {
	if a.flags&probing != 0 {
		if a.caused != s.sleek.probes {
			return 0
		}
		rtt := now - s.sleek.probed
		if s.law != nil {
			rtt = max(rtt, s.law.BaseRTT())
		}
		return max(rtt, 1)
	}
	if a.caused < s.una || a.caused >= s.next {
		return 0
	}
	x := s.recordOf(a.caused)
	if x.state != flying || !x.answeredBy(a) {
		return 0
	}
	rtt := max(now-x.sentAt, 1)
	if a.flags&requests != 0 && s.law != nil && rtt < s.law.BaseRTT() { // small packets are faster
		return 0
	}
	s.timer.Trip.AddSample(rtt)
	if s.config.RTO != fixedRTO {
		s.setSlow()
	}
	return rtt
}

// answeredBy reports whether answer a is about the latest transmission of a packet, as far as the sender can decide:
// the packet was sent once, or twice and the answer is about a retransmission.
func (x *record) answeredBy(a *answer) bool {
	return x.sent == 1 && a.flags&again == 0 || x.sent == 2 && a.flags&again != 0
}

// advanceUna handles the cumulative acknowledgement: it records the arrival of all packets below expected, which must
// have been sent, and moves una there.
func (s *Sender) advanceUna(expected int64) {
	for ; s.una < expected; s.una++ {
		s.recordArrival(s.una)
	}
}

// recordArrival records that packet n has arrived. The receiver's counter includes its bytes. If the packet was to be
// resent they were subtracted before.
func (s *Sender) recordArrival(n int64) {
	x := s.recordOf(n)
	if x.state == waiting {
		s.waits--
		s.repaired -= int64(x.size)
		s.inFlight += int64(x.size)
	}
	x.state = acked
	if s.waits == 0 {
		s.repairs = s.repairs[:0]
	}
}

// onNack handles the notice that a packet was trimmed, and counts it. A packet in flight is queued to be resent, and
// the congestion law and the balancer are notified; otherwise it is refused.
func (s *Sender) onNack(now unit.Time, a *answer) {
	if a.caused < s.una || s.recordOf(a.caused).state != flying {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	x := s.recordOf(a.caused)
	size := int64(x.size)
	lastHop := a.flags&packet.LastHop != 0
	if s.law != nil {
		n := nscc.Nack{Bytes: size, InFlight: s.inFlight, LastHop: lastHop}
		if x.answeredBy(a) {
			n.RTT = max(now-x.sentAt, 1)
		}
		s.law.OnNack(now, n)
	}
	s.inFlight -= size
	s.endSpeculation()
	s.queueRepair(a.caused, packet.ResentSwitch)
	heard := trimmed
	if lastHop {
		heard = good
		if a.flags&echoes != 0 {
			heard = marked
		}
	}
	s.balance.handleFeedback(now, a.ev, heard)
}
