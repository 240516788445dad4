package tcp

import (
	"weir/core/packet"
	"weir/core/unit"
)

// Receive handles a segment of the peer, or a NACK of the network (tcp_rcv_established, tcp_ack). It returns true if p
// has become an ACK to the peer.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	if p.IsNotification() {
		s.receiveNack(now, p)
		return false
	}
	s.counters.ReceivedPackets++
	if p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Trimmed != 0 || !s.requester.IsGenuine(p) {
		return false
	}
	if s.phase == opening {
		return s.handleSYNACK(now, p)
	}
	if s.phase != established {
		return false
	}
	t := &p.TCP
	seq := extendSeq(p.Seq, s.peer.next)
	ack := extendSeq(p.Ack, s.una)
	window := int64(t.Window) << s.peer.shift
	stamped := t.Present&packet.HasTimestamps != 0
	// tcp_validate_incoming: PAWS (RFC 7323 §5.3), sequence, RST, SYN
	if stamped && int32(s.peer.tsRecent-t.TSVal) > 1 && t.Flags&packet.RST == 0 && !s.isDisordered(p, seq, ack, window) {
		return s.challengeAck(now, p)
	}
	end := seq + int64(p.Payload)
	if t.Flags&(packet.SYN|packet.FIN) != 0 {
		end++
	}
	if end < s.peer.next || seq > s.peer.next+65535 {
		return t.Flags&packet.RST == 0 && s.challengeAck(now, p)
	}
	if t.Flags&packet.RST != 0 {
		if seq == s.peer.next { // RFC 5961 §3.2
			s.closeConnection()
			return false
		}
		return s.challengeAck(now, p)
	}
	if t.Flags&packet.SYN != 0 { // RFC 5961 §4.2, also the repeated SYN-ACK
		return s.challengeAck(now, p)
	}
	if t.Flags&packet.ACK == 0 {
		return false
	}
	if ack < s.una-s.peer.maxWindow { // RFC 5961 §5.2: a challenge
		return s.challengeAck(now, p)
	}
	if s.plan.sendAt <= now && (s.plan.action == sendNew || s.plan.action == sendResent) && s.burst.sent {
		// There is more to send, and the NIC is busy. Linux puts two bursts into the host's queue (TSQ), where they count as
		// sent.
		s.burst.sent = false
		s.validateUsage(now, s.cwnd()-s.inFlight() <= 2*s.burstGoal())
	}
	s.handleAck(now, p, seq, ack, window, stamped)
	s.planNext(now)
	return false
}

// challengeAck turns p into an ACK with the expected numbers, at most twice a second (tcp_oow_rate_limited). It reports
// whether it did.
func (s *Sender) challengeAck(now unit.Time, p *packet.Packet) bool {
	if s.peer.lastAnswer > 0 && now-s.peer.lastAnswer < unit.Second/2 {
		return false
	}
	s.peer.lastAnswer = now
	s.turnIntoAck(now, p)
	return true
}

// turnIntoAck turns p into a pure ACK to the peer, and swaps its addresses for that. It changes no state of s.
func (s *Sender) turnIntoAck(now unit.Time, p *packet.Packet) {
	p.Src, p.Dst = s.flow.Src, s.flow.Dst
	p.Data = nil
	p.TCP = packet.Segment{}
	s.fillAck(now, p)
}

// handleSYNACK handles a segment before the connection is established. A valid SYN-ACK establishes it, and p becomes
// its ACK, which the result reports. A valid reset closes it.
func (s *Sender) handleSYNACK(now unit.Time, p *packet.Packet) bool {
	t := &p.TCP
	if t.Flags&(packet.SYN|packet.ACK|packet.RST) != packet.SYN|packet.ACK || uint32(p.Ack) != uint32(s.initial+1) {
		if t.Flags&packet.RST != 0 && t.Flags&packet.ACK != 0 && uint32(p.Ack) == uint32(s.initial+1) {
			s.closeConnection()
		}
		return false
	}
	s.phase = established
	s.una = s.initial + 1
	s.next = s.una
	s.peer.next = int64(uint32(p.Seq)) + 1
	s.peer.window = int64(t.Window) // a SYN's window is not scaled (RFC 7323 §2.2)
	s.peer.windowSeq, s.peer.maxWindow = s.peer.next, s.peer.window
	if t.Present&packet.HasScale != 0 {
		s.peer.shift = min(t.Scale, 14)
	}
	if t.Present&packet.HasTimestamps != 0 {
		s.peer.tsRecent = t.TSVal
	}
	s.ecn = s.config.ECN && t.Flags&(packet.ECE|packet.CWR) == packet.ECE // RFC 3168 §6.1.1
	s.dctcp = s.dctcp && (s.ecn || !s.config.ECNFallback)                 // else Linux continues as dctcp-reno
	if t.MSS > timestampBytes {
		s.mss = min(s.mss, int64(t.MSS)-timestampBytes)
	}
	if s.config.Connected {
		s.app.start, s.counters.Began = now, now
	}
	s.rto = newRTO(s.config.RTOInitial)
	s.rtt.seq, s.usage.seq, s.highSeq = s.next, s.next, s.una
	s.rate.Delivered, s.rate.DeliveredAt = 1, now
	s.setTimer(noTimer, unit.Never)
	s.control.Pacer.LastSend = now
	rtt := now - s.syn.sentAt
	if s.syn.resent { // Karn; the echoed stamp identifies the SYN
		rtt = unit.Time(stampOf(now)-t.TSEcho) * tick
		if t.TSEcho == 0 || rtt < 0 || rtt > now-s.flow.Start+tick {
			rtt = 0
		}
		rtt = max(rtt, 0)
	}
	if rtt > 0 {
		s.rtt.sample(rtt, s.una, s.next, s.config.RTOMin)
		s.rto.follow(&s.rtt)
		s.rtt.min.update(minRTTWindow, now, rtt)
	}
	s.turnIntoAck(now, p)
	s.planNext(now)
	return true
}

// isDisordered reports whether p is an old pure duplicate that does no harm (tcp_disordered_ack).
func (s *Sender) isDisordered(p *packet.Packet, seq, ack, window int64) bool {
	return p.Payload == 0 && p.TCP.Flags&(packet.SYN|packet.FIN|packet.RST|packet.ACK) == packet.ACK &&
		seq == s.peer.next && ack == s.una &&
		!s.mayUpdateWindow(ack, seq, window) && int64(int32(s.peer.tsRecent-p.TCP.TSVal)) <= int64(s.rto.value/tick)*6/5
}

// mayUpdateWindow reports whether an ACK may update the peer's window (tcp_may_update_window;
// docs/sources.md#linux-618).
func (s *Sender) mayUpdateWindow(ack, seq, window int64) bool {
	return ack > s.una || seq > s.peer.windowSeq || seq == s.peer.windowSeq && (window > s.peer.window || window == 0)
}
