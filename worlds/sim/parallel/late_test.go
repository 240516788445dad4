package parallel

import (
	"testing"
	"testing/synctest"
)

// Who sets a counter may lose its core before it looks for sleepers. A sleeper that has seen the value meanwhile, and
// waits for the next one, is roused too early then: it goes on waiting.
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

// Who has waited in vain for long spins less and less, and in full again now and then: so it finds out that others have
// their cores back.
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
