package experiment_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

const ratioSpec = claimSpec + `ratio:
  - {of: [goodput, jain], over: {rate: 1Mbps}}
  - {of: goodput, over: {rate: 4Mbps}, as: of_best}
plot: [{x: rate, y: goodput_ratio}]
expect: [{id: x, says: y, where: {rate: 2Mbps}, that: goodput_ratio.a < 0.75}]
`

// ratioRuns returns made-up runs: goodput.a is x of the point and seed.
func ratioRuns(s *experiment.Spec, x func(point, seed int) float64) (runs []*results.Run) {
	for k, r := range plan.ListRuns(s) {
		i, seed := k/s.Repeat(), k%s.Repeat()
		if v := x(i, seed); v >= 0 {
			runs = append(runs, &results.Run{Seed: r.Seed, Point: r.Point, Values: measure.Values{
				Measures: []measure.Measured{{Name: "goodput", Unit: "bps", Groups: []measure.GroupValue{{Group: "a", Value: v},
					{Group: "b", Value: 0}}}, {Name: "jain", Value: v / 8}}}})
		}
	}
	return runs
}

// ratiosOf returns the ratios of one name, by run. NaN is an undefined ratio, and +Inf a missing one.
func ratiosOf(runs []*results.Run, name string) (out []float64) {
	for _, r := range runs {
		v := math.Inf(1) // it is not there
		for _, m := range r.Ratios {
			if m.Name != name {
				continue
			}
			if v = m.Value; m.Groups != nil {
				v = m.Groups[0].Value
			}
		}
		out = append(out, v)
	}
	return out
}

// TestRatios_PairRunsOfOneSeed checks that a ratio pairs runs of one seed. An effect that a seed has at both points is
// neither in the ratio nor in its interval.
func TestRatios_PairRunsOfOneSeed(t *testing.T) {
	s := plantest.Load(t, room(), strings.Replace(ratioSpec, "repeat: 2", "repeat: 3", 1), experiment.Options{})
	luck := []float64{1, 40, 7}
	runs := ratioRuns(s, func(point, seed int) float64 { return luck[seed] * []float64{1, 0.5, 2}[point] })
	claims := results.JudgeClaims(s, runs, s.Repeat())
	for name, want := range map[string][]float64{
		"goodput_ratio":   {1, 1, 1, 0.5, 0.5, 0.5, 2, 2, 2},
		"jain_ratio":      {1, 1, 1, 0.5, 0.5, 0.5, 2, 2, 2},
		"goodput_of_best": {0.5, 0.5, 0.5, 0.25, 0.25, 0.25, 1, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := ratiosOf(runs, name); !slices.Equal(got, want) {
				t.Errorf("%v, want %v", got, want)
			}
		})
	}
	if v := runs[0].Ratios[0].Groups[1].Value; !math.IsNaN(v) {
		t.Errorf("0 over 0 is %v", v)
	}
	if c := claims[0]; c.Verdict != "holds" || !strings.Contains(c.Measured, "goodput_ratio.a = 0.5 < 0.75") {
		t.Errorf("%s: %s", c.Verdict, c.Measured)
	}
	if strings.Contains(string(runs[0].EncodeJSON(true)), "ratio") || !strings.Contains(string(runs[0].EncodeJSON(false)),
		`"goodput_ratio":{"a":1,"b":null}`) {
		t.Error("a ratio is of all runs: not in the run's own file, but in the document of all")
	}
	if s.RatioReference("goodput_of_best") != "4Mbps" || s.RatioReference("goodput") != "" {
		t.Errorf("over %q and %q", s.RatioReference("goodput_of_best"), s.RatioReference("goodput"))
	}
}

// TestRatiosMissing checks that without the reference's run of the same seed a ratio is undefined. Other seeds' runs do
// not replace it.
func TestRatiosMissing(t *testing.T) {
	s := plantest.Load(t, room(), ratioSpec, experiment.Options{})
	runs := ratioRuns(s, func(point, seed int) float64 {
		if point == 0 && seed == 1 {
			return -1 // interrupted
		}
		return 3
	})
	if c := results.JudgeClaims(s, runs, s.Repeat())[0]; c.Verdict != "undecided" {
		t.Errorf("%s: %s", c.Verdict, c.Measured)
	}
	if got, want := fmt.Sprint(ratiosOf(runs, "goodput_ratio")), "[1 1 NaN 1 NaN]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestRatiosNarrowed checks that a sweep without the reference has no ratios. This is no error if options have left the
// reference out.
func TestRatiosNarrowed(t *testing.T) {
	s := plantest.Load(t, room(), ratioSpec, experiment.Options{Set: []string{"rate=[2Mbps, 4Mbps]"}})
	runs := ratioRuns(s, func(int, int) float64 { return 3 })
	results.JudgeClaims(s, runs, s.Repeat())
	if got, want := fmt.Sprint(ratiosOf(runs, "goodput_ratio")), "[NaN NaN NaN NaN]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
