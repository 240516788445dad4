package tcp

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
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
	quiet   bool  // Recovery from what NACKs have told, in which nothing is reduced
	cwrDue  bool  // CWR has to be sent

	prrWindow, prrPrior, prrDelivered, prrOut int // PRR (RFC 9937)

	undoMarker  int64 // −1: there is nothing to undo
	undoResent  int   // retransmissions that DSACK has not yet shown to be spurious; −1: none was made
	undoable    bool  // prior_ssthresh is known
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
}

func (r *recovery) init() {
	r.undoMarker, r.undoResent, r.tlpEnd = -1, -1, -1
	r.reordering, r.rackSteps, r.sackedEnd = reordering, 1, -1
	r.rackEnd = -1 << 62
}

// reducing: PRR governs what may be sent (tcp_in_cwnd_reduction).
func (r *recovery) reducing() bool {
	return r.state == cc.Reduced || r.state == cc.Recovery && !r.quiet
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
	if !e.sampling.has { // the DSACK stays pending
		return
	}
	if e.sampling.priorDelivered < s.rackDelivered {
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
		g.flags &^= resent | told // lost again
		s.resentOut--
		s.waiting++
	} else {
		g.flags = g.flags&^told | lost
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
		before := s.lostTotal
		s.identify(now, e)
		if s.quiet && s.state == cc.Recovery && s.lostTotal > before { // what no NACK has told
			s.enterRecovery(now, e)
		}
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
	before, quiet := s.state, s.quiet
	s.state = state
	if state != cc.Recovery {
		s.quiet = false
	}
	if before >= cc.Reduced && state < cc.Reduced && !quiet {
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
	s.quiet = false
	s.reducedAt = now
	s.gate.Note(now)
	if s.ecn {
		s.cwrDue = true
	}
}

// endReduction is tcp_end_cwnd_reduction: the window is then the controller's.
func (s *Sender) endReduction() {
	s.prrPrior = 0
	s.used = 0
	s.usedSince = max(s.usedSince, s.lastSend)
}

// enterReduced is tcp_enter_cwr.
func (s *Sender) enterReduced(now unit.Time) {
	s.undoable = false
	if s.state < cc.Reduced {
		s.undoMarker = -1
		s.startReduction(now, cc.ECNEcho)
		s.setState(now, cc.Reduced)
	}
}

// initUndo is tcp_init_undo: an outstanding TLP counts as a retransmission.
func (s *Sender) initUndo() {
	s.undoMarker, s.undoResent = s.una, s.resentOut
	if s.tlpEnd >= 0 && s.tlpResent {
		s.undoResent++
	}
	if s.undoResent == 0 {
		s.undoResent = -1
	}
}

// enterRecovery is tcp_enter_recovery.
func (s *Sender) enterRecovery(now unit.Time, e *event) {
	if s.onlyTold() {
		s.recoverTold(now, s.mayReduce(now, now))
		return
	}
	s.undoable = false
	s.initUndo()
	if !s.reducing() {
		s.undoable = e.flags&echoed == 0
		s.startReduction(now, cc.FastRecovery)
	} else if s.state == cc.Reduced {
		s.lose(now, cc.Loss{Kind: cc.LossInReduction})
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
	if s.known { // ACKs of what is below it come all the time
		return false
	}
	if s.resentStamp == 0 { // nothing was sent again yet
		return true
	}
	return t != nil && t.Has&packet.HasTimestamps != 0 && t.TSEcho != 0 && int32(t.TSEcho-s.resentStamp) < 0
}

// undo is tcp_undo_cwnd_reduction.
func (s *Sender) undo(now unit.Time, unmark bool) {
	if unmark {
		for n := s.queue.first; n != s.queue.end; n++ {
			g := s.queue.at(n)
			if g.flags&nacked != 0 { // no guess
				continue
			}
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
		s.cwrDue = false
	}
	s.prrPrior = 0
	s.prrWindow = max(int(int64(s.decision.Window)/s.mss), 1)
	s.used, s.usedSince = 0, now // snd_cwnd_stamp
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
	if s.lostOut > 0 {
		s.recoverTold(now, false)
	}
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
	reneged := head.flags&sacked != 0
	if reneged { // the receiver has dropped what it had SACKed (RFC 2018 §8)
		for n := s.queue.first; n != s.queue.end; n++ {
			if g := s.queue.at(n); g.flags&sacked != 0 {
				g.flags &^= sacked
				s.sackedOut--
			}
		}
		s.cached = 0
	}
	for n := s.queue.first; n != s.queue.end; n++ {
		g := s.queue.at(n)
		if n != s.queue.first && !reneged && g.flags&sacked == 0 && s.rackRTT-(now-g.sent) > 0 {
			continue // sent a short time ago
		}
		s.markLost(n)
		s.queue.remove(n)
	}
	again := !(s.state <= cc.Disorder || s.una >= s.highSeq || s.state == cc.Timeout && s.retries == 0)
	if !again {
		s.undoable = true
		s.initUndo()
	}
	if s.state <= cc.Disorder && s.sackedOut >= reordering { // then it was not reordering
		s.reordering = min(s.reordering, reordering)
	}
	s.prrPrior = 0
	s.used, s.usedSince = 0, now
	s.state, s.quiet = cc.Timeout, false
	s.lose(now, cc.Loss{Kind: cc.RetransmissionTimeout, Again: again})
	s.timedOut(now)
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
	if inFlight != s.inFlight() && (s.state != cc.Recovery || s.quiet) {
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
			wait += s.config.RTOMin // the receiver may delay its ACK
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
	if s.tlpEnd < 0 && s.queue.len() > 0 {
		s.setTimer(noTimer, unit.Never)
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
