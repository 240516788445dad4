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

// cycle are the pacing gains of PROBE_BW.
var cycle = [cycleLength]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

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
		OwnRecovery:     true,
		BufferedWindows: 3, // bbr_sndbuf_expand
	}, func(f cc.Flow, _ scheme.None) (*BBR, error) { return New(f), nil })
}

// BBR is the controller of one flow. Bandwidths are in packets per second.
type BBR struct {
	flow cc.Flow

	mode        Mode
	window      int // cwnd
	rate        unit.Rate
	pacingGain  float64
	windowGain  float64
	bandwidth   maxFilter
	rounds      uint32
	nextRound   int64 // next_rtt_delivered
	roundStart  bool
	minRTT      unit.Time // Never: not known
	minRTTStamp unit.Time
	probeDone   unit.Time // probe_rtt_done_stamp; Never: not set
	probeRound  bool      // probe_rtt_round_done
	appLimited  bool
	idleRestart bool
	seenRTT     bool

	priorWindow  int
	priorState   cc.State
	conservation bool

	full       float64 // full_bw
	fullCount  int
	fullFound  bool
	cycleIndex int
	cycleStamp unit.Time

	extra      [2]int // extra_acked
	extraIndex int
	extraAge   int
	epochStamp unit.Time
	epochAcked int

	longTerm          float64 // lt_bw
	longTermUsed      bool
	longTermSampling  bool
	longTermCount     int // lt_rtt_cnt
	longTermLost      int64
	longTermDelivered int64
	longTermStamp     unit.Time

	delivered, lost int64 // of the last ACK
	srtt            unit.Time
	deliveredAt     unit.Time // delivered_mstamp
}

// New makes the controller of a flow (bbr_init).
func New(f cc.Flow) *BBR {
	b := &BBR{flow: f, window: f.InitialWindow, minRTT: unit.Never, minRTTStamp: f.Start, probeDone: unit.Never,
		epochStamp: f.Start}
	b.pacingGain, b.windowGain = highGain, highGain
	b.resetLongTerm(f.Start)
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
	if b.longTermUsed {
		return b.longTerm
	}
	return b.bandwidth.max()
}

// pacing is bbr_bw_to_pacing_rate: of payload, less the margin that keeps queues short.
func (b *BBR) pacing(bandwidth, gain float64) unit.Rate {
	r := bandwidth * float64(b.flow.MSS) * 8 * gain * pacingMargin
	return max(1, unit.Rate(min(r, math.MaxInt64/2)))
}

// initialRate is bbr_init_pacing_rate_from_rtt: the initial window in the RTT, or in
// 1 ms before there is one.
func (b *BBR) initialRate() {
	rtt := unit.Millisecond
	if b.srtt > 0 {
		rtt, b.seenRTT = b.srtt, true
	}
	b.rate = b.pacing(float64(b.window)/rtt.Seconds(), highGain)
}

func (b *BBR) setRate(bandwidth, gain float64) {
	r := b.pacing(bandwidth, gain)
	if !b.seenRTT && b.srtt > 0 {
		b.initialRate()
	}
	if b.fullFound || r > b.rate {
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
	if b.minRTT == unit.Never {
		return b.flow.InitialWindow
	}
	return int(math.Ceil(bandwidth * b.minRTT.Seconds() * gain))
}

// budget is bbr_quantization_budget: room for segments in the hosts' queues.
func (b *BBR) budget(window int) int {
	window += 3 * b.segments()
	window = (window + 1) &^ 1
	if b.mode == ProbeBandwidth && b.cycleIndex == 0 {
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
	b.epochStamp, b.epochAcked = now, 0
	switch b.mode {
	case ProbeBandwidth:
		b.setRate(b.estimate(), 1)
	case ProbeRTT:
		b.checkProbeDone(now)
	}
}

// OnAck is bbr_main.
func (b *BBR) OnAck(now unit.Time, a *cc.Ack) {
	if a.Packets > 0 {
		b.deliveredAt = now
	}
	b.srtt, b.delivered, b.lost = a.RTT.Smoothed, a.Delivered, a.Losses.Total
	if b.minRTT == unit.Never && a.RTT.Min > 0 {
		b.minRTT = a.RTT.Min // the handshake's (bbr_init)
	}
	b.appLimited = false
	b.updateBandwidth(now, a)
	b.updateAggregation(now, a)
	if b.mode == ProbeBandwidth && b.nextPhase(now, a) {
		b.advance(now)
	}
	b.checkFull(a)
	b.checkDrain(now, a)
	b.updateMinRTT(now, a)
	b.gains()
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
		b.roundStart, b.conservation = true, false
	}
	b.sampleLongTerm(now, a.Losses.New, d.AppLimited)
	bandwidth := float64(d.Packets) / d.Interval.Seconds()
	if !d.AppLimited || bandwidth >= b.bandwidth.max() {
		b.bandwidth.update(bandwidthRounds, b.rounds, bandwidth)
	}
}

// updateAggregation measures how many more packets come acknowledged than the
// bandwidth lets expect.
func (b *BBR) updateAggregation(now unit.Time, a *cc.Ack) {
	if a.Packets <= 0 || a.Delivery.Packets <= 0 || a.Delivery.Interval <= 0 {
		return
	}
	if b.roundStart {
		if b.extraAge++; b.extraAge >= extraRounds {
			b.extraAge = 0
			b.extraIndex ^= 1
			b.extra[b.extraIndex] = 0
		}
	}
	expected := int(b.estimate() * (now - b.epochStamp).Seconds())
	if b.epochAcked <= expected || b.epochAcked+a.Packets >= extraReset {
		b.epochAcked, b.epochStamp, expected = 0, now, 0
	}
	b.epochAcked = min(b.epochAcked+a.Packets, 0xfffff)
	b.extra[b.extraIndex] = max(b.extra[b.extraIndex], min(b.epochAcked-expected, b.window))
}

// nextPhase is bbr_is_next_cycle_phase.
func (b *BBR) nextPhase(now unit.Time, a *cc.Ack) bool {
	whole := now-b.cycleStamp > b.minRTT
	if b.pacingGain == 1 {
		return whole
	}
	inFlight := b.inNetwork(now, a, a.Flight.Before)
	bandwidth := b.bandwidth.max()
	if b.pacingGain > 1 {
		return whole && (a.Losses.New > 0 || inFlight >= b.inFlight(bandwidth, b.pacingGain))
	}
	return whole || inFlight <= b.inFlight(bandwidth, 1)
}

func (b *BBR) advance(now unit.Time) {
	b.cycleIndex = (b.cycleIndex + 1) % cycleLength
	b.cycleStamp = now
}

func (b *BBR) probeBandwidth(now unit.Time) {
	b.mode = ProbeBandwidth
	b.cycleIndex = cycleLength - 1 - b.flow.Random.IntN(cycleRandom)
	b.advance(now)
}

// checkFull is bbr_check_full_bw_reached: three rounds with less than a quarter more.
func (b *BBR) checkFull(a *cc.Ack) {
	if b.fullFound || !b.roundStart || a.Delivery.AppLimited {
		return
	}
	if bandwidth := b.bandwidth.max(); bandwidth >= b.full*fullGrowth {
		b.full, b.fullCount = bandwidth, 0
		return
	}
	b.fullCount++
	b.fullFound = b.fullCount >= fullRounds
}

func (b *BBR) checkDrain(now unit.Time, a *cc.Ack) {
	if b.mode == Startup && b.fullFound {
		b.mode = Drain
	}
	if b.mode == Drain && b.inNetwork(now, a, a.Flight.After) <= b.inFlight(b.bandwidth.max(), 1) {
		b.probeBandwidth(now)
	}
}

func (b *BBR) updateMinRTT(now unit.Time, a *cc.Ack) {
	expired := now > b.minRTTStamp+minRTTWindow
	if a.RTT.Sample > 0 && (a.RTT.Sample < b.minRTT || expired && !a.RTT.Delayed) {
		b.minRTT, b.minRTTStamp = a.RTT.Sample, now
	}
	if expired && !b.idleRestart && b.mode != ProbeRTT {
		b.mode = ProbeRTT
		b.saveWindow() // in this order, as in Linux
		b.probeDone = unit.Never
	}
	if b.mode == ProbeRTT {
		b.appLimited = true
		if b.probeDone == unit.Never && a.Flight.After <= leastWindow {
			b.probeDone = now + probeRTTTime
			b.probeRound = false
			b.nextRound = a.Delivered
		} else if b.probeDone != unit.Never {
			b.probeRound = b.probeRound || b.roundStart
			if b.probeRound {
				b.checkProbeDone(now)
			}
		}
	}
	if a.Delivery.Packets > 0 {
		b.idleRestart = false
	}
}

func (b *BBR) checkProbeDone(now unit.Time) {
	if b.probeDone == unit.Never || now <= b.probeDone {
		return
	}
	b.minRTTStamp = now
	b.window = max(b.window, b.priorWindow)
	if b.fullFound {
		b.probeBandwidth(now)
	} else {
		b.mode = Startup
	}
}

func (b *BBR) gains() {
	switch b.mode {
	case Startup:
		b.pacingGain, b.windowGain = highGain, highGain
	case Drain:
		b.pacingGain, b.windowGain = drainGain, highGain
	case ProbeBandwidth:
		b.windowGain = windowGain
		if b.pacingGain = cycle[b.cycleIndex]; b.longTermUsed {
			b.pacingGain = 1
		}
	case ProbeRTT:
		b.pacingGain, b.windowGain = 1, 1
	}
}

func (b *BBR) saveWindow() {
	if b.priorState < cc.Recovery && b.mode != ProbeRTT {
		b.priorWindow = b.window
	} else {
		b.priorWindow = max(b.priorWindow, b.window)
	}
}

// setWindow is bbr_set_cwnd.
func (b *BBR) setWindow(a *cc.Ack, bandwidth, gain float64) {
	if a.Packets > 0 && !b.recoverOrRestore(a) {
		target := b.bdp(bandwidth, gain)
		if b.fullFound {
			target += min(max(b.extra[0], b.extra[1]), int(bandwidth*extraMax.Seconds()))
		}
		target = b.budget(target)
		if b.fullFound {
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

// recoverOrRestore is bbr_set_cwnd_to_recover_or_restore: packet conservation in the
// first round of recovery.
func (b *BBR) recoverOrRestore(a *cc.Ack) bool {
	if a.Losses.New > 0 {
		b.window = max(b.window-a.Losses.New, 1)
	}
	if a.Losses.State == cc.Recovery && b.priorState != cc.Recovery {
		b.conservation = true
		b.nextRound = a.Delivered
		b.window = a.Flight.After + a.Packets
	} else if b.priorState >= cc.Recovery && a.Losses.State < cc.Recovery {
		b.window = max(b.window, b.priorWindow)
		b.conservation = false
	}
	b.priorState = a.Losses.State
	if b.conservation {
		b.window = max(b.window, a.Flight.After+a.Packets)
	}
	return b.conservation
}

// sampleLongTerm is bbr_lt_bw_sampling: two intervals with much loss and the same
// rate are a token-bucket policer.
func (b *BBR) sampleLongTerm(now unit.Time, lost int, appLimited bool) {
	if b.longTermUsed {
		if b.mode == ProbeBandwidth && b.roundStart {
			if b.longTermCount++; b.longTermCount >= longTermMaxRounds {
				b.resetLongTerm(now)
				b.probeBandwidth(now)
			}
		}
		return
	}
	if !b.longTermSampling {
		if lost == 0 {
			return
		}
		b.resetInterval(now)
		b.longTermSampling = true
	}
	if appLimited {
		b.resetLongTerm(now)
		return
	}
	if b.roundStart {
		b.longTermCount++
	}
	if b.longTermCount < longTermRounds {
		return
	}
	if b.longTermCount > 4*longTermRounds {
		b.resetLongTerm(now)
		return
	}
	if lost == 0 {
		return
	}
	n, delivered, took := b.lost-b.longTermLost, b.delivered-b.longTermDelivered, b.deliveredAt-b.longTermStamp
	if delivered <= 0 || float64(n) < longTermLoss*float64(delivered) || took < unit.Millisecond {
		return
	}
	bandwidth := float64(delivered) / took.Seconds()
	if b.longTerm > 0 {
		diff := math.Abs(bandwidth - b.longTerm)
		if diff <= longTermRatio*b.longTerm || float64(b.pacing(diff, 1))/8 <= longTermDiff {
			b.longTerm = (bandwidth + b.longTerm) / 2
			b.longTermUsed = true
			b.pacingGain = 1
			b.longTermCount = 0
			return
		}
	}
	b.longTerm = bandwidth
	b.resetInterval(now)
}

func (b *BBR) resetLongTerm(now unit.Time) {
	b.longTerm, b.longTermUsed, b.longTermSampling = 0, false, false
	b.resetInterval(now)
}

func (b *BBR) resetInterval(now unit.Time) {
	b.longTermStamp, b.longTermDelivered, b.longTermLost, b.longTermCount = b.deliveredAt, b.delivered, b.lost, 0
}

// OnNotice does nothing.
func (b *BBR) OnNotice(unit.Time, cc.Notice) {}

// OnLoss is bbr_ssthresh, bbr_set_state and bbr_undo_cwnd. Echoes of congestion
// marks are not heeded, and the window is restored when recovery ends (OnAck).
func (b *BBR) OnLoss(now unit.Time, l cc.Loss) {
	switch l.Kind {
	case cc.FastRecovery, cc.ECNEcho: // bbr_ssthresh
		b.saveWindow()
	case cc.RetransmissionTimeout:
		if !l.Again {
			b.saveWindow()
		}
		b.priorState = cc.Timeout
		b.full = 0
		b.roundStart = true
		b.lost = max(b.lost, l.LostTotal)
		b.sampleLongTerm(now, 1, false)
		b.window = l.InFlight + 1
	case cc.Spurious:
		b.full, b.fullCount = 0, 0
		b.resetLongTerm(now)
	}
}

// OnTimer is never called.
func (b *BBR) OnTimer(unit.Time) {}

// Decision is window and rate.
func (b *BBR) Decision() cc.Decision {
	return cc.Decision{Window: unit.Bytes(b.window) * unit.Bytes(b.flow.MSS), Rate: b.rate, NextTimer: unit.Never,
		SlowStart: b.mode == Startup, AppLimited: b.appLimited}
}

// maxFilter is Kathleen Nichols' windowed maximum with three samples (Linux'
// lib/win_minmax.c), over rounds.
type maxFilter [3]sample

type sample struct {
	round uint32
	value float64
}

func (m *maxFilter) max() float64 { return m[0].value }

func (m *maxFilter) update(window, round uint32, value float64) {
	s := sample{round, value}
	if value >= m[0].value || round-m[2].round > window {
		m[0], m[1], m[2] = s, s, s
		return
	}
	if value >= m[1].value {
		m[1], m[2] = s, s
	} else if value >= m[2].value {
		m[2] = s
	}
	switch age := round - m[0].round; {
	case age > window:
		m[0], m[1], m[2] = m[1], m[2], s
		if round-m[0].round > window {
			m[0], m[1], m[2] = m[1], m[2], s
		}
	case m[1].round == m[0].round && age > window/4:
		m[1], m[2] = s, s
	case m[2].round == m[1].round && age > window/2:
		m[2] = s
	}
}
