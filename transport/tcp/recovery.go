package tcp

import (
	"weir/cc"
	"weir/packet"
	"weir/unit"
)

// span is a range of sequence numbers.
type span struct{ left, right int64 }

// recovery is what the sender knows of losses.
type recovery struct {
	sackedOut, lostOut, resentOut int
	waiting                       int    // lost, not sent again
	hint                          uint32 // no segment before it waits
	sackedEnd                     int64  // end of the highest segment that SACK has delivered
	cache                         [4]span
	cached                        int

	state   cc.State
	highSeq int64 // SND.NXT when the state was entered
	cwrDue  bool  // CWR has to be sent

	prrWindow, prrPrior, prrDelivered, prrOut int // PRR (RFC 9937)

	undoMarker  int64 // −1: there is nothing to undo
	undoResent  int   // retransmissions that DSACK has not yet shown to be spurious; −1: none was made
	undoable    bool  // prior_ssthresh is known
	reduced     bool  // the controller was told of this reduction
	resentStamp uint32
	totalResent int
	dsackDups   int
	frto        bool
	frtoNew     bool // F-RTO's step 2b: new data, no retransmission

	tlpEnd    int64 // −1: no TLP is outstanding
	tlpResent bool

	reordering    int // packets
	reorderSeen   int
	rackSent      unit.Time // RACK.xmit_ts
	rackEnd       int64     // RACK.end_seq
	rackRTT       unit.Time
	rackAdvanced  bool
	rackSteps     int // RACK.reo_wnd_mult
	rackPersist   int
	rackDSACK     bool
	rackDelivered int64
	neverRenege   bool
}

func (r *recovery) init() {
	r.undoMarker, r.undoResent, r.tlpEnd = -1, -1, -1
	r.reordering, r.rackSteps, r.sackedEnd = reordering, 1, -1
	r.rackEnd = -1 << 62
}

// reducing: PRR governs what may be sent (tcp_in_cwnd_reduction).
func (r *recovery) reducing() bool { return r.state == cc.Reduced || r.state == cc.Recovery }

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
	rtt       unit.Time // for the controller
	duplicate bool
	dups      int // of DSACK
	sampling
}

// Receive takes a segment of the peer: tcp_rcv_established and tcp_ack.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if p.Proto != packet.ProtoTCP || p.Meta.Flags&packet.Trimmed != 0 {
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
	if stamped && int32(s.tsRecent-t.TSVal) > 1 && !s.disordered(p, seq, ack, window) {
		return t.Flags&packet.RST == 0 && s.reply(now, p)
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
	return p.Payload == 0 && p.TCP.Flags&(packet.SYN|packet.FIN|packet.RST|packet.ACK) == packet.ACK && seq == s.peerNext && ack == s.una &&
		!s.mayUpdateWindow(ack, seq, window) && int64(int32(s.tsRecent-p.TCP.TSVal)) <= int64(s.rto/tick)*6/5
}

// mayUpdateWindow is tcp_may_update_window (notes: live.md §3).
func (s *Sender) mayUpdateWindow(ack, seq, window int64) bool {
	return ack > s.una || seq > s.windowSeq || seq == s.windowSeq && (window > s.window || window == 0)
}

// acked is tcp_ack.
func (s *Sender) acked(now unit.Time, p *packet.Packet, seq, ack, window int64, stamped bool) {
	t := &p.TCP
	e := event{priorUna: s.una, reorder: 1<<63 - 1, bytes: 0}
	s.frtoNew = false
	if ack < s.una {
		if ack < s.una-s.maxWindow { // RFC 5961 §5
			return
		}
		if t.Blocks > 0 { // old, but its SACK may be new
			delivered, lostBefore := s.delivered, s.lostTotal
			s.tagSACK(now, t, ack, &e)
			s.alert(now, p, &e, delivered)
			s.finish(now, &e, delivered, lostBefore, s.inFlight())
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
		s.probeAnswered(now)
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
	s.finish(now, &e, delivered, lostBefore, priorInFlight)
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
			if duplicate {
				s.dsack(b, e)
			}
		}
		if b.right <= b.left || b.right > s.next || b.left < s.una || b.left >= s.next { // tcp_is_sackblock_valid
			continue
		}
		if duplicate {
			s.tagDuplicate(b)
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
func (s *Sender) dsack(b span, e *event) {
	if b.right <= b.left || b.right-b.left > s.maxWindow {
		return
	}
	dups := int((b.right - b.left + s.mss - 1) / s.mss)
	if dups == 1 && s.tlpEnd >= 0 && s.tlpEnd == b.right {
		e.flags |= dsackedTLP
	}
	if s.dsackDups += dups; s.dsackDups > s.totalResent {
		return // not of our retransmissions
	}
	if s.reorderSeen > 0 && e.flags&dsackedTLP == 0 {
		s.rackDSACK = true
	}
	e.flags |= dsacked
	e.dups += dups
	if b.right <= e.priorUna && s.undoMarker >= 0 && b.right > s.undoMarker {
		s.undoResent = max(0, s.undoResent-dups)
	}
}

// tagDuplicate: the duplicate is of segments that are still in the queue.
func (s *Sender) tagDuplicate(b span) {
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
		if g.flags&sacked != 0 && g.flags&resent != 0 {
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
	g.flags |= sacked
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
		if ticks := int32(stampOf(now) - t.TSEcho); ticks >= 0 {
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

// sawReordering is tcp_check_sack_reordering: low was delivered after what is above it.
func (s *Sender) sawReordering(low int64) {
	high := s.highestSacked()
	if low >= high {
		return
	}
	if metric := high - low; metric > int64(s.reordering)*s.mss {
		s.reordering = int(min((metric+s.mss-1)/s.mss, mostReordering))
	}
	s.reorderSeen++
}

// advanceRACK is tcp_rack_advance (RFC 8985 §6.2 step 2).
func (s *Sender) advanceRACK(now unit.Time, g *segment) {
	rtt := now - g.sent
	if rtt < s.minRTT.get() && g.flags&everSent != 0 {
		return // of the first transmission, most likely
	}
	s.rackAdvanced = true
	s.rackRTT = rtt
	if g.sent > s.rackSent || g.sent == s.rackSent && g.end > s.rackEnd {
		s.rackSent, s.rackEnd = g.sent, g.end
	}
}

// reorderingWindow is tcp_rack_reo_wnd (RFC 8985 §6.2 step 4).
func (s *Sender) reorderingWindow() unit.Time {
	if s.reorderSeen == 0 && (s.state >= cc.Recovery || s.sackedOut >= s.reordering) {
		return 0
	}
	return min(s.minRTT.get()/reorderingSteps*unit.Time(s.rackSteps), s.srtt/8)
}

// updateReorderingWindow is tcp_rack_update_reo_wnd: a DSACK a round widens it.
func (s *Sender) updateReorderingWindow(e *event) {
	if e.sampling.has && e.sampling.priorDelivered < s.rackDelivered {
		s.rackDSACK = false // of before the round
	}
	if s.rackDSACK {
		s.rackSteps = min(255, s.rackSteps+1)
		s.rackDSACK = false
		s.rackDelivered = s.delivered
		s.rackPersist = persistRounds
	} else if s.rackPersist == 0 {
		s.rackSteps = 1
	}
}

// detectLoss is tcp_rack_detect_loss (RFC 8985 §6.2 step 5). It returns how long it
// takes until the next would be lost; 0: none is waiting.
func (s *Sender) detectLoss(now unit.Time) (wait unit.Time) {
	window := s.reorderingWindow()
	for slot := s.queue.head; slot != none; {
		g := &s.queue.ring[slot]
		n := s.queue.number(slot)
		slot = g.after
		if g.flags&lost != 0 && g.flags&resent == 0 {
			continue
		}
		if !(s.rackSent > g.sent || s.rackSent == g.sent && s.rackEnd > g.end) {
			break
		}
		if left := s.rackRTT + window - (now - g.sent); left <= 0 {
			s.markLost(n)
			s.queue.remove(n)
		} else {
			wait = max(wait, left)
		}
	}
	return wait
}

// markLost is tcp_mark_skb_lost.
func (s *Sender) markLost(n uint32) {
	g := s.queue.at(n)
	if g.flags&sacked != 0 {
		return
	}
	if g.flags&lost != 0 {
		if g.flags&resent == 0 {
			return
		}
		g.flags &^= resent // lost again
		s.resentOut--
		s.waiting++
	} else {
		g.flags |= lost
		s.lostOut++
		if g.flags&resent == 0 {
			s.waiting++
		}
	}
	s.lostTotal++
	if int32(n-s.hint) < 0 {
		s.hint = n
	}
}

// nextLost is the first segment that waits to be sent again.
func (s *Sender) nextLost() (uint32, bool) {
	if int32(s.hint-s.queue.first) < 0 {
		s.hint = s.queue.first
	}
	for ; s.hint != s.queue.end; s.hint++ {
		if g := s.queue.at(s.hint); g.flags&(lost|resent|sacked) == lost {
			return s.hint, true
		}
	}
	return 0, false
}

// identify is tcp_identify_packet_loss.
func (s *Sender) identify(now unit.Time, e *event) {
	if !s.rackAdvanced {
		return
	}
	before := s.resentOut
	s.rackAdvanced = false
	if wait := s.detectLoss(now); wait > 0 {
		s.setTimer(reorderingTimer, now+wait+probeSlack)
		e.flags &^= setTimer
	}
	if before > s.resentOut {
		e.flags |= lostResent
	}
}

// alert is tcp_fastretrans_alert: the state machine of recovery.
func (s *Sender) alert(now unit.Time, p *packet.Packet, e *event, deliveredBefore int64) {
	t := &p.TCP
	if e.flags&echoed != 0 {
		s.undoable = false
	}
	if s.reneged(now, e) {
		return
	}
	// D. states that end when high_seq is acknowledged
	if s.state == cc.Open {
		s.resentStamp = 0
	} else if s.una >= s.highSeq {
		switch s.state {
		case cc.Reduced:
			if s.una != s.highSeq {
				s.endReduction()
				s.setState(now, cc.Open)
			}
		case cc.Recovery:
			s.undoRecovery(now, t)
			s.endReduction()
		}
	}
	// E.
	switch s.state {
	case cc.Recovery:
		if e.flags&advanced != 0 && s.undoPartial(now, t, e) {
			return
		}
		if s.undoDSACK(now) {
			s.tryOpen(now, e)
		}
		s.identify(now, e)
		if s.state != cc.Recovery {
			if s.lostOut == 0 {
				return
			}
			s.enterRecovery(now, e)
		}
	case cc.Timeout:
		s.inTimeout(now, t, e)
		s.identify(now, e)
		if s.state != cc.Open && e.flags&lostResent == 0 {
			return
		}
		if s.state <= cc.Disorder {
			s.undoDSACK(now)
		}
		s.toRecover(now, e)
	default:
		if s.state <= cc.Disorder {
			s.undoDSACK(now)
		}
		s.identify(now, e)
		s.toRecover(now, e)
	}
}

func (s *Sender) toRecover(now unit.Time, e *event) {
	if s.lostOut == 0 { // tcp_time_to_recover
		s.tryOpen(now, e)
		return
	}
	s.enterRecovery(now, e)
}

func (s *Sender) setState(now unit.Time, state cc.State) {
	if s.state == state {
		return
	}
	before := s.state
	s.state = state
	if before >= cc.Reduced && state < cc.Reduced {
		s.lose(now, cc.Loss{Kind: cc.Recovered})
	}
}

// tryOpen is tcp_try_to_open.
func (s *Sender) tryOpen(now unit.Time, e *event) {
	if !s.anyResent() {
		s.resentStamp = 0
	}
	if e.flags&echoed != 0 {
		s.enterReduced(now)
	}
	if s.state != cc.Reduced {
		s.keepOpen(now)
	}
}

// anyResent is tcp_any_retrans_done.
func (s *Sender) anyResent() bool {
	return s.resentOut > 0 || s.queue.len() > 0 && s.queue.at(s.queue.first).flags&everSent != 0
}

// keepOpen is tcp_try_keep_open.
func (s *Sender) keepOpen(now unit.Time) {
	state := cc.Open
	if s.sackedOut+s.lostOut > 0 || s.anyResent() {
		state = cc.Disorder
	}
	if s.state != state {
		s.setState(now, state)
		s.highSeq = s.next
	}
}

// startReduction is tcp_init_cwnd_reduction.
func (s *Sender) startReduction(now unit.Time, kind cc.LossKind) {
	s.highSeq = s.next
	s.tlpEnd = -1
	s.prrPrior = s.cwnd()
	s.prrWindow, s.prrDelivered, s.prrOut = s.prrPrior, 0, 0
	s.lose(now, cc.Loss{Kind: kind})
	if s.ecn {
		s.cwrDue = true
	}
}

// endReduction is tcp_end_cwnd_reduction: the window is then the controller's.
func (s *Sender) endReduction() { s.prrPrior = 0 }

// enterReduced is tcp_enter_cwr.
func (s *Sender) enterReduced(now unit.Time) {
	s.undoable = false
	if s.state < cc.Reduced {
		s.undoMarker = -1
		s.startReduction(now, cc.ECNEcho)
		s.setState(now, cc.Reduced)
	}
}

// enterRecovery is tcp_enter_recovery.
func (s *Sender) enterRecovery(now unit.Time, e *event) {
	s.undoable = false
	s.undoMarker, s.undoResent = s.una, -1
	if s.resentOut > 0 {
		s.undoResent = s.resentOut
	}
	if !s.reducing() {
		s.undoable = e.flags&echoed == 0
		s.startReduction(now, cc.FastRecovery)
	}
	s.setState(now, cc.Recovery)
}

// prr is tcp_cwnd_reduction: proportional rate reduction (RFC 9937 §6).
func (s *Sender) prr(delivered, newlyLost int, flags uint16) {
	if delivered <= 0 || s.prrPrior == 0 {
		return
	}
	target := max(int(int64(s.decision.Window)/s.mss), 1)
	inFlight := s.inFlight()
	s.prrDelivered += delivered
	var send int
	if inFlight > target {
		send = (target*s.prrDelivered+s.prrPrior-1)/s.prrPrior - s.prrOut
	} else {
		send = max(s.prrDelivered-s.prrOut, delivered)
		if flags&advanced != 0 && newlyLost == 0 { // safeACK
			send++
		}
		send = min(target-inFlight, send)
	}
	least := 0
	if s.prrOut == 0 { // the first retransmission
		least = 1
	}
	s.prrWindow = inFlight + max(send, least)
}

// mayUndo is tcp_may_undo.
func (s *Sender) mayUndo(t *packet.Segment) bool {
	return s.undoMarker >= 0 && (s.undoResent == 0 || s.packetDelayed(t))
}

// packetDelayed is tcp_packet_delayed: the ACK is for what was sent before the first
// retransmission (Eifel, RFC 3522, RFC 4015).
func (s *Sender) packetDelayed(t *packet.Segment) bool {
	return s.resentStamp != 0 && t != nil && t.Has&packet.HasTimestamps != 0 && t.TSEcho != 0 && int32(t.TSEcho-s.resentStamp) < 0
}

// undo is tcp_undo_cwnd_reduction.
func (s *Sender) undo(now unit.Time, unmark bool) {
	if unmark {
		for n := s.queue.first; n != s.queue.end; n++ {
			g := s.queue.at(n)
			if g.flags&lost != 0 {
				g.flags &^= lost
				s.lostOut--
				if g.flags&resent == 0 {
					s.waiting--
				}
			}
			if g.flags&sacked == 0 && !g.listed { // as good as any other now
				s.queue.insert(n)
			}
		}
	}
	if s.undoable {
		s.lose(now, cc.Loss{Kind: cc.Spurious})
	}
	s.prrPrior = 0
	s.prrWindow = max(int(int64(s.decision.Window)/s.mss), 1)
	s.undoMarker = -1
	s.rackAdvanced = true
}

// undoRecovery is tcp_try_undo_recovery.
func (s *Sender) undoRecovery(now unit.Time, t *packet.Segment) {
	if s.mayUndo(t) {
		s.undo(now, false)
	} else if s.rackPersist > 0 {
		s.rackPersist--
	}
	s.setState(now, cc.Open) // a late DSACK may still undo
}

// undoDSACK is tcp_try_undo_dsack: all retransmissions were duplicates (RFC 3708).
func (s *Sender) undoDSACK(now unit.Time) bool {
	if s.undoMarker < 0 || s.undoResent != 0 {
		return false
	}
	s.rackPersist = min(persistRounds, s.rackPersist+1)
	s.undo(now, false)
	return true
}

// undoPartial is tcp_try_undo_partial.
func (s *Sender) undoPartial(now unit.Time, t *packet.Segment, e *event) bool {
	if s.undoMarker < 0 || !s.packetDelayed(t) {
		return false
	}
	s.sawReordering(e.priorUna)
	if s.resentOut > 0 {
		return true
	}
	if !s.anyResent() {
		s.resentStamp = 0
	}
	s.undo(now, true)
	s.keepOpen(now)
	return false
}

// undoTimeout is tcp_try_undo_loss.
func (s *Sender) undoTimeout(now unit.Time, t *packet.Segment, byFRTO bool) bool {
	if !byFRTO && !s.mayUndo(t) {
		return false
	}
	s.undo(now, true)
	s.retries = 0
	s.frto = false
	s.setState(now, cc.Open)
	return true
}

// inTimeout is tcp_process_loss, with F-RTO (RFC 5682 §3.1, the SACK-enhanced
// version).
func (s *Sender) inTimeout(now unit.Time, t *packet.Segment, e *event) {
	recovered := s.una >= s.highSeq
	if e.flags&advanced != 0 && s.undoTimeout(now, t, false) {
		return
	}
	if s.frto {
		// Step 3b: something that was never sent again has arrived.
		if e.flags&originalSacked != 0 && s.undoTimeout(now, t, true) {
			return
		}
		if s.next > s.highSeq {
			if e.flags&dataSacked != 0 || e.duplicate {
				s.frto = false // step 3a: the loss was real
			}
		} else if e.flags&advanced != 0 && !recovered {
			s.highSeq = s.next // step 2b: send new data
			if end, _ := s.written(now); end > s.next && s.una+s.window > s.next {
				s.frtoNew = true
				return
			}
			s.frto = false
		}
	}
	if recovered { // step 2a
		s.undoRecovery(now, t)
	}
}

// reneged is tcp_check_sack_reneging: the receiver acknowledged up to what SACK had
// reported and no further, so it must have dropped that.
func (s *Sender) reneged(now unit.Time, e *event) bool {
	if e.flags&advanced == 0 || s.queue.len() == 0 || s.queue.at(s.queue.first).flags&sacked == 0 {
		return false
	}
	// Linux waits for half an RTT, 10 ms at least, before it believes that.
	s.setTimer(retransmission, now+max(s.srtt/16, 10*unit.Millisecond))
	e.flags &^= setTimer
	return true
}

// timeout is tcp_retransmit_timer and tcp_enter_loss.
func (s *Sender) timeout(now unit.Time) {
	if s.queue.len() == 0 {
		s.setTimer(noTimer, unit.Never)
		return
	}
	if s.window == 0 && s.retries > 0 { // the peer has shrunk its window to nothing: go on for as long as it answers
		s.retries = 1
	}
	if s.retries >= mostRetries {
		s.close()
		return
	}
	s.timeouts++
	head := s.queue.at(s.queue.first)
	newRecovery := s.state < cc.Recovery
	if head.flags&sacked != 0 { // the receiver has reneged (RFC 2018 §8)
		for n := s.queue.first; n != s.queue.end; n++ {
			if g := s.queue.at(n); g.flags&sacked != 0 {
				g.flags &^= sacked
				s.sackedOut--
			}
		}
		s.cached = 0
	}
	window := s.reorderingWindow()
	for n := s.queue.first; n != s.queue.end; n++ {
		g := s.queue.at(n)
		if n != s.queue.first && g.flags&sacked == 0 && s.rackRTT+window-(now-g.sent) > 0 {
			continue // sent a short time ago
		}
		s.markLost(n)
		s.queue.remove(n)
	}
	again := !(s.state <= cc.Disorder || s.una >= s.highSeq || s.state == cc.Timeout && s.retries == 0)
	if !again {
		s.undoable = true
		s.undoMarker, s.undoResent = s.una, -1
		if s.resentOut > 0 {
			s.undoResent = s.resentOut
		}
	}
	if s.state <= cc.Disorder && s.sackedOut >= reordering { // then it was not reordering
		s.reordering = min(s.reordering, reordering)
	}
	s.prrPrior = 0
	s.state = cc.Timeout
	s.lose(now, cc.Loss{Kind: cc.RetransmissionTimeout, Again: again})
	s.highSeq = s.next
	s.tlpEnd = -1
	s.forcedNew, s.forcedLast, s.chunk = false, false, 0
	if s.ecn {
		s.cwrDue = true
	}
	s.frto = newRecovery || s.retries > 0
	s.frtoNew = false
	s.retries++
	s.backoff++
	s.rto = min(2*s.rto, largestRTO)
	s.setTimer(retransmission, now+s.rto)
}

// reorderingTimeout is tcp_rack_reo_timeout.
func (s *Sender) reorderingTimeout(now unit.Time) {
	lostBefore, inFlight := s.lostTotal, s.inFlight()
	s.detectLoss(now)
	if inFlight != s.inFlight() && s.state != cc.Recovery {
		var e event
		s.enterRecovery(now, &e)
		if !s.own {
			s.prr(1, int(s.lostTotal-lostBefore), 0)
		}
	}
	s.rearm(now)
}

// scheduleProbe is tcp_schedule_loss_probe: the probe timeout of RFC 8985 §7.2.
func (s *Sender) scheduleProbe(now unit.Time, advancing bool) bool {
	if s.queue.len() == 0 || s.state != cc.Open && s.state != cc.Reduced {
		return false
	}
	wait := initialRTO
	if s.srtt > 0 {
		wait = s.srtt / 4
		if s.queue.len() == 1 {
			wait += worstDelayedACK
		} else {
			wait += probeSlack
		}
	}
	left := s.rto
	if !advancing {
		left = s.queue.at(s.queue.first).sent + s.rto - now
	}
	if left > 0 {
		wait = min(wait, left)
	}
	s.setTimer(lossProbe, now+wait)
	return true
}

// probe is tcp_send_loss_probe (RFC 8985 §7.3): new data if there is any, else the
// last segment.
func (s *Sender) probe(now unit.Time) {
	s.setTimer(noTimer, unit.Never)
	if s.tlpEnd < 0 && s.queue.len() > 0 {
		s.forcedNew = true
		if end, _ := s.written(now); min(end, s.una+s.buffered()) <= s.next {
			s.forcedNew, s.forcedLast = false, true
		}
	}
	s.rearm(now)
}

// tlpAcked is tcp_process_tlp_ack (RFC 8985 §7.4).
func (s *Sender) tlpAcked(now unit.Time, ack int64, e *event) {
	if ack < s.tlpEnd {
		return
	}
	switch {
	case !s.tlpResent: // it was new data
		s.tlpEnd = -1
	case e.flags&dsackedTLP != 0: // both have arrived
		s.tlpEnd = -1
	case ack > s.tlpEnd: // the probe has repaired a loss
		if s.state < cc.Reduced {
			s.startReduction(now, cc.FastRecovery)
			s.setState(now, cc.Reduced)
			s.endReduction()
			s.keepOpen(now)
		}
		s.tlpEnd = -1
	case e.flags&(advanced|notDuplicate|dataSacked) == 0: // a pure duplicate: the probe's
		s.tlpEnd = -1
	}
}

// finish makes the delivery-rate sample and lets the controller decide
// (tcp_rate_gen, tcp_cong_control).
func (s *Sender) finish(now unit.Time, e *event, deliveredBefore, lostBefore int64, priorInFlight int) {
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
		Packets: packets, Bytes: unit.Bytes(e.bytes), Advanced: e.flags&dataAcked != 0, Una: s.una, Next: s.next, Lost: newlyLost,
		Delivered: s.delivered, DeliveredCE: s.deliveredCE, LostTotal: s.lostTotal,
		RTT: e.rtt, SRTT: s.srtt / 8, MinRTT: s.minRTT.get(), Delayed: e.flags&maybeDelayed != 0,
		PriorInFlight: priorInFlight, InFlight: s.inFlight(), NextSend: max(now, s.pacedUntil),
		Limited: s.isLimited(), State: s.state, ECE: e.flags&echoed != 0,
	}
	if e.sampling.has {
		d := cc.Delivery{Packets: int(s.delivered - e.priorDelivered), Interval: max(e.sendInterval, now-e.priorAt),
			PriorDelivered: e.priorDelivered, AppLimited: e.sampling.appLimited, Retransmitted: e.sampling.resent}
		if d.Interval >= s.minRTT.get() && d.Interval > 0 { // a shorter one is of a spurious retransmission
			a.Delivery = d
		}
	}
	s.control.OnAck(now, a)
	s.decide()
	if s.decision.AppLimited {
		s.appLimited = max(s.delivered+int64(s.inFlight()), 1)
	}
	if s.reducing() && !s.own {
		s.prr(packets, newlyLost, e.flags)
	}
}
