package transport

import (
	"testing"

	"weir/core/cc"
	"weir/core/unit"
)

// The limit is the longest round trip, what ends add and the margin of timeouts; without a bound of the path there is
// none.
func TestLossLimit(t *testing.T) {
	const us = unit.Microsecond
	for _, x := range []struct {
		path cc.Path
		adds unit.Time
		want unit.Time
	}{
		{cc.Path{BaseRTT: 10 * us, Queueing: 70 * us}, 0, 100 * us},
		{cc.Path{BaseRTT: 10 * us, Queueing: 66 * us}, 4 * us, 100 * us},
		{cc.Path{BaseRTT: 10 * us}, 0, unit.Never}, // unknown
		{cc.Path{BaseRTT: 10 * us, Queueing: unit.Never}, us, unit.Never},
	} {
		if got := LossLimit(&x.path, x.adds); got != x.want {
			t.Errorf("%+v, %v: %v, want %v", x.path, x.adds, got, x.want)
		}
	}
}

// Only the answer to the latest probe counts, once. The timer expires after the wait, but not later than the limit
// after the wait began or after the packet was sent.
func TestLossTimer(t *testing.T) {
	const us = unit.Microsecond
	l := NewLossTimer(&cc.Path{BaseRTT: 10 * us, Queueing: 70 * us}, 0)
	if l.Number() != 0 {
		t.Error("a number without a probe")
	}
	if first, second := l.Record(10*us), l.Record(30*us); first == second || l.Number() != second {
		t.Errorf("probes %d and %d, the latest is %d", first, second, l.Number())
	}
	if sent := l.Acknowledge(); sent != 30*us || l.Number() != 0 {
		t.Errorf("it was sent at %v; waits for %d", sent, l.Number())
	}
	for _, x := range []struct{ next, began, sent, want unit.Time }{
		{50 * us, 20 * us, 10 * us, 50 * us}, {500 * us, 20 * us, 10 * us, 110 * us}, {500 * us, 20 * us, 60 * us, 120 * us},
	} {
		if got := l.Earlier(x.next, x.began, x.sent); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
	if l.Expired(109*us, 10*us) || !l.Expired(110*us, 10*us) {
		t.Error("the limit of 100 us after 10 us is not 110 us")
	}
	for i := range 20 {
		want := 100 * us << i
		if got := l.After(us); i < 8 && got != us+want || got > us+128*MinProbeWait {
			t.Errorf("after %d expiries the limit is %v, want %v", i, got-us, want)
		}
		l.Expire()
	}
	if l.Answered(); l.After(us) != 101*us {
		t.Errorf("after an answer the limit is %v", l.After(us)-us)
	}
	if l = NewLossTimer(&cc.Path{BaseRTT: 10 * us}, 0); l.Earlier(500*us, 0, 0) != 500*us || l.Expired(unit.Second, 0) {
		t.Error("without a limit it has one")
	}
}
