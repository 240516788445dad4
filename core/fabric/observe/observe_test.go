package observe

import (
	"fmt"
	"testing"

	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/unit"
)

// TestOrderTracker_MatchesRFC4737Examples checks RFC 4737 §7: a late packet is reordered, and its extent is its
// distance in packets from the first that was sent after it.
func TestOrderTracker_MatchesRFC4737Examples(t *testing.T) {
	for _, x := range []struct {
		arrivals  []int
		reordered int64
		extent    int64
	}{
		{[]int{1, 2, 3, 4, 5}, 0, 0},
		{[]int{1, 2, 3, 5, 6, 7, 8, 4, 9, 10}, 1, 4},     // RFC 4737 §7.1: i = 8, j = 4
		{[]int{1, 2, 3, 4, 7, 5, 6, 8, 9, 10}, 2, 2},     // RFC 4737 §7.2: extents 1 and 2
		{[]int{1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11}, 3, 6}, // RFC 4737 §7.3: extents 4, 5 and 6
		{[]int{2, 1, 2, 1}, 2, 3},                        // what comes twice is no later than itself
	} {
		t.Run(fmt.Sprint(x.arrivals), func(t *testing.T) {
			var o OrderTracker
			for _, s := range x.arrivals {
				o.AddArrival(unit.Time(s), true)
			}
			if o.Arrived != int64(len(x.arrivals)) || o.Reordered != x.reordered || o.Extent != x.extent {
				t.Errorf("%v: %+v, want %d and %d", x.arrivals, o.Reordering, x.reordered, x.extent)
			}
		})
	}
	var o OrderTracker // what is measured counts, but what came before decides
	o.AddArrival(5, false)
	o.AddArrival(3, false)
	o.AddArrival(4, true)
	if o.Reordering != (outcome.Reordering{Arrived: 1, Reordered: 1, Extent: 2}) {
		t.Errorf("after a warm-up: %+v", o.Reordering)
	}
	var long OrderTracker // extents up to outcome.MaxExtent are told apart, also when the ring has turned
	for s := range 3 * outcome.MaxExtent {
		if s != 2*outcome.MaxExtent+7 {
			long.AddArrival(unit.Time(s), true)
		}
	}
	if long.AddArrival(2*outcome.MaxExtent+7, true); long.Extent != outcome.MaxExtent-8 || long.Reordered != 1 {
		t.Errorf("a long way back: %+v", long.Reordering)
	}
	if long.AddArrival(9, true); long.Extent != outcome.MaxExtent || len(long.latest) != outcome.MaxExtent {
		t.Errorf("further than that: %+v", long.Reordering)
	}
}

// TestSchedule_GroupsWatchesOfOnePeriod checks that watches of one period are due together, once, and watches of others
// at their own times.
func TestSchedule_GroupsWatchesOfOnePeriod(t *testing.T) {
	var s Schedule
	if s.NextSample() != unit.Never {
		t.Error("nothing to look at, and yet a time for it")
	}
	s.Add(0, 3, 10, unit.Never)
	s.Add(1, 2, 10, unit.Never)
	s.Add(2, 3, 10, unit.Never)
	got := ""
	for s.NextSample() < 17 {
		now := s.NextSample()
		got += fmt.Sprint(int64(now), s.Due(now), s.Due(now), " ")
	}
	if want := "10 [0 2 1] [] 12 [1] [] 13 [0 2] [] 14 [1] [] 16 [0 2 1] [] "; got != want {
		t.Errorf("due: %s\nwant %s", got, want)
	}
	var part Schedule // of a run
	part.Add(0, 3, 10, 16)
	part.Add(1, 3, 12, unit.Never)
	part.Add(2, 3, 10, 10)
	got = ""
	for part.NextSample() < 20 {
		now := part.NextSample()
		got += fmt.Sprint(int64(now), part.Due(now), " ")
	}
	if want := "10 [0] 12 [1] 13 [0] 15 [1] 18 [1] "; got != want {
		t.Errorf("due: %s\nwant %s", got, want)
	}
}

// TestReadPort_RefusesOtherQuantities checks that a quantity that no port has panics instead of counting packets.
func TestReadPort_RefusesOtherQuantities(t *testing.T) {
	var p tm.Port
	for q := outcome.QueuePackets; q <= outcome.MessageBytes; q++ {
		func() {
			defer func() {
				if refused := recover() != nil; refused == q.OfPort() {
					t.Errorf("quantity %d: refused is %v", q, refused)
				}
			}()
			if got := ReadPort(q, &p); got != 0 {
				t.Errorf("quantity %d of an idle port is %d", q, got)
			}
		}()
	}
}
