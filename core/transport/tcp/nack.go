package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// nacks is the sender's state for NACKs of the network (BS'19 §4.3). The paper leaves the response to the end points
// (§5); Weir defines it.
type nacks struct {
	known bool // a NACK has reported a loss of this recovery: ACKs that echo old stamps undo no reduction

	hold transport.NACKPacer
}

// receiveNack handles a NACK of the network, p. It is not the peer's: only the tuple, the sequence number, the time
// stamp and the notice count. It is refused unless the connection is established and it is about segments in flight, in
// their last transmission. So a forged one needs more guesses than a forged ACK or reset (BS'19 §5, RFC 5961). ICMP
// source quenches never arrive here (RFC 6633).
func (s *Sender) receiveNack(now unit.Time, p *packet.Packet) {
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	var n packet.Notification
	if s.phase != established || !s.ofThisFlow(p) || !p.Notification(&n) || !s.requester.IsGenuine(p) ||
		!s.processNack(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.planNext(now)
}

// ofThisFlow reports whether p is a segment of this connection that was returned on its way.
func (s *Sender) ofThisFlow(p *packet.Packet) bool {
	return p.Proto == packet.ProtoTCP && p.Payload == 0 && p.Src == s.flow.Dst && p.Dst == s.flow.Src &&
		p.SrcPort == s.flow.DstPort && p.DstPort == s.flow.SrcPort &&
		p.TCP.Present&packet.HasTimestamps != 0 && p.TCP.Flags&(packet.SYN|packet.RST) == 0
}

// processNack responds to notice n. It returns false, without an effect, if the notice is not about segments in flight.
func (s *Sender) processNack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	about, stamp := p.NoticeSubject()
	seq := extendSeq(about, s.una)
	switch n.Cause {
	case packet.CauseElephant, packet.CauseMarked:
		g := s.findOutstanding(seq, stamp)
		if g == nil || g.flags&notified != 0 || n.Lost > 0 || n.Spans > 0 {
			return false
		}
		g.flags |= notified
		notice, loss := transport.NackNotice(n, seq, 0), cc.Loss{Kind: cc.Warned, Window: s.offeredFrames(n.Supply)}
		if n.Cause == packet.CauseMarked { // a switch's CNP
			notice.Kind, loss = cc.CNPNotice, cc.Loss{Kind: cc.ECNEcho}
		}
		s.control.NotifyController(now, notice)
		s.reduceOnNack(now, g.sent, loss)
		return true
	}
	var gone nackedLosses
	s.markNacked(seq, n.Lost, stamp, &gone)
	for _, more := range n.More[:n.Spans] {
		s.markNacked(seq+int64(more.Offset), more.Lost, stamp, &gone)
	}
	if gone.packets == 0 {
		return false
	}
	s.control.NotifyController(now, transport.NackNotice(n, gone.first, gone.bytes))
	s.nackLosses(now, &gone)
	s.hold.HandleNack(now, s.shortTrip(), gone.again > 0, n.Supply, s.mss)
	return true
}

// findOutstanding returns the segment that begins at seq, if it is neither delivered nor cut by an ACK and its last
// transmission had this stamp; else nil.
func (s *Sender) findOutstanding(seq int64, stamp uint32) *segment {
	n := s.queue.find(seq, s.mss)
	if n == s.queue.end {
		return nil
	}
	if g := s.queue.at(n); g.seq == seq && seq >= s.una && g.flags&sacked == 0 && stampOf(g.sent) == stamp {
		return g
	}
	return nil
}

// nackedLosses collects the losses that one NACK reports.
type nackedLosses struct {
	first   int64 // sequence number of the first accepted loss
	packets int
	bytes   unit.Bytes
	again   int       // number of the packets that were NACKed before
	sent    unit.Time // when the last of them was sent
}

// markNacked marks the segment at seq with this payload lost, if it is in flight and no NACK has reported this
// transmission. It adds it to t.
func (s *Sender) markNacked(seq int64, payload int32, stamp uint32, t *nackedLosses) {
	g := s.findOutstanding(seq, stamp)
	if g == nil || g.flags&nacked != 0 || payload <= 0 {
		return
	}
	size := g.end - g.seq
	if g.flags&final != 0 {
		size--
	}
	if size != int64(payload) {
		return
	}
	if t.packets == 0 {
		t.first = seq
	}
	t.packets++
	t.bytes += unit.Bytes(payload)
	t.sent = max(t.sent, g.sent)
	if g.flags&lostByNack != 0 {
		t.again++
	}
	if g.flags&(lost|resent) == resent { // a duplicate or an undo counted it as delivered, but it is lost
		g.flags &^= resent
		s.resentOut--
	}
	n := s.queue.find(seq, s.mss)
	s.markLost(n)
	s.queue.remove(n)
	g.flags |= nacked | lostByNack
}

// nackLosses is the state machine of recovery for losses that a NACK reports. It retransmits at once, in the slots of
// the lost packets, and makes at most one reduction a round trip, for data sent after the last one. If no reduction is
// due, the state is Recovery as well, but quiet: without PRR, and the controller is not notified.
func (s *Sender) nackLosses(now unit.Time, t *nackedLosses) {
	s.known = true
	if s.timer.kind == lossProbe { // no TLP in recovery (RFC 8985 §7.2)
		s.rearmTimer(now)
	}
	if s.tlp.sendNew || s.tlp.sendLast {
		s.tlp.cancel()
		s.burst.left = 0
	}
	reduce := s.mayReduce(now, t.sent)
	if s.state == cc.Timeout {
		s.frto.end() // the loss was real (RFC 5682 §3.1 step 3a)
	}
	if s.state != cc.Timeout || reduce {
		s.enterNackRecovery(now, reduce)
		if s.isReducing() && !s.ownRecovery {
			s.prr.window = max(s.prr.window, s.inFlight()+t.packets)
		}
	}
}

// mayReduce reports whether a NACK of data sent at the time sent reduces now. It records the reduction then.
func (s *Sender) mayReduce(now, sent unit.Time) bool {
	return s.control.AllowsReduction(now, sent, s.roundTrip())
}

// roundTrip returns the smoothed round-trip time; before the first sample the round trip of the empty path.
func (s *Sender) roundTrip() unit.Time {
	if s.rtt.srtt > 0 {
		return s.SRTT()
	}
	return s.flow.Path.BaseRTT
}

// enterNackRecovery enters Recovery, or restarts it, with a reduction or quietly. A reduction in progress continues.
func (s *Sender) enterNackRecovery(now unit.Time, reduce bool) {
	switch {
	case reduce:
		if !s.isReducing() {
			s.armUndo()
		}
		s.undo.possible = true
		s.startReduction(now, cc.Loss{Kind: cc.FastRecovery})
		if !s.ownRecovery {
			s.prr.window = s.inFlight()
		}
	case !s.isReducing() && !s.quiet:
		s.undo.possible = false
		s.armUndo()
		s.highSeq = s.next
		s.tlp.clear()
		s.quiet = true
	}
	s.setState(now, cc.Recovery)
}

// reduceOnNack reduces on a notice that reports no loss, as an ECN echo does, but also in recovery, a round trip after
// the last reduction. A retransmission that waits is sent in any case, as at the beginning of a recovery (RFC 9937 §6),
// and new data next to a segment that is alone in flight, because the receiver may delay its acknowledgement.
func (s *Sender) reduceOnNack(now, sent unit.Time, l cc.Loss) {
	if s.state == cc.Timeout || !s.mayReduce(now, sent) {
		return
	}
	if s.state < cc.Reduced {
		s.enterReduced(now, l)
	} else {
		s.undo.possible = false
		s.startReduction(now, l)
	}
	if !s.ownRecovery {
		s.prr.window = max(s.inFlight()+min(s.waiting, 1), 2)
	}
}

// offeredFrames returns the number of whole frames a round trip at the switch's supply; 0: unknown.
func (s *Sender) offeredFrames(supply unit.Rate) int {
	frame := int32(s.mss) + timestampBytes + packet.TCPHeader + packet.IPHeader(s.flow.Version) + packet.EthernetHeader
	return int(float64(supply) * s.roundTrip().Seconds() / 8 / float64(frame))
}

// holdOff updates the hold-off, and returns when the next segment may be sent. Gaps are up to 3/2 of the limit, and
// below rto_min, so that no timeout expires while a segment waits.
func (s *Sender) holdOff(now unit.Time, inFlight int) unit.Time {
	if s.hold.InNackRound() {
		s.hold.Update(now, s.shortTrip(), s.config.RTOMin/2, int64(inFlight), s.header.hash)
	}
	return s.hold.NextSend()
}

// resetHoldOff resets the hold-off after a timeout, which counts as a reduction for NACKs.
func (s *Sender) resetHoldOff(now unit.Time) {
	s.hold = transport.NACKPacer{Bursts: true}
	s.control.Gate.RecordReduction(now)
}

// onlyNacked reports whether NACKs have reported all known losses, at least one. It also updates known: false if no
// loss that NACKs reported is left.
func (s *Sender) onlyNacked() bool {
	if !s.known {
		return false
	}
	all := true
	s.known = false
	for n := s.queue.first; n != s.queue.end; n++ {
		switch s.queue.at(n).flags & (lost | lostByNack) {
		case lost | lostByNack:
			s.known = true
		case lost:
			all = false
		}
	}
	return s.known && all
}

// shortTrip returns the shortest measured round trip, for the hold-off. SRTT includes queues, and samples of
// retransmissions, which take at least a tick of the time stamps: 1 ms, fifty round trips of a rack.
func (s *Sender) shortTrip() unit.Time {
	if least := s.rtt.min.get(); least > 0 {
		return least
	}
	return s.roundTrip()
}
