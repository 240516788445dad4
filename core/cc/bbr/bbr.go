// Package bbr is BBR version 1 (Cardwell et al. 2016, draft-cardwell-iccrg-bbr-00) as in Linux' tcp_bbr.c. A model of
// the path's bandwidth and round-trip time decides pacing rate and window.
package bbr

import (
	"math"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Constants of tcp_bbr.c.
const (
	bandwidthRounds = 10                     // bbr_bw_rtts: window of the filter of the largest bandwidth
	minRTTWindow    = 10 * unit.Second       // bbr_min_rtt_win_sec
	probeRTTTime    = 200 * unit.Millisecond // bbr_probe_rtt_mode_ms
	pacingMargin    = 0.99                   // bbr_pacing_margin_percent: 1
	highGain        = 739.0 / 256            // bbr_high_gain: BBR_UNIT * 2885 / 1000 + 1, about 2/ln 2
	drainGain       = 88.0 / 256             // bbr_drain_gain: BBR_UNIT * 1000 / 2885
	windowGain      = 2
	cycleLength     = 8
	cycleRandom     = 7 // bbr_cycle_rand: phases to begin with, all but the draining one
	minWindow       = 4 // bbr_cwnd_min_target
	fullGrowth      = 1.25
	fullRounds      = 3

	longTermRounds    = 4         // bbr_lt_intvl_min_rtts
	longTermLoss      = 50 / 256. // bbr_lt_loss_thresh
	longTermRatio     = 1 / 8.
	longTermDiff      = 4000 / 8 // bytes/s
	longTermMaxRounds = 48

	extraRounds       = 5                      // bbr_extra_acked_win_rtts
	maxExtraTime      = 100 * unit.Millisecond // bbr_extra_acked_max_us
	extraResetPackets = 1 << 20                // bbr_ack_epoch_acked_reset_thresh
)

// Mode is a state of BBR's state machine.
type Mode uint8

// Modes.
const (
	Startup Mode = iota
	Drain
	ProbeBandwidth
	ProbeRTT
)

// String returns the mode in lower case with hyphens, such as "probe-bw". It panics for a value that is not one of the
// modes.
func (m Mode) String() string { return [...]string{"startup", "drain", "probe-bw", "probe-rtt"}[m] }

// Scheme returns the scheme of cc: bbr.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "bbr", Doc: "BBR version 1: paces at the measured bottleneck bandwidth and probes " +
			"for more bandwidth and for the minimum RTT", Source: "draft-cardwell-iccrg-bbr-00; Linux 6.18 tcp_bbr.c"},
		Signals:         cc.ByDelivery,
		Kernel:          "bbr",
		OwnRecovery:     true,
		BufferedWindows: 3, // bbr_sndbuf_expand
	}, func(f cc.Flow, _ scheme.None) (*BBR, error) { return New(f), nil })
}

// BBR is the controller of one flow: the model of the path, and the phases. Bandwidths are in packets per second.
type BBR struct {
	flow cc.Flow

	mode       Mode
	window     int // cwnd
	rate       unit.Rate
	pacingGain float64
	windowGain float64

	bandwidth   maxFilter
	rounds      uint32
	nextRound   int64 // next_rtt_delivered
	roundStart  bool
	appLimited  bool
	idleRestart bool
	hasRTT      bool
	srtt        unit.Time
	totals      totals // as of the last ACK

	startup     startup
	drain       drain
	probeBW     probeBW
	probeRTT    probeRTT
	recovery    recovery
	policer     policer
	aggregation aggregation
}

// New returns the controller of a flow, in STARTUP with the flow's initial window (bbr_init).
func New(f cc.Flow) *BBR {
	b := &BBR{flow: f, window: f.InitialWindow, probeRTT: newProbeRTT(f.Start)}
	b.aggregation.startEpoch(f.Start)
	b.pacingGain, b.windowGain = b.startup.phaseGains()
	b.setInitialRate()
	return b
}

// Mode returns the state of the state machine.
func (b *BBR) Mode() Mode { return b.mode }

// PacingGain returns the factor of the bandwidth at which the flow paces now.
func (b *BBR) PacingGain() float64 { return b.pacingGain }

// Bandwidth returns the estimate of the bandwidth in packets per second; 0 before the first sample.
func (b *BBR) Bandwidth() float64 { return b.estimateBandwidth() }

// estimateBandwidth is bbr_bw. It returns the long-term rate of a policer, if one was found, else the maximum of the
// last rounds, in packets per second.
func (b *BBR) estimateBandwidth() float64 {
	if b.policer.used {
		return b.policer.bandwidth
	}
	return b.bandwidth.current()
}

// pacingRate is bbr_bw_to_pacing_rate. It returns the rate of payload for a bandwidth in packets/s and a gain, less
// the margin that keeps queues short; at least 1 bit/s.
func pacingRate(mss int32, bandwidth, gain float64) unit.Rate {
	r := bandwidth * float64(mss) * 8 * gain * pacingMargin
	return max(1, unit.Rate(min(r, math.MaxInt64/2)))
}

// setInitialRate is bbr_init_pacing_rate_from_rtt. It sets the rate to highGain times the window per smoothed RTT, or
// per 1 ms before the first RTT.
func (b *BBR) setInitialRate() {
	rtt := unit.Millisecond
	if b.srtt > 0 {
		rtt, b.hasRTT = b.srtt, true
	}
	b.rate = pacingRate(b.flow.MSS, float64(b.window)/rtt.Seconds(), highGain)
}

// setRate sets the pacing rate for a bandwidth in packets/s and a gain. The first call with an RTT sets the initial
// rate first. Before the pipe is full the rate never falls.
func (b *BBR) setRate(bandwidth, gain float64) {
	r := pacingRate(b.flow.MSS, bandwidth, gain)
	if !b.hasRTT && b.srtt > 0 {
		b.setInitialRate()
	}
	if b.startup.full || r > b.rate {
		b.rate = r
	}
}

// burstPackets is bbr_tso_segs_goal. It returns the packets that take about 1 ms at the pacing rate.
func (b *BBR) burstPackets() int {
	minPackets := 2
	if b.rate < 1_200_000 {
		minPackets = 1
	}
	bytes := min(int64(b.rate)/8>>10, 65535-320)
	return min(max(int(bytes/int64(b.flow.MSS)), minPackets), 0x7f)
}

// bdpPackets is bbr_bdp. It returns gain times the bandwidth-delay product in packets, or the initial window before
// the first RTT.
func (b *BBR) bdpPackets(bandwidth, gain float64) int {
	if b.probeRTT.minRTT == unit.Never {
		return b.flow.InitialWindow
	}
	return int(math.Ceil(bandwidth * b.probeRTT.minRTT.Seconds() * gain))
}

// addQuantizationBudget is bbr_quantization_budget. It adds room for the bursts in the hosts' queues to a window in
// packets.
func (b *BBR) addQuantizationBudget(window int) int {
	window += 3 * b.burstPackets()
	window = (window + 1) &^ 1
	if b.mode == ProbeBandwidth && b.probeBW.isProbing() {
		window += 2
	}
	return window
}

// inFlightTarget is bbr_inflight. It returns gain times the bandwidth-delay product with room for bursts, in packets.
func (b *BBR) inFlightTarget(bandwidth, gain float64) int {
	return b.addQuantizationBudget(b.bdpPackets(bandwidth, gain))
}

// packetsInNetwork is bbr_packets_in_net_at_edt. It returns the packets that will be in flight when the next packet
// is sent.
func (b *BBR) packetsInNetwork(now unit.Time, a *cc.Ack, inFlight int) int {
	wait := max(a.Flight.NextSend-now, 0)
	delivered := int(b.estimateBandwidth() * wait.Seconds())
	if b.pacingGain > 1 {
		inFlight += b.burstPackets()
	}
	return max(inFlight-delivered, 0)
}

// OnSend is bbr_cwnd_event. A flow that restarts after an idle time keeps its bandwidth estimate.
func (b *BBR) OnSend(now unit.Time, s cc.Sent) {
	if s.Idle <= 0 || !s.AppLimited {
		return
	}
	b.idleRestart = true
	b.aggregation.startEpoch(now)
	switch b.mode {
	case ProbeBandwidth:
		b.setRate(b.estimateBandwidth(), 1)
	case ProbeRTT:
		if b.probeRTT.isTimeOver(now) {
			b.leaveProbeRTT(now)
		}
	}
}

// OnAck is bbr_main. It updates the model and the state machine, and sets rate and window.
func (b *BBR) OnAck(now unit.Time, a *cc.Ack) {
	if a.Packets > 0 {
		b.totals.deliveredAt = now
	}
	b.srtt, b.totals.delivered, b.totals.lost = a.RTT.Smoothed, a.Delivered, a.Losses.Total
	if b.probeRTT.minRTT == unit.Never && a.RTT.Min > 0 {
		b.probeRTT.minRTT = a.RTT.Min // the handshake's (bbr_init)
	}
	b.appLimited = false
	b.updateBandwidth(now, a)
	if a.Packets > 0 && a.Delivery.Packets > 0 && a.Delivery.Interval > 0 {
		b.aggregation.addAck(now, a.Packets, b.estimateBandwidth(), b.roundStart, b.window)
	}
	if b.mode == ProbeBandwidth && b.isPhaseDone(now, a) {
		b.probeBW.startNextPhase(now)
	}
	if b.roundStart && !a.Delivery.AppLimited {
		b.startup.checkGrowth(b.bandwidth.current())
	}
	b.leaveStartup(now, a)
	b.updateMinRTT(now, a)
	b.setGains()
	bandwidth := b.estimateBandwidth()
	b.setRate(bandwidth, b.pacingGain)
	b.setWindow(a, bandwidth, b.windowGain)
}

// updateBandwidth adds the delivery-rate sample of an ACK to the bandwidth filter and the policer, and counts rounds.
func (b *BBR) updateBandwidth(now unit.Time, a *cc.Ack) {
	b.roundStart = false
	d := &a.Delivery
	if d.Packets <= 0 || d.Interval <= 0 {
		return
	}
	if d.PriorDelivered >= b.nextRound {
		b.nextRound = a.Delivered
		b.rounds++
		b.roundStart = true
		b.recovery.endConservation()
	}
	b.samplePolicer(now, a.Losses.New, d.AppLimited)
	bandwidth := float64(d.Packets) / d.Interval.Seconds()
	if !d.AppLimited || bandwidth >= b.bandwidth.current() {
		b.bandwidth.addSample(bandwidthRounds, b.rounds, bandwidth)
	}
}

// isPhaseDone reports whether the current phase of PROBE_BW has ended with acknowledgement a.
func (b *BBR) isPhaseDone(now unit.Time, a *cc.Ack) bool {
	if b.pacingGain == 1 {
		return b.probeBW.hasLastedMinRTT(now, b.probeRTT.minRTT)
	}
	return b.probeBW.isPhaseDone(now, b.probeRTT.minRTT, b.pacingGain, a.Losses.New, b.packetsInNetwork(now, a,
		a.Flight.Before),
		b.inFlightTarget(b.bandwidth.current(), max(b.pacingGain, 1)))
}

// enterProbeBW enters PROBE_BW in a random phase.
func (b *BBR) enterProbeBW(now unit.Time) {
	b.mode = ProbeBandwidth
	b.probeBW.enterCycle(now, b.flow.Random)
}

// leaveStartup moves on to DRAIN and PROBE_BW when they are due (bbr_check_drain).
func (b *BBR) leaveStartup(now unit.Time, a *cc.Ack) {
	if b.mode == Startup && b.startup.full {
		b.mode = Drain
	}
	if b.mode == Drain && b.drain.isDrained(b.packetsInNetwork(now, a, a.Flight.After),
		b.inFlightTarget(b.bandwidth.current(), 1)) {
		b.enterProbeBW(now)
	}
}

// updateMinRTT is bbr_update_min_rtt. It updates the min RTT, and enters and leaves PROBE_RTT.
func (b *BBR) updateMinRTT(now unit.Time, a *cc.Ack) {
	expired := b.probeRTT.addSample(now, a.RTT.Sample, a.RTT.Delayed)
	if expired && !b.idleRestart && b.mode != ProbeRTT {
		b.mode = ProbeRTT
		b.saveWindow() // in this order, as in Linux
		b.probeRTT.awaitLowFlight()
	}
	if b.mode == ProbeRTT {
		b.appLimited = true
		low, over := b.probeRTT.handleAck(now, a.Flight.After, b.roundStart)
		if low {
			b.nextRound = a.Delivered
		}
		if over {
			b.leaveProbeRTT(now)
		}
	}
	if a.Delivery.Packets > 0 {
		b.idleRestart = false
	}
}

// leaveProbeRTT returns to the window from before PROBE_RTT, and to STARTUP or, if the pipe is full, PROBE_BW. The
// minimum counts as measured now.
func (b *BBR) leaveProbeRTT(now unit.Time) {
	b.probeRTT.stamp = now
	b.window = b.recovery.restoredWindow(b.window)
	if b.startup.full {
		b.enterProbeBW(now)
	} else {
		b.mode = Startup
	}
}

// setGains sets the gains of pacing and window of the current mode.
func (b *BBR) setGains() {
	switch b.mode {
	case Startup:
		b.pacingGain, b.windowGain = b.startup.phaseGains()
	case Drain:
		b.pacingGain, b.windowGain = b.drain.phaseGains()
	case ProbeBandwidth:
		b.pacingGain, b.windowGain = b.probeBW.phaseGains(b.policer.used)
	case ProbeRTT:
		b.pacingGain, b.windowGain = b.probeRTT.phaseGains()
	}
}

// saveWindow stores the window for the end of a recovery or of PROBE_RTT.
func (b *BBR) saveWindow() { b.recovery.saveWindow(b.window, b.mode == ProbeRTT) }

// setWindow is bbr_set_cwnd. It sets the window after an ACK by loss recovery, or moves it towards gain times the
// bandwidth-delay product and its extra packets.
func (b *BBR) setWindow(a *cc.Ack, bandwidth, gain float64) {
	if a.Packets > 0 && !b.applyRecovery(a) {
		target := b.bdpPackets(bandwidth, gain)
		if b.startup.full {
			target += min(b.aggregation.extraPackets(), int(bandwidth*maxExtraTime.Seconds()))
		}
		target = b.addQuantizationBudget(target)
		if b.startup.full {
			b.window = min(b.window+a.Packets, target)
		} else if b.window < target || a.Delivered < int64(b.flow.InitialWindow) {
			b.window += a.Packets
		}
		b.window = max(b.window, minWindow)
	}
	if b.mode == ProbeRTT {
		b.window = min(b.window, minWindow)
	}
}

// applyRecovery sets the window by loss recovery. The recovery begins a round. It reports whether packet conservation
// holds, so that the window must stay.
func (b *BBR) applyRecovery(a *cc.Ack) bool {
	var entered bool
	if b.window, entered = b.recovery.handleAck(b.window, a); entered {
		b.nextRound = a.Delivered
	}
	return b.recovery.conservation
}

// samplePolicer is bbr_lt_bw_sampling. It looks for a policer, or counts the rounds in which a policer's rate is used.
// lost is the number of packets newly lost.
func (b *BBR) samplePolicer(now unit.Time, lost int, appLimited bool) {
	if b.policer.used {
		if b.mode == ProbeBandwidth && b.roundStart && b.policer.countPolicedRound() {
			b.policer.restartDetection(b.totals)
			b.enterProbeBW(now)
		}
		return
	}
	if b.policer.addSample(b.totals, b.flow.MSS, lost, b.roundStart, appLimited) {
		b.pacingGain = 1
	}
}

// OnNotice ignores notices.
func (b *BBR) OnNotice(unit.Time, cc.Notice) {}

// OnLoss is bbr_ssthresh, bbr_set_state and bbr_undo_cwnd. Echoes of congestion marks do not lower the window. The
// end of recovery restores the window (OnAck).
func (b *BBR) OnLoss(now unit.Time, l cc.Loss) {
	switch l.Kind {
	case cc.FastRecovery, cc.ECNEcho, cc.Warned: // bbr_ssthresh
		b.saveWindow()
	case cc.RetransmissionTimeout:
		if !l.Again {
			b.saveWindow()
		}
		b.recovery.noteTimeout()
		b.startup.restartGrowth()
		b.roundStart = true
		b.totals.lost = max(b.totals.lost, l.LostTotal)
		b.samplePolicer(now, 1, false)
		b.window = l.InFlight + 1
	case cc.Spurious:
		b.startup.undoLosses()
		b.policer.restartDetection(b.totals)
	}
}

// OnTimer is never called.
func (b *BBR) OnTimer(unit.Time) {}

// Decision returns window and rate.
func (b *BBR) Decision() cc.Decision {
	return cc.Decision{Window: unit.Bytes(b.window) * unit.Bytes(b.flow.MSS), Rate: b.rate, NextTimer: unit.Never,
		SlowStart: b.mode == Startup, AppLimited: b.appLimited}
}
