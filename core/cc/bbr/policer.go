package bbr

import (
	"math"

	"weir/core/unit"
)

// totals are counts since the start, and when the last delivery was.
type totals struct {
	delivered, lost int64
	at              unit.Time // delivered_mstamp
}

// policer finds token-bucket policers (bbr_lt_bw_sampling): two intervals with much loss and
// the same rate are one. Its rate is then used for 48 round trips.
type policer struct {
	bandwidth float64 // lt_bw, packets per second
	used      bool    // lt_use_bw
	sampling  bool    // lt_is_sampling
	rounds    int     // lt_rtt_cnt: of the interval, or since the rate is used
	begin     totals  // of the interval
}

// reset forgets everything.
func (p *policer) reset(now totals) {
	p.bandwidth, p.used, p.sampling = 0, false, false
	p.interval(now)
}

// interval begins one.
func (p *policer) interval(now totals) { p.begin, p.rounds = now, 0 }

// expired counts a round in which a policer's rate was used for PROBE_BW, and reports whether
// that was long enough: then bandwidth is probed for again.
func (p *policer) expired() bool { p.rounds++; return p.rounds >= longTermMaxRounds }

// sample is called for an ACK, or a timeout, while no policer is known: how many packets it found
// lost, and whether a round began or the application limited the flow. It returns true when a
// policer is found.
func (p *policer) sample(now totals, mss int32, lost int, roundStart, appLimited bool) (found bool) {
	if !p.sampling {
		if lost == 0 {
			return false
		}
		p.interval(now)
		p.sampling = true
	}
	if appLimited {
		p.reset(now)
		return false
	}
	if roundStart {
		p.rounds++
	}
	if p.rounds < longTermRounds {
		return false
	}
	if p.rounds > 4*longTermRounds {
		p.reset(now)
		return false
	}
	if lost == 0 {
		return false
	}
	n, delivered, took := now.lost-p.begin.lost, now.delivered-p.begin.delivered, now.at-p.begin.at
	if delivered <= 0 || float64(n) < longTermLoss*float64(delivered) || took < unit.Millisecond {
		return false
	}
	bandwidth := float64(delivered) / took.Seconds()
	if p.bandwidth > 0 {
		diff := math.Abs(bandwidth - p.bandwidth)
		if diff <= longTermRatio*p.bandwidth || float64(pacing(mss, diff, 1))/8 <= longTermDiff {
			p.bandwidth = (bandwidth + p.bandwidth) / 2
			p.used, p.rounds = true, 0
			return true
		}
	}
	p.bandwidth = bandwidth
	p.interval(now)
	return false
}
