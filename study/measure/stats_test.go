package measure

import (
	"math"
	"testing"
)

// TestPercentile_NeedsTenSamplesBeyond checks that a percentile needs ten samples beyond it; nearest rank.
func TestPercentile_NeedsTenSamplesBeyond(t *testing.T) {
	var sorted []float64
	for i := range 1000 {
		sorted = append(sorted, float64(i+1))
	}
	for p, want := range map[float64]float64{50: 500, 99: 990, 1: 10, 99.9: math.NaN(), 0.5: math.NaN()} {
		if got := percentile(sorted, p); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("percentile %g of 1 … 1000: %g, want %g", p, got, want)
		}
	}
	if x := percentile(sorted[:19], 50); !math.IsNaN(x) {
		t.Errorf("the median of 19 is %g; nine samples are beyond it", x)
	}
	for n := 10; n <= 20000; n += 10 { // tenths of a percent, exactly
		for tenths := 1; tenths < 1000; tenths += 9 {
			want := (n*tenths + 999) / 1000
			if n*min(tenths, 1000-tenths) < 10*1000 {
				want = 0
			}
			if got := percentileRank(uint64(n), float64(tenths)/10); got != uint64(want) {
				t.Fatalf("percentile %d/10 of %d values is number %d, want %d", tenths, n, got, want)
			}
		}
	}
	if PercentileName("fct", 99.9) != "fct_p99_9" {
		t.Error(PercentileName("fct", 99.9))
	}
}

// TestShares_AddUpPerSender checks that a sender has the sum of its flows: three of 1 and one of 3 are equal senders,
// and unequal flows.
func TestShares_AddUpPerSender(t *testing.T) {
	for _, c := range []struct {
		by   string
		want float64
	}{{"sender", 1}, {"flow", 0.75}} {
		t.Run(c.by, func(t *testing.T) {
			var s shares
			for i, x := range []float64{1, 3, 1, 1} {
				s.addFlow(c.by, []int{7, 2, 7, 7}[i], x)
			}
			if got := jainIndex(s.all); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("Jain's index of %v is %g, want %g", s.all, got, c.want)
			}
		})
	}
}
