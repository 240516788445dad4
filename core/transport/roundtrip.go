package transport

import "weir/core/unit"

// RoundTrip is what a sender knows of its round trip (RFC 6298 §2). All of it is 0 before
// the first sample.
type RoundTrip struct {
	Smoothed  unit.Time // SRTT
	Variation unit.Time // RTTVAR
	Min       unit.Time // shortest sample
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
