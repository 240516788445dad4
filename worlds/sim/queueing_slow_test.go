//go:build slow

package sim

import (
	"math"
	"testing"
)

// TestMD1Slow checks M/D/1 at loads .5, .8 and .9: at least 10⁷ packets, a 99 % interval narrower than 2 % of the mean,
// and the theory inside.
func TestMD1Slow(t *testing.T) {
	for load, packets := range map[float64]int{0.5: 10_000_000, 0.8: 20_000_000, 0.9: 60_000_000} {
		mean, half := waiting(t, load, packets)
		theory := load / (2 * (1 - load))
		t.Logf("load %.1f: wait %.4f ± %.4f service times, theory %.4f, %d packets", load, mean, half, theory, packets)
		if math.Abs(mean-theory) > half || 2*half > 0.02*mean {
			t.Errorf("load %.1f: wait %.4f ± %.4f, theory %.4f", load, mean, half, theory)
		}
	}
}
