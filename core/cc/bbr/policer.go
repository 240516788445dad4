package bbr

import (
	"math"

	"weir/core/unit"
)

// totals are counts of packets since the start, and the time of the last delivery.
type totals struct {
	delivered, lost int64
	deliveredAt     unit.Time // delivered_mstamp
}

// policer finds token-bucket policers (bbr_lt_bw_sampling): two consecutive intervals with heavy loss and the same
// rate. BBR then uses that rate for 48 round trips.
type policer struct {
	bandwidth float64 // lt_bw, packets per second
	used      bool    // lt_use_bw
	sampling  bool    // lt_is_sampling
	rounds    int     // lt_rtt_cnt: rounds of the interval, or with the rate in use
	begin     totals  // at the interval's start
}

// restartDetection drops the policer and all measurements.
func (p *policer) restartDetection(now totals) {
	p.bandwidth, p.used, p.sampling = 0, false, false
	p.startInterval(now)
}

// startInterval starts a new interval.
func (p *policer) startInterval(now totals) { p.begin, p.rounds = now, 0 }

// countPolicedRound counts a round of PROBE_BW with a policer's rate. It reports whether the rate has expired, so
// that BBR probes for bandwidth again.
func (p *policer) countPolicedRound() bool { p.rounds++; return p.rounds >= longTermMaxRounds }

// addSample processes an ACK or a timeout while no policer is known. lost is the number of packets that it found
// lost. roundStart and appLimited report that a round began and that the application limited the flow. It returns
// true when it has found a policer.
func (p *policer) addSample(now totals, mss int32, lost int, roundStart, appLimited bool) (found bool) {
	if !p.sampling {
		if lost == 0 {
			return false
		}
		p.startInterval(now)
		p.sampling = true
	}
	if appLimited {
		p.restartDetection(now)
		return false
	}
	if roundStart {
		p.rounds++
	}
	if p.rounds < longTermRounds {
		return false
	}
	if p.rounds > 4*longTermRounds {
		p.restartDetection(now)
		return false
	}
	if lost == 0 {
		return false
	}
	n, delivered, took := now.lost-p.begin.lost, now.delivered-p.begin.delivered, now.deliveredAt-p.begin.deliveredAt
	if delivered <= 0 || float64(n) < longTermLoss*float64(delivered) || took < unit.Millisecond {
		return false
	}
	bandwidth := float64(delivered) / took.Seconds()
	if p.bandwidth > 0 {
		diff := math.Abs(bandwidth - p.bandwidth)
		if diff <= longTermRatio*p.bandwidth || float64(pacingRate(mss, diff, 1))/8 <= longTermDiff {
			p.bandwidth = (bandwidth + p.bandwidth) / 2
			p.used, p.rounds = true, 0
			return true
		}
	}
	p.bandwidth = bandwidth
	p.startInterval(now)
	return false
}
