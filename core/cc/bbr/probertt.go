package bbr

import "weir/core/unit"

// probeRTT is the filter of the min RTT, and PROBE_RTT, which renews it (draft-cardwell-iccrg-bbr-00 §4.1.2, §4.3.5).
// After ten seconds without a new minimum, only four packets are in flight for 200 ms and a round trip.
type probeRTT struct {
	minRTT unit.Time // Never: not known
	stamp  unit.Time // min_rtt_stamp: when it was measured
	until  unit.Time // probe_rtt_done_stamp; Never: too many packets are in flight
	round  bool      // probe_rtt_round_done
}

// newProbeRTT returns the filter without a minimum, at time now.
func newProbeRTT(now unit.Time) probeRTT {
	return probeRTT{minRTT: unit.Never, stamp: now, until: unit.Never}
}

// phaseGains returns the gains of pacing and window.
func (p *probeRTT) phaseGains() (pacing, window float64) { return 1, 1 }

// addSample adds a round-trip time, 0 for no sample, and reports whether the minimum has expired. A delayed ACK
// cannot replace an expired minimum by a larger one.
func (p *probeRTT) addSample(now, rtt unit.Time, delayed bool) (expired bool) {
	expired = now > p.stamp+minRTTWindow
	if rtt > 0 && (rtt < p.minRTT || expired && !delayed) {
		p.minRTT, p.stamp = rtt, now
	}
	return expired
}

// awaitLowFlight begins PROBE_RTT, in which the packets in flight must first become few.
func (p *probeRTT) awaitLowFlight() { p.until = unit.Never }

// handleAck processes an ACK in PROBE_RTT. low reports that few packets are in flight from now on, and that a round
// begins. over reports that 200 ms and a round have passed since.
func (p *probeRTT) handleAck(now unit.Time, inFlight int, roundStart bool) (low, over bool) {
	if p.until == unit.Never {
		if inFlight > minWindow {
			return false, false
		}
		p.until, p.round = now+probeRTTTime, false
		return true, false
	}
	p.round = p.round || roundStart
	return false, p.round && p.isTimeOver(now)
}

// isTimeOver reports whether the 200 ms have passed (bbr_check_probe_rtt_done).
func (p *probeRTT) isTimeOver(now unit.Time) bool { return p.until != unit.Never && now > p.until }
