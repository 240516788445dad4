package uet

import (
	"math"
	"testing"

	"weir/core/unit"
)

// TestSlowdown_FollowsTrimsAndMarks checks the rate that a receiver requests on an oversubscribed network. It falls by
// the share of packets trimmed within the network, and by half of the share marked beyond 30 % of the packets that
// arrive whole. Without either it rises by 1 %, or by 1 %, 2 %, 4 % … while no packet is marked. It is never below 0.9
// over the oversubscription. Packets trimmed right before the receiver do not count. The rate changes in periods from
// the first flow's start on, also in periods without packets.
func TestSlowdown_FollowsTrimsAndMarks(t *testing.T) {
	c := Defaults()
	c.Control, c.Network, c.Oversubscription = byReceiver, 10*us, 4
	x := newSlowdown(5*us, &c, unit.NewRandom(1, "x"))
	apart := func(from unit.Time) {
		if d := x.nextChange - from; d < 11250*unit.Nanosecond || d > 18750*unit.Nanosecond {
			t.Fatalf("the next change is at %v, after %v", x.nextChange, from)
		}
	}
	apart(5 * us)
	change := func(packets, marked, within, before int) float64 {
		for i := range packets {
			var p arrivals
			switch {
			case i < marked:
				p.marked = 1
			case i < marked+within:
				p.trimmed, p.within = 1, 1
			case i < marked+within+before:
				p.trimmed = 1
			}
			x.countArrival(x.nextChange-us, p)
		}
		at := x.nextChange
		x.passPeriods(at)
		apart(at)
		return x.rate
	}
	for i, want := range []struct {
		packets, marked, within, before int
		rate                            float64
	}{
		{10, 0, 2, 0, 0.8},
		{10, 0, 0, 8, 0.81},
		{0, 0, 0, 0, 0.83},
		{10, 0, 0, 0, 0.87},
		{10, 10, 0, 0, 0.87 * 0.9},           // 50 % smoothed
		{10, 1, 0, 0, 0.793},                 // (50 + 10)/2 is 30 %, which is not beyond
		{10, 1, 0, 0, 0.803},                 // marked: the step is not doubled
		{10, 0, 0, 0, 0.843},                 // but it counts among those in a row
		{10, 8, 2, 0, (0.843 - 0.2) * 0.875}, // all of 8 that came whole: (10 + 100)/2 = 55 %
		{10, 0, 9, 0, 0.225},                 // the least
		{10, 0, 0, 0, 0.235},                 // the next one is the first in a row
	} {
		if got := change(want.packets, want.marked, want.within, want.before); math.Abs(got-want.rate) > 1e-9 {
			t.Errorf("change %d: %v, not %v", i, got, want.rate)
		}
	}
	x.rate = 0.225
	// a PULL then takes longer by the same factor
	p := &pacer{slow: x}
	m := &member{flow: 1, perQuantum: 1000, target: 64}
	p.requestCredit(0, m)
	if p.sendCredit(0, 64, 4); p.NextPull() != 284444 {
		t.Errorf("the next PULL goes at %v", p.NextPull())
	}
	// after a while without packets it requests the full rate again, at the first PULL as at the first packet
	y, at := *x, x.nextChange+20*x.every
	p = &pacer{slow: x}
	p.RecordPull(at, 0)
	p.requestCredit(at, &member{flow: 2, perQuantum: 1000, target: 64})
	if p.sendCredit(at, 64, 4); p.NextPull() != at+64000 {
		t.Errorf("after a pause the next PULL goes %v later", p.NextPull()-at)
	}
	at = y.nextChange + 1000*y.every
	if y.countArrival(at, arrivals{}); y.rate != 1 || y.share != 0 || y.since.all != 1 {
		t.Errorf("after a long pause: %+v", y)
	}
	x = &y
	apart(at)
}
