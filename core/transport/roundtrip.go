package transport

import "weir/core/unit"

// RoundTrip is what a sender knows of its round trip (RFC 6298 §2). All of it is 0 before
// the first sample.
type RoundTrip struct {
	Smoothed  unit.Time // SRTT
	Variation unit.Time // RTTVAR
	Min       unit.Time // shortest sample
}

// leastMargin is the part of SRTT by which a timeout is longer, however little round trips have varied. RFC 6298 §2.3
// has the clock's granularity there, which is nothing here.
const leastMargin = 4

// Timeout is a retransmission timeout: SRTT + 4 RTTVAR (2.3), and at least 1¼ SRTT. Without samples RTTVAR becomes
// nothing: where all is sent again there are none (Karn), and where receivers acknowledge several packets by one, they
// are of the last of them. Then a queue of some microseconds would be a timeout on paths that are long against the
// least timeout that there is.
func (r *RoundTrip) Timeout() unit.Time {
	return r.Smoothed + max(4*r.Variation, r.Smoothed/leastMargin)
}

// Measure takes an RTT sample in: the first one sets SRTT to it and RTTVAR to its half
// (2.2), later ones move SRTT by an eighth and RTTVAR by a quarter of the difference (2.3).
func (r *RoundTrip) Measure(rtt unit.Time) {
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

// MeasureProbe takes the RTT sample of a probe in, unless it is the shortest one: a probe is shorter than data, and may
// be faster.
func (r *RoundTrip) MeasureProbe(rtt unit.Time) {
	if rtt > r.Min {
		r.Measure(rtt)
	}
}
