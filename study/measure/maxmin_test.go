package measure

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// equal returns demands of equal weight without a maximum.
func equal(uses [][]int) (out []Demand) {
	for _, u := range uses {
		out = append(out, Demand{Uses: u, Weight: 1, Max: math.Inf(1)})
	}
	return out
}

// TestWaterFillClaims checks demands with weights and maximums: one of 16 flows of one user, one user below its part,
// or all below it.
func TestWaterFillClaims(t *testing.T) {
	for _, x := range []struct {
		name    string
		demands []Demand
		want    []float64
	}{
		{"two flows of one user",
			[]Demand{{[]int{0}, .5, math.Inf(1)}, {[]int{0}, .5, math.Inf(1)}, {[]int{0}, 1, math.Inf(1)}},
			[]float64{25, 25, 50}},
		{"little wanted", []Demand{{[]int{0}, 1, 20}, {[]int{0}, 1, math.Inf(1)}}, []float64{20, 80}},
		{"more than a part", []Demand{{[]int{0}, 1, 70}, {[]int{0}, 1, math.Inf(1)}}, []float64{50, 50}},
		{"all have enough", []Demand{{[]int{0}, 1, 20}, {[]int{0}, 1, 30}}, []float64{20, 30}},
		{"nothing wanted", []Demand{{[]int{0}, 1, 0}, {[]int{0}, 1, 300}}, []float64{0, 100}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := FairShares([]float64{100}, x.demands); !slices.EqualFunc(got, x.want, func(a, b float64) bool {
				return math.Abs(a-b) < 1e-9
			}) {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
}

// TestWaterFill checks well-known shares. Cases are one link, equal links, where a long flow gets as much as the others
// on its fullest link, and a long flow that a slow link holds back, which leaves the others more.
func TestWaterFill(t *testing.T) {
	for _, x := range []struct {
		name  string
		rates []float64
		uses  [][]int
		want  []float64
	}{
		{"one link", []float64{100}, [][]int{{0}, {0}, {0}, {0}}, []float64{25, 25, 25, 25}},
		{"nobody", []float64{100}, nil, []float64{}},
		{"an idle link", []float64{100, 10}, [][]int{{0}}, []float64{100}},
		{"equal links", []float64{100, 100, 100}, [][]int{{0, 1, 2}, {0}, {1}, {2}}, []float64{50, 50, 50, 50}},
		{"more on one", []float64{100, 100}, [][]int{{0, 1}, {0}, {1}, {1}, {1}}, []float64{25, 75, 25, 25, 25}},
		{"50, 100, 25", []float64{50, 100, 25}, [][]int{{0, 1, 2}, {0}, {1}, {2}, {2}, {2}},
			[]float64{6.25, 43.75, 93.75, 6.25, 6.25, 6.25}},
		{"a narrow NIC", []float64{100, 10}, [][]int{{1, 0}, {0}, {0}}, []float64{10, 45, 45}},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := FairShares(x.rates, equal(x.uses)); !slices.EqualFunc(got, x.want, func(a, b float64) bool {
				return math.Abs(a-b) < 1e-9
			}) {
				t.Errorf("%v, want %v", got, x.want)
			}
		})
	}
}

// TestWaterFillIsFair checks the definition of the shares: they fit, and each flow has a full link where no other flow
// has more.
func TestWaterFillIsFair(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for trial := range 200 {
		t.Run(fmt.Sprint(trial), func(t *testing.T) {
			rates, uses := make([]float64, 1+random.IntN(6)), make([][]int, 1+random.IntN(12))
			for i := range rates {
				rates[i] = 1 + 99*random.Float64()
			}
			for i := range uses {
				uses[i] = random.Perm(len(rates))[:1+random.IntN(len(rates))]
			}
			shares := FairShares(rates, equal(uses))
			sum, most := make([]float64, len(rates)), make([]float64, len(rates))
			for i, of := range uses {
				for _, r := range of {
					sum[r] += shares[i]
					most[r] = max(most[r], shares[i])
				}
			}
			for r := range rates {
				if sum[r] > rates[r]+1e-9 {
					t.Errorf("resource %d has %v, and %v are used", r, rates[r], sum[r])
				}
			}
			for i, of := range uses {
				if !slices.ContainsFunc(of, func(r int) bool { return sum[r] > rates[r]-1e-9 && shares[i] > most[r]-1e-9 }) {
					t.Errorf("flow %d has %v, and could have more", i, shares[i])
				}
			}
		})
	}
}
