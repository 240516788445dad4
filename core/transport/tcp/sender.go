package tcp

import (
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
)

// phase is the state of the connection as its active end sees it.
type phase uint8

const (
	idle    phase = iota
	opening       // SYN-SENT
	established
	closed // everything is acknowledged, FIN too, or it was reset or given up
)

// timerKind is what the one timer is set for (icsk_pending).
type timerKind uint8

const (
	noTimer timerKind = iota
	retransmission
	lossProbe
	reorderingTimer
	persist
)

// action is what Emit will send.
type action uint8

const (
	nothing action = iota
	sendSYN
	sendProbe  // of a closed window
	sendResent // a segment that was sent before
	sendNew
)

// Sender is the active end of a connection, which sends the data.
type Sender struct {
	header
	config   Config
	flow     transport.Flow
	control  cc.Controller
	asker    transport.Asker
	decision cc.Decision
	report   cc.Ack
	rated    cc.Delivery // the sample that stands (rate_delivered, rate_interval_us)
	counters transport.Counters
	own      bool // the controller has its own recovery
	exact    bool // its window holds also within a burst that has begun (draft-miao §9.3)
	dctcp    bool
	ecn      bool // negotiated
	phase    phase
	mss      int64

	// sequence numbers, with upper bits
	initial   int64
	una, next int64
	appEnd    int64 // end of the application's data; MaxInt64: not known yet
	finSent   bool
	stopped   bool
	queue     segments

	// what the peer said
	peerNext   int64 // next sequence number of the peer (RCV.NXT)
	tsRecent   uint32
	window     int64 // snd_wnd
	windowSeq  int64 // snd_wl1
	maxWindow  int64
	shift      uint8
	lastAnswer unit.Time // to a segment that is not acceptable

	// what will be sent
	plan       action
	planAt     unit.Time
	planned    uint32 // sendResent: segment
	planBytes  int64  // sendNew
	windowing  bool   // a probe of a closed window is due
	squeeze    bool   // less than a full segment may go into a small window
	forcedNew  bool   // a TLP is due: new data
	forcedLast bool   // a TLP is due: the last segment
	lastSend   unit.Time
	pacedUntil unit.Time
	synAt      unit.Time
	synResent  bool
	burst      bool  // something was sent since the window's use was last looked at
	chunk      int64 // bytes left of the burst that is being sent
	chunked    int   // segments of it that were sent
	smallEnd   int64 // end of the last segment that was not full (snd_sml)

	// the window's use (tcp_cwnd_validate)
	cwndLimited bool
	maxOut      int
	usageSeq    int64
	used        int
	usedSince   unit.Time

	sendBuffer    int64 // bytes that the send buffer holds
	segmentMemory int64 // what it reckons for a segment

	recovery
	nacks
	delivery
	rttEstimator

	timer   timerKind
	timerAt unit.Time
	backoff int
	retries int
}

func newSender(f transport.Flow, c Config, control cc.Controller) *Sender {
	s := &Sender{header: newHeader(&f, false), config: c, flow: f, control: control, own: f.CC.OwnRecovery,
		exact: f.CC.Telemetry != telemetry.Nothing,
		dctcp: f.CC.ECN == cc.DCTCPMode, mss: int64(f.Payload), initial: int64(c.InitialSeq), appEnd: math.MaxInt64,
		queue: newSegments(), timerAt: unit.Never}
	s.una, s.next = s.initial, s.initial
	s.recovery.init()
	s.rto = initialRTO
	if f.Stop == 0 {
		s.flow.Stop = unit.Never
	}
	if f.Size > 0 {
		s.appEnd = s.initial + 1 + int64(f.Size)
	}
	for s.segmentMemory = 1; s.segmentMemory < s.mss+640; { // headers' room, a power of two, an sk_buff
		s.segmentMemory *= 2
	}
	s.segmentMemory += 256
	s.counters.Finished, s.counters.Written, s.counters.DelayMin = unit.Never, unit.Never, unit.Never
	s.decide()
	s.plan, s.planAt = sendSYN, f.Start
	if f.Start >= s.flow.Stop {
		s.plan, s.planAt = nothing, unit.Never
	}
	return s
}

// decide reads the controller's answer.
func (s *Sender) decide() {
	old := s.decision.Rate
	s.decision = s.control.Decision()
	if old > 0 && s.decision.Rate > 0 && s.decision.Rate != old && s.pacedUntil > s.lastSend {
		// A new rate moves the pending send.
		s.pacedUntil = s.lastSend + unit.Time(float64(s.pacedUntil-s.lastSend)*float64(old)/float64(s.decision.Rate))
	}
}

// cwnd is the congestion window in packets: the controller's, but for what PRR makes
// of it on the way down.
func (s *Sender) cwnd() int {
	if s.reducing() && !s.own {
		return max(s.prrWindow, 1)
	}
	return max(int(int64(s.decision.Window)/s.mss), 1)
}

// inFlight is tcp_packets_in_flight.
func (s *Sender) inFlight() int { return s.queue.len() - s.sackedOut - s.lostOut + s.resentOut }

// NextSend is when Emit has something to send.
func (s *Sender) NextSend() unit.Time { return min(s.planAt, s.probeAt()) }

// probeAt is when telemetry is asked for by a segment of its own.
func (s *Sender) probeAt() unit.Time {
	if s.phase != established || s.queue.len() == 0 {
		return unit.Never
	}
	return s.asker.NextProbe(s.SRTT())
}

// NextTimer is the retransmission timer's, or that of TLP, RACK, the window's probe
// or the controller.
func (s *Sender) NextTimer() unit.Time { return min(s.timerAt, s.decision.NextTimer) }

// Counters returns what was counted. SentBytes is what was sent for the first time;
// Finished is when the last byte was acknowledged, Written when the last write
// returned.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// State is the state of recovery, Window the congestion window in packets, InFlight
// what is in flight, PeerWindow the receiver's window in bytes (snd_wnd) and SRTT the
// smoothed RTT: what Linux shows in TCP_INFO.
func (s *Sender) State() cc.State        { return s.state }
func (s *Sender) Window() int            { return s.cwnd() }
func (s *Sender) InFlight() int          { return s.inFlight() }
func (s *Sender) PeerWindow() unit.Bytes { return unit.Bytes(s.window) }
func (s *Sender) SRTT() unit.Time        { return s.srtt / 8 }

// Gauge is the same in bytes, with sk_pacing_rate.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(s.cwnd()) * unit.Bytes(s.mss),
		InFlight: unit.Bytes(s.inFlight()) * unit.Bytes(s.mss),
		Rate:     unit.Rate(s.pacingRate() * 8), Derived: s.decision.Rate == 0, RTT: s.SRTT(), Delivery: s.deliveryRate()}
}

// deliveryRate is tcp_compute_delivery_rate.
func (s *Sender) deliveryRate() unit.Rate {
	if s.rated.Interval == 0 {
		return 0
	}
	return unit.Rate(float64(s.rated.Packets) * float64(s.mss) * 8 / s.rated.Interval.Seconds())
}

func (s *Sender) Timeouts() int64 { return s.timeouts }

func (s *Sender) setTimer(kind timerKind, at unit.Time) { s.timer, s.timerAt = kind, at }

// rearm is tcp_rearm_rto.
func (s *Sender) rearm(now unit.Time) {
	if s.queue.len() == 0 {
		s.setTimer(noTimer, unit.Never)
		return
	}
	at := now + s.rto
	if s.timer == reorderingTimer || s.timer == lossProbe {
		at = max(s.queue.at(s.queue.first).sent+s.rto, now+1)
	}
	s.setTimer(retransmission, at)
}

// written is the end of what the application has written by now, and when it writes
// next; Never: it has closed the connection, or waits for the send buffer only.
func (s *Sender) written(now unit.Time) (end int64, more unit.Time) {
	if now >= s.flow.Stop && !s.stopped {
		s.stopped = true
		if end, _ := s.schedule(s.flow.Stop); end < s.appEnd {
			s.appEnd = max(s.next, end)
		}
		if s.config.Rate == 0 {
			s.appEnd = min(s.appEnd, s.next)
		}
	}
	end, more = s.schedule(now)
	if end >= s.appEnd {
		return s.appEnd, unit.Never
	}
	return end, more
}

// schedule is what an application of constant rate has written by t, a full segment
// at a time, the first at the start.
func (s *Sender) schedule(t unit.Time) (end int64, more unit.Time) {
	if s.config.Rate == 0 {
		return math.MaxInt64, unit.Never
	}
	writes := int64(s.config.Rate.BytesIn(t-s.flow.Start)) / s.mss
	more = s.flow.Start + unit.TransmitTime(unit.Bytes((writes+1)*s.mss), s.config.Rate)
	if more <= t { // rounding
		writes++
		more = s.flow.Start + unit.TransmitTime(unit.Bytes((writes+1)*s.mss), s.config.Rate)
	}
	return s.initial + 1 + (writes+1)*s.mss, more
}

// buffered is how many bytes the send buffer holds: memory for two windows of small
// packets, three with BBR, up to the limit; it never shrinks (tcp_sndbuf_expand).
func (s *Sender) buffered() int64 {
	packets := int64(max(s.flow.CC.BufferedWindows, 2) * max(s.cwnd(), s.config.InitialWindow, s.reordering+1))
	s.sendBuffer = max(s.sendBuffer, min(packets*s.segmentMemory, int64(s.config.SendBuffer)))
	return s.sendBuffer
}

// think decides what is sent next, and when. It is called after everything that
// happens.
func (s *Sender) think(now unit.Time) {
	s.plan, s.planAt = nothing, unit.Never
	if s.phase != established {
		return
	}
	end, more := s.written(now)
	buffer := s.una + s.buffered()
	if s.counters.Written == unit.Never && end == s.appEnd && buffer >= s.appEnd {
		s.counters.Written, s.counters.Unacked = now, unit.Bytes(s.appEnd-s.una)
	}
	if s.windowing {
		s.plan, s.planAt = sendProbe, now
		return
	}
	ready := max(now, s.pacedUntil, s.heldUntil)
	cwnd, inFlight := s.cwnd(), s.inFlight()
	if s.withheld > 0 {
		if inFlight == 0 { // nothing comes that would free them
			s.withheld = 0
		}
		inFlight += s.withheld
	}
	room := inFlight < cwnd
	if s.forcedLast && s.queue.len() > 0 {
		s.plan, s.planAt, s.planned = sendResent, now, s.queue.end-1
		return
	}
	if room && s.waiting > 0 && !s.frtoNew && (s.state == cc.Recovery || s.state == cc.Timeout) {
		if n, ok := s.nextLost(); ok && (s.queue.at(n).seq < s.una+s.window || s.queue.at(n).seq <= s.una) {
			s.plan, s.planAt, s.planned = sendResent, ready, n
			return
		}
	}
	left := min(end, buffer) - s.next
	open := s.una + s.window - s.next // of the peer's window
	fin := left == 0 && s.next == s.appEnd && !s.finSent
	if left > 0 || fin {
		if s.chunk == 0 || left < s.chunk || s.exact && !room {
			s.chunked = 0
			s.chunk = s.chunkBytes(now, left, open, cwnd-inFlight)
		}
		size := min(left, s.mss, max(s.chunk, 0))
		fits := min(left, s.mss) <= open || size > 0
		switch {
		case size > 0 || fin && room:
			s.plan, s.planAt, s.planBytes = sendNew, ready, size
			if s.forcedNew {
				s.planAt = now
			}
			return
		case !fits && s.queue.len() == 0 && s.timer == noTimer: // tcp_check_probe_timer
			s.setTimer(persist, now+max(s.rto, s.config.RTOMin))
		}
		if !fits && s.forcedNew && s.queue.len() > 0 {
			s.forcedNew, s.forcedLast = false, true
			s.plan, s.planAt, s.planned = sendResent, now, s.queue.end-1
			return
		}
	} else {
		// tcp_rate_check_app_limited: what is delivered from here on says what the
		// application writes.
		if end < s.appEnd && room && s.lostOut <= s.resentOut {
			s.appLimited = max(s.delivered+int64(inFlight), 1)
		}
		if more != unit.Never && s.next < buffer && room {
			if open >= min(s.mss, s.appEnd-s.next) {
				s.plan, s.planAt, s.planBytes = sendNew, max(more, s.pacedUntil, s.heldUntil), 0 // looked up then
			} else if s.queue.len() == 0 && s.timer == noTimer {
				s.setTimer(persist, more+max(s.rto, s.config.RTOMin))
			}
		}
	}
	if s.frtoNew && s.plan == nothing { // F-RTO finds nothing new to send: the usual recovery
		s.frto, s.frtoNew = false, false
		s.think(now)
		return
	}
	s.forcedNew, s.forcedLast = false, false
	// also a burst that waits
	if full := inFlight >= cwnd || left > 0 && open > int64(cwnd-inFlight)*s.mss; s.burst || full {
		s.burst = false
		s.validate(now, full)
	}
}

// chunkBytes is the size of the next burst, 0 if nothing may be sent now: what window
// and data allow up to the goal of tcp_tso_autosize, and nothing yet where waiting
// for the next ACK makes a larger burst (tcp_tso_should_defer).
func (s *Sender) chunkBytes(now unit.Time, left, open int64, room int) int64 {
	switch {
	case s.forcedNew && min(left, s.mss) <= open:
		return min(left, s.mss)
	case s.squeeze && open > 0:
		return min(left, open, s.mss)
	case room <= 0 || left <= 0 || min(left, s.mss) > open:
		return 0
	case !s.config.Bursts || left <= s.mss:
		return min(left, s.mss)
	}
	goal := int64(s.goal())
	limit := min(open, int64(room)*s.mss)
	if s.state < cc.Recovery && limit < goal*s.mss && limit < left && now-s.lastSend <= unit.Millisecond &&
		limit < min(s.window, int64(s.cwnd())*s.mss)/burstShare && s.queue.len() > 0 &&
		s.queue.at(s.queue.first).sent+s.srtt/8-now <= min(unit.Millisecond, s.srtt/16) { // an ACK will come soon
		return 0
	}
	bytes := min(left, goal*s.mss, limit)
	if part := bytes % s.mss; part > 0 && bytes < left && s.smallEnd > s.una { // Minshall's Nagle
		bytes -= part
	}
	return bytes
}

// goal is tcp_tso_autosize: segments of about 1 ms, more on short paths.
func (s *Sender) goal() int {
	bytes := s.pacingRate() / (1 << burstShift)
	if halvings := s.minRTT.get() / burstRTT; halvings < 32 {
		bytes += float64(int64(burstBytes) >> halvings)
	}
	return max(int(min(bytes, burstBytes)/float64(s.mss)), 2)
}

// validate is tcp_cwnd_validate: it notes whether the window limits the sender.
func (s *Sender) validate(now unit.Time, limited bool) {
	if s.una >= s.usageSeq || limited || !s.cwndLimited && s.queue.len() > s.maxOut {
		s.cwndLimited, s.maxOut, s.usageSeq = limited, s.queue.len(), s.next
	}
	if s.isLimited() {
		s.used, s.usedSince = 0, now
		return
	}
	s.used = max(s.used, s.queue.len())
	if now-s.usedSince >= s.rto && !s.own { // tcp_cwnd_application_limited
		if s.state == cc.Open {
			if used := max(s.used, s.config.InitialWindow); used < s.cwnd() {
				s.lose(now, cc.Loss{Kind: cc.Idled, Window: (s.cwnd() + used) / 2})
			}
			s.used = 0
		}
		s.usedSince = now
	}
}

// isLimited is tcp_is_cwnd_limited.
func (s *Sender) isLimited() bool {
	return s.cwndLimited || s.decision.SlowStart && s.cwnd() < 2*s.maxOut
}

// pacingRate is sk_pacing_rate: the controller's, or that of
// tcp_update_pacing_rate.
func (s *Sender) pacingRate() float64 {
	if s.decision.Rate > 0 {
		return float64(s.decision.Rate) / 8
	}
	srtt := s.SRTT()
	if srtt <= 0 {
		return 0
	}
	gain := 1.2
	if s.decision.SlowStart {
		gain = 2
	}
	return gain * float64(max(s.cwnd(), s.queue.len())) * float64(s.mss) / srtt.Seconds()
}

// Emit sends what was planned.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	t := &p.TCP
	if s.probeAt() <= now { // draft-miao §6.1, guideline 4; without data, as TCP has no other
		s.asker.Probe(now, p)
		s.acknowledge(now, p)
		return
	}
	switch s.plan {
	case sendSYN:
		if s.phase == idle {
			s.phase = opening
			s.lastSend = now
		}
		p.Seq = s.initial
		t.Flags, t.Window, t.MSS = packet.SYN, 65535, uint16(s.mss+timestampBytes)
		t.Has, t.Scale = packet.HasSACKPermitted|packet.HasScale, scale
		if s.config.ECN {
			t.Flags |= packet.ECE | packet.CWR // RFC 3168 §6.1.1
		}
		stamp(t, now, 0)
		s.fill(p, 0, s.ecnOf(true))
		s.synAt, s.next = now, s.initial+1
		s.setTimer(retransmission, now+s.rto)
		s.plan, s.planAt = nothing, unit.Never
		return
	case sendProbe:
		s.windowing = false
		s.acknowledge(now, p)
		p.Seq = s.una - 1
	case sendResent:
		s.resend(now, p)
	case sendNew:
		if s.planBytes == 0 { // it waited for the application
			s.think(now)
		}
		switch s.plan {
		case sendNew:
			s.sendNew(now, p)
		case sendResent:
			s.resend(now, p)
		default:
			s.acknowledge(now, p) // nothing may go any more; an ACK does no harm
		}
	}
	s.think(now)
}

// ecnOf is the ECN field of a segment: data that is sent for the first time is ECT
// (RFC 3168 §6.1.2, §6.1.5); with DCTCP everything is (Linux' tcp_ecn_send).
func (s *Sender) ecnOf(control bool) uint8 {
	if s.dctcp || s.ecn && !control {
		return packet.ECT0
	}
	return packet.NotECT
}

// acknowledge fills p with a pure ACK.
func (s *Sender) acknowledge(now unit.Time, p *packet.Packet) {
	p.Seq, p.Ack = s.next, s.peerNext
	p.TCP.Flags, p.TCP.Window = packet.ACK, 65535>>scale
	stamp(&p.TCP, now, s.tsRecent)
	s.fill(p, 0, s.ecnOf(true))
}

// sendNew sends the next segment.
func (s *Sender) sendNew(now unit.Time, p *packet.Packet) {
	if !s.own && s.queue.len() == 0 && now-s.lastSend > s.rto { // tcp_slow_start_after_idle_check
		window, least := s.cwnd(), min(s.config.InitialWindow, s.cwnd())
		for gone := now - s.lastSend - s.rto; gone > 0 && window > least; gone -= s.rto {
			window /= 2
		}
		s.lose(now, cc.Loss{Kind: cc.Idled, Window: max(window, least)})
		s.usedSince, s.used = now, 0
	}
	size := s.planBytes
	sent := cc.Sent{Bytes: unit.Bytes(size), InFlight: s.inFlight(), AppLimited: s.appLimited > 0}
	if s.queue.len() == 0 {
		sent.Idle = now - s.lastSend
	}
	s.control.OnSend(now, sent)
	s.decide()

	n, g := s.queue.push()
	g.seq, g.end = s.next, s.next+size
	p.Seq, p.Ack = s.next, s.peerNext
	t := &p.TCP
	t.Flags, t.Window = packet.ACK, 65535>>scale
	if g.end == s.appEnd { // the application closes after its last write
		g.end++
		g.flags |= final
		t.Flags |= packet.FIN
		s.finSent = true
	}
	s.chunk = max(s.chunk-size, 0)
	s.chunked++
	if size < s.mss {
		s.smallEnd = g.end
	}
	if size > 0 && (s.chunk == 0 && s.chunked > 1 || size < s.mss || g.end >= s.appEnd) {
		t.Flags |= packet.PSH // also at the end of a burst, as Linux does
	}
	if s.cwrDue && size > 0 { // RFC 3168 §6.1.2: on the first new data packet
		t.Flags |= packet.CWR
		s.cwrDue = false
	}
	stamp(t, now, s.tsRecent)
	s.asker.Ask(now, p, s.SRTT())
	s.fill(p, int32(size), s.ecnOf(size == 0))
	first := s.queue.len() == 1
	s.next = g.end
	s.squeeze = false
	s.transmitted(now, n, g)
	s.counters.SentBytes += unit.Bytes(size)
	if size > 0 {
		s.counters.SentPackets++
	}
	s.burst = true
	if s.forcedNew {
		s.forcedNew = false
		s.tlpEnd, s.tlpResent = s.next, false
		s.timer = noTimer
		s.rearm(now)
		return
	}
	if first || s.timer == lossProbe {
		s.rearm(now)
	}
	s.scheduleProbe(now, false)
}

// resend sends a segment again.
func (s *Sender) resend(now unit.Time, p *packet.Packet) {
	n := s.planned
	g := s.queue.at(n)
	if g.seq < s.una { // a part of it was acknowledged
		g.seq = s.una
	}
	size := g.end - g.seq
	t := &p.TCP
	t.Flags, t.Window = packet.ACK, 65535>>scale
	if g.flags&final != 0 {
		size--
		t.Flags |= packet.FIN
	}
	if size > 0 && (size < s.mss || g.end >= s.appEnd) {
		t.Flags |= packet.PSH
	}
	p.Seq, p.Ack = g.seq, s.peerNext
	s.control.OnSend(now, cc.Sent{Bytes: unit.Bytes(size), InFlight: s.inFlight(), Retransmitted: true,
		AppLimited: s.appLimited > 0})
	s.decide()
	stamp(t, now, s.tsRecent)
	s.asker.Ask(now, p, s.SRTT())
	s.fill(p, int32(size), s.ecnOf(true))
	if s.forcedLast {
		s.forcedLast = false
		s.tlpEnd, s.tlpResent = s.next, true
		s.timer = noTimer
		s.rearm(now)
	} else {
		if s.resentStamp == 0 {
			s.resentStamp = stampOf(now)
		}
		if g.flags&lost != 0 && g.flags&resent == 0 {
			s.waiting--
		}
		if g.flags&resent == 0 {
			g.flags |= resent
			s.resentOut++
		}
		s.undoResent = max(s.undoResent, 0) + 1
		if s.timer == noTimer || n == s.queue.first && s.timer != reorderingTimer { // as in tcp_xmit_retransmit_queue
			s.setTimer(retransmission, now+s.rto)
		}
	}
	g.flags |= everSent
	s.totalResent++
	s.transmitted(now, n, g)
	s.counters.SentPackets++
	s.counters.Retransmitted++
}

// transmitted notes a transmission for RACK, the delivery rate, PRR and pacing.
func (s *Sender) transmitted(now unit.Time, n uint32, g *segment) {
	// tcp_rate_skb_sent
	if s.inFlightSamples() == 0 {
		s.firstSent, s.deliveredAt = now, now
	}
	g.sent = now
	g.first, g.deliveredAt, g.delivered = s.firstSent, s.deliveredAt, s.delivered
	g.flags = g.flags&^(limited|nacked|warned) | rated
	if s.appLimited > 0 {
		g.flags |= limited
	}
	if g.flags&sacked == 0 {
		s.queue.append(n)
	}
	if s.reducing() {
		s.prrOut++
	}
	s.lastSend = now
	if rate := s.paced(); rate > 0 {
		s.pacedUntil = max(now, s.pacedUntil) + unit.Time(float64(g.end-g.seq)/rate*float64(unit.Second))
	}
}

// paced is the rate at which packets are spaced in bytes per second; 0: they are not.
func (s *Sender) paced() float64 {
	if s.decision.Rate > 0 || s.config.Pacing {
		return s.pacingRate()
	}
	return 0
}

// inFlightSamples is packets_out as tcp_rate_skb_sent sees it: without the segment
// that is being sent for the first time.
func (s *Sender) inFlightSamples() int {
	n := s.queue.len()
	if n == 1 && s.queue.at(s.queue.first).flags&(everSent|rated) == 0 {
		return 0
	}
	return n
}

// lose tells the controller of a change of state.
func (s *Sender) lose(now unit.Time, l cc.Loss) {
	l.InFlight, l.Lost, l.Next, l.LostTotal = s.inFlight(), s.lostOut, s.next, s.lostTotal
	s.control.OnLoss(now, l)
	s.decide()
}

// Advance is called when the timer's time has come.
func (s *Sender) Advance(now unit.Time) {
	if s.decision.NextTimer <= now {
		s.control.OnTimer(now)
		s.decide()
	}
	if s.timerAt > now {
		s.think(now)
		return
	}
	switch kind := s.timer; {
	case s.phase == opening:
		if s.retries++; s.retries > synRetries {
			s.close()
			return
		}
		s.synResent = true
		s.rto = min(2*s.rto, largestRTO)
		s.setTimer(noTimer, unit.Never)
		s.plan, s.planAt = sendSYN, now
		return
	case kind == retransmission:
		s.timeout(now)
	case kind == lossProbe:
		s.probe(now)
	case kind == reorderingTimer:
		s.reorderingTimeout(now)
	case kind == persist:
		if s.queue.len() > 0 {
			s.setTimer(noTimer, unit.Never)
			s.rearm(now)
			break
		}
		s.backoff = min(s.backoff+1, 16)
		s.windowProbe(now)
		s.setTimer(persist, now+min(max(s.rto, s.config.RTOMin)<<min(s.backoff, 10), largestRTO))
	default:
		s.setTimer(noTimer, unit.Never)
	}
	s.think(now)
}

// windowProbe is tcp_write_wakeup: what fits into a small window goes, into a closed
// one a segment without data, out of sequence so that it is answered.
func (s *Sender) windowProbe(now unit.Time) {
	end, _ := s.written(now)
	left := min(end-s.next, s.mss)
	if s.squeeze = left > 0 && s.una+s.window > s.next; !s.squeeze {
		s.windowing = true
	}
}

func (s *Sender) close() {
	s.phase = closed
	s.setTimer(noTimer, unit.Never)
	s.plan, s.planAt = nothing, unit.Never
}
