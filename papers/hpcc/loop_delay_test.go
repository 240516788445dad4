package hpcc

import (
	"math"
	"testing"
)

// delayedLoop commits windows of which U shows the one of lag commits before, and returns the largest distance of the
// last hundred from the target, as a factor.
func delayedLoop(t *testing.T, lag, maxStage int) (swing float64) {
	t.Helper()
	l, err := newLaw(flow(), Config{Eta: 0.95, MaxStage: maxStage, WAI: 0, T: 10 * us})
	if err != nil {
		t.Fatal(err)
	}
	const target = 50_000
	history := make([]float64, lag+1)
	for i := range history {
		history[i] = target * 1.05
	}
	l.ref.wc, swing = history[lag], 1
	for n := range 1000 {
		l.ref.u = 0.95 * history[0] / target
		history = append(history[1:], l.computeWind(&l.ref, true))
		if n >= 900 {
			swing = max(swing, math.Exp(math.Abs(math.Log(history[lag]/target))))
		}
	}
	return swing
}

// A multiplicative commit is right if U shows the last window. If it shows one before, windows swing for ever; with
// additive stages, more than the lag, they do not (doc.go, The loop with traffic both ways).
func TestLoopWithDelay(t *testing.T) {
	for _, x := range []struct {
		lag, maxStage int
		min, max      float64
	}{
		{0, 0, 1, 1.001}, {1, 0, 1.03, 1.2}, {2, 0, 2, math.Inf(1)}, {3, 0, 2, math.Inf(1)},
		{1, 2, 1, 1.06}, {1, 5, 1, 1.06}, {2, 5, 1, 1.2}, {3, 5, 1, 1.3},
	} {
		if swing := delayedLoop(t, x.lag, x.maxStage); swing < x.min || swing > x.max {
			t.Errorf("lag %d, max_stage %d: windows are %.4g times off; %v to %v expected", x.lag, x.maxStage, swing,
				x.min, x.max)
		}
	}
}
