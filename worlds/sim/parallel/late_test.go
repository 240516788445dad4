package parallel

import (
	"testing"
	"testing/synctest"
)

// TestRousedTooEarly checks a thread that sets a counter and may lose its core before it looks for sleepers. A sleeper
// that has read the value meanwhile, and waits for the next, is then roused too early: it continues to wait.
func TestRousedTooEarly(t *testing.T) {
	for _, spins := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			var x counter
			s := newSleeper(spins)
			x.Store(1)
			s.awaitValue(&x, 1) // without sleeping: no thread has roused it
			back := make(chan uint32)
			go func() {
				s.awaitValue(&x, 2)
				back <- x.Load()
			}()
			if synctest.Wait(); !s.parked.Load() {
				t.Fatal("it does not sleep")
			}
			s.wakeIfParked() // for 1
			synctest.Wait()
			select {
			case is := <-back:
				t.Fatalf("%d spins: it has waited for 2 and comes back at %d", spins, is)
			default:
			}
			x.Store(2)
			s.wakeIfParked()
			if is := <-back; is != 2 {
				t.Errorf("%d spins: it has waited for 2 and comes back at %d", spins, is)
			}
		})
	}
}

// TestSleeper_ReducesUnnecessarySpins checks that a thread with many unnecessary spins spins less and less, and
// sometimes in full. So it detects that others have their cores back.
func TestSleeper_ReducesUnnecessarySpins(t *testing.T) {
	s := newSleeper(maxSpins)
	full := 0
	for range 10 * tryAgain {
		switch n := s.spinLimit(); {
		case n == maxSpins:
			full++
		case s.vain > maxVain+20 && n > 0:
			t.Fatalf("%d spins after %d times in vain", n, s.vain)
		}
		s.vain++
	}
	if full < 10 || full > 10+maxVain {
		t.Errorf("%d of %d waits spin in full", full, 10*tryAgain)
	}
	var x counter
	x.Store(1)
	s.vain = 5 * tryAgain
	if s.awaitValue(&x, 1); s.vain != 0 {
		t.Errorf("a wait that was not in vain leaves %d", s.vain)
	}
}
