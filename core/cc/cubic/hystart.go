package cubic

import (
	"weir/core/cc"
	"weir/core/unit"
)

// linuxHyStart is HyStart as Linux has it (tcp_cubic.c; Ha, Rhee 2011): it leaves
// slow start when a train of ACKs lasts half a minimum RTT, or when the RTTs of a
// round's first packets have grown.
type linuxHyStart struct {
	roundStart unit.Time
	lastAck    unit.Time
	roundEnd   int64 // sequence number
	lowest     unit.Time
	samples    int
}

// Linux' constants (hystart_low_window, hystart_ack_delta_us, HYSTART_MIN_SAMPLES,
// HYSTART_DELAY_MIN, HYSTART_DELAY_MAX).
const (
	lowWindow    = 16
	ackDelta     = 2 * unit.Millisecond
	minSamples   = 8
	leastDelay   = 4 * unit.Millisecond
	largestDelay = 16 * unit.Millisecond
	segmentBytes = 65536 // of a segmentation offload, sk_gso_max_size
	tick         = unit.Millisecond
)

func (h *linuxHyStart) reset(now unit.Time, next int64) {
	*h = linuxHyStart{roundStart: now, lastAck: now, roundEnd: next, lowest: unit.Never}
}

// found reports whether slow start shall end.
func (h *linuxHyStart) found(now unit.Time, a *cc.Ack, delayMin unit.Time, window int, mss int32,
	paced bool) (found bool) {
	if a.Una > h.roundEnd {
		h.reset(now, a.Next)
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
	h.lowest = min(h.lowest, a.RTT.Sample)
	if h.samples < minSamples {
		h.samples++
	} else if h.lowest > delayMin+min(max(delayMin/8, leastDelay), largestDelay) {
		found = true
	}
	return found
}

// found44 is found as in Linux 4.4: times are in whole milliseconds, a train ends slow start after half the minimum
// RTT, whatever bursts and pacing are, and the RTT of a round is the least of its first eight.
func (h *linuxHyStart) found44(now unit.Time, a *cc.Ack, delayMin unit.Time, window int) (found bool) {
	if a.Una > h.roundEnd {
		h.reset(now, a.Next)
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
		h.lowest = min(h.lowest, a.RTT.Sample)
		h.samples++
	} else if h.lowest > delayMin+min(max(delayMin/8, leastDelay), largestDelay) {
		found = true
	}
	return found
}

// hyStartPlusPlus is HyStart++ (RFC 9406): a growing RTT leads to conservative slow
// start, which is left for good after five rounds, or back to slow start if the RTT
// shrinks again.
type hyStartPlusPlus struct {
	windowEnd    int64
	last         unit.Time // lastRoundMinRTT
	current      unit.Time // currentRoundMinRTT
	samples      int       // rttSampleCount
	conservative bool      // CSS
	baseline     unit.Time // cssBaselineMinRtt
	rounds       int       // CSS rounds that have begun
	credit       float64   // of conservative growth
	started      bool
}

// Constants of RFC 9406 §4.3.
const (
	minRTTThresh  = 4 * unit.Millisecond
	maxRTTThresh  = 16 * unit.Millisecond
	minRTTDivisor = 8
	rttSamples    = 8
	cssGrowth     = 4
	cssRounds     = 5
	notPaced      = 8 // L
)

// onAck is §4.2. It returns by how many packets the window grows, and whether slow
// start is over.
func (h *hyStartPlusPlus) onAck(a *cc.Ack, paced bool) (growth int, done bool) {
	if !h.started {
		*h = hyStartPlusPlus{windowEnd: a.Next, last: unit.Never, current: unit.Never, started: true}
	} else if a.Una >= h.windowEnd { // a round ends when windowEnd is acknowledged
		if h.conservative {
			if h.rounds++; h.rounds > cssRounds {
				return 0, true
			}
		}
		h.last, h.current, h.samples, h.windowEnd = h.current, unit.Never, 0, a.Next
	}
	if a.RTT.Sample > 0 {
		h.current = min(h.current, a.RTT.Sample)
		h.samples++
	}
	acked := a.Packets
	if !paced {
		acked = min(acked, notPaced)
	}
	if h.conservative {
		if h.samples >= rttSamples && h.current < h.baseline { // the RTT did not stay up
			h.conservative, h.baseline = false, unit.Never
		}
	} else if h.samples >= rttSamples && h.current != unit.Never && h.last != unit.Never {
		if h.current >= h.last+max(minRTTThresh, min(h.last/minRTTDivisor, maxRTTThresh)) {
			h.conservative, h.baseline, h.rounds, h.credit = true, h.current, 1, 0
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
