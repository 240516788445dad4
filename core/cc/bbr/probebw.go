package bbr

import "weir/core/unit"

// cycle are the pacing gains of PROBE_BW.
var cycle = [cycleLength]float64{1.25, 0.75, 1, 1, 1, 1, 1, 1}

// probeBW is PROBE_BW (draft-cardwell-iccrg-bbr-00 §4.3.4): a cycle of eight phases, of which
// one probes for more bandwidth, the next drains what that queued, and six cruise.
type probeBW struct {
	index int       // cycle_idx
	stamp unit.Time // cycle_mstamp: when the phase began
}

// enter begins the cycle in any phase but the draining one (bbr_reset_probe_bw_mode).
func (p *probeBW) enter(now unit.Time, random unit.Random) {
	p.index = cycleLength - 1 - random.IntN(cycleRandom)
	p.advance(now)
}

// advance begins the next phase (bbr_advance_cycle_phase).
func (p *probeBW) advance(now unit.Time) {
	p.index = (p.index + 1) % cycleLength
	p.stamp = now
}

// gains are those of pacing and window. Where a policer limits the flow there is nothing to
// probe for.
func (p *probeBW) gains(policed bool) (pacing, window float64) {
	if policed {
		return 1, windowGain
	}
	return cycle[p.index], windowGain
}

// probing: the phase is that with a gain above 1.
func (p *probeBW) probing() bool { return p.index == 0 }

// whole: the phase has lasted for the least round-trip time.
func (p *probeBW) whole(now, minRTT unit.Time) bool { return now-p.stamp > minRTT }

// done reports whether the phase is over (bbr_is_next_cycle_phase). Probing goes on until so much
// is in flight that a larger pipe would be seen, or something is lost; draining ends early when
// no queue is left. target is what is in flight then, at the phase's gain or, draining, at 1.
func (p *probeBW) done(now, minRTT unit.Time, gain float64, lost, inFlight, target int) bool {
	whole := p.whole(now, minRTT)
	switch {
	case gain > 1:
		return whole && (lost > 0 || inFlight >= target)
	case gain < 1:
		return whole || inFlight <= target
	}
	return whole
}
