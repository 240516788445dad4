package live

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"weir/core/unit"
)

func TestStampTranslation(t *testing.T) { synctest.Test(t, stampTranslation) }

func stampTranslation(t *testing.T) {
	c := &Clock{base: time.Now(), ahead: 1_000_000, last: 5 * unit.Second}
	for ns, want := range map[int64]unit.Time{
		// up to 10 ms later
		1_000_000: 0, 999_999: 0, -5: 0, 1_000_123: 123 * unit.Nanosecond, 5_011_000_000: 5010 * unit.Millisecond,
		5_011_000_001: 5 * unit.Second, 1 << 62: 5 * unit.Second,
	} {
		if got := c.toEventTime(ns); got != want { // a bubble has no subtests
			t.Errorf("stamp %d is %v, want %v", ns, got, want)
		}
	}
}

// TestFirstSleep checks that a long sleep ends with short ones, and that a short one is not cut.
func TestFirstSleep(t *testing.T) {
	for _, x := range []struct{ all, first unit.Time }{
		{0, 0}, {1, 1}, {3 * nap, 3 * nap},
		{3*nap + 1, 2*nap + 1},
		{2 * doze, 2*doze - nap},
		{2*doze + 1, doze + 1},
		{longestSleep, longestSleep - doze},
	} {
		t.Run(fmt.Sprint("of ", x.all), func(t *testing.T) {
			if got := firstSleep(x.all); got != x.first {
				t.Errorf("of %v first %v, want %v", x.all, got, x.first)
			}
		})
	}
	for _, late := range []unit.Time{0, 50 * unit.Microsecond} {
		t.Run(fmt.Sprint("late by ", late), func(t *testing.T) { // after each but the last
			parts, left, last := 0, longestSleep, unit.Time(0)
			for ; left > 0; parts++ {
				last = firstSleep(left)
				left -= last
				if left > 0 {
					left -= late
				}
			}
			if parts > 3 || last > 3*nap {
				t.Errorf("woken %v late: %d parts, the last one %v", late, parts, last)
			}
		})
	}
}
