package tcp

import (
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/unit"
)

// Effects of an ACK, as bits (FLAG_*).
const (
	advanced       uint16 = 1 << iota // snd_una moved
	dataAcked                         // data was cumulatively acknowledged
	windowUpdate                      // it passed tcp_may_update_window
	dataSacked                        // new SACK
	echoed                            // ECN echo
	dsacked                           // it reports a duplicate
	dsackedTLP                        // it reports a duplicate of a TLP
	originalSacked                    // data below high_seq that was never retransmitted was SACKed
	resentAcked                       // a retransmitted segment was acknowledged
	setTimer                          // the RTO or TLP is to be set again
	lostResent                        // a retransmission was found lost
	maybeDelayed                      // the ACK may have been delayed
)

const (
	notDuplicate = windowUpdate | dataAcked
	alert        = dataSacked | echoed | dsacked
)

// event collects the effects of one ACK (sacktag_state, rate_sample).
type event struct {
	flags     uint16
	priorUna  int64
	firstSack unit.Time // transmissions of the first and last of the newly SACKed that were never resent
	lastSack  unit.Time
	anySack   bool
	reorder   int64 // lowest sequence found to be reordered
	bytes     int64
	again     int       // duplicate deliveries that DSACK reports
	rtt       unit.Time // for the controller
	duplicate bool
	rateSample
}

// handleAck handles an acknowledgement (tcp_ack): it updates the window of the peer, the segments, recovery and the
// timer, and calls the controller's OnAck. seq and ack are extended, and window is in bytes; stamped: p has time
// stamps.
func (s *Sender) handleAck(now unit.Time, p *packet.Packet, seq, ack, window int64, stamped bool) {
	t := &p.TCP
	e := event{priorUna: s.una, reorder: 1<<63 - 1, bytes: 0}
	s.frto.sendNew = false
	if ack < s.una {
		if t.Blocks > 0 { // old, but its SACK may be new
			s.tagSACK(now, t, ack, &e)
			s.handleAlert(now, p, &e)
		}
		return
	}
	if ack > s.next {
		return
	}
	if ack > s.una {
		e.flags |= advanced
		s.rto.retries = 0
	}
	if stamped && seq <= s.peer.next && int32(s.peer.tsRecent-t.TSVal) <= 0 { // RFC 7323 §4.3
		s.peer.tsRecent = t.TSVal
	}
	priorInFlight, delivered, lostBefore := s.inFlight(), s.rate.Delivered, s.lostTotal
	priorSacked := s.sackedOut
	sackedBefore := max(s.sackedEnd, s.una)
	if s.sackedOut == 0 {
		sackedBefore = s.una
	}
	if s.mayUpdateWindow(ack, seq, window) {
		e.flags |= windowUpdate
		s.peer.windowSeq = seq
		s.peer.window = window
		s.peer.maxWindow = max(s.peer.maxWindow, window)
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
			s.handleAlert(now, p, &e)
		}
		s.receiveProbeReply(now)
		if s.tlp.outstanding() {
			s.tlpAcked(now, ack, &e)
		}
		return
	}
	s.cleanQueue(now, t, &e, priorSacked, sackedBefore, stamped)
	if e.rateSample.has { // else a DSACK stays pending
		s.rack.updateSteps(e.rateSample.Delivered, s.rate.Delivered)
	}
	if s.tlp.outstanding() {
		s.tlpAcked(now, ack, &e)
	}
	if e.flags&(notDuplicate) == 0 || e.flags&alert != 0 || s.state != cc.Open {
		if e.flags&(advanced|notDuplicate|dsacked) == 0 {
			e.duplicate = true
		}
		s.handleAlert(now, p, &e)
	}
	if e.flags&setTimer != 0 && !s.scheduleProbe(now, true) {
		s.rearmTimer(now)
	}
	s.concludeAck(now, p, &e, delivered, lostBefore, priorInFlight)
	if s.una > s.initial+1 {
		if s.counters.Finished == unit.Never && s.flow.Size > 0 && s.una >= s.initial+1+int64(s.flow.Size) {
			s.counters.Finished = now
		}
		if s.app.finSent && s.una > s.app.end {
			s.closeConnection()
		}
	}
}

// receiveProbeReply ends the probes of a closed window if the window has opened (tcp_ack_probe), and stops their timer.
func (s *Sender) receiveProbeReply(now unit.Time) {
	if s.timer.kind == persist && s.una+s.peer.window >= s.next+min(s.mss, s.app.end-s.next) {
		s.rto.backoff = 0
		s.setTimer(noTimer, unit.Never)
	}
}

// recordDelivery counts the delivery of segment g, and takes it for the rate sample if it was sent last.
func (s *Sender) recordDelivery(now unit.Time, g *segment, e *event) {
	s.rate.Delivered++
	e.rateSample.delivered(&s.rate, g)
}

// cleanQueue drops acknowledged segments and samples the RTT (tcp_clean_rtx_queue). priorSacked is the number of SACKed
// segments before the ACK, and sackedBefore the end of the highest of them.
func (s *Sender) cleanQueue(now unit.Time, t *packet.Segment, e *event, priorSacked int, sackedBefore int64,
	stamped bool) {
	c := cleaned{whole: true, reorder: 1<<63 - 1}
	for s.queue.len() > 0 {
		g := s.queue.at(s.queue.first)
		if g.end > s.una {
			c.whole = s.una <= g.seq
			break
		}
		s.cleanSegment(now, t, e, g, &c, stamped)
	}
	if c.packets > 0 {
		e.flags |= dataAcked
	}
	sackRTT := s.sampleRTT(now, t, e, &c, priorSacked, stamped)
	if c.packets > 0 {
		e.flags |= setTimer
		if c.reorder < sackedBefore { // data that was never resent filled a hole
			s.rack.sawReordering(c.reorder, s.highestSacked(), s.mss)
		}
	} else if s.queue.len() > 0 && sackRTT >= 0 && sackRTT > now-s.queue.at(s.queue.first).sent {
		// The RTT is of data sent after the head: else SACKs could put off the RTO.
		e.flags |= setTimer
	}
}

// cleaned is the result of cleanQueue about the dropped segments.
type cleaned struct {
	packets     int
	any         bool // one was neither SACKed nor resent; first and last are then set
	first, last unit.Time
	whole       bool  // the acknowledgement ends with a segment
	reorder     int64 // lowest sequence number that was never resent
}

// cleanSegment drops the first segment, g, which is acknowledged, and adds its effects to e and c.
func (s *Sender) cleanSegment(now unit.Time, t *packet.Segment, e *event, g *segment, c *cleaned, stamped bool) {
	if g.flags&everSent != 0 {
		if g.flags&resent != 0 {
			s.resentOut--
		}
		e.flags |= resentAcked
	} else if g.flags&sacked == 0 {
		c.last = g.sent
		if !c.any {
			c.any, c.first = true, c.last
		}
		c.reorder = min(c.reorder, g.seq)
		if g.end <= s.highSeq {
			e.flags |= originalSacked
		}
	}
	if g.flags&sacked != 0 {
		s.sackedOut--
	} else {
		e.bytes += g.end - g.seq
		if g.flags&nacked != 0 {
			s.hold.HandleRefutation()
		}
		s.recordDelivery(now, g, e)
		if !s.spuriouslyResent(g, t, stamped) {
			s.rack.deliver(now, g.sent, g.end, g.flags&everSent != 0, s.rtt.min.get())
		}
	}
	if g.flags&lost != 0 {
		s.lostOut--
		if g.flags&resent == 0 {
			s.waiting--
		}
	}
	c.packets++
	s.queue.remove(s.queue.first)
	s.queue.first++
	if int32(s.hint-s.queue.first) < 0 {
		s.hint = s.queue.first
	}
}

// sampleRTT updates the RTT estimates and the RTO, and sets e.rtt, from the segments in c and SACKs in e
// (tcp_ack_update_rtt). It returns the RTT of the first segment that SACK has delivered; −1: SACK delivered no segment.
func (s *Sender) sampleRTT(now unit.Time, t *packet.Segment, e *event, c *cleaned, priorSacked int,
	stamped bool) (sackRTT unit.Time) {
	seqRTT, ccRTT, sackRTT := unit.Time(-1), unit.Time(-1), unit.Time(-1)
	if c.any && e.flags&resentAcked == 0 {
		seqRTT, ccRTT = now-c.first, now-c.last
		if c.packets == 1 && c.whole && priorSacked == 0 && s.una-e.priorUna < s.mss && e.flags&alert == 0 {
			e.flags |= maybeDelayed
		}
	}
	if e.anySack {
		sackRTT, ccRTT = now-e.firstSack, now-e.lastSack
	}
	if seqRTT < 0 {
		seqRTT = sackRTT
	}
	if seqRTT < 0 && stamped && t.TSEcho != 0 && c.packets > 0 {
		if ticks := int32(stampOf(now) - t.TSEcho); ticks >= 0 && ticks < math.MaxInt32/1000 {
			seqRTT = unit.Time(max(ticks, 1)) * tick
			ccRTT = seqRTT
		}
	}
	if ccRTT >= 0 {
		e.rtt = max(ccRTT, 1)
	}
	if seqRTT >= 0 {
		if least := s.rtt.min.get(); e.flags&maybeDelayed == 0 || least == 0 || e.rtt <= least {
			s.rtt.min.update(minRTTWindow, now, e.rtt)
		}
		s.rtt.sample(seqRTT, s.una, s.next, s.config.RTOMin)
		s.rto.follow(&s.rtt)
	}
	return sackRTT
}

// spuriouslyResent reports whether the ACK is for the first transmission of g (tcp_skb_spurious_retrans; Eifel,
// RFC 3522).
func (s *Sender) spuriouslyResent(g *segment, t *packet.Segment, stamped bool) bool {
	return g.flags&everSent != 0 && stamped && t.TSEcho != 0 && int32(t.TSEcho-stampOf(g.sent)) < 0
}

// concludeAck makes the delivery-rate sample and passes the acknowledgement to the controller (tcp_rate_gen,
// tcp_cong_control).
func (s *Sender) concludeAck(now unit.Time, p *packet.Packet, e *event, deliveredBefore, lostBefore int64,
	priorInFlight int) {
	packets := int(s.rate.Delivered - deliveredBefore)
	newlyLost := int(s.lostTotal - lostBefore)
	if packets > 0 {
		s.rate.DeliveredAt = now
		if e.flags&echoed != 0 {
			s.rate.DeliveredCE += int64(packets)
		}
	}
	s.rate.EndLimit()
	a := &s.report // kept and written in place, without an allocation or a copy
	*a = cc.Ack{}
	a.Packets, a.Bytes, a.Limited = packets, unit.Bytes(e.bytes), s.isLimited()
	a.Advanced = e.flags&dataAcked != 0 || s.rack.reordering > reordering && e.flags&dataSacked != 0
	a.FirstUnacked, a.Next, a.Delivered = s.una, s.next, s.rate.Delivered
	a.RTT.Sample, a.RTT.Smoothed, a.RTT.Min = e.rtt, s.rtt.srtt/8, s.rtt.min.get()
	a.RTT.Delayed = e.flags&maybeDelayed != 0
	a.Flight.Before, a.Flight.After, a.Flight.NextSend = priorInFlight, s.inFlight(), max(now, s.control.Pacer.NextSend())
	a.Losses.New, a.Losses.Total, a.Losses.State = newlyLost, s.lostTotal, s.state
	a.ECN.Echo, a.ECN.Delivered = e.flags&echoed != 0, s.rate.DeliveredCE
	if e.rateSample.has {
		if d, ok := s.rate.SampleRate(now, e.rateSample.sent, &e.Departure, s.rtt.min.get()); ok {
			d.AppLimited, d.Retransmitted = e.rateSample.appLimited, e.rateSample.resent
			a.Delivery = d
			// An application that pauses hides the rate of the path (tcp_rate_gen).
			if !d.AppLimited || float64(d.Packets)*float64(s.rated.Interval) >= float64(s.rated.Packets)*float64(d.Interval) {
				s.rated = d
			}
		}
	}
	s.requester.ReadFeedback(now, p, a)
	s.control.Controller.OnAck(now, a)
	s.control.ReadDecision()
	if s.control.Decision.AppLimited {
		s.rate.LimitByApplication(int64(s.inFlight()))
	}
	if s.known { // an attacker who forges NACKs makes as many duplicates as packets, so they do not count
		packets -= e.again
	}
	if s.isReducing() && !s.ownRecovery {
		s.updateReduction(packets, e.flags&advanced != 0 && newlyLost == 0)
	}
	if packets > 0 {
		s.hold.HandleDelivery(packets, s.shortTrip())
	}
}
