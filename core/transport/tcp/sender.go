package tcp

import (
	"weir/core/cc"
	"weir/core/telemetry"
	"weir/core/transport"
	"weir/core/unit"
)

// phase is the state of the connection at its active end.
type phase uint8

const (
	idle    phase = iota
	opening       // SYN-SENT
	established
	closed // all data is acknowledged, with FIN, or the connection was reset or given up
)

// Sender is the active end of a connection, which sends the data.
type Sender struct {
	header
	config    Config
	flow      transport.Flow
	requester transport.TelemetryRequester
	counters  transport.Counters
	controlled
	connection
	sequence
	scoreboard
	recovery
	nacks
	rate  transport.Deliveries
	rtt   rttEstimator
	rto   rto
	timer timer
	usage usage
	sending
}

// controlled is the congestion controller, and the properties of its scheme.
type controlled struct {
	control       transport.Control // without its state of recovery
	report        cc.Ack
	rated         cc.Delivery // the valid sample (rate_delivered, rate_interval_us)
	ownRecovery   bool        // the controller has its own recovery
	limitsBursts  bool        // its window also limits a burst that has begun (draft-miao §9.3)
	keepsDecision bool        // OnSend does not change the decision
	dctcp         bool
}

// connection is the state of the connection and of its two ends.
type connection struct {
	phase phase
	ecn   bool // negotiated
	syn   syn
	peer  peer
	app   application
}

// sequence has the sequence numbers of the data, with upper bits.
type sequence struct {
	mss       int64
	initial   int64
	una, next int64
}

// sending is the plan of the next segments.
type sending struct {
	plan        plan
	burst       burst
	probeWindow bool // a probe of a closed window is due
	squeeze     bool // less than a full segment may go into a small window
}

// syn is the state of the SYN.
type syn struct {
	sentAt unit.Time
	resent bool
}

// peer is the latest information from the peer.
type peer struct {
	next       int64 // its next sequence number (RCV.NXT)
	window     int64 // snd_wnd
	windowSeq  int64 // snd_wl1
	maxWindow  int64
	tsRecent   uint32
	shift      uint8
	lastAnswer unit.Time // to an unacceptable segment of the peer
}

// newSender returns the sender of flow f with a controller. Its SYN is planned for the flow's start, unless the flow
// stops by then.
func newSender(f transport.Flow, c Config, control cc.Controller) *Sender {
	if f.Stop == 0 {
		f.Stop = unit.Never
	}
	s := &Sender{header: newHeader(&f, &c, false), config: c, flow: f,
		controlled: controlled{control: transport.Control{Controller: control, ExtendsGaps: true,
			Reduces: c.Nacks == transport.NacksLoss}, ownRecovery: f.CC.OwnRecovery,
			limitsBursts:  f.CC.Telemetry != telemetry.NoRequest,
			keepsDecision: f.CC.KeepsOnSend, dctcp: f.CC.ECN == cc.DCTCPMode},
		sequence:   sequence{mss: int64(f.Payload), initial: int64(c.InitialSeq)},
		scoreboard: newScoreboard(), recovery: newRecovery(), rto: newRTO(c.RTOInitial), timer: timer{at: unit.Never},
		nacks: nacks{hold: transport.NACKPacer{Bursts: true}}}
	s.una, s.next = s.initial, s.initial
	s.app = newApplication(&f, &c, s.initial+1, s.mss)
	s.counters.Finished, s.counters.Written, s.counters.DelayMin = unit.Never, unit.Never, unit.Never
	s.control.ReadDecision()
	s.plan.action, s.plan.sendAt = sendSYN, f.Start
	if f.Start >= f.Stop {
		s.plan.action, s.plan.sendAt = nothing, unit.Never
	}
	return s
}

// cwnd returns the congestion window in packets, at least 1 (tcpi_snd_cwnd): the controller's, or PRR's during a
// reduction.
func (s *Sender) cwnd() int {
	if s.isReducing() && !s.ownRecovery {
		return max(s.prr.window, 1)
	}
	return max(int(int64(s.control.Decision.Window)/s.mss), 1)
}

// NextSend returns when Emit has a segment to send.
func (s *Sender) NextSend() unit.Time { return min(s.plan.sendAt, s.probeAt()) }

// probeAt returns when a separate segment asks for telemetry; unit.Never: no such segment.
func (s *Sender) probeAt() unit.Time {
	if s.phase != established || s.queue.len() == 0 {
		return unit.Never
	}
	return s.requester.NextProbe(s.SRTT())
}

// NextTimer returns when the timer of retransmission, TLP, RACK or the window's probe, or the controller's expires.
func (s *Sender) NextTimer() unit.Time { return min(s.timer.at, s.control.Decision.NextTimer) }

// Abandoned reports whether the connection has timed out: the SYN or data was sent the maximum number of times without
// an answer (RFC 9293 §3.8.3).
func (s *Sender) Abandoned() bool { return s.phase == closed && s.counters.Finished == unit.Never }

// Counters returns the sender's counters. SentBytes counts first transmissions. Finished is when the last byte was
// acknowledged, Written when the last write returned.
func (s *Sender) Counters() *transport.Counters { return &s.counters }

// State returns the state of recovery (TCP_INFO: tcpi_ca_state).
func (s *Sender) State() cc.RecoveryState { return s.state }

// InFlight returns the number of segments in flight, as tcp_packets_in_flight counts them.
func (s *Sender) InFlight() int { return s.inFlight() }

// PeerWindow returns the receiver's window in bytes (snd_wnd). ACKs that switches change or make set it, too.
func (s *Sender) PeerWindow() unit.Bytes { return unit.Bytes(s.peer.window) }

// SRTT returns the smoothed round-trip time (tcpi_rtt); 0: no sample.
func (s *Sender) SRTT() unit.Time { return s.rtt.smoothed() }

// Gauge returns the congestion window and the data in flight in bytes of payload, with sk_pacing_rate.
func (s *Sender) Gauge() transport.Gauge {
	return transport.Gauge{Window: unit.Bytes(s.cwnd()) * unit.Bytes(s.mss),
		InFlight: unit.Bytes(s.inFlight()) * unit.Bytes(s.mss),
		Rate:     unit.Rate(s.pacingRate() * 8), Derived: s.control.Decision.Rate == 0, RTT: s.SRTT(),
		Delivery: s.deliveryRate()}
}

// deliveryRate returns the rate of delivery of the valid sample (tcp_compute_delivery_rate); 0: no sample.
func (s *Sender) deliveryRate() unit.Rate {
	if s.rated.Interval == 0 {
		return 0
	}
	return unit.Rate(float64(s.rated.Packets) * float64(s.mss) * 8 / s.rated.Interval.Seconds())
}

// Timeouts returns the number of retransmission timeouts since the start.
func (s *Sender) Timeouts() int64 { return s.rto.timeouts }

// changeState completes l with the sender's counts, and passes it to the controller.
func (s *Sender) changeState(now unit.Time, l cc.Loss) {
	l.InFlight, l.Lost, l.Next, l.LostTotal = s.inFlight(), s.lostOut, s.next, s.lostTotal
	s.control.ReportLoss(now, l)
}

// closeConnection ends the connection: no segment is sent any more, and no timer runs.
func (s *Sender) closeConnection() {
	s.phase = closed
	s.setTimer(noTimer, unit.Never)
	s.plan.action, s.plan.sendAt = nothing, unit.Never
}
