package cubic

import (
	"weir/core/cc"
	"weir/core/unit"
)

// linuxHyStart is Linux' HyStart (tcp_cubic.c; Ha, Rhee 2011). It leaves slow start when a train of ACKs lasts half a
// min RTT, or when the RTTs of a round's first packets have grown.
type linuxHyStart struct {
	roundStart unit.Time
	lastAck    unit.Time
	roundEnd   int64 // sequence number
	minRTT     unit.Time
	samples    int
}

// Linux' constants (hystart_low_window, hystart_ack_delta_us, HYSTART_MIN_SAMPLES,
// HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const (
	lowWindow         = 16
	ackDelta          = 2 * unit.Millisecond
	minSamples        = 8
	minDelayThreshold = 4 * unit.Millisecond
	maxDelayThreshold = 16 * unit.Millisecond
	segmentBytes      = 65536 // of a segmentation offload, sk_gso_max_size
	tick              = unit.Millisecond
)

// startRound starts a round at now, which ends when sequence number next is acknowledged.
func (h *linuxHyStart) startRound(now unit.Time, next int64) {
	*h = linuxHyStart{roundStart: now, lastAck: now, roundEnd: next, minRTT: unit.Never}
}

// endsSlowStart adds an acknowledgement with an RTT sample, and reports whether slow start must end. delayMin is the
// min RTT of the flow. window is in packets, mss in bytes.
func (h *linuxHyStart) endsSlowStart(now unit.Time, a *cc.Ack, delayMin unit.Time, window int, mss int32,
	paced bool) (found bool) {
	if a.FirstUnacked > h.roundEnd {
		h.startRound(now, a.Next)
	}
	if window < lowWindow {
		return false
	}
	if now-h.lastAck <= ackDelta {
		h.lastAck = now
		threshold := delayMin
		if a.RTT.Smoothed > 0 { // a pacing rate of twice the window a round trip, as in slow start
			rate := 2 * float64(window) * float64(mss) / a.RTT.Smoothed.Seconds()
			threshold += min(unit.Millisecond, unit.Time(4*segmentBytes/rate*float64(unit.Second)))
		}
		if !paced {
			threshold /= 2
		}
		found = now-h.roundStart > threshold
	}
	h.minRTT = min(h.minRTT, a.RTT.Sample)
	if h.samples < minSamples {
		h.samples++
	} else if h.minRTT > delayMin+min(max(delayMin/8, minDelayThreshold), maxDelayThreshold) {
		found = true
	}
	return found
}

// endsSlowStart44 is endsSlowStart of Linux 4.4. Times are in whole milliseconds. A train ends slow start after half
// the min RTT, with any burst and pacing. The RTT of a round is the minimum of its first eight.
func (h *linuxHyStart) endsSlowStart44(now unit.Time, a *cc.Ack, delayMin unit.Time, window int) (found bool) {
	if a.FirstUnacked > h.roundEnd {
		h.startRound(now, a.Next)
	}
	if window < lowWindow {
		return false
	}
	between := func(from unit.Time) unit.Time { return now/tick - from/tick }
	if between(h.lastAck) <= ackDelta/tick {
		h.lastAck = now
		found = between(h.roundStart) > delayMin/2/tick
	}
	if h.samples < minSamples {
		h.minRTT = min(h.minRTT, a.RTT.Sample)
		h.samples++
	} else if h.minRTT > delayMin+min(max(delayMin/8, minDelayThreshold), maxDelayThreshold) {
		found = true
	}
	return found
}

// hyStartPlusPlus is HyStart++ (RFC 9406). A growing RTT starts conservative slow start. It ends after five rounds,
// or returns to slow start if the RTT shrinks again.
type hyStartPlusPlus struct {
	windowEnd       int64
	lastRoundRTT    unit.Time // lastRoundMinRTT
	currentRoundRTT unit.Time // currentRoundMinRTT
	samples         int       // rttSampleCount
	conservative    bool      // CSS
	baseline        unit.Time // cssBaselineMinRtt
	rounds          int       // CSS rounds that have begun
	credit          float64   // of conservative growth
	started         bool
}

// Constants of RFC 9406 §4.3.
const (
	minRTTThresh  = 4 * unit.Millisecond
	maxRTTThresh  = 16 * unit.Millisecond
	minRTTDivisor = 8
	rttSamples    = 8
	cssGrowth     = 4
	cssRounds     = 5
	unpacedLimit  = 8 // L
)

// onAck applies RFC 9406 §4.2. It returns the packets by which the window grows, and whether slow start is over.
func (h *hyStartPlusPlus) onAck(a *cc.Ack, paced bool) (growth int, done bool) {
	if !h.started {
		*h = hyStartPlusPlus{windowEnd: a.Next, lastRoundRTT: unit.Never, currentRoundRTT: unit.Never, started: true}
	} else if a.FirstUnacked >= h.windowEnd { // a round ends when windowEnd is acknowledged
		if h.conservative {
			if h.rounds++; h.rounds > cssRounds {
				return 0, true
			}
		}
		h.lastRoundRTT, h.currentRoundRTT, h.samples, h.windowEnd = h.currentRoundRTT, unit.Never, 0, a.Next
	}
	if a.RTT.Sample > 0 {
		h.currentRoundRTT = min(h.currentRoundRTT, a.RTT.Sample)
		h.samples++
	}
	acked := a.Packets
	if !paced {
		acked = min(acked, unpacedLimit)
	}
	if h.conservative {
		if h.samples >= rttSamples && h.currentRoundRTT < h.baseline { // the RTT did not stay up
			h.conservative, h.baseline = false, unit.Never
		}
	} else if h.samples >= rttSamples && h.currentRoundRTT != unit.Never && h.lastRoundRTT != unit.Never {
		if h.currentRoundRTT >= h.lastRoundRTT+max(minRTTThresh, min(h.lastRoundRTT/minRTTDivisor, maxRTTThresh)) {
			h.conservative, h.baseline, h.rounds, h.credit = true, h.currentRoundRTT, 1, 0
		}
	}
	if !h.conservative {
		return acked, false
	}
	h.credit += float64(acked) / cssGrowth
	growth = int(h.credit)
	h.credit -= float64(growth)
	return growth, false
}
