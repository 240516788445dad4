package transport

import "weir/core/unit"

// RoundTrip is a sender's estimate of its round trip (RFC 6298 §2). All fields are 0 before the first sample.
type RoundTrip struct {
	Smoothed  unit.Time // SRTT
	Variation unit.Time // RTTVAR
	Min       unit.Time // shortest sample
}

// marginDivisor sets the minimum margin of a timeout over SRTT: SRTT/marginDivisor, however small RTTVAR is. RFC 6298
// §2.3 has the clock's granularity there, which is 0 here.
const marginDivisor = 4

// Timeout returns a retransmission timeout: SRTT + 4 RTTVAR (RFC 6298 §2.3), and at least 1¼ SRTT. Without new samples
// RTTVAR tends to 0: resent data gives no samples (Karn), and an ACK of several packets gives one of the last of them.
// Then a queue of some microseconds would cause a timeout on paths that are long compared with the shortest timeout.
func (r *RoundTrip) Timeout() unit.Time {
	return r.Smoothed + max(4*r.Variation, r.Smoothed/marginDivisor)
}

// AddSample adds an RTT sample. The first one sets SRTT to rtt and RTTVAR to its half (RFC 6298 §2.2). Later ones move
// SRTT by an eighth and RTTVAR by a quarter of the difference (RFC 6298 §2.3).
func (r *RoundTrip) AddSample(rtt unit.Time) {
	if r.Min == 0 || rtt < r.Min {
		r.Min = rtt
	}
	if r.Smoothed == 0 {
		r.Smoothed, r.Variation = rtt, rtt/2
		return
	}
	d := r.Smoothed - rtt
	if d < 0 {
		d = -d
	}
	r.Variation += (d - r.Variation) / 4
	r.Smoothed = max(r.Smoothed+(rtt-r.Smoothed)/8, 1)
}

// AddProbeSample adds the RTT sample of a probe unless it is the shortest one: a probe is smaller than data, and may be
// faster.
func (r *RoundTrip) AddProbeSample(rtt unit.Time) {
	if rtt > r.Min {
		r.AddSample(rtt)
	}
}
