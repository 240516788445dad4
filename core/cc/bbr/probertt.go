package bbr

import "weir/core/unit"

// probeRTT is the filter of the least round-trip time and PROBE_RTT, which renews it
// (draft-cardwell-iccrg-bbr-00 §4.1.2, §4.3.5): every ten seconds at the latest only four
// packets are in flight for 200 ms and a round trip.
type probeRTT struct {
	min   unit.Time // Never: not known
	stamp unit.Time // min_rtt_stamp: when it was measured
	until unit.Time // probe_rtt_done_stamp; Never: too much is still in flight
	round bool      // probe_rtt_round_done
}

func newProbeRTT(now unit.Time) probeRTT {
	return probeRTT{min: unit.Never, stamp: now, until: unit.Never}
}

// gains are those of pacing and window.
func (p *probeRTT) gains() (pacing, window float64) { return 1, 1 }

// sample takes in a round-trip time, 0 for none, and reports whether the minimum has expired. A
// delayed ACK is no good as a new minimum that is larger.
func (p *probeRTT) sample(now, rtt unit.Time, delayed bool) (expired bool) {
	expired = now > p.stamp+minRTTWindow
	if rtt > 0 && (rtt < p.min || expired && !delayed) {
		p.min, p.stamp = rtt, now
	}
	return expired
}

// enter begins PROBE_RTT: what is in flight has to come down first.
func (p *probeRTT) enter() { p.until = unit.Never }

// acked is called for an ACK in PROBE_RTT. low: so little is in flight from now on, and a round
// begins. over: 200 ms and a round have passed.
func (p *probeRTT) acked(now unit.Time, inFlight int, roundStart bool) (low, over bool) {
	if p.until == unit.Never {
		if inFlight > leastWindow {
			return false, false
		}
		p.until, p.round = now+probeRTTTime, false
		return true, false
	}
	p.round = p.round || roundStart
	return false, p.round && p.over(now)
}

// over reports whether the time has passed (bbr_check_probe_rtt_done).
func (p *probeRTT) over(now unit.Time) bool { return p.until != unit.Never && now > p.until }
