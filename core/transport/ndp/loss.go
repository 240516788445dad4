package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// probe is a probe without an answer.
type probe struct {
	number uint8
	sentAt unit.Time // when it was sent
}

// pullWait is the minimum time for which a flow without a timeout of its own waits for a PULL until it sends a packet
// without one (htsim ndp.h: DEFAULT_RTO_MIN).
const pullWait = 5 * unit.Millisecond

// lossTimeout returns when flight f, the first of those without an answer, is lost, or a probe is due.
func (s *Sender) lossTimeout(f *transport.Flight) unit.Time {
	if !s.loss.ProbesProve {
		return s.loss.ExpiryOf(f.SentAt)
	}
	began := max(f.SentAt, s.dueAt)
	return s.loss.EarliestExpiry(began+s.timer.Timeout(), began, f.SentAt)
}

// probesFirst makes a probe due and doubles the wait if the path can still hold the packets in flight. It reports
// whether it did so. It returns false if the oldest packet has been lost, or no packet is in flight.
func (s *Sender) probesFirst(now unit.Time) bool {
	if s.inFlight == 0 || s.flights.Len() == 0 || s.loss.HasExpired(now, s.flights.Oldest().SentAt) {
		return false
	}
	s.timer.Backoff++
	s.dueAt, s.loss.ProbeDue = now, true
	return true
}

// Probes have numbers from 1 to maxProbe in their flags, in turn, and so do their answers: answers are lost as well,
// and several probes may ask for one packet.
const (
	probeShift = 3 // above Trimmable and Returned
	maxProbe   = 7
)

// probeNumber returns the number of a probe or of its answer; 0 for other packets.
func probeNumber(p *packet.Packet) uint8 { return p.TCP.Flags >> probeShift & maxProbe }

// emitProbe fills p with the header of the first packet without an answer. The receiver acknowledges the packet if it
// has arrived, or else sends a NACK. It stores the probe's number and time, and plans the next packet.
func (s *Sender) emitProbe(now unit.Time, p *packet.Packet) {
	s.loss.ProbeDue = false
	n := s.una
	if s.flights.Len() > 0 {
		n = s.flights.Oldest().Packet
	}
	s.lastProbe = s.lastProbe%maxProbe + 1
	s.asked.Push(probe{s.lastProbe, now})
	p.Resent = packet.ResentProbe
	s.fillHeaders(p, packet.Data, s.packetSeq(n), s.returned, 0, packet.Trimmable|s.lastProbe<<probeShift)
	s.planNext(now)
}

// receiveProbeReply handles an ACK or NACK p of packet about that answers a probe, and reports whether p is fully
// handled. Probes are answered in their order, so earlier ones without an answer were lost. A NACK reports that the
// packet had not arrived before the probe: it is lost, and so are packets that were sent before the probe and have no
// answer. The receiver owes no PULL for the others.
func (s *Sender) receiveProbeReply(now unit.Time, about int64, p *packet.Packet) bool {
	sent, found := unit.Time(0), false
	for s.asked.Len() > 0 && !found {
		sent, found = s.asked.Head().sentAt, s.asked.Head().number == probeNumber(p)
		s.asked.Pop()
	}
	if p.Kind == packet.Ack || !found {
		return false
	}
	lost := false
	for f := s.oldestFlight(); f != nil && f.SentAt < sent; f = s.oldestFlight() {
		lost = true
		s.inFlight--
		if f.Packet == about {
			s.refused++
			s.queueRepair(now, f.Packet, nacked|proven)
			continue
		}
		s.credit++
		s.queueRepair(now, f.Packet, proven)
	}
	if lost {
		s.timer.Timeouts++
	}
	return true
}
