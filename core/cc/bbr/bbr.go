// Package bbr is BBR version 1 (Cardwell et al. 2016, draft-cardwell-iccrg-bbr-00) as
// Linux' tcp_bbr.c has it: a model of the path's bandwidth and round-trip time
// decides pacing rate and window.
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
	leastWindow     = 4 // bbr_cwnd_min_target
	fullGrowth      = 1.25
	fullRounds      = 3

	longTermRounds    = 4         // bbr_lt_intvl_min_rtts
	longTermLoss      = 50 / 256. // bbr_lt_loss_thresh
	longTermRatio     = 1 / 8.
	longTermDiff      = 4000 / 8 // bytes/s
	longTermMaxRounds = 48

	extraRounds = 5                      // bbr_extra_acked_win_rtts
	extraMax    = 100 * unit.Millisecond // bbr_extra_acked_max_us
	extraReset  = 1 << 20                // bbr_ack_epoch_acked_reset_thresh
)

// Mode is a state of BBR's machine.
type Mode uint8

// Modes.
const (
	Startup Mode = iota
	Drain
	ProbeBandwidth
	ProbeRTT
)

func (m Mode) String() string { return [...]string{"startup", "drain", "probe-bw", "probe-rtt"}[m] }

// Scheme is what an experiment names: cc: bbr.
func Scheme() cc.Scheme {
	return cc.Define(cc.Scheme{
		Scheme: scheme.Scheme{Name: "bbr", Doc: "version 1: paces at the measured bandwidth, probes for more and " +
			"for the RTT", Source: "draft-cardwell-iccrg-bbr-00; Linux 6.18 tcp_bbr.c"},
		Signals:         cc.ByDelivery,
		Kernel:          "bbr",
		OwnRecovery:     true,
		BufferedWindows: 3, // bbr_sndbuf_expand
	}, func(f cc.Flow, _ scheme.None) (*BBR, error) { return New(f), nil })
}

// BBR is the controller of one flow: what is known of the path, and the phases. Bandwidths are
// in packets per second.
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
	seenRTT     bool
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

// New makes the controller of a flow (bbr_init).
func New(f cc.Flow) *BBR {
	b := &BBR{flow: f, window: f.InitialWindow, probeRTT: newProbeRTT(f.Start)}
	b.aggregation.restart(f.Start)
	b.pacingGain, b.windowGain = b.startup.gains()
	b.initialRate()
	return b
}

// Mode is the state of the machine, PacingGain the gain in use, and Bandwidth the
// estimate in packets per second.
func (b *BBR) Mode() Mode          { return b.mode }
func (b *BBR) PacingGain() float64 { return b.pacingGain }
func (b *BBR) Bandwidth() float64  { return b.estimate() }

// estimate is bbr_bw: the long-term rate of a policer, if one was found, else the
// largest of the last rounds.
func (b *BBR) estimate() float64 {
	if b.policer.used {
		return b.policer.bandwidth
	}
	return b.bandwidth.max()
}

// pacing is bbr_bw_to_pacing_rate: of payload, less the margin that keeps queues short.
func pacing(mss int32, bandwidth, gain float64) unit.Rate {
	r := bandwidth * float64(mss) * 8 * gain * pacingMargin
	return max(1, unit.Rate(min(r, math.MaxInt64/2)))
}

// initialRate is bbr_init_pacing_rate_from_rtt: the initial window in the RTT, or in
// 1 ms before there is one.
func (b *BBR) initialRate() {
	rtt := unit.Millisecond
	if b.srtt > 0 {
		rtt, b.seenRTT = b.srtt, true
	}
	b.rate = pacing(b.flow.MSS, float64(b.window)/rtt.Seconds(), highGain)
}

func (b *BBR) setRate(bandwidth, gain float64) {
	r := pacing(b.flow.MSS, bandwidth, gain)
	if !b.seenRTT && b.srtt > 0 {
		b.initialRate()
	}
	if b.startup.full || r > b.rate {
		b.rate = r
	}
}

// segments is bbr_tso_segs_goal: packets of about 1 ms at the pacing rate.
func (b *BBR) segments() int {
	least := 2
	if b.rate < 1_200_000 {
		least = 1
	}
	bytes := min(int64(b.rate)/8>>10, 65535-320)
	return min(max(int(bytes/int64(b.flow.MSS)), least), 0x7f)
}

// bdp is bbr_bdp, in packets.
func (b *BBR) bdp(bandwidth, gain float64) int {
	if b.probeRTT.min == unit.Never {
		return b.flow.InitialWindow
	}
	return int(math.Ceil(bandwidth * b.probeRTT.min.Seconds() * gain))
}

// budget is bbr_quantization_budget: room for segments in the hosts' queues.
func (b *BBR) budget(window int) int {
	window += 3 * b.segments()
	window = (window + 1) &^ 1
	if b.mode == ProbeBandwidth && b.probeBW.probing() {
		window += 2
	}
	return window
}

// inFlight is bbr_inflight.
func (b *BBR) inFlight(bandwidth, gain float64) int { return b.budget(b.bdp(bandwidth, gain)) }

// inNetwork is bbr_packets_in_net_at_edt: what will be in flight when the next
// packet leaves.
func (b *BBR) inNetwork(now unit.Time, a *cc.Ack, inFlight int) int {
	wait := max(a.Flight.NextSend-now, 0)
	delivered := int(b.estimate() * wait.Seconds())
	if b.pacingGain > 1 {
		inFlight += b.segments()
	}
	return max(inFlight-delivered, 0)
}

// OnSend is bbr_cwnd_event: sending again after idleness does not start from
// nothing.
func (b *BBR) OnSend(now unit.Time, s cc.Sent) {
	if s.Idle <= 0 || !s.AppLimited {
		return
	}
	b.idleRestart = true
	b.aggregation.restart(now)
	switch b.mode {
	case ProbeBandwidth:
		b.setRate(b.estimate(), 1)
	case ProbeRTT:
		if b.probeRTT.over(now) {
			b.leaveProbeRTT(now)
		}
	}
}

// OnAck is bbr_main.
func (b *BBR) OnAck(now unit.Time, a *cc.Ack) {
	if a.Packets > 0 {
		b.totals.at = now
	}
	b.srtt, b.totals.delivered, b.totals.lost = a.RTT.Smoothed, a.Delivered, a.Losses.Total
	if b.probeRTT.min == unit.Never && a.RTT.Min > 0 {
		b.probeRTT.min = a.RTT.Min // the handshake's (bbr_init)
	}
	b.appLimited = false
	b.updateBandwidth(now, a)
	if a.Packets > 0 && a.Delivery.Packets > 0 && a.Delivery.Interval > 0 {
		b.aggregation.update(now, a.Packets, b.estimate(), b.roundStart, b.window)
	}
	if b.mode == ProbeBandwidth && b.phaseDone(now, a) {
		b.probeBW.advance(now)
	}
	if b.roundStart && !a.Delivery.AppLimited {
		b.startup.round(b.bandwidth.max())
	}
	b.leaveStartup(now, a)
	b.updateMinRTT(now, a)
	b.setGains()
	bandwidth := b.estimate()
	b.setRate(bandwidth, b.pacingGain)
	b.setWindow(a, bandwidth, b.windowGain)
}

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
		b.recovery.round()
	}
	b.samplePolicer(now, a.Losses.New, d.AppLimited)
	bandwidth := float64(d.Packets) / d.Interval.Seconds()
	if !d.AppLimited || bandwidth >= b.bandwidth.max() {
		b.bandwidth.update(bandwidthRounds, b.rounds, bandwidth)
	}
}

// phaseDone reports whether PROBE_BW's phase is over.
func (b *BBR) phaseDone(now unit.Time, a *cc.Ack) bool {
	if b.pacingGain == 1 {
		return b.probeBW.whole(now, b.probeRTT.min)
	}
	return b.probeBW.done(now, b.probeRTT.min, b.pacingGain, a.Losses.New, b.inNetwork(now, a, a.Flight.Before),
		b.inFlight(b.bandwidth.max(), max(b.pacingGain, 1)))
}

func (b *BBR) enterProbeBW(now unit.Time) {
	b.mode = ProbeBandwidth
	b.probeBW.enter(now, b.flow.Random)
}

// leaveStartup goes on to DRAIN and PROBE_BW (bbr_check_drain).
func (b *BBR) leaveStartup(now unit.Time, a *cc.Ack) {
	if b.mode == Startup && b.startup.full {
		b.mode = Drain
	}
	if b.mode == Drain && b.drain.done(b.inNetwork(now, a, a.Flight.After), b.inFlight(b.bandwidth.max(), 1)) {
		b.enterProbeBW(now)
	}
}

// updateMinRTT is bbr_update_min_rtt: it enters and leaves PROBE_RTT.
func (b *BBR) updateMinRTT(now unit.Time, a *cc.Ack) {
	expired := b.probeRTT.sample(now, a.RTT.Sample, a.RTT.Delayed)
	if expired && !b.idleRestart && b.mode != ProbeRTT {
		b.mode = ProbeRTT
		b.saveWindow() // in this order, as in Linux
		b.probeRTT.enter()
	}
	if b.mode == ProbeRTT {
		b.appLimited = true
		low, over := b.probeRTT.acked(now, a.Flight.After, b.roundStart)
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

// leaveProbeRTT goes back to where PROBE_RTT was entered from, with the window of then.
func (b *BBR) leaveProbeRTT(now unit.Time) {
	b.probeRTT.stamp = now
	b.window = b.recovery.restore(b.window)
	if b.startup.full {
		b.enterProbeBW(now)
	} else {
		b.mode = Startup
	}
}

func (b *BBR) setGains() {
	switch b.mode {
	case Startup:
		b.pacingGain, b.windowGain = b.startup.gains()
	case Drain:
		b.pacingGain, b.windowGain = b.drain.gains()
	case ProbeBandwidth:
		b.pacingGain, b.windowGain = b.probeBW.gains(b.policer.used)
	case ProbeRTT:
		b.pacingGain, b.windowGain = b.probeRTT.gains()
	}
}

func (b *BBR) saveWindow() { b.recovery.save(b.window, b.mode == ProbeRTT) }

// setWindow is bbr_set_cwnd.
func (b *BBR) setWindow(a *cc.Ack, bandwidth, gain float64) {
	if a.Packets > 0 && !b.conserve(a) {
		target := b.bdp(bandwidth, gain)
		if b.startup.full {
			target += min(b.aggregation.extra(), int(bandwidth*extraMax.Seconds()))
		}
		target = b.budget(target)
		if b.startup.full {
			b.window = min(b.window+a.Packets, target)
		} else if b.window < target || a.Delivered < int64(b.flow.InitialWindow) {
			b.window += a.Packets
		}
		b.window = max(b.window, leastWindow)
	}
	if b.mode == ProbeRTT {
		b.window = min(b.window, leastWindow)
	}
}

// conserve lets loss recovery set the window, and reports whether it is to stay so.
func (b *BBR) conserve(a *cc.Ack) bool {
	var entered bool
	if b.window, entered = b.recovery.acked(b.window, a); entered {
		b.nextRound = a.Delivered
	}
	return b.recovery.conservation
}

// samplePolicer is bbr_lt_bw_sampling.
func (b *BBR) samplePolicer(now unit.Time, lost int, appLimited bool) {
	if b.policer.used {
		if b.mode == ProbeBandwidth && b.roundStart && b.policer.expired() {
			b.policer.reset(b.totals)
			b.enterProbeBW(now)
		}
		return
	}
	if b.policer.sample(b.totals, b.flow.MSS, lost, b.roundStart, appLimited) {
		b.pacingGain = 1
	}
}

// OnNotice does nothing.
func (b *BBR) OnNotice(unit.Time, cc.Notice) {}

// OnLoss is bbr_ssthresh, bbr_set_state and bbr_undo_cwnd. Echoes of congestion
// marks do not lower the window, and it is restored when recovery ends (OnAck).
func (b *BBR) OnLoss(now unit.Time, l cc.Loss) {
	switch l.Kind {
	case cc.FastRecovery, cc.ECNEcho, cc.Warned: // bbr_ssthresh
		b.saveWindow()
	case cc.RetransmissionTimeout:
		if !l.Again {
			b.saveWindow()
		}
		b.recovery.timedOut()
		b.startup.timedOut()
		b.roundStart = true
		b.totals.lost = max(b.totals.lost, l.LostTotal)
		b.samplePolicer(now, 1, false)
		b.window = l.InFlight + 1
	case cc.Spurious:
		b.startup.undone()
		b.policer.reset(b.totals)
	}
}

// OnTimer is never called.
func (b *BBR) OnTimer(unit.Time) {}

// Decision is window and rate.
func (b *BBR) Decision() cc.Decision {
	return cc.Decision{Window: unit.Bytes(b.window) * unit.Bytes(b.flow.MSS), Rate: b.rate, NextTimer: unit.Never,
		SlowStart: b.mode == Startup, AppLimited: b.appLimited}
}
