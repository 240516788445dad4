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
	gate      transport.NackGate
	reducedAt unit.Time // the last reduction, whatever its reason
	known     bool      // a NACK has told of a loss of this recovery: ACKs that echo old stamps undo nothing

	withheld  int       // packets that count as in flight: retransmissions that were NACKed again
	heldUntil unit.Time // nothing is sent until then, but by the retransmission timer
	holds     int       // the next hold is of srtt·2^holds
}

// mostHolds bounds nacks.holds; srtt·2^20 is above every rto_min.
const mostHolds = 20

// notified takes a NACK of the network. It is not the peer's: nothing of it counts but the
// tuple, the sequence number, the time stamp and the notice. It has to be about this
// connection while that is established, and about segments that are out, as they were
// sent last; so it needs more guesses than a forged ACK or reset (BS'19 §5, RFC 5961).
// ICMP source quenches never come here (RFC 6633).
func (s *Sender) notified(now unit.Time, p *packet.Packet) {
	if s.config.Nacks == transport.NacksIgnored {
		return
	}
	var n packet.Notification
	if s.phase != established || !s.aboutThis(p) || !p.Notification(&n) || !s.asker.Genuine(p) || !s.believe(now, p, &n) {
		s.counters.NacksRefused++
		return
	}
	s.counters.NacksTaken++
	s.think(now)
}

// aboutThis tells whether p is a segment of this connection that was turned round on its way.
func (s *Sender) aboutThis(p *packet.Packet) bool {
	return p.Proto == packet.ProtoTCP && p.Payload == 0 && p.Src == s.flow.Dst && p.Dst == s.flow.Src &&
		p.SrcPort == s.flow.DstPort && p.DstPort == s.flow.SrcPort &&
		p.TCP.Has&packet.HasTimestamps != 0 && p.TCP.Flags&(packet.SYN|packet.RST) == 0
}

// believe does what a notice says, if it is about segments that are out; false: it is not.
func (s *Sender) believe(now unit.Time, p *packet.Packet, n *packet.Notification) bool {
	seq := extend(p.Seq, s.una)
	switch n.Cause {
	case packet.CauseElephant, packet.CauseMarked:
		g := s.out(seq, p.TCP.TSVal)
		if g == nil || g.flags&warned != 0 || n.Lost > 0 || n.Spans > 0 {
			return false
		}
		g.flags |= warned
		notice := cc.Notice{Kind: cc.NackNotice, Seq: seq, Supply: n.Supply, Demand: n.Demand}
		if n.Cause == packet.CauseMarked { // a switch's CNP
			notice.Kind = cc.CNPNotice
		}
		s.notice(now, notice)
		s.reduceTold(now, g.sent)
		return true
	}
	var gone tidings
	s.gone(seq, n.Lost, p.TCP.TSVal, &gone)
	for _, more := range n.More[:n.Spans] {
		s.gone(seq+int64(more.Offset), more.Lost, p.TCP.TSVal, &gone)
	}
	if gone.packets == 0 {
		return false
	}
	s.notice(now, cc.Notice{Kind: cc.NackNotice, Seq: gone.first, Lost: gone.bytes, Supply: n.Supply, Demand: n.Demand})
	s.lostTold(now, &gone)
	return true
}

func (s *Sender) notice(now unit.Time, n cc.Notice) {
	s.control.OnNotice(now, n)
	s.decide()
}

// out is the segment that begins at seq, if it is neither delivered nor cut by an ACK and its
// last transmission had this stamp; else nil.
func (s *Sender) out(seq int64, stamp uint32) *segment {
	n := s.queue.find(seq, s.mss)
	if n == s.queue.end {
		return nil
	}
	if g := s.queue.at(n); g.seq == seq && seq >= s.una && g.flags&sacked == 0 && stampOf(g.sent) == stamp {
		return g
	}
	return nil
}

// tidings is what one NACK has told of losses.
type tidings struct {
	first   int64 // sequence number of the first that was believed
	packets int
	bytes   unit.Bytes
	again   int       // of the packets: those that were NACKed before
	sent    unit.Time // when the last of them was sent
}

// gone marks the segment at seq with this payload lost, if it is out and no NACK has said
// so of this transmission.
func (s *Sender) gone(seq int64, payload int32, stamp uint32, t *tidings) {
	g := s.out(seq, stamp)
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
	if g.flags&told != 0 {
		t.again++
	}
	if g.flags&(lost|resent) == resent { // as good as delivered, said a duplicate or an undo; it is not
		g.flags &^= resent
		s.resentOut--
	}
	n := s.queue.find(seq, s.mss)
	s.markLost(n)
	s.queue.remove(n)
	g.flags |= nacked | told
}

// lostTold is what the state machine of recovery does about losses that a NACK has told:
// retransmission at once, in the slots that the lost packets leave, and at most one
// reduction a round trip, for what was sent after the last one. Where none is due, the
// state is Recovery all the same, but quiet: without PRR, and the controller is not told.
func (s *Sender) lostTold(now unit.Time, t *tidings) {
	s.known = true
	if s.timer == lossProbe { // no TLP in recovery (RFC 8985 §7.2)
		s.rearm(now)
	}
	if s.forcedNew || s.forcedLast {
		s.forcedNew, s.forcedLast, s.chunk = false, false, 0
	}
	reduce := s.mayReduce(now, t.sent)
	if s.state == cc.Timeout {
		s.frto, s.frtoNew = false, false // the loss was real (RFC 5682 §3.1 step 3a)
	}
	if s.state != cc.Timeout || reduce {
		s.recoverTold(now, reduce)
		if s.reducing() && !s.own {
			s.prrWindow = max(s.prrWindow, s.inFlight()+t.packets)
		}
	}
	s.withhold(now, t.again)
}

// mayReduce tells whether a NACK of what was sent then reduces now, and takes note of it.
func (s *Sender) mayReduce(now, sent unit.Time) bool {
	return s.config.Nacks == transport.NacksLoss && sent >= s.reducedAt && s.gate.Reduce(now, sent, s.roundTrip())
}

// roundTrip is the smoothed round-trip time, before the first sample that of the empty path.
func (s *Sender) roundTrip() unit.Time {
	if s.srtt > 0 {
		return s.SRTT()
	}
	return s.flow.Path.BaseRTT
}

// recoverTold enters Recovery, or begins anew there, with a reduction or quietly; a
// reduction that goes on does.
func (s *Sender) recoverTold(now unit.Time, reduce bool) {
	switch {
	case reduce:
		if !s.reducing() {
			s.initUndo()
		}
		s.undoable = true
		s.startReduction(now, cc.FastRecovery)
		if !s.own {
			s.prrWindow = s.inFlight()
		}
	case !s.reducing() && !s.quiet:
		s.undoable = false
		s.initUndo()
		s.highSeq, s.tlpEnd = s.next, -1
		s.quiet = true
	}
	s.setState(now, cc.Recovery)
}

// reduceTold is what a notice does that tells of no loss: what an ECN echo does, but a round
// trip after the last reduction again, also in recovery.
func (s *Sender) reduceTold(now, sent unit.Time) {
	if s.state == cc.Timeout || !s.mayReduce(now, sent) {
		return
	}
	if s.state < cc.Reduced {
		s.enterReduced(now)
	} else {
		s.undoable = false
		s.startReduction(now, cc.ECNEcho)
	}
	if !s.own {
		s.prrWindow = s.inFlight()
	}
}

// withhold keeps retransmissions that were NACKed again from going out at the pace of NACKs,
// which is above that of ACKs: their slots stay taken until ACKs free them, and when
// nothing is in flight they wait for srtt·2^k, up to rto_min. So as many senders with windows of one
// packet as there may be do not storm a switch.
func (s *Sender) withhold(now unit.Time, again int) {
	s.withheld += again
	if s.withheld == 0 || s.inFlight() > 0 {
		return
	}
	s.withheld = 0
	rtt := s.roundTrip()
	s.heldUntil = now + max(rtt, min(rtt<<s.holds, s.config.RTOMin))
	s.holds = min(s.holds+1, mostHolds)
}

// release is called when so many packets were delivered.
func (s *Sender) release(packets int) {
	s.holds = max(s.holds-1, 0)
	s.heldUntil = 0
	if s.withheld = max(s.withheld-packets, 0); s.reducing() && !s.own { // PRR says what may go
		s.withheld = 0
	}
}

// timedOut: the timer has taken over.
func (s *Sender) timedOut(now unit.Time) {
	s.withheld, s.heldUntil = 0, 0
	s.reducedAt = now
	s.gate.Note(now)
}

// onlyTold tells whether all losses that are known are so by NACKs.
func (s *Sender) onlyTold() bool {
	if !s.known {
		return false
	}
	all := true
	s.known = false
	for n := s.queue.first; n != s.queue.end; n++ {
		switch s.queue.at(n).flags & (lost | told) {
		case lost | told:
			s.known = true
		case lost:
			all = false
		}
	}
	return s.known && all
}
