package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// nacks is what a sender keeps for NACKs of the network (BS'19 §4.3). What it does about
// them is ours: the paper leaves it to the end points (§5).
type nacks struct {
	known bool // a NACK has told of a loss of this recovery: ACKs that echo old stamps undo nothing

	hold transport.NACKPacer
}

// receiveNack takes a NACK of the network. It is not the peer's: nothing of it counts but the
// tuple, the sequence number, the time stamp and the notice. It has to be about this
// connection while that is established, and about segments that are out, as they were
// sent last; so it needs more guesses than a forged ACK or reset (BS'19 §5, RFC 5961).
// ICMP source quenches never come here (RFC 6633).
func (s *Sender) receiveNack(now unit.Time, p *packet.Packet) {
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	var n packet.Notification
	if s.phase != established || !s.ofThisFlow(p) || !p.Notification(&n) || !s.requester.Genuine(p) ||
		!s.processNack(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.schedule(now)
}

// ofThisFlow reports whether p is a segment of this connection that was turned round on its way.
func (s *Sender) ofThisFlow(p *packet.Packet) bool {
	return p.Proto == packet.ProtoTCP && p.Payload == 0 && p.Src == s.flow.Dst && p.Dst == s.flow.Src &&
		p.SrcPort == s.flow.DstPort && p.DstPort == s.flow.SrcPort &&
		p.TCP.Has&packet.HasTimestamps != 0 && p.TCP.Flags&(packet.SYN|packet.RST) == 0
}

// processNack does what a notice says, if it is about segments that are out; false: it is not.
func (s *Sender) processNack(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	about, stamp := p.NotifiedAbout()
	seq := extend(about, s.una)
	switch n.Cause {
	case packet.CauseElephant, packet.CauseMarked:
		g := s.outstanding(seq, stamp)
		if g == nil || g.flags&notified != 0 || n.Lost > 0 || n.Spans > 0 {
			return false
		}
		g.flags |= notified
		notice, loss := transport.NackNotice(n, seq, 0), cc.Loss{Kind: cc.Warned, Window: s.offered(n.Supply)}
		if n.Cause == packet.CauseMarked { // a switch's CNP
			notice.Kind, loss = cc.CNPNotice, cc.Loss{Kind: cc.ECNEcho}
		}
		s.control.Notify(now, notice)
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
	s.control.Notify(now, transport.NackNotice(n, gone.first, gone.bytes))
	s.nackLosses(now, &gone)
	s.hold.Nacked(now, s.shortTrip(), gone.again > 0, n.Supply, s.mss)
	return true
}

// outstanding is the segment that begins at seq, if it is neither delivered nor cut by an ACK and its
// last transmission had this stamp; else nil.
func (s *Sender) outstanding(seq int64, stamp uint32) *segment {
	n := s.queue.find(seq, s.mss)
	if n == s.queue.end {
		return nil
	}
	if g := s.queue.at(n); g.seq == seq && seq >= s.una && g.flags&sacked == 0 && stampOf(g.sent) == stamp {
		return g
	}
	return nil
}

// nackedLosses is what one NACK has told of losses.
type nackedLosses struct {
	first   int64 // sequence number of the first that was believed
	packets int
	bytes   unit.Bytes
	again   int       // of the packets: those that were NACKed before
	sent    unit.Time // when the last of them was sent
}

// markNacked marks the segment at seq with this payload lost, if it is out and no NACK has said
// so of this transmission.
func (s *Sender) markNacked(seq int64, payload int32, stamp uint32, t *nackedLosses) {
	g := s.outstanding(seq, stamp)
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
	if g.flags&(lost|resent) == resent { // as good as delivered, said a duplicate or an undo; it is not
		g.flags &^= resent
		s.resentOut--
	}
	n := s.queue.find(seq, s.mss)
	s.markLost(n)
	s.queue.remove(n)
	g.flags |= nacked | lostByNack
}

// nackLosses is what the state machine of recovery does about losses that a NACK has told:
// retransmission at once, in the slots that the lost packets leave, and at most one
// reduction a round trip, for what was sent after the last one. Where none is due, the
// state is Recovery all the same, but quiet: without PRR, and the controller is not told.
func (s *Sender) nackLosses(now unit.Time, t *nackedLosses) {
	s.known = true
	if s.timer.kind == lossProbe { // no TLP in recovery (RFC 8985 §7.2)
		s.rearm(now)
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
		if s.reducing() && !s.own {
			s.prr.window = max(s.prr.window, s.inFlight()+t.packets)
		}
	}
}

// mayReduce reports whether a NACK of what was sent then reduces now, and takes note of it.
func (s *Sender) mayReduce(now, sent unit.Time) bool {
	return s.control.AllowsReduction(now, sent, s.roundTrip())
}

// roundTrip is the smoothed round-trip time, before the first sample that of the empty path.
func (s *Sender) roundTrip() unit.Time {
	if s.rtt.srtt > 0 {
		return s.SRTT()
	}
	return s.flow.Path.BaseRTT
}

// enterNackRecovery enters Recovery, or begins anew there, with a reduction or quietly; a
// reduction that goes on does.
func (s *Sender) enterNackRecovery(now unit.Time, reduce bool) {
	switch {
	case reduce:
		if !s.reducing() {
			s.armUndo()
		}
		s.undo.possible = true
		s.startReduction(now, cc.Loss{Kind: cc.FastRecovery})
		if !s.own {
			s.prr.window = s.inFlight()
		}
	case !s.reducing() && !s.quiet:
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
	if !s.own {
		s.prr.window = max(s.inFlight()+min(s.waiting, 1), 2)
	}
}

// offered is how many packets a round trip the switch's supply is, of whole frames; 0: not known.
func (s *Sender) offered(supply unit.Rate) int {
	frame := int32(s.mss) + timestampBytes + packet.TCPHeader + packet.IPHeader(s.flow.Version) + packet.EthernetHeader
	return int(float64(supply) * s.roundTrip().Seconds() / 8 / float64(frame))
}

// holdOff updates the hold-off, and says when it lets the next segment go. Gaps are up to 3/2 of the limit, and below
// rto_min, so that no timeout comes while a segment waits.
func (s *Sender) holdOff(now unit.Time, inFlight int) unit.Time {
	if s.hold.Waits() {
		s.hold.Update(now, s.shortTrip(), s.config.RTOMin/2, int64(inFlight), s.header.hash)
	}
	return s.hold.Ready()
}

// timedOut: the timer has taken over.
func (s *Sender) timedOut(now unit.Time) {
	s.hold = transport.NACKPacer{Bursts: true}
	s.control.Gate.Note(now)
}

// onlyNacked reports whether all losses that are known are so by NACKs.
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

// shortTrip is the shortest round trip that was measured, for the hold-off. SRTT has the queues in it, and samples of
// retransmissions, which take a tick of the time stamps at least: 1 ms, fifty round trips of a rack.
func (s *Sender) shortTrip() unit.Time {
	if least := s.rtt.min.get(); least > 0 {
		return least
	}
	return s.roundTrip()
}
