package parallel

import (
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGroup_RunsEachPartOncePerWindow checks that every part runs once a window, and no window begins before the last
// one has ended, with fewer and with more threads than cores. A late part returns when all others are parked: only then
// does the time of a bubble pass.
func TestGroup_RunsEachPartOncePerWindow(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 9} {
		synctest.Test(t, func(t *testing.T) {
			c := New(parts, false, nil)
			var done atomic.Int64
			counts := make([]int, parts)
			for window := range 500 {
				c.Window(func(k int) {
					if n := done.Load(); n < int64(window*parts) {
						t.Errorf("%d parts: window %d begins after %d", parts, window, n)
					}
					if counts[k]++; window%100 == k {
						time.Sleep(time.Millisecond)
					}
					done.Add(1)
				})
			}
			c.End()
			for k, n := range counts {
				if n != 500 {
					t.Errorf("%d parts: part %d was carried out %d times of 500", parts, k, n)
				}
			}
		})
	}
}

// TestGroupPanics checks that a panic of any thread is the run's, after the others have ended, and its threads end.
func TestGroupPanics(t *testing.T) {
	for failing := range 3 {
		synctest.Test(t, func(t *testing.T) { // which fails if a thread does not end
			c := New(3, false, nil)
			defer c.End()
			defer func() {
				p := recover()
				if s, _ := p.(string); !strings.Contains(s, "a mistake") {
					t.Errorf("thread %d: %v", failing, p)
				}
			}()
			for range 3 {
				c.Window(func(k int) {
					if k == failing {
						panic("a mistake")
					}
				})
			}
			t.Errorf("thread %d: nothing", failing)
		})
	}
}

// TestCollectionWhileWaiting checks that a garbage collection does not wait forever for a waiting thread.
func TestCollectionWhileWaiting(t *testing.T) {
	c := New(2, false, nil)
	defer c.End()
	for range 20 {
		c.Window(func(k int) {
			if k == 1 {
				runtime.GC()
			}
		})
	}
}

// TestPace_ChoosesFasterMode checks that a run changes to one thread while that is faster, tries again, and uses
// all threads when they are faster.
func TestPace_ChoosesFasterMode(t *testing.T) {
	now := time.Unix(0, 0)
	p := newPace(now)
	events := uint64(0)
	// pass lets a time pass in which an event takes the given ns, and returns the share of the time in which all
	// threads worked.
	pass := func(d time.Duration, aloneNs, togetherNs int) float64 {
		var spent [2]time.Duration
		for end := now.Add(d); now.Before(end); {
			ns := aloneNs
			if p.current == together {
				ns = togetherNs
			}
			step := time.Duration(ns) * clockEvents
			spent[p.current] += step
			now, events = now.Add(step), events+clockEvents
			p.endStretch(now, events)
		}
		return float64(spent[together]) / float64(spent[single]+spent[together])
	}
	if share := pass(20*time.Second, 100, 60); share < 0.97 {
		t.Errorf("all threads are faster, and work for %.2f of the time", share)
	}
	pass(maxStay+time.Second, 100, 300) // it takes so long at most to see that
	if share := pass(20*time.Second, 100, 300); share > 0.03 {
		t.Errorf("one thread is faster, and all work for %.2f of the time", share)
	}
	if share := pass(20*time.Second, 100, 100); share > 0.03 {
		t.Errorf("it is all the same, and all work for %.2f of the time", share)
	}
}
