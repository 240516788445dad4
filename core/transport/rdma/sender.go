package rdma

import (
	"weir/core/cc"
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Sender is the sending half of a queue pair.
type Sender struct {
	ends
	control   transport.Control
	requester transport.TelemetryRequester
	report    cc.Ack
	counters  transport.Counters
	rules
	recovery
	planned
	rate transport.Deliveries
	reports
	sinceAsked int64 // bytes sent since the last packet that asked for an acknowledgement
}

// rules are the constants that a sender takes from a configuration and a flow.
type rules struct {
	start         unit.Time
	stop          unit.Time
	bound         int64 // of bytes between una and top
	ecn           uint8 // of data
	begun         bool  // Config.WindowTest is begunPacket
	timed         bool  // it has a retransmission timer
	keepsDecision bool  // OnSend does not change the decision
}

// planned is what will be sent, and when the retransmission timer expires.
type planned struct {
	plan    int64 // packet; −1: no packet
	planAt  unit.Time
	probe   unit.Time // when a probe is sent; Never: no probe
	timerAt unit.Time
}

// reports is the state of messages of receivers and switches about single packets.
type reports struct {
	hold    transport.NACKPacer
	notices int64
	noticed int64 // packets below have had one (for late CNPs)
}

// Sizes of the ring in packets. A flow starts with firstRing, or all its packets if it has fewer. Another flow keeps
// the ring of one that is over up to maxKeptRing.
const (
	firstRing   = 16
	maxKeptRing = 64
)

// initSender makes s the sender of flow f, and removes all earlier state except the controller. paths is nil if the
// flow does not choose paths; bound limits the bytes between una and top.
func (s *Sender) initSender(f *transport.Flow, c *Config, paths *paths, bound int64,
	asker transport.TelemetryRequester) {
	e := newEnds(f, false)
	ring := s.ring
	ring.Renew(int(min(e.packets, firstRing)), maxKeptRing)
	*s = Sender{ends: e, requester: asker,
		control: transport.Control{Controller: s.control.Controller, KeepsNext: c.Keeps,
			Reduces: c.Nacks == transport.NacksLoss},
		rules: rules{start: f.Start, stop: f.Stop, bound: bound, keepsDecision: f.CC.KeepsOnSend && paths == nil,
			begun: c.WindowTest == begunPacket, timed: c.Recovery != NoRecovery && c.RTO != noRTO},
		recovery: recovery{config: *c, repeats: c.Recovery == SelectiveRepeat, outstanding: outstanding{ring: ring},
			timer: c.newRTO()},
		planned: planned{timerAt: unit.Never}}
	s.loss = transport.NewLossTimer(&f.Path, c.replyDelay())
	s.loss.Enabled = c.probesWhenSilent() && (s.loss.FindsLosses() || c.Reordering != reorderNone)
	if c.ECN == ecnEcho || c.ECN == ecnNotify {
		s.ecn = packet.ECT0
	}
	if s.repeats && c.Reordering != reorderNone {
		s.orders = []order{newOrder()}
	}
	s.tolerance.steps = 1
	if paths != nil {
		s.paths, s.control.Controller, s.orders = paths, paths, nil
		for range paths.each {
			s.orders = append(s.orders, newOrder())
		}
	}
	if s.stop == 0 {
		s.stop = unit.Never
	}
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.control.ReadDecision()
	if s.orders != nil && paths == nil && f.Path.Uneven && c.Reordering == reorderAdaptive {
		s.waits = newWaits(s.loss.Limit, c.BaseRTT, int64(s.control.Decision.Window))
	}
	s.planNext(f.Start)
}

// Class returns the priority class of data.
func (s *Sender) Class() uint8 { return uint8(s.config.Class) }

// Counters returns the sender's counters. SentBytes counts first transmissions. Finished is when the last byte was
// acknowledged.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// Timeouts returns the number of times since the start that packets were declared lost because an answer was missing
// for too long.
func (s *Sender) Timeouts() int64 { return s.timer.Timeouts }

// Notices returns the number of CNPs and notices of switches that the sender has passed to the controller.
func (s *Sender) Notices() int64 { return s.notices }

// Gauge returns the controller's window and rate, and the bytes in flight.
func (s *Sender) Gauge() transport.Gauge {
	return s.control.Gauge(unit.Bytes(s.inFlight()) * unit.Bytes(s.payload))
}

// requiredRoom returns the number of bytes of packet n for which the window and the bound must have room: the whole
// packet, or one byte with begunPacket.
func (s *Sender) requiredRoom(n int64) int64 {
	if s.begun {
		return 1
	}
	return s.payloadOf(n)
}

// fitsWindow reports whether the window has room for a number of bytes. One packet may always be sent.
func (s *Sender) fitsWindow(bytes int64) bool {
	n := s.inFlight()
	return n <= 0 || (n+s.waits.inNetwork(s.shortestRTT()))*s.payload+bytes <= int64(s.control.Decision.Window)
}

// planNext plans the next packet and its time, the next probe, and the retransmission timer. It is called after every
// event.
func (s *Sender) planNext(now unit.Time) {
	s.plan, s.planAt = -1, unit.Never
	if s.hold.InNackRound() {
		s.hold.Update(now, s.nackRTT(), s.currentRTO(), s.inFlight(), s.hash)
	}
	if s.paths != nil && s.una < s.packets {
		s.planPaths(now)
	} else if at := max(s.start, s.control.Pacer.NextSend(), s.hold.NextSend()); s.una < s.packets {
		if n := s.nextLost(); n >= 0 { // IRN §3.1: in recovery a lost packet goes before a new one
			// With recovery: none no answer reports packets beyond the first, and they may fill the window.
			if s.fitsWindow(s.requiredRoom(n)) || n == s.una && s.config.Recovery == NoRecovery {
				s.plan, s.planAt = n, at
			}
		} else if n := s.next; n < s.packets && (n < s.top || max(at, now) < s.stop) && n-s.una < maxOutstanding {
			room := s.requiredRoom(n)
			if s.fitsWindow(room) && (n == s.una || (n-s.una)*s.payload+room <= s.bound) { // IRN §3.2: BDP-FC
				s.plan, s.planAt = n, at
			}
		}
		if s.plan < 0 && s.next == s.packets && s.fitsWindow(s.payload) {
			s.rate.LimitByApplication(s.inFlight())
		}
	}
	s.probe = unit.Never
	if s.una < s.packets && (s.una < s.top || s.plan >= 0) {
		if at := s.requester.NextProbe(s.timer.Trip.Smoothed); at < unit.Never {
			s.probe = max(s.start, at)
		}
	}
	s.timerAt = unit.Never
	if s.paths != nil && s.una < s.packets {
		s.schedulePaths()
	} else if s.una < s.top && s.timed && s.plan != s.una && (s.plan < 0 || s.inFlight() > 0) {
		// A packet that only waits to be resent, for the pace or the hold-off, is no silence of the path.
		if s.timerAt = s.timer.WaitStart + s.currentRTO(); s.loss.Enabled {
			s.timerAt = s.loss.EarliestExpiry(s.timerAt, s.timer.WaitStart, s.unaTime())
		}
	}
	if s.loss.ProbeDue { // as soon as the NIC has room, unless all that was sent is acknowledged
		if s.loss.ProbeDue = s.una < s.top && s.una < s.packets; s.loss.ProbeDue {
			s.probe = s.start
		}
	}
}

// NextSend returns when Emit has a packet to send.
func (s *Sender) NextSend() unit.Time { return min(s.planAt, s.probe) }

// Emit fills p with a probe that is due, or else the planned packet. It notifies the controller (OnSend), records the
// transmission, and plans the next one. Without a planned packet p stays as it is.
func (s *Sender) Emit(now unit.Time, p *packet.Packet) {
	if s.probe <= now {
		s.emitProbe(now, p)
		return
	}
	n := s.plan
	if n < 0 {
		return
	}
	again := n < s.top
	bytes := s.payloadOf(n)
	note := cc.Sent{Bytes: unit.Bytes(bytes), InFlight: int(s.inFlight()), Retransmitted: again,
		AppLimited: s.rate.AppLimited > 0, Left: unit.Bytes(s.size - n*s.payload)}
	if s.una == s.top && s.counters.SentPackets > 0 {
		note.Idle = now - s.control.Pacer.LastSend
	}
	if s.paths != nil {
		s.selectPath(s.paths.next)
	}
	if s.control.Controller.OnSend(now, note); !s.keepsDecision {
		s.control.ReadDecision()
	}

	s.requester.AskIfDue(now, p, s.timer.Trip.Smoothed)
	s.requester.WriteRequest(now, p, s.control.Decision.Request)
	number := uint8(0)
	if again {
		number = (s.packetState(n).number + 1) & packet.TransmissionMask
	}
	place, length := s.messagePlace(n)
	if p.Message = length; s.config.AckEvery > 1 {
		place |= s.ackRequestFlag(bytes)
	}
	if s.config.Trimmable {
		place |= packet.Cuttable
	}
	s.fillHeaders(p, packet.Data, n, int64(number), bytes, p.ExtensionBytes(), place, s.ecn)
	if s.una == s.top { // draft-cheng-iccrg-delivery-rate-estimation §3.2
		s.rate.BeginFlight(now)
	}
	s.ring.Reserve(s.una, n)
	x := s.packetState(n)
	flags := uint16(0)
	if again {
		p.Resent = s.resendCause(x)
		flags = s.markResent(now, n, x)
	} else {
		s.counters.SentBytes += unit.Bytes(bytes)
	}
	if s.rate.AppLimited > 0 {
		flags |= limited
	}
	if place&packet.NoAckRequest != 0 {
		flags |= unasked
	}
	*x = sent{sentAt: now, Departure: s.rate.NewDeparture(), flags: flags, number: number}
	if s.orders != nil {
		s.recordOrder(now, n, x, p)
	}
	if n == s.next {
		s.next++
	}
	s.top = max(s.top, s.next)
	s.counters.SentPackets++
	if n == s.una || s.timerAt == unit.Never {
		s.timer.WaitStart = now
	}
	if s.control.Pacer.RecordSend(now, s.config.gapBytes(bytes)); s.paths == nil {
		s.control.Pacer.SetRate(s.control.Decision.Rate)
	}
	s.hold.RecordSend(now, s.hash)
	s.planNext(now)
}

// asksInWindow is the number of acknowledgements that a sender asks for within a window.
const asksInWindow = 8

// ackRequestFlag returns the flags of data of bytes bytes: packet.NoAckRequest, or 0 to ask for an acknowledgement
// (BTH's AckReq) when an eighth of a window was sent since the latest request. It counts the bytes. So a window smaller
// than ack_every never stalls.
func (s *Sender) ackRequestFlag(bytes int64) uint8 {
	since, window := &s.sinceAsked, int64(s.control.Decision.Window)
	if s.paths != nil {
		p := &s.paths.each[s.paths.next]
		since, window = &p.sinceAsked, int64(p.decision.Window)
	}
	if *since += bytes; *since < min(window, s.bound)/asksInWindow {
		return packet.NoAckRequest
	}
	*since = 0
	return 0
}

// markResent records that packet n, x, is resent, and returns its flags.
func (s *Sender) markResent(now unit.Time, n int64, x *sent) (flags uint16) {
	if x.flags&gone != 0 {
		if x.flags&waited != 0 {
			patience, _ := s.findPatience()
			s.waits.addWaiting(n, now, x.sentAt+min(2*patience, s.loss.Limit))
		}
		s.uncountLost(x)
		flags = resent
	}
	if x.flags&nacked != 0 {
		flags = resent
	}
	s.counters.Retransmitted++
	return flags | everSent
}

// recordOrder records the path of packet n, which is sent as p, and its place in the order of time.
func (r *recovery) recordOrder(now unit.Time, n int64, x *sent, p *packet.Packet) {
	if r.paths != nil {
		x.path = uint8(r.paths.next)
		r.setPath(p, r.paths.next)
		r.paths.recordSend(now, r.paths.next, r.config.gapBytes(int64(p.Payload)))
	}
	r.orders[x.path].Record(n, now)
}

// emitProbe fills p with a probe: of the flow's 5-tuple and class (draft-miao §6.1, guideline 4), or of a path's.
func (s *Sender) emitProbe(now unit.Time, p *packet.Packet) {
	k := 0
	if s.paths != nil {
		k = s.probePath(now)
		s.requester.SelectPath(k)
	}
	if l := s.lossProbe(k); l != nil {
		s.loss.ProbeDue = false
		if s.paths != nil && s.requester.AsksTelemetry() {
			s.requester.AskByProbe(now, p)
		}
		s.fillHeaders(p, packet.Probe, s.number24(l.RecordProbe(now), k), 0, 0, p.ExtensionBytes(), 0, s.ecn)
		s.setPath(p, k)
		s.planNext(now)
		return
	}
	if s.requester.AsksTelemetry() {
		s.requester.AskByProbe(now, p)
	}
	s.fillHeaders(p, packet.Probe, s.top, 0, 0, p.ExtensionBytes(), 0, packet.NotECT)
	s.setPath(p, k)
	s.planNext(now)
}

// setPath gives p the source port and hash of path k, if the flow has several paths.
func (r *recovery) setPath(p *packet.Packet, k int) {
	if r.paths != nil {
		p.SrcPort, p.Hash = r.paths.each[k].port, r.paths.each[k].hash
	}
}

// Receive handles an ACK, a NACK, a notice or the answer to a probe. A packet has no effect if it is not of this flow,
// not sealed as required, acknowledges packets that were never sent, or reports no change. The result is always false,
// since p becomes no answer.
func (s *Sender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	if (p.Kind == packet.Nack || p.Kind == packet.Notice) && p.IsNotification() {
		s.handleNotice(now, p)
		return false
	}
	if !s.matchFlow(p) || p.Meta.Flags&packet.Trimmed != 0 || !s.requester.IsGenuine(p) {
		return false
	}
	switch p.Kind {
	case packet.Ack, packet.Nack:
		s.handleAck(now, p)
	case packet.Notice:
		s.passNotice(now, p)
	case packet.Probe:
		s.handleProbeReply(now, p)
	default:
		return false
	}
	s.planNext(now)
	return false
}

// matchFlow reports whether p belongs to this flow, and selects the path on which it returns.
func (s *Sender) matchFlow(p *packet.Packet) bool {
	if s.paths == nil {
		return s.isFromPeer(p)
	}
	k := s.paths.pathOf(p.DstPort)
	if k < 0 || p.SrcPort != s.dstPort || p.Proto != packet.ProtoRDMA {
		return false
	}
	s.selectPath(k)
	return true
}

// selectPath selects path k for the events that follow.
func (s *Sender) selectPath(k int) {
	s.paths.selected = k
	s.requester.SelectPath(k)
}

// handleProbeReply handles the answer to a probe: a LossTimer's proves losses; any other has telemetry without a
// delivery, which goes to the controller (OnAck).
func (s *Sender) handleProbeReply(now unit.Time, p *packet.Packet) {
	if s.loss.Enabled && s.receiveProbeReply(now, p) {
		return
	}
	s.report = cc.Ack{}
	if s.paths != nil {
		s.paths.recordAnswer(now, s.paths.selected)
	}
	if n := s.findPacket(p.Seq, s.una); n >= 0 && n <= s.top && s.una < s.packets && s.requester.ReadFeedback(now, p,
		&s.report) {
		s.report.Seq = s.packetSeq(n) + 1
		prior := s.inFlight()
		s.reportAck(now, p, 0, 0, prior, s.isLimited(prior), &sampling{})
	}
}

// sampling is the packet that gives the delivery-rate sample: the one sent last of those newly delivered.
type sampling struct {
	sent
	has bool
}

// NextTimer returns when the retransmission timer, the reordering timer or the controller's timer expires.
func (s *Sender) NextTimer() unit.Time {
	if s.una == s.packets { // a controller's timers have no purpose any more
		return unit.Never
	}
	at := min(s.timerAt, s.control.Decision.NextTimer)
	for k := range s.orders {
		at = min(at, s.orders[k].due)
	}
	return at
}

// Advance runs the timers that have expired: the controller's, reordering's and retransmission's. It then plans
// the next packet.
func (s *Sender) Advance(now unit.Time) {
	s.control.RunTimer(now)
	if s.orders != nil {
		lost := s.findOverdue(now)
		s.lostTotal += int64(lost)
		s.updateState(now, lost, false)
	}
	switch {
	case s.timerAt > now:
	case s.paths != nil:
		s.giveUpSilentPaths(now)
	case s.loss.Enabled:
		s.lossTimeout(now)
	default:
		s.handleTimeout(now)
	}
	s.planNext(now)
}
