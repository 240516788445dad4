package bbr

import "weir/core/unit"

// cycle holds the pacing gains of PROBE_BW's phases.
var cycle = [cycleLength]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// probeBW is PROBE_BW (draft-cardwell-iccrg-bbr-00 §4.3.4), a cycle of eight phases. One probes for more bandwidth,
// the next drains the queue of the probe, and six cruise.
type probeBW struct {
	index int       // cycle_idx
	stamp unit.Time // cycle_mstamp: when the phase began
}

// enterCycle starts the cycle in a random phase other than the draining one (bbr_reset_probe_bw_mode).
func (p *probeBW) enterCycle(now unit.Time, random unit.Random) {
	p.index = cycleLength - 1 - random.IntN(cycleRandom)
	p.startNextPhase(now)
}

// startNextPhase starts the next phase (bbr_advance_cycle_phase).
func (p *probeBW) startNextPhase(now unit.Time) {
	p.index = (p.index + 1) % cycleLength
	p.stamp = now
}

// phaseGains returns the gains of pacing and window. With a policer, probing cannot find more bandwidth, and the
// pacing gain is 1.
func (p *probeBW) phaseGains(policed bool) (pacing, window float64) {
	if policed {
		return 1, windowGain
	}
	return cycle[p.index], windowGain
}

// isProbing reports whether the phase's gain is above 1.
func (p *probeBW) isProbing() bool { return p.index == 0 }

// hasLastedMinRTT reports whether the phase has lasted for more than the min RTT.
func (p *probeBW) hasLastedMinRTT(now, minRTT unit.Time) bool { return now-p.stamp > minRTT }

// isPhaseDone reports whether the phase has ended (bbr_is_next_cycle_phase). Probing lasts until enough packets are
// in flight to show a larger pipe, or until a loss. Draining ends early when the queue is empty. target is the number
// of packets in flight at that point: at the phase's gain or, draining, at a gain of 1.
func (p *probeBW) isPhaseDone(now, minRTT unit.Time, gain float64, lost, inFlight, target int) bool {
	whole := p.hasLastedMinRTT(now, minRTT)
	switch {
	case gain > 1:
		return whole && (lost > 0 || inFlight >= target)
	case gain < 1:
		return whole || inFlight <= target
	}
	return whole
}
