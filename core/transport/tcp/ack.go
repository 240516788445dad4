package tcp

import (
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// What an ACK was found to do (FLAG_*).
const (
	advanced       uint16 = 1 << iota // snd_una moved
	dataAcked                         // data was cumulatively acknowledged
	windowUpdate                      // it passed tcp_may_update_window
	dataSacked                        // new SACK
	echoed                            // ECN echo
	dsacked                           // it reports a duplicate
	dsackedTLP                        // … of a TLP
	originalSacked                    // something below high_seq that was never retransmitted
	resentAcked                       // a retransmitted segment was acknowledged
	setTimer                          // the RTO or TLP shall be set anew
	lostResent                        // a retransmission was found lost
	maybeDelayed                      // the ACK may have been delayed
)

const (
	notDuplicate = windowUpdate | dataAcked
	alert        = dataSacked | echoed | dsacked
)

// event is what one ACK did (sacktag_state, rate_sample).
type event struct {
	flags     uint16
	priorUna  int64
	firstSack unit.Time // transmissions of the first and last of the newly SACKed that were never resent
	lastSack  unit.Time
	anySack   bool
	reorder   int64 // lowest sequence found to be reordered
	bytes     int64
	again     int       // deliveries that DSACK reports
	rtt       unit.Time // for the controller
	duplicate bool
	sampling
}

// Receive takes a segment of the peer: tcp_rcv_established and tcp_ack.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	if p.Notifies() {
		s.notified(now, p)
		return false
	}
	s.counters.ReceivedPackets++
	if p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Trimmed != 0 || !s.asker.Genuine(p) {
		return false
	}
	if s.phase == opening {
		return s.open(now, p)
	}
	if s.phase != established {
		return false
	}
	t := &p.TCP
	seq := extend(p.Seq, s.peerNext)
	ack := extend(p.Ack, s.una)
	window := int64(t.Window) << s.shift
	stamped := t.Has&packet.HasTimestamps != 0
	// tcp_validate_incoming: PAWS (RFC 7323 §5.3), sequence, RST, SYN
	if stamped && int32(s.tsRecent-t.TSVal) > 1 && t.Flags&packet.RST == 0 && !s.disordered(p, seq, ack, window) {
		return s.reply(now, p)
	}
	end := seq + int64(p.Payload)
	if t.Flags&(packet.SYN|packet.FIN) != 0 {
		end++
	}
	if end < s.peerNext || seq > s.peerNext+65535 {
		return t.Flags&packet.RST == 0 && s.reply(now, p)
	}
	if t.Flags&packet.RST != 0 {
		if seq == s.peerNext { // RFC 5961 §3.2
			s.close()
			return false
		}
		return s.reply(now, p)
	}
	if t.Flags&packet.SYN != 0 { // RFC 5961 §4.2, also the repeated SYN-ACK
		return s.reply(now, p)
	}
	if t.Flags&packet.ACK == 0 {
		return false
	}
	if ack < s.una-s.maxWindow { // RFC 5961 §5.2: a challenge
		return s.reply(now, p)
	}
	if s.planAt <= now && (s.plan == sendNew || s.plan == sendResent) && s.burst {
		// There is more to send, and the NIC is busy. Linux puts two
		// bursts into the host's queue (TSQ), where they count as sent.
		s.burst = false
		s.validate(now, s.cwnd()-s.inFlight() <= 2*s.goal())
	}
	s.acked(now, p, seq, ack, window, stamped)
	s.think(now)
	return false
}

// reply turns p into an ACK that says what is expected, at most twice a second
// (tcp_oow_rate_limited).
func (s *Sender) reply(now unit.Time, p *packet.Packet) bool {
	if s.lastAnswer > 0 && now-s.lastAnswer < unit.Second/2 {
		return false
	}
	s.lastAnswer = now
	s.turn(now, p)
	return true
}

// turn makes p a pure ACK to the peer.
func (s *Sender) turn(now unit.Time, p *packet.Packet) {
	p.Src, p.Dst = s.flow.Src, s.flow.Dst
	p.Data = nil
	p.TCP = packet.Segment{}
	s.acknowledge(now, p)
}

// open takes the SYN-ACK.
func (s *Sender) open(now unit.Time, p *packet.Packet) bool {
	t := &p.TCP
	if t.Flags&(packet.SYN|packet.ACK|packet.RST) != packet.SYN|packet.ACK || uint32(p.Ack) != uint32(s.initial+1) {
		if t.Flags&packet.RST != 0 && t.Flags&packet.ACK != 0 && uint32(p.Ack) == uint32(s.initial+1) {
			s.close()
		}
		return false
	}
	s.phase = established
	s.una = s.initial + 1
	s.next = s.una
	s.peerNext = int64(uint32(p.Seq)) + 1
	s.window = int64(t.Window) // a SYN's window is not scaled (RFC 7323 §2.2)
	s.windowSeq, s.maxWindow = s.peerNext, s.window
	if t.Has&packet.HasScale != 0 {
		s.shift = min(t.Scale, 14)
	}
	if t.Has&packet.HasTimestamps != 0 {
		s.tsRecent = t.TSVal
	}
	s.ecn = s.config.ECN && t.Flags&(packet.ECE|packet.CWR) == packet.ECE // RFC 3168 §6.1.1
	if t.MSS > timestampBytes {
		s.mss = min(s.mss, int64(t.MSS)-timestampBytes)
	}
	s.rto, s.backoff, s.retries = initialRTO, 0, 0
	s.rttSeq, s.usageSeq, s.highSeq = s.next, s.next, s.una
	s.delivered, s.deliveredAt = 1, now
	s.setTimer(noTimer, unit.Never)
	s.lastSend = now
	rtt := now - s.synAt
	if s.synResent { // Karn; the echoed stamp says which SYN it was
		rtt = unit.Time(stampOf(now)-t.TSEcho) * tick
		if t.TSEcho == 0 || rtt < 0 || rtt > now-s.flow.Start+tick {
			rtt = 0
		}
		rtt = max(rtt, 0)
	}
	if rtt > 0 {
		s.sample(rtt, s.una, s.next, s.config.RTOMin)
		s.minRTT.update(minRTTWindow, now, rtt)
	}
	s.turn(now, p)
	s.think(now)
	return true
}

// disordered is tcp_disordered_ack: an old pure duplicate that does no harm.
func (s *Sender) disordered(p *packet.Packet, seq, ack, window int64) bool {
	return p.Payload == 0 && p.TCP.Flags&(packet.SYN|packet.FIN|packet.RST|packet.ACK) == packet.ACK &&
		seq == s.peerNext && ack == s.una &&
		!s.mayUpdateWindow(ack, seq, window) && int64(int32(s.tsRecent-p.TCP.TSVal)) <= int64(s.rto/tick)*6/5
}

// mayUpdateWindow is tcp_may_update_window (docs/sources.md#linux-618).
func (s *Sender) mayUpdateWindow(ack, seq, window int64) bool {
	return ack > s.una || seq > s.windowSeq || seq == s.windowSeq && (window > s.window || window == 0)
}

// acked is tcp_ack.
func (s *Sender) acked(now unit.Time, p *packet.Packet, seq, ack, window int64, stamped bool) {
	t := &p.TCP
	e := event{priorUna: s.una, reorder: 1<<63 - 1, bytes: 0}
	s.frtoNew = false
	if ack < s.una {
		if t.Blocks > 0 { // old, but its SACK may be new
			s.tagSACK(now, t, ack, &e)
			s.alert(now, p, &e, s.delivered)
		}
		return
	}
	if ack > s.next {
		return
	}
	if ack > s.una {
		e.flags |= advanced
		s.retries = 0
	}
	if stamped && seq <= s.peerNext && int32(s.tsRecent-t.TSVal) <= 0 { // RFC 7323 §4.3
		s.tsRecent = t.TSVal
	}
	priorInFlight, delivered, lostBefore := s.inFlight(), s.delivered, s.lostTotal
	priorSacked := s.sackedOut
	sackedBefore := max(s.sackedEnd, s.una)
	if s.sackedOut == 0 {
		sackedBefore = s.una
	}
	if s.mayUpdateWindow(ack, seq, window) {
		e.flags |= windowUpdate
		s.windowSeq = seq
		s.window = window
		s.maxWindow = max(s.maxWindow, window)
	}
	s.una = ack
	if t.Blocks > 0 {
		s.tagSACK(now, t, ack, &e)
	}
	if t.Flags&packet.ECE != 0 && s.ecn {
		e.flags |= echoed
	}
	if s.queue.len() == 0 {
		if e.flags&dsacked != 0 {
			s.alert(now, p, &e, delivered)
		}
		s.probeAnswered(now)
		if s.tlpEnd >= 0 {
			s.tlpAcked(now, ack, &e)
		}
		return
	}
	s.clean(now, t, &e, priorSacked, sackedBefore, stamped)
	s.updateReorderingWindow(&e)
	if s.tlpEnd >= 0 {
		s.tlpAcked(now, ack, &e)
	}
	if e.flags&(notDuplicate) == 0 || e.flags&alert != 0 || s.state != cc.Open {
		if e.flags&(advanced|notDuplicate|dsacked) == 0 {
			e.duplicate = true
		}
		s.alert(now, p, &e, delivered)
	}
	if e.flags&setTimer != 0 && !s.scheduleProbe(now, true) {
		s.rearm(now)
	}
	s.finish(now, p, &e, delivered, lostBefore, priorInFlight)
	if s.una > s.initial+1 {
		if s.counters.Finished == unit.Never && s.flow.Size > 0 && s.una >= s.initial+1+int64(s.flow.Size) {
			s.counters.Finished = now
		}
		if s.finSent && s.una > s.appEnd {
			s.close()
		}
	}
}

// probeAnswered is tcp_ack_probe: the window may have opened.
func (s *Sender) probeAnswered(now unit.Time) {
	if s.timer == persist && s.una+s.window >= s.next+min(s.mss, s.appEnd-s.next) {
		s.backoff = 0
		s.setTimer(noTimer, unit.Never)
	}
}

// highestSacked is tcp_highest_sack_seq.
func (s *Sender) highestSacked() int64 {
	if s.sackedOut == 0 {
		return s.una
	}
	return s.sackedEnd
}

// tagSACK is tcp_sacktag_write_queue: it marks what the blocks report (RFC 2018 §5),
// and finds DSACKs (RFC 2883).
func (s *Sender) tagSACK(now unit.Time, t *packet.Segment, ack int64, e *event) {
	if s.sackedOut == 0 {
		s.sackedEnd = s.una
		s.cached = 0
	}
	var blocks [4]span
	n := 0
	for i := range t.Blocks {
		b := span{extend(int64(t.SACK[i].Left), s.una), extend(int64(t.SACK[i].Right), s.una)}
		duplicate := false
		if i == 0 {
			second := span{-1, -1}
			if t.Blocks > 1 {
				second = span{extend(int64(t.SACK[1].Left), s.una), extend(int64(t.SACK[1].Right), s.una)}
			}
			duplicate = b.left < ack || second.left >= 0 && b.left >= second.left && b.right <= second.right
			duplicate = duplicate && s.dsack(b, e)
		}
		if b.right <= b.left || b.right > s.next || b.left <= s.una || b.left >= s.next { // tcp_is_sackblock_valid
			continue
		}
		if duplicate {
			s.tagDuplicate(b, e)
		}
		i := n // in the order of sequence, or a block of this ACK would look reordered
		for ; i > 0 && blocks[i-1].left > b.left; i-- {
			blocks[i] = blocks[i-1]
		}
		blocks[i] = b
		n++
	}
	for i := range n {
		s.tag(now, blocks[i], e)
	}
	copy(s.cache[:], blocks[:n])
	s.cached = n
	if s.state != cc.Timeout || s.undoMarker >= 0 {
		s.sawReordering(e.reorder)
	}
}

// dsack counts a duplicate that the receiver reports (tcp_check_dsack).
// It returns false for what is not of our retransmissions.
func (s *Sender) dsack(b span, e *event) bool {
	if b.right <= b.left || b.right-b.left > s.maxWindow {
		return false
	}
	dups := int((b.right - b.left + s.mss - 1) / s.mss)
	if dups == 1 && s.tlpEnd >= 0 && s.tlpEnd == b.right {
		e.flags |= dsackedTLP
	}
	if s.dsackDups += dups; s.dsackDups > s.totalResent {
		return false
	}
	if s.reorderSeen > 0 && e.flags&dsackedTLP == 0 {
		s.rackDSACK = true
	}
	e.flags |= dsacked
	s.delivered += int64(dups) // a spurious retransmission is a delivery too
	e.again += dups
	if b.right <= e.priorUna && s.undoMarker >= 0 && s.undoResent > 0 && b.right > s.undoMarker {
		s.undoResent = max(0, s.undoResent-dups)
	}
	return true
}

// tagDuplicate: the duplicate is of segments that are still in the queue.
func (s *Sender) tagDuplicate(b span, e *event) {
	for n := s.queue.find(b.left, s.mss); n != s.queue.end; n++ {
		g := s.queue.at(n)
		if g.end > b.right {
			return
		}
		if g.seq < b.left || g.flags&everSent == 0 {
			continue
		}
		if s.undoMarker >= 0 && s.undoResent > 0 && g.end > s.undoMarker {
			s.undoResent--
		}
		if g.flags&sacked != 0 {
			e.reorder = min(e.reorder, g.seq)
		}
		if g.flags&(resent|lost) == resent {
			g.flags &^= resent
			s.resentOut--
		}
	}
}

// tag marks the segments of one block, but for those of blocks seen before.
func (s *Sender) tag(now unit.Time, b span, e *event) {
	n := s.queue.find(b.left, s.mss)
	for n != s.queue.end {
		g := s.queue.at(n)
		if g.end > b.right {
			return
		}
		skip := false
		for _, c := range s.cache[:s.cached] {
			if c.left <= g.seq && g.end <= c.right && g.flags&sacked != 0 {
				n, skip = max32(s.queue.find(c.right, s.mss), n+1, s.queue.first), true
				break
			}
		}
		if skip {
			continue
		}
		if g.seq >= b.left && g.flags&sacked == 0 {
			s.markSacked(now, n, g, e)
		}
		n++
	}
}

// max32 is the later of two numbers of segments, counted from first.
func max32(a, b, first uint32) uint32 {
	if a-first > b-first {
		return a
	}
	return b
}

// markSacked is tcp_sacktag_one.
func (s *Sender) markSacked(now unit.Time, n uint32, g *segment, e *event) {
	s.advanceRACK(now, g)
	if g.flags&resent != 0 {
		if g.flags&lost != 0 {
			g.flags &^= lost | resent
			s.lostOut--
			s.resentOut--
		}
	} else {
		if g.flags&everSent == 0 {
			if g.seq < s.highestSacked() {
				e.reorder = min(e.reorder, g.seq)
			}
			if g.end <= s.highSeq {
				e.flags |= originalSacked
			}
			if !e.anySack {
				e.anySack, e.firstSack = true, g.sent
			}
			e.lastSack = g.sent
		}
		if g.flags&lost != 0 {
			g.flags &^= lost
			s.lostOut--
			s.waiting--
		}
	}
	g.flags = g.flags&^nacked | sacked
	e.flags |= dataSacked
	s.sackedOut++
	s.deliver(now, g, e)
	e.bytes += g.end - g.seq
	s.sackedEnd = max(s.sackedEnd, g.end)
	s.queue.remove(n)
}

// deliver counts a delivery.
func (s *Sender) deliver(now unit.Time, g *segment, e *event) {
	s.delivered++
	e.sampling.take(&s.delivery, g)
}

// clean is tcp_clean_rtx_queue: it drops what is acknowledged and samples the RTT.
func (s *Sender) clean(now unit.Time, t *packet.Segment, e *event, priorSacked int, sackedBefore int64, stamped bool) {
	var first, last unit.Time
	var any, whole bool
	reorder := int64(1<<63 - 1)
	packets := 0
	whole = true
	for s.queue.len() > 0 {
		n := s.queue.first
		g := s.queue.at(n)
		if g.end > s.una {
			whole = s.una <= g.seq
			break
		}
		if g.flags&everSent != 0 {
			if g.flags&resent != 0 {
				s.resentOut--
			}
			e.flags |= resentAcked
		} else if g.flags&sacked == 0 {
			last = g.sent
			if !any {
				any, first = true, last
			}
			reorder = min(reorder, g.seq)
			if g.end <= s.highSeq {
				e.flags |= originalSacked
			}
		}
		if g.flags&sacked != 0 {
			s.sackedOut--
		} else {
			e.bytes += g.end - g.seq
			s.deliver(now, g, e)
			if !s.spuriouslyResent(g, t, stamped) {
				s.advanceRACK(now, g)
			}
		}
		if g.flags&lost != 0 {
			s.lostOut--
			if g.flags&resent == 0 {
				s.waiting--
			}
		}
		packets++
		s.queue.remove(n)
		s.queue.first++
		if int32(s.hint-s.queue.first) < 0 {
			s.hint = s.queue.first
		}
	}
	if packets > 0 {
		e.flags |= dataAcked
	}
	// RTT (tcp_ack_update_rtt)
	seqRTT, ccRTT := unit.Time(-1), unit.Time(-1)
	if any && e.flags&resentAcked == 0 {
		seqRTT, ccRTT = now-first, now-last
		if packets == 1 && whole && priorSacked == 0 && s.una-e.priorUna < s.mss && e.flags&alert == 0 {
			e.flags |= maybeDelayed
		}
	}
	sackRTT := unit.Time(-1)
	if e.anySack {
		sackRTT, ccRTT = now-e.firstSack, now-e.lastSack
	}
	if seqRTT < 0 {
		seqRTT = sackRTT
	}
	if seqRTT < 0 && stamped && t.TSEcho != 0 && packets > 0 {
		if ticks := int32(stampOf(now) - t.TSEcho); ticks >= 0 && ticks < math.MaxInt32/1000 {
			seqRTT = unit.Time(max(ticks, 1)) * tick
			ccRTT = seqRTT
		}
	}
	if ccRTT >= 0 {
		e.rtt = max(ccRTT, 1)
	}
	if seqRTT >= 0 {
		if least := s.minRTT.get(); e.flags&maybeDelayed == 0 || least == 0 || e.rtt <= least {
			s.minRTT.update(minRTTWindow, now, e.rtt)
		}
		s.sample(seqRTT, s.una, s.next, s.config.RTOMin)
		s.backoff = 0
	}
	if packets > 0 {
		e.flags |= setTimer
		if reorder < sackedBefore { // a hole was filled by what was never sent again
			s.sawReordering(reorder)
		}
	} else if s.queue.len() > 0 && sackRTT >= 0 && sackRTT > now-s.queue.at(s.queue.first).sent {
		// The RTT is of data sent after the head: else SACKs could put off the RTO.
		e.flags |= setTimer
	}
}

// spuriouslyResent is tcp_skb_spurious_retrans: the ACK is for the first transmission
// (Eifel, RFC 3522).
func (s *Sender) spuriouslyResent(g *segment, t *packet.Segment, stamped bool) bool {
	return g.flags&everSent != 0 && stamped && t.TSEcho != 0 && int32(t.TSEcho-stampOf(g.sent)) < 0
}

// finish makes the delivery-rate sample and lets the controller decide
// (tcp_rate_gen, tcp_cong_control).
func (s *Sender) finish(now unit.Time, p *packet.Packet, e *event, deliveredBefore, lostBefore int64,
	priorInFlight int) {
	packets := int(s.delivered - deliveredBefore)
	newlyLost := int(s.lostTotal - lostBefore)
	if packets > 0 {
		s.deliveredAt = now
		if e.flags&echoed != 0 {
			s.deliveredCE += int64(packets)
		}
	}
	if s.appLimited > 0 && s.delivered > s.appLimited {
		s.appLimited = 0
	}
	a := &s.report // kept, so that nothing is allocated
	*a = cc.Ack{
		Packets: packets, Bytes: unit.Bytes(e.bytes), Limited: s.isLimited(),
		Advanced: e.flags&dataAcked != 0 || s.reordering > reordering && e.flags&dataSacked != 0,
		Una:      s.una, Next: s.next, Delivered: s.delivered,
		RTT:    cc.RTT{Sample: e.rtt, Smoothed: s.srtt / 8, Min: s.minRTT.get(), Delayed: e.flags&maybeDelayed != 0},
		Flight: cc.Flight{Before: priorInFlight, After: s.inFlight(), NextSend: max(now, s.pacedUntil)},
		Losses: cc.Losses{New: newlyLost, Total: s.lostTotal, State: s.state},
		ECN:    cc.ECN{Echo: e.flags&echoed != 0, Delivered: s.deliveredCE},
	}
	if e.sampling.has {
		d := cc.Delivery{Packets: int(s.delivered - e.priorDelivered), Interval: max(e.sendInterval, now-e.priorAt),
			PriorDelivered: e.priorDelivered, AppLimited: e.sampling.appLimited, Retransmitted: e.sampling.resent}
		if d.Interval >= s.minRTT.get() && d.Interval > 0 { // a shorter one is of a spurious retransmission
			a.Delivery = d
			// An application that pauses hides what the path can (tcp_rate_gen).
			if !d.AppLimited || float64(d.Packets)*float64(s.rated.Interval) >= float64(s.rated.Packets)*float64(d.Interval) {
				s.rated = d
			}
		}
	}
	s.asker.Read(now, p, a)
	s.control.OnAck(now, a)
	s.decide()
	if s.decision.AppLimited {
		s.appLimited = max(s.delivered+int64(s.inFlight()), 1)
	}
	if s.known { // duplicates are no clock: who forges NACKs makes as many as there are packets
		packets -= e.again
	}
	if s.reducing() && !s.own {
		s.prr(packets, newlyLost, e.flags)
	}
	if packets > 0 {
		s.release(packets)
	}
}
