package transport_test

import (
	"testing"

	"weir/core/transport"
	"weir/core/unit"
)

// TestRoundTrip follows RFC 6298 §2 by hand: RTTVAR is moved with the SRTT from before the sample.
func TestRoundTrip(t *testing.T) {
	const us = unit.Microsecond
	var r transport.RoundTrip
	for i, step := range []struct{ rtt, smoothed, variation, min unit.Time }{
		{400 * us, 400 * us, 200 * us, 400 * us},
		{480 * us, 410 * us, 170 * us, 400 * us},
		{330 * us, 400 * us, 147500 * unit.Nanosecond, 330 * us},
	} {
		r.AddSample(step.rtt)
		if want := (transport.RoundTrip{Smoothed: step.smoothed, Variation: step.variation, Min: step.min}); r != want {
			t.Fatalf("sample %d, %v: %+v, want %+v", i, step.rtt, r, want)
		}
	}
}
