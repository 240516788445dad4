package hpcc

import (
	"math"
	"testing"
)

// delayedLoop commits windows count times. U shows the window of lag commits before. The first windows are off the
// target by the given factor. It returns the logarithm of each window over the target.
func delayedLoop(t *testing.T, lag, maxStage, count int, factor float64) (offsets []float64) {
	t.Helper()
	l, err := newLaw(newFlow(), Config{Eta: 0.95, MaxStage: maxStage, WAI: 0, T: 10 * us})
	if err != nil {
		t.Fatal(err)
	}
	const target = 50_000
	history := make([]float64, lag+1)
	for i := range history {
		history[i] = target * factor
	}
	l.ref.wc = history[lag]
	for range count {
		l.ref.u = 0.95 * history[0] / target
		history = append(history[1:], l.computeWind(&l.ref, true))
		offsets = append(offsets, math.Log(history[lag]/target))
	}
	return offsets
}

// amplitude returns the largest distance from 0.
func amplitude(offsets []float64) (largest float64) {
	for _, x := range offsets {
		largest = max(largest, math.Abs(x))
	}
	return largest
}

// TestLoopWithDelay checks that a multiplicative commit is right if U shows the last window. If it shows an earlier
// one, windows oscillate forever; with more additive stages than the lag they do not
// (docs/papers/hpcc.md#why-windows-swing).
func TestLoopWithDelay(t *testing.T) {
	for _, x := range []struct {
		lag, maxStage int
		min, max      float64
	}{
		{0, 0, 1, 1.001}, {1, 0, 1.03, 1.2}, {2, 0, 2, math.Inf(1)}, {3, 0, 2, math.Inf(1)},
		{1, 1, 1, 1.06}, {1, 2, 1, 1.06}, {1, 5, 1, 1.06}, {2, 5, 1, 1.2}, {3, 5, 1, 1.3},
	} {
		swing := math.Exp(amplitude(delayedLoop(t, x.lag, x.maxStage, 1000, 1.05)[900:]))
		if swing < x.min || swing > x.max {
			t.Errorf("lag %d, max_stage %d: windows are %.4g times off; %v to %v expected", x.lag, x.maxStage, swing,
				x.min, x.max)
		}
	}
}

// TestGrowthWithDelay checks that without additive stages a small oscillation stays constant with a lag of one commit.
// With a longer lag it grows by the largest root of z^(lag+1) = z^lag − 1: 15 to 19 % a commit.
func TestGrowthWithDelay(t *testing.T) {
	for lag, want := range map[int]float64{1: 1, 2: 1.1509, 3: 1.1838, 4: 1.1875, 5: 1.1826} {
		offsets := delayedLoop(t, lag, 0, 130, 1+1e-12)
		growth := math.Pow(amplitude(offsets[80:])/amplitude(offsets[30:80]), 1./50)
		if math.Abs(growth-want) > 0.01 {
			t.Errorf("lag %d: the swing grows by a factor of %.4f a commit; %.4f expected", lag, growth, want)
		}
	}
}
