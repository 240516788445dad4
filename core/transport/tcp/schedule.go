package tcp

import (
	"weir/core/cc"
	"weir/core/unit"
)

// action is the kind of segment that Emit will send.
type action uint8

// plan is the segment that Emit will send, and its time.
type plan struct {
	action  action
	sendAt  unit.Time
	segment uint32 // sendResent: number of the segment
	bytes   int64  // sendNew: payload; 0: the data that the application will have written
}

// burst is the burst that is being sent.
type burst struct {
	sent     bool  // a segment was sent since the window's use was last checked
	left     int64 // bytes left of it
	segments int   // segments of it that were sent
	smallEnd int64 // end of the last segment that was not full (snd_sml)
}

// planNext plans the next segment and its time. It is called after every event.
func (s *Sender) planNext(now unit.Time) {
	s.plan.action, s.plan.sendAt = nothing, unit.Never
	if s.phase != established {
		return
	}
	end, more := s.app.writtenEnd(now, s.next, s.mss)
	buffer := s.una + s.sendBufferBytes()
	if s.counters.Written == unit.Never && end == s.app.end && buffer >= s.app.end {
		s.counters.Written, s.counters.Unacked = now, unit.Bytes(s.app.end-s.una)
	}
	if s.probeWindow {
		s.plan.action, s.plan.sendAt = sendProbe, now
		return
	}
	inFlight := s.inFlight()
	ready := max(now, s.control.Pacer.NextSend(), s.holdOff(now, inFlight))
	room := s.cwnd() - inFlight
	if s.scheduleResent(now, ready, room) {
		return
	}
	left := min(end, buffer) - s.next
	open := s.una + s.peer.window - s.next // of the peer's window
	waits := s.waitsForNagle(left)
	if waits {
		s.burst.left = 0
	}
	if fin := left == 0 && s.next == s.app.end && !s.app.finSent; left > 0 && !waits || fin {
		if s.scheduleNew(now, ready, left, open, room, fin) {
			return
		}
	} else {
		// tcp_rate_check_app_limited: deliveries from here on show the rate of the application.
		if end < s.app.end && room > 0 && s.lostOut <= s.resentOut {
			s.rate.LimitByApplication(int64(inFlight))
		}
		if more != unit.Never && s.next < buffer && room > 0 {
			if open >= min(s.mss, s.app.end-s.next) {
				s.plan.action, s.plan.sendAt, s.plan.bytes = sendNew, max(more, ready), 0 // size known then
			} else if s.queue.len() == 0 && s.timer.kind == noTimer {
				s.setTimer(persist, more+max(s.rto.value, s.config.RTOMin))
			}
		}
	}
	if s.frto.sendNew && s.plan.action == nothing { // F-RTO has no new data to send: the usual recovery
		s.frto.end()
		s.planNext(now)
		return
	}
	s.tlp.cancel()
	// also a burst that waits
	if full := room <= 0 || left > 0 && open > int64(room)*s.mss; s.burst.sent || full {
		s.burst.sent = false
		s.validateUsage(now, full)
	}
}

// scheduleResent plans a segment that was sent before: a probe of TLP, or a lost segment. A lost segment goes at the
// time ready, a probe now. room is the free part of the congestion window in packets. It reports whether it has planned
// one.
func (s *Sender) scheduleResent(now, ready unit.Time, room int) bool {
	if s.tlp.sendLast && s.queue.len() > 0 {
		s.plan.action, s.plan.sendAt, s.plan.segment = sendResent, now, s.queue.end-1
		return true
	}
	if room > 0 && s.waiting > 0 && !s.frto.sendNew && (s.state == cc.Recovery || s.state == cc.Timeout) {
		if n, ok := s.nextLost(); ok && (s.queue.at(n).seq < s.una+s.peer.window || s.queue.at(n).seq <= s.una) {
			s.plan.action, s.plan.sendAt, s.plan.segment = sendResent, ready, n
			return true
		}
	}
	return false
}

// scheduleNew plans new data or FIN for the time ready, and reports whether it has planned a segment. left is the
// amount of data in bytes, open the free part of the peer's window in bytes, room the free part of the congestion
// window in packets.
func (s *Sender) scheduleNew(now, ready unit.Time, left, open int64, room int, fin bool) bool {
	if s.burst.left == 0 || left < s.burst.left || s.limitsBursts && room <= 0 {
		s.burst.segments = 0
		s.burst.left = s.burstBytes(now, left, open, room)
	}
	size := min(left, s.mss, max(s.burst.left, 0))
	if size > 0 || fin && room > 0 {
		s.plan.action, s.plan.sendAt, s.plan.bytes = sendNew, ready, size
		if s.tlp.sendNew {
			s.plan.sendAt = now
		}
		return true
	}
	if min(left, s.mss) <= open { // the peer's window has room
		return false
	}
	if s.queue.len() == 0 && s.timer.kind == noTimer { // tcp_check_probe_timer
		s.setTimer(persist, now+max(s.rto.value, s.config.RTOMin))
	}
	if s.tlp.sendNew && s.queue.len() > 0 {
		s.tlp.sendNew, s.tlp.sendLast = false, true
		s.plan.action, s.plan.sendAt, s.plan.segment = sendResent, now, s.queue.end-1
		return true
	}
	return false
}

// burstBytes returns the size of the next burst in bytes of payload; 0 if no segment may be sent now. It is what window
// and data allow up to the goal of tcp_tso_autosize, and 0 where waiting for the next ACK makes a larger burst
// (tcp_tso_should_defer).
func (s *Sender) burstBytes(now unit.Time, left, open int64, room int) int64 {
	switch {
	case s.tlp.sendNew && min(left, s.mss) <= open:
		return min(left, s.mss)
	case s.squeeze && open > 0:
		return min(left, open, s.mss)
	case room <= 0 || left <= 0 || min(left, s.mss) > open:
		return 0
	case !s.config.Bursts || left <= s.mss:
		return min(left, s.mss)
	}
	goal := int64(s.burstGoal())
	limit := min(open, int64(room)*s.mss)
	if s.state < cc.Recovery && limit < goal*s.mss && limit < left && now-s.control.Pacer.LastSend <= unit.Millisecond &&
		limit < min(s.peer.window, int64(s.cwnd())*s.mss)/burstShare && s.queue.len() > 0 &&
		s.queue.at(s.queue.first).sent+s.rtt.srtt/8-now <= min(unit.Millisecond, s.rtt.srtt/16) { // an ACK is expected soon
		return 0
	}
	bytes := min(left, goal*s.mss, limit)
	if part := bytes % s.mss; part > 0 && bytes < left && s.burst.smallEnd > s.una { // Minshall's Nagle
		bytes -= part
	}
	return bytes
}

// burstGoal returns the number of segments in a burst of about 1 ms, more on short paths (tcp_tso_autosize).
func (s *Sender) burstGoal() int {
	bytes := s.pacingRate() / (1 << burstShift)
	if halvings := s.rtt.min.get() / burstRTT; halvings < 32 {
		bytes += float64(int64(burstBytes) >> halvings)
	}
	return max(int(min(bytes, burstBytes)/float64(s.mss)), 2)
}

// pacingRate returns sk_pacing_rate in bytes per second: the controller's, or that of tcp_update_pacing_rate; 0 before
// the first RTT sample.
func (s *Sender) pacingRate() float64 {
	if s.control.Decision.Rate > 0 {
		return float64(s.control.Decision.Rate) / 8
	}
	srtt := s.SRTT()
	if srtt <= 0 {
		return 0
	}
	gain := 1.2
	if s.control.Decision.SlowStart {
		gain = 2
	}
	return gain * float64(max(s.cwnd(), s.queue.len())) * float64(s.mss) / srtt.Seconds()
}

// spacingRate returns the rate at which packets are spaced, in bytes per second; 0: they are not.
func (s *Sender) spacingRate() float64 {
	if s.control.Decision.Rate > 0 || s.config.Pacing {
		return s.pacingRate()
	}
	return 0
}

const (
	nothing action = iota
	sendSYN
	sendProbe  // of a closed window
	sendResent // a segment that was sent before
	sendNew
)
