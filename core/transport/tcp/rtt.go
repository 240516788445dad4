package tcp

import "weir/core/unit"

// rttEstimator is RFC 6298 §2 with the maximum deviation of a round trip, so that the variance falls slowly
// (tcp_rtt_estimator). srtt is 8 times the average, mdev and the others are 4 times the deviation.
type rttEstimator struct {
	srtt, mdev, mdevMax, rttvar unit.Time
	seq                         int64 // end of the round
	min                         windowedMin
}

// smoothed returns SRTT; 0: no sample yet.
func (r *rttEstimator) smoothed() unit.Time { return r.srtt / 8 }

// sample adds an RTT sample. The deviation adds at least minDeviation to the timeout. una and next, sequence numbers,
// delimit the round trip in which the max deviation counts.
func (r *rttEstimator) sample(rtt unit.Time, una, next int64, minDeviation unit.Time) {
	m := max(rtt, 1)
	if r.srtt == 0 { // §2.2
		r.srtt = 8 * m
		r.mdev = 2 * m
		r.rttvar = max(r.mdev, minDeviation)
		r.mdevMax, r.seq = r.rttvar, next
		return
	}
	m -= r.srtt / 8
	r.srtt += m // §2.3, alpha = 1/8
	if m < 0 {  // a lower RTT moves the deviation less
		m = -m - r.mdev/4
		if m > 0 {
			m /= 8
		}
	} else {
		m -= r.mdev / 4 // §2.3, beta = 1/4
	}
	r.mdev += m
	if r.mdev > r.mdevMax {
		r.mdevMax = r.mdev
		r.rttvar = max(r.rttvar, r.mdevMax)
	}
	if una > r.seq {
		if r.mdevMax < r.rttvar {
			r.rttvar -= (r.rttvar - r.mdevMax) / 4
		}
		r.seq, r.mdevMax = next, minDeviation
	}
	r.srtt = max(r.srtt, 1)
}

// timeout returns SRTT + max(G, 4·RTTVAR) of RFC 6298 §2.2 and §2.3, up to the limit of §2.5. Linux has 200 ms for G.
func (r *rttEstimator) timeout() unit.Time { return min(r.srtt/8+r.rttvar, largestRTO) }

// windowedMin is the minimum over a window of time, with three samples (Kathleen Nichols; Linux' lib/win_minmax.c).
type windowedMin [3]struct {
	at    unit.Time
	value unit.Time
}

// get returns the minimum; 0: no sample.
func (m *windowedMin) get() unit.Time { return m[0].value }

// update adds a value at now, above 0, and removes samples older than window.
func (m *windowedMin) update(window, now, value unit.Time) {
	s := m[0]
	s.at, s.value = now, value
	if m[0].value == 0 || value <= m[0].value || now-m[2].at > window {
		m[0], m[1], m[2] = s, s, s
		return
	}
	if value <= m[1].value {
		m[1], m[2] = s, s
	} else if value <= m[2].value {
		m[2] = s
	}
	switch age := now - m[0].at; {
	case age > window:
		m[0], m[1], m[2] = m[1], m[2], s
		if now-m[0].at > window {
			m[0], m[1], m[2] = m[1], m[2], s
		}
	case m[1].at == m[0].at && age > window/4:
		m[1], m[2] = s, s
	case m[2].at == m[1].at && age > window/2:
		m[2] = s
	}
}
