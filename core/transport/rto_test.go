package transport

import (
	"testing"

	"weir/core/unit"
)

// TestRTO_Timeout follows RFC 6298 by hand. Before a sample the timeout is the one after a sample of the round trip
// without queues (§2.2 of RFC 6298), then SRTT + 4 RTTVAR, at least the floor (§2.3 and §2.4 of RFC 6298). Each expiry
// doubles it (RFC 6298 §5.5), up to 64 times or the limit.
func TestRTO_Timeout(t *testing.T) {
	const us = unit.Microsecond
	measured := RoundTrip{Smoothed: 400 * us, Variation: 200 * us, Min: 400 * us}
	for _, x := range []struct {
		name    string
		timer   RTO
		backoff int
		want    unit.Time
	}{
		{"floor", RTO{Floor: 320 * us, MinFirst: FirstTimeout(100 * us)}, 0, 320 * us},
		{"no sample", RTO{Floor: 320 * us, MinFirst: FirstTimeout(200 * us)}, 0, 600 * us},
		{"unknown path", RTO{Floor: 320 * us}, 1, 640 * us},
		{"sample", RTO{Floor: 320 * us, MinFirst: 5000 * us, Trip: measured}, 0, 1200 * us},
		{"floor above the sample", RTO{Floor: 5000 * us, Trip: measured}, 0, 5000 * us},
		{"doubled", RTO{Floor: 320 * us, Trip: measured}, 3, 9600 * us},
		{"64 times", RTO{Floor: 320 * us, Trip: measured}, 6, 64 * 1200 * us},
		{"no more than that", RTO{Floor: 320 * us, Trip: measured}, 40, 64 * 1200 * us},
		{"limit", RTO{Floor: 320 * us, MaxTimeout: 1000 * us}, 2, 1000 * us},
		{"limit below the timeout", RTO{Floor: 320 * us, MaxTimeout: 1000 * us, Trip: measured}, 2, 1200 * us},
		{"fixed", RTO{Floor: 320 * us, MinFirst: 5000 * us, Fixed: true, Trip: measured}, 1, 640 * us},
		{"constant", RTO{Floor: 320 * us, MaxTimeout: 320 * us, Fixed: true, Trip: measured}, 9, 320 * us},
	} {
		if x.timer.Backoff = x.backoff; x.timer.Timeout() != x.want {
			t.Errorf("%s: %v, want %v", x.name, x.timer.Timeout(), x.want)
		}
	}
}

// TestRTO_LowFloor checks that a lower floor for few packets in flight (IRN §3.1) doubles up to the same limit as the
// other.
func TestRTO_LowFloor(t *testing.T) {
	const us = unit.Microsecond
	timer := RTO{Floor: 320 * us}
	for backoff, want := range []unit.Time{100 * us, 200 * us, 400 * us} {
		if got := timer.TimeoutWith(100*us, backoff); got != want {
			t.Errorf("after %d expiries: %v, want %v", backoff, got, want)
		}
	}
	if got := timer.TimeoutWith(100*us, 50); got != 64*320*us {
		t.Errorf("at most %v, want %v", got, 64*320*us)
	}
}

func TestRTO_Progress(t *testing.T) {
	timer := RTO{Floor: 100}
	timer.RecordExpiry(100)
	if timer.RecordExpiry(300); timer.WaitStart != 300 || timer.Timeout() != 400 {
		t.Errorf("after two expiries: from %v, %v", timer.WaitStart, timer.Timeout())
	}
	if timer.RestartWait(500); timer.WaitStart != 500 || timer.Timeout() != 100 {
		t.Errorf("after progress: from %v, %v", timer.WaitStart, timer.Timeout())
	}
}

func TestRTO_RoundTrips(t *testing.T) {
	timer := RTO{}
	if timer.RTT() != 0 || timer.RTTWithin(70) != 70 {
		t.Errorf("unknown path: %v, %v", timer.RTT(), timer.RTTWithin(70))
	}
	timer.BaseRTT = 50
	if timer.RTT() != 50 || timer.MinRTT() != 50 || timer.RTTWithin(70) != 50 || timer.RTTWithin(30) != 30 {
		t.Errorf("without a sample: %v, %v", timer.RTT(), timer.MinRTT())
	}
	timer.Trip.AddSample(80)
	if timer.Trip.AddProbeSample(80); timer.Trip.Smoothed != 80 || timer.Trip.Variation != 40 { // the shortest
		t.Errorf("a probe that is not slower than data counts: %+v", timer.Trip)
	}
	timer.Trip.AddProbeSample(160)
	if timer.RTT() != 90 || timer.MinRTT() != 80 || timer.RTTWithin(85) != 85 {
		t.Errorf("after samples of 80 and 160: %v, at least %v", timer.RTT(), timer.MinRTT())
	}
}

func TestBackOff(t *testing.T) {
	for times, want := range []unit.Time{3, 6, 12, 20, 20} {
		if got := BackOff(3, times, 20); got != want {
			t.Errorf("3 doubled %d times, at most 20: %d, want %d", times, got, want)
		}
	}
	for times, want := range map[int]unit.Time{0: 3, 5: 96, 6: 192, 7: 192, 1000: 192} { //weir:unordered independent
		if got := BackOff64(3, times); got != want {
			t.Errorf("3 doubled %d times: %d, want %d", times, got, want)
		}
	}
}
