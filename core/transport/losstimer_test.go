package transport

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// TestLossLimit checks that the limit is the longest round trip plus the delay of the ends and the margin of timeouts.
// Without a bound of the path there is no limit.
func TestLossLimit(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		path cc.Path
		adds unit.Time
		want unit.Time
	}{
		{cc.Path{BaseRTT: 10 * us, MaxQueueing: 70 * us}, 0, 100 * us},
		{cc.Path{BaseRTT: 10 * us, MaxQueueing: 66 * us}, 4 * us, 100 * us},
		{cc.Path{BaseRTT: 10 * us}, 0, unit.Never}, // unknown
		{cc.Path{BaseRTT: 10 * us, MaxQueueing: unit.Never}, us, unit.Never},
	} {
		if got := LossLimit(&x.path, x.adds); got != x.want {
			t.Errorf("%+v, %v: %v, want %v", x.path, x.adds, got, x.want)
		}
	}
}

// TestLossTimer checks that only the answer to the latest probe counts, once. The timer expires after the wait, but not
// later than the limit after the wait began or after the packet was sent.
func TestLossTimer(t *testing.T) {
	const us = unit.Microsecond
	l := NewLossTimer(&cc.Path{BaseRTT: 10 * us, MaxQueueing: 70 * us}, 0)
	if l.UnansweredProbe() != 0 {
		t.Error("a number without a probe")
	}
	if first, second := l.RecordProbe(10*us), l.RecordProbe(30*us); first == second || l.UnansweredProbe() != second {
		t.Errorf("probes %d and %d, the latest is %d", first, second, l.UnansweredProbe())
	}
	if sent := l.RecordProbeAnswer(); sent != 30*us || l.UnansweredProbe() != 0 {
		t.Errorf("it was sent at %v; waits for %d", sent, l.UnansweredProbe())
	}
	for _, x := range []struct{ next, began, sent, want unit.Time }{
		{50 * us, 20 * us, 10 * us, 50 * us}, {500 * us, 20 * us, 10 * us, 110 * us}, {500 * us, 20 * us, 60 * us, 120 * us},
	} {
		if got := l.EarliestExpiry(x.next, x.began, x.sent); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
	if l.HasExpired(109*us, 10*us) || !l.HasExpired(110*us, 10*us) {
		t.Error("the limit of 100 us after 10 us is not 110 us")
	}
	for i := range 20 {
		want := 100 * us << i
		if got := l.ExpiryOf(us); i < 8 && got != us+want || got > us+128*MinProbeWait {
			t.Errorf("after %d expiries the limit is %v, want %v", i, got-us, want)
		}
		l.DoubleLimit()
	}
	if l.RecordAnswer(); l.ExpiryOf(us) != 101*us {
		t.Errorf("after an answer the limit is %v", l.ExpiryOf(us)-us)
	}
	if l = NewLossTimer(&cc.Path{BaseRTT: 10 * us}, 0); l.EarliestExpiry(500*us, 0, 0) != 500*us ||
		l.HasExpired(unit.Second, 0) {
		t.Error("without a limit it has one")
	}
}
