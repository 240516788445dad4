package udp

import (
	"encoding/binary"
	"fmt"
	"math"

	"weir/core/cc"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/transport"
	"weir/core/unit"
)

// ControlledConfig is the configuration of a sender with a congestion controller.
type ControlledConfig struct {
	Rate        unit.Rate // at which the application has datagrams; 0: always
	ReportEvery int       // datagrams a report
	ReportDelay unit.Time // longest wait of a report for more datagrams
	RTOMin      unit.Time // minimum time without a report after which datagrams in flight are written off
	Telemetry   transport.TelemetryOptions
	Nacks       string // response to NACKs of the network: transport.NacksLoss …
}

// Params binds the options of udp_controlled to the fields of c, which keep their values.
func (c *ControlledConfig) Params(p *scheme.Params) {
	p.Rate(&c.Rate, "rate", "0bps", "rate at which the application provides payload; 0bps: no limit", "Weir")
	p.Packets(&c.ReportEvery, "report_every", "1 packet", "number of datagrams per report of the receiver", "Weir").
		Min("1 packet").Max("1000000 packets")
	p.Time(&c.ReportDelay, "report_delay", "0s", "with report_every above 1: time that a report waits for more "+
		"datagrams; 0s: the path's round-trip time, or 20us if it is not known", "Weir").Max("60s").
		When("report_every above 1 packet", func() bool { return c.ReportEvery > 1 })
	p.Time(&c.RTOMin, "rto_min", "0s", "minimum time without a report after which datagrams in flight count as lost; "+
		"at least SRTT + 4 RTTVAR; 0s: derived from the path: a probe is sent after 320us or the measured round-trip "+
		"time, and datagrams count as lost when its answer proves the loss or after a round-trip time with full buffers",
		"Weir: as in rdma").Min("0s").Max("60s")
	p.AddRule("rto_min", func() error {
		if c.RTOMin > 0 && c.RTOMin < unit.Microsecond {
			return fmt.Errorf("%v; allowed: 0s, or 1us to 60s", c.RTOMin)
		}
		return nil
	})
	transport.BindNacks(p, &c.Nacks)
	c.Telemetry.Params(p)
}

// Traits returns the traits of the transport. Datagrams are not resent, so reports count the deliveries. They have no
// rates.
func (c *ControlledConfig) Traits() transport.Traits {
	return transport.Traits{AppRate: c.Rate, Timer: c.describeTimer, MinTimeout: c.minTimeout(),
		DelaysAcks: c.ReportEvery > 1,
		Telemetry:  &c.Telemetry, WhyUnmarked: c.whyUnmarked, WhyUnmeasured: "udp_controlled measures no rates of delivery",
		TakesSupply: c.Nacks == transport.NacksSupply}
}

// minTimeout returns how long a report can be missing before the datagrams in flight are written off; unit.Never: the
// sender probes instead.
func (c *ControlledConfig) minTimeout() unit.Time {
	if c.RTOMin == 0 {
		return unit.Never
	}
	return c.RTOMin
}

// describeTimer returns the timeout of the file, or without one the sender's probes, on path p.
func (c *ControlledConfig) describeTimer(p *cc.Path) transport.Timer {
	t := transport.Timer{Param: "rto_min", Timeout: c.minTimeout(), Probes: c.RTOMin == 0, Unproven: p.Reorders}
	if t.Probes && t.Unproven {
		t.Timeout = transport.MinProbeWait
	}
	if c.ReportEvery > 1 {
		t.ReplyDelay = c.reportDelay(p)
	}
	return t
}

// reportDelay returns how long a report waits for more datagrams: ReportDelay, or else the path's base round trip, or
// else longestWait.
func (c *ControlledConfig) reportDelay(p *cc.Path) unit.Time {
	switch {
	case c.ReportDelay > 0:
		return c.ReportDelay
	case p.BaseRTT > 0:
		return p.BaseRTT
	}
	return longestWait
}

// whyUnmarked returns why a controller that uses ECN in this mode gets no marks; "": reports count them.
func (c *ControlledConfig) whyUnmarked(mode cc.ECNMode) string {
	switch mode {
	case cc.DCTCPMode:
		return ""
	case cc.CNPMode:
		return "udp_controlled has no CNPs"
	}
	return "udp_controlled uses ECN only where the controller's scheme wants it"
}

// Report is the packet extension with a receiver's report, which does not change en route (RFC 8200 §4.2). It has four
// numbers of 8 bytes: the number after the highest datagram received, the datagrams received, the marked ones among
// them, and the time at which the answered one was sent. A report is a datagram without payload.
const Report uint8 = 0x19

const reportBytes = 4 * 8

// probeBytes is the length of Report in a probe that the sender sends when no report arrives. It is the time at which
// it was sent, which the receiver's report returns.
const probeBytes = 8

// ControlledScheme returns the transport udp_controlled.
func ControlledScheme() transport.Scheme {
	return transport.Define(transport.Scheme{
		Scheme: scheme.Scheme{Name: "udp_controlled", Doc: "datagrams within the window and rate of a congestion " +
			"controller, with reports of the receiver and without retransmission",
			Source: "draft-miao-iccrg-hpccplus-01 §9.3"},
		Headers: packet.UDPHeader, Proto: packet.ProtoUDP, Controlled: true, Gauged: true,
	}, NewControlled)
}

// longestWait is how long a report waits for more datagrams where no round-trip time is known.
const longestWait = 20 * unit.Microsecond

// NewControlled makes the endpoints of a flow with a congestion controller. It returns an error for a payload outside 1
// … 65,507 bytes, a negative size, a missing controller, or options that do not go together.
func NewControlled(f transport.Flow, c ControlledConfig) (*ControlledSender, *ControlledReceiver, error) {
	switch {
	case f.Payload < 1 || f.Payload > 65507:
		return nil, nil, fmt.Errorf("transport udp_controlled: payload %d; allowed: 1 … 65507 bytes", f.Payload)
	case f.CC == nil:
		return nil, nil, fmt.Errorf("transport udp_controlled: the flow has no congestion controller")
	case f.Size < 0:
		return nil, nil, fmt.Errorf("transport udp_controlled: a size of %d bytes", f.Size)
	}
	headers := packet.UDPHeader + packet.IPHeader(f.Version)
	known := cc.Flow{MSS: f.Payload, MTU: f.Payload + headers, InitialWindow: 10, Start: f.Start, Random: f.Random,
		Path: f.Path, Loads: f.Telemetry.IsRelative()}
	control, err := f.CC.Build(known, f.CCConfig)
	if err == nil {
		control, err = transport.WrapNacks(c.Nacks, control, known)
	}
	if err != nil {
		return nil, nil, err
	}
	asker, err := transport.NewTelemetryRequester(&f, c.Telemetry)
	if err != nil {
		return nil, nil, fmt.Errorf("transport udp_controlled: %w", err)
	}
	answerer, err := transport.NewTelemetryResponder(&f, known, c.Telemetry)
	if err != nil {
		return nil, nil, err
	}
	if f.Stop == 0 {
		f.Stop = unit.Never
	}
	c.ReportDelay = c.reportDelay(&f.Path)
	headers += packet.EthernetHeader
	s := &ControlledSender{flow: f, config: c, requester: asker, headers: headers,
		control:   transport.Control{Controller: control, Reduces: c.Nacks == transport.NacksLoss, ShutsGate: true},
		datagrams: datagrams{total: math.MaxInt64}, timerAt: unit.Never,
		hash:  packet.FlowHash(f.Src, f.Dst, f.SrcPort, f.DstPort, packet.ProtoUDP),
		timer: transport.RTO{BaseRTT: f.Path.BaseRTT, Floor: c.RTOMin, MinFirst: transport.FirstTimeout(f.Path.BaseRTT)}}
	if c.RTOMin == 0 {
		s.timer.Floor = transport.MinProbeWait
	}
	if f.Size > 0 {
		s.total = (int64(f.Size) + int64(f.Payload) - 1) / int64(f.Payload)
	}
	if f.CC.ECN != cc.AsConfigured {
		s.flow.TOS = f.TOS&^packet.ECN | packet.ECT0
	}
	s.loss = transport.NewLossTimer(&f.Path, reportWait(&c))
	s.loss.Enabled = c.RTOMin == 0 && s.loss.FindsLosses()
	s.counters.Finished, s.counters.DelayMin = unit.Never, unit.Never
	s.control.ReadDecision()
	s.planNext(f.Start)
	r := &ControlledReceiver{flow: f, config: c, headers: headers, tele: answerer, reportAt: unit.Never,
		hash: packet.FlowHash(f.Dst, f.Src, f.DstPort, f.SrcPort, packet.ProtoUDP)}
	if r.merges = r.reportOutgrowsData(); r.merges {
		r.config.ReportEvery = math.MaxInt
	}
	r.plain.size, r.plain.highest = f.Size, -1
	r.plain.counters.Finished, r.plain.counters.DelayMin = unit.Never, unit.Never
	return s, r, nil
}

// ControlledSender sends datagrams, numbered from 0, within a window and at a rate. A datagram leaves flight when it is
// reported received, was overtaken by such a one, or is reported lost by the network. Lost datagrams are not resent.
type ControlledSender struct {
	flow      transport.Flow
	config    ControlledConfig
	control   transport.Control
	requester transport.TelemetryRequester
	report    cc.Ack
	counters  transport.Counters
	headers   int32
	hash      uint32
	datagrams
	timer   transport.RTO
	timerAt unit.Time
	planAt  unit.Time
	probeAt unit.Time
	prober
	hold transport.NACKPacer
}

// datagrams is the state of the datagrams of a flow, which have numbers from 0.
type datagrams struct {
	next, done int64 // number of the next datagram; those below done are not in flight
	total      int64
	received   int64 // as last reported
	marked     int64
	lost       int64                 // datagrams that reports or NACKs show to be lost
	writtenOff int64                 // datagrams that timeouts wrote off, which lost does not count
	nacked     int64                 // datagrams from done on that are lost
	noticed    transport.Ring[uint8] // notices of the network about those from done on; without room: no notice yet
}

// prober has the probes of a sender without a retransmission timeout.
type prober struct {
	loss        transport.LossTimer
	probedAt    unit.Time // when its latest probe was sent
	probeNext   int64     // value of next at that time
	silentFrom  unit.Time // when the first probe since progress was sent; 0: not yet
	silentBelow int64     // value of next at that time
}

// inFlight returns the number of datagrams that are sent and neither overtaken by a reported one nor known to be lost.
func (s *ControlledSender) inFlight() int64 { return s.next - s.done - s.nacked }

// Timeouts returns the number of times that no report arrived in time.
func (s *ControlledSender) Timeouts() int64 { return s.timer.Timeouts }

// Counters returns the sender's counters. Finished of a flow with a size is when no datagram is in flight any more.
func (s *ControlledSender) Counters() *transport.Counters { return &s.counters }

// Gauge returns the controller's window and rate, and the bytes in flight.
func (s *ControlledSender) Gauge() transport.Gauge {
	return s.control.Gauge(unit.Bytes(s.inFlight()) * unit.Bytes(s.flow.Payload))
}

// payloadOf returns the payload of datagram n in bytes: the flow's largest, except for the last datagram.
func (s *ControlledSender) payloadOf(n int64) int32 {
	if n == s.total-1 {
		return int32(int64(s.flow.Size) - n*int64(s.flow.Payload))
	}
	return s.flow.Payload
}

// fitsWindow reports whether the window has room for datagram n. One datagram may always be sent.
func (s *ControlledSender) fitsWindow(n int64) bool {
	out := s.inFlight()
	return out == 0 || out*int64(s.flow.Payload)+int64(s.payloadOf(n)) <= int64(s.control.Decision.Window)
}

// planNext plans the next datagram, the next probe and the timer. It is called after every event.
func (s *ControlledSender) planNext(now unit.Time) {
	s.planAt, s.probeAt, s.timerAt = unit.Never, unit.Never, unit.Never
	if s.hold.InNackRound() {
		s.hold.Update(now, s.timer.RTTWithin(s.timer.Timeout()), s.timer.Timeout(), s.inFlight(), s.hash)
	}
	if s.next < s.total && s.fitsWindow(s.next) {
		at := max(s.flow.Start, s.control.Pacer.NextSend(), s.hold.NextSend())
		if s.config.Rate > 0 {
			at = max(at, addTime(s.flow.Start, unit.TransmitTime(unit.Bytes(s.next)*unit.Bytes(s.flow.Payload), s.config.Rate)))
		}
		if max(at, now) < s.flow.Stop {
			s.planAt = at
		}
	}
	if s.inFlight() > 0 {
		if s.timerAt = addTime(s.timer.WaitStart, s.timer.Timeout()); s.loss.Enabled {
			s.timerAt = s.loss.EarliestExpiry(s.timerAt, s.control.Pacer.LastSend, s.silentSince())
		}
		if at := s.requester.NextProbe(s.timer.Trip.Smoothed); at < unit.Never {
			s.probeAt = max(at, s.flow.Start)
		}
		if s.loss.ProbeDue {
			s.probeAt = s.flow.Start
		}
	}
}

// NextSend returns when Emit has a packet to send.
func (s *ControlledSender) NextSend() unit.Time { return min(s.planAt, s.probeAt) }

// NextTimer returns when the datagrams in flight are written off, or when the controller's timer expires.
func (s *ControlledSender) NextTimer() unit.Time {
	if s.done == s.total {
		return unit.Never
	}
	return min(s.timerAt, s.control.Decision.NextTimer)
}

// Emit fills p with a datagram, or a probe that is due: a datagram without payload (draft-miao §9.3). It notifies the
// controller of a datagram (OnSend), records it, and plans the next one.
func (s *ControlledSender) Emit(now unit.Time, p *packet.Packet) {
	p.Hash, p.SrcPort, p.DstPort = s.hash, s.flow.SrcPort, s.flow.DstPort
	p.Kind, p.Proto, p.Version, p.TOS, p.HopLimit = packet.Data, packet.ProtoUDP, s.flow.Version, s.flow.TOS, 64
	if s.probeAt <= now {
		if s.loss.ProbeDue {
			s.fillProbe(now, p)
		} else {
			s.requester.AskByProbe(now, p)
		}
		p.Size = s.flow.Framing.FrameBytes(s.headers+p.ExtensionBytes(), 0, false)
		s.planNext(now)
		return
	}
	n, payload := s.next, s.payloadOf(s.next)
	sent := cc.Sent{Bytes: unit.Bytes(payload), InFlight: int(s.inFlight())}
	if s.inFlight() == 0 {
		if s.counters.SentPackets > 0 {
			sent.Idle = now - s.control.Pacer.LastSend
		}
		s.timer.WaitStart, s.silentFrom, s.loss.ProbeDue = now, 0, false
	}
	if s.control.Controller.OnSend(now, sent); !s.flow.CC.KeepsOnSend {
		s.control.ReadDecision()
	}
	s.requester.AskIfDue(now, p, s.timer.Trip.Smoothed)
	p.Seq, p.Payload = n, payload
	p.Size = s.flow.Framing.FrameBytes(s.headers+p.ExtensionBytes(), payload, true)
	s.clearNotice(n)
	s.next++
	s.counters.SentPackets++
	s.counters.SentBytes += unit.Bytes(payload)
	s.control.Pacer.RecordSend(now, unit.Bytes(payload))
	s.control.Pacer.SetRate(s.control.Decision.Rate)
	s.hold.RecordSend(now, s.hash)
	s.planNext(now)
}

// Receive handles a report or a NACK of a switch. A report without progress, or of datagrams that were never sent, has
// no effect except for its telemetry. It calls the controller's OnAck, plans the next datagram, and always returns
// false.
func (s *ControlledSender) Receive(now unit.Time, p *packet.Packet) bool {
	s.counters.ReceivedPackets++
	b, ok := p.Extension(Report)
	if !ok && p.IsNotification() {
		s.receiveNack(now, p)
		return false
	}
	if p.Proto != packet.ProtoUDP || p.SrcPort != s.flow.DstPort || p.DstPort != s.flow.SrcPort || !ok ||
		len(b) != reportBytes || !s.requester.IsGenuine(p) {
		return false
	}
	upTo, received := int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))
	marked, sent := int64(binary.BigEndian.Uint64(b[16:])), unit.Time(binary.BigEndian.Uint64(b[24:]))
	if upTo < 0 || upTo > s.next || received < 0 || received > upTo || marked < 0 || marked > received || sent < 0 ||
		sent > now {
		return false
	}
	if s.loss.UnansweredProbe() > 0 && sent == s.probedAt {
		upTo = s.receiveProbeReply(now, upTo)
	}
	prior := s.inFlight()
	full := s.control.Decision.IsLimited(prior*int64(s.flow.Payload), int64(s.flow.Payload))
	a := &s.report
	*a = cc.Ack{}
	p.RemoveExtension(Report)
	hasFeedback := s.requester.ReadFeedback(now, p, a)
	if received <= s.received && upTo <= s.done && !hasFeedback {
		return false
	}
	if fresh := received - s.received; fresh > 0 {
		a.Packets, a.Bytes = int(fresh), unit.Bytes(fresh)*unit.Bytes(s.flow.Payload)
		a.RTT.Sample = max(now-sent, 1)
		s.timer.Trip.AddSample(a.RTT.Sample)
		s.hold.HandleDelivery(int(fresh), s.timer.RTTWithin(s.timer.Timeout()))
		s.received = received
		s.timer.RestartWait(now)
		s.silentFrom = 0
		s.loss.RecordAnswer()
	}
	a.ECN.Echo = marked > s.marked
	s.marked = max(s.marked, marked)
	if upTo > s.done {
		a.Advanced = true
		s.removeBelow(upTo)
	}
	lost := max(s.done-s.received-s.writtenOff-s.lost+s.nacked, 0)
	s.lost += lost
	a.Losses.New = int(lost)
	s.updateState(now, int(lost), a.ECN.Echo)
	payload := int64(s.flow.Payload)
	a.FirstUnacked, a.Next = s.done*payload, s.next*payload
	a.Delivered, a.ECN.Delivered, a.Losses.Total = s.received, s.marked, s.lost+s.writtenOff
	a.RTT.Smoothed, a.RTT.Min = s.timer.Trip.Smoothed, s.timer.Trip.Min
	a.RTT.Delayed = s.config.ReportEvery > 1
	a.Flight.Before, a.Flight.After, a.Flight.NextSend = int(prior), int(s.inFlight()), max(now,
		s.control.Pacer.NextSend())
	a.Limited, a.Losses.State = full, s.control.State
	s.control.Controller.OnAck(now, a)
	s.control.ReadDecision()
	s.recordFinish(now)
	s.planNext(now)
	return false
}

// updateState changes the state after a report: one reduction a window, of losses or marks.
func (s *ControlledSender) updateState(now unit.Time, lost int, echoed bool) {
	if s.control.State != cc.Open && s.done >= s.control.RecoverTo {
		s.enterState(now, cc.Open, cc.Loss{Kind: cc.Recovered})
	}
	if s.control.State != cc.Open {
		return
	}
	switch {
	case lost > 0:
		s.enterState(now, cc.Recovery, cc.Loss{Kind: cc.FastRecovery, Lost: lost})
	case echoed:
		s.enterState(now, cc.Reduced, cc.Loss{Kind: cc.ECNEcho})
	}
}

// enterState changes the state of recovery until the datagrams sent so far are not in flight.
func (s *ControlledSender) enterState(now unit.Time, state cc.RecoveryState, l cc.Loss) {
	s.control.EnterState(now, state, s.next, s.countLoss(l))
}

// countLoss returns l with the sender's counts.
func (s *ControlledSender) countLoss(l cc.Loss) cc.Loss {
	l.InFlight, l.Next, l.LostTotal = int(s.inFlight()), s.next*int64(s.flow.Payload), s.lost+s.writtenOff
	return l
}

// Advance runs the controller's timer, makes a probe due, or writes off the datagrams that must be lost, when no report
// arrives.
func (s *ControlledSender) Advance(now unit.Time) {
	s.control.RunTimer(now)
	if s.timerAt > now {
		s.planNext(now)
		return
	}
	if upTo := s.lostBelow(now); upTo <= s.done {
		s.timer.RecordExpiry(now)
		s.loss.ProbeDue = true
	} else {
		before := s.inFlight()
		s.removeBelow(upTo)
		out := before - s.inFlight()
		s.writtenOff += out
		s.timer.RecordExpiry(now)
		s.timer.Timeouts++
		s.loss.DoubleLimit()
		s.enterState(now, cc.Timeout, cc.Loss{Kind: cc.RetransmissionTimeout, Lost: int(out),
			Again: s.control.State != cc.Open})
		s.recordFinish(now)
	}
	s.planNext(now)
}

// ControlledReceiver counts datagrams like a Receiver, and reports them.
type ControlledReceiver struct {
	plain    Receiver
	flow     transport.Flow
	config   ControlledConfig
	tele     transport.TelemetryResponder
	headers  int32
	hash     uint32
	received int64 // datagrams, without duplicates
	marked   int64
	sent     unit.Time // when the latest datagram was sent
	pending  int
	due      bool
	reportAt unit.Time
	merges   bool // a report waits until the NIC is free, and reports the datagrams that have arrived by then
}

// Counters returns the receiver's counters.
func (r *ControlledReceiver) Counters() *transport.Counters { return &r.plain.counters }

// NextSend returns 0 if a report is due, or unit.Never.
func (r *ControlledReceiver) NextSend() unit.Time {
	if r.due {
		return 0
	}
	return unit.Never
}

// NextTimer returns when a report has waited long enough, or when the timer of the controller's part expires.
func (r *ControlledReceiver) NextTimer() unit.Time {
	if r.plain.counters.Finished != unit.Never {
		return r.reportAt
	}
	return min(r.reportAt, r.tele.NextTimer())
}

// Advance makes a report due if one has waited long enough, or a timer of the controller's part requires it.
func (r *ControlledReceiver) Advance(now unit.Time) {
	if due := r.tele.RunTimer(now); due || now >= r.reportAt {
		r.due, r.reportAt = true, unit.Never
	}
}

// Emit fills p with a report.
func (r *ControlledReceiver) Emit(_ unit.Time, p *packet.Packet) { r.writeReport(p, r.sent) }

// Receive counts a datagram, and turns it into a report in place if one is due, which the result reports. A probe is
// answered at once, and a duplicate never.
func (r *ControlledReceiver) Receive(now unit.Time, p *packet.Packet) bool {
	if p.Proto != packet.ProtoUDP || p.SrcPort != r.flow.SrcPort || p.DstPort != r.flow.DstPort || p.Seq < 0 {
		return false
	}
	probe, sent := p.Payload == 0 && p.Meta.Flags&packet.Trimmed == 0, r.sent
	if b, ok := p.Extension(Report); probe && ok && len(b) == probeBytes {
		sent = unit.Time(binary.BigEndian.Uint64(b))
	}
	place := p.Seq      // each datagram is sent once
	if p.Payload == 0 { // a probe, or trimmed and in a separate queue
		place = -1
	}
	atOnce := r.tele.HandleData(now, p, place)
	if !probe {
		before, bytes := r.plain.counters.DuplicateCount(), r.plain.counters.ReceivedBytes
		if r.plain.Receive(now, p); r.plain.counters.ReceivedBytes == bytes && (r.plain.counters.DuplicateCount() > before ||
			p.Meta.Flags&packet.Trimmed != 0) {
			return false
		}
		r.received++
		if p.TOS&packet.ECN == packet.CE {
			r.marked++
		}
		r.sent, sent = p.Sent, p.Sent
		r.pending++
	}
	if !probe && !atOnce && r.pending < r.tele.AckLimit(r.config.ReportEvery) && r.plain.counters.Finished == unit.Never {
		r.tele.KeepAnswer(p)
		if r.merges {
			r.due = true
		} else if r.reportAt == unit.Never {
			r.reportAt = now + r.config.ReportDelay
		}
		return false
	}
	p.Src, p.Dst, p.Data = p.Dst, p.Src, nil
	r.writeReport(p, sent)
	return true
}

// writeReport turns p, except its addresses, into a report about a datagram or probe that was sent at the time sent.
func (r *ControlledReceiver) writeReport(p *packet.Packet, sent unit.Time) {
	r.due, r.reportAt, r.pending = false, unit.Never, 0
	r.tele.GiveAnswer(p)
	var b [reportBytes]byte
	binary.BigEndian.PutUint64(b[:], uint64(r.plain.highest+1))
	binary.BigEndian.PutUint64(b[8:], uint64(r.received))
	binary.BigEndian.PutUint64(b[16:], uint64(r.marked))
	binary.BigEndian.PutUint64(b[24:], uint64(sent))
	p.SetExtension(Report, b[:])
	r.tele.AddSeal(p)
	p.Kind, p.Seq, p.Payload = packet.Data, 0, 0
	p.Size = r.flow.Framing.FrameBytes(r.headers+p.ExtensionBytes(), 0, false)
	p.Hash, p.SrcPort, p.DstPort = r.hash, r.flow.DstPort, r.flow.SrcPort
	p.Proto, p.Version, p.TOS, p.HopLimit = packet.ProtoUDP, r.flow.Version, r.flow.TOS&^packet.ECN, 64
	r.tele.WriteCode(p)
}
