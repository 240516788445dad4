package udp

import (
	"encoding/binary"

	"weir/core/packet"
	"weir/core/unit"
)

// fillProbe makes p a probe of the LossTimer. It has the class and the ECN field of datagrams, so that it stays behind
// them.
func (s *ControlledSender) fillProbe(now unit.Time, p *packet.Packet) {
	s.loss.ProbeDue = false
	s.loss.RecordProbe(now)
	s.probedAt, s.probeNext = now, s.next
	if s.silentFrom == 0 {
		s.silentFrom, s.silentBelow = now, s.next
	}
	p.SetExtension(Report, binary.BigEndian.AppendUint64(nil, uint64(now)))
}

// silentSince returns since when reports are missing: since the first probe or, before one was sent, the latest
// datagram.
func (s *ControlledSender) silentSince() unit.Time {
	if s.silentFrom > 0 {
		return s.silentFrom
	}
	return s.control.Pacer.LastSend
}

// lostBelow returns the number below which all datagrams must be lost, since no report arrived in time; 0: no datagram
// must be lost. If there is such a number, the next silence begins.
func (s *ControlledSender) lostBelow(now unit.Time) int64 {
	switch {
	case !s.loss.Enabled || s.loss.HasExpired(now, s.control.Pacer.LastSend):
		s.silentFrom = 0
		return s.next
	case s.silentFrom > 0 && s.loss.HasExpired(now, s.silentFrom):
		s.silentFrom = 0
		return s.silentBelow
	}
	return 0
}

// receiveProbeReply handles the answer to the latest probe, a report about all datagrams below upTo. It returns the
// number below which no datagram is in flight: those that were sent before the probe have arrived, or are lost.
func (s *ControlledSender) receiveProbeReply(now unit.Time, upTo int64) int64 {
	sent := s.loss.RecordProbeAnswer()
	s.timer.Trip.AddProbeSample(max(now-sent, 1))
	if !s.loss.ProbesProve {
		return upTo
	}
	s.timer.RestartWait(now)
	s.silentFrom = 0
	s.planNext(now)
	return max(upTo, s.probeNext)
}

// reportWait returns how long reports wait for more datagrams: ReportDelay, or 0 if each datagram is reported.
func reportWait(c *ControlledConfig) unit.Time {
	if c.ReportEvery > 1 {
		return c.ReportDelay
	}
	return 0
}

// reportOutgrowsData reports whether each datagram is answered by a report that is longer than itself. At line rate
// such reports would queue at the receiver's NIC without limit, and reach the sender after its timeout.
func (r *ControlledReceiver) reportOutgrowsData() bool {
	var p packet.Packet
	p.SetExtension(Report, make([]byte, reportBytes))
	report := r.flow.Framing.FrameBytes(r.headers+p.ExtensionBytes(), 0, false)
	return r.config.ReportEvery == 1 && report > r.flow.Framing.FrameBytes(r.headers, r.flow.Payload, true)
}

// recordFinish records the end of the flow if no datagram is in flight.
func (s *ControlledSender) recordFinish(now unit.Time) {
	if s.done == s.total && s.counters.Finished == unit.Never {
		s.counters.Finished = now
	}
}

// Replies reports whether a report covers several datagrams (transport.Replier).
func (r *ControlledReceiver) Replies() bool { return r.config.ReportEvery > 1 }
