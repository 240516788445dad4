package claim

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestIntervalQuantile_MatchesTables checks quantiles of Student's t as tables print them, two-sided, by confidence and
// n.
func TestIntervalQuantile_MatchesTables(t *testing.T) {
	for _, c := range []struct {
		n          int
		confidence float64
		want       float64
	}{
		{2, 0.90, 6.314}, {2, 0.95, 12.706}, {2, 0.99, 63.657}, {5, 0.90, 2.132}, {5, 0.95, 2.776}, {5, 0.99, 4.604},
		{11, 0.90, 1.812}, {11, 0.95, 2.228}, {11, 0.99, 3.169}, {31, 0.95, 2.042}, {101, 0.95, 1.984},
	} {
		t.Run(fmt.Sprintf("n = %d at %g", c.n, c.confidence), func(t *testing.T) {
			if got := IntervalQuantile(c.n, c.confidence); math.Abs(got-c.want) > 0.0006 {
				t.Errorf("%.4f, tables say %.3f", got, c.want)
			}
		})
	}
	for n := 2; n < 3000; n += 1 + n/50 {
		for _, confidence := range []float64{0.5, 0.8, 0.9, confidence, 0.99, 0.999} {
			x := distuv.StudentsT{Sigma: 1, Nu: float64(n - 1)}.Quantile((1 + confidence) / 2)
			if got := IntervalQuantile(n, confidence); got != x {
				t.Errorf("%d, %v: %v, gonum's is %v", n, confidence, got, x)
			}
		}
	}
	if !math.IsNaN(IntervalQuantile(1, 0.95)) {
		t.Error("a sample of one has an interval")
	}
}

// TestRelativeWidth_MatchesValuesByHand checks the relative width of intervals by hand: of 9, 10, 10, 10, 11 the mean
// is 10, the variance 2/4, and the standard error √(0.5/5) = 0.3162.
func TestRelativeWidth_MatchesValuesByHand(t *testing.T) {
	for _, c := range []struct {
		name  string
		x     []float64
		at    float64
		share float64
	}{
		{"at 95 %", []float64{9, 10, 10, 10, 11}, 0.95, 2.776 * 0.31623 / 10},
		{"at 90 %", []float64{9, 10, 10, 10, 11}, 0.90, 2.132 * 0.31623 / 10},
		{"of negative values", []float64{-9, -10, -10, -10, -11}, 0.95, 2.776 * 0.31623 / 10},
		{"of two", []float64{1, 3}, 0.95, 12.706 * 1 / 2},
		{"without spread", []float64{7, 7, 7}, 0.95, 0},
		{"of nothing", []float64{0, 0, 0}, 0.95, 0},
		{"of a mean of 0", []float64{-1, 1}, 0.95, math.Inf(1)},
		{"of what is not defined", []float64{1, math.NaN(), 1}, 0.95, math.NaN()},
		{"of one", []float64{1}, 0.95, math.NaN()},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := RelativeWidth(c.x, IntervalQuantile(len(c.x), c.at))
			if same := got == c.share || math.IsNaN(got) && math.IsNaN(c.share); !same && !(math.Abs(got/c.share-1) < 0.0003) {
				t.Errorf("%v, want %v", got, c.share)
			}
			mean, half := MeanInterval(c.x)
			if c.at == confidence && got > 0 && !math.IsInf(got, 0) && got != half/math.Abs(mean) {
				t.Errorf("reports have %v", half/math.Abs(mean))
			}
		})
	}
}
