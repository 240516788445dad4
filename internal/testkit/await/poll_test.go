package await

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPollShare checks the rate at which poll checks a condition: a check takes at most a tenth of the time, and a
// pause is at most 250 ms.
func TestPollShare(t *testing.T) {
	for _, x := range []struct {
		look     time.Duration // what a look takes
		min, max int           // looks in ten seconds
	}{
		{0, 500, 530},
		{time.Millisecond, 476, 520},
		{10 * time.Millisecond, 100, 101},
		{500 * time.Millisecond, 14, 14},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun, looks := time.Now(), 0
			result := poll(nil, func() bool {
				looks++
				time.Sleep(x.look)
				return time.Since(begun) > 10*time.Second
			}, func() bool { return false })
			if result != eventHappened || looks < x.min || looks > x.max {
				t.Errorf("a look of %v: %d looks, want %d to %d", x.look, looks, x.min, x.max)
			}
		})
	}
}
