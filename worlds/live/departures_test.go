package live

import (
	"testing"

	"weir/core/unit"
)

// TestRecordWait checks that waits of at least MinWait are kept, and that those beyond MaxWaits become one.
func TestRecordWait(t *testing.T) {
	d := NewDepartures(nil, nil)
	for i := range MaxWaits + 10 {
		at := unit.Time(i) * unit.Second
		d.RecordWait(at, at+MinWait-1)
		d.RecordWait(at, at)
		d.RecordWait(at, at+MinWait)
	}
	if n := len(d.Waits); n != MaxWaits || d.Waits[0] != (SchedulingDelay{0, MinWait}) ||
		d.Waits[n-1] != (SchedulingDelay{(MaxWaits - 1) * unit.Second, 10*unit.Second + MinWait}) {
		t.Errorf("%d waits, the last one %v", n, d.Waits[n-1])
	}
}

// TestGateCountsAdd checks that each count is added.
func TestGateCountsAdd(t *testing.T) {
	sum, want := GateCounts{1, 2, 3, 4, 5}, GateCounts{11, 22, 33, 44, 55}
	if sum.Add(GateCounts{10, 20, 30, 40, 50}); sum != want {
		t.Errorf("of two gates: %+v, want %+v", sum, want)
	}
}

// TestNewLateness_MatchesHistogram checks that percentiles agree with the histogram, whose classes are 1/64 wide.
func TestNewLateness_MatchesHistogram(t *testing.T) {
	var h unit.Histogram
	for us := range unit.Time(10000) {
		h.Add((us + 1) * unit.Microsecond)
	}
	l := newLateness(&h, 10*unit.Millisecond)
	for _, x := range [][2]unit.Time{{l.P50, 5000}, {l.P99, 9900}, {l.P999, 9990}} {
		if want := x[1] * unit.Microsecond; x[0] < want-want/64 || x[0] > want+want/64 {
			t.Errorf("%v instead of %v", x[0], want)
		}
	}
	sum := uint64(0)
	for _, n := range l.Below {
		sum += n
	}
	// 2^23 ns < 10 ms < 2^24 ns
	if l.Frames != 10000 || sum != 10000 || l.Max != 10*unit.Millisecond || len(l.Below) != 25 {
		t.Errorf("%+v", l)
	}
}
