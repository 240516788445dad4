//go:build !race

// Left out of race: a helper of quick_test.go, which is left out.

package cli

import (
	"strings"
	"testing"

	"weir/core/jobs/job"
	"weir/internal/testkit/figuretest"
	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/measure"
	"weir/study/report"
	"weir/study/results"
)

// madeUp returns results of an experiment with made-up values: three runs at every point, with the values that its
// plots show.
func madeUp(s *experiment.Spec) *results.Outcome {
	o := &results.Outcome{Name: s.Name(), World: experiment.Sim, Spec: s}
	for i, p := range s.Points() {
		for seed := range 3 {
			o.Runs = append(o.Runs, &results.Run{Seed: uint64(seed + 1), Point: p.Coordinates(),
				End:    results.End{Reason: "time up"},
				Values: madeUpValues(s, p, float64(1+(i*7+seed)%11)*1234.567)})
		}
	}
	return o
}

func madeUpValues(s *experiment.Spec, p *experiment.Point, v float64) (x measure.Values) {
	x.Measures = s.Measures()
	for i := range x.Measures {
		m := &x.Measures[i]
		m.Value = v
		m.Groups = append([]measure.GroupValue(nil), m.Groups...)
		for k := range m.Groups {
			m.Groups[k].Value = v * float64(k+1)
		}
	}
	var names []string
	for t := range p.Entries() {
		names = append(names, p.Entry(t).Name())
	}
	for _, plot := range s.Plots() {
		groups := plot.Groups
		if groups == nil {
			groups = names
		}
		for _, g := range groups {
			switch plot.Kind {
			case plots.OverTime:
				x.Series = append(x.Series, measure.Series{Name: plot.Measure(), Unit: "bps", Group: g, StepS: 0.01,
					Values: []measure.Number{measure.Number(v), measure.Number(3 * v), 0}})
			case plots.CDF:
				x.Distributions = append(x.Distributions, measure.Distribution{Name: plot.Measure(), Unit: "s", Group: g,
					Values: []float64{1e-6 * v, 1e-4 * v}, Counts: []uint64{3, 1}})
			case plots.OverSize:
				name, _, _ := strings.Cut(plot.Y, "_")
				x.Bins = append(x.Bins, measure.Binned{Name: name, Unit: "s", Traffic: g, Percentiles: []float64{50, 95, 99},
					Bins: []measure.Bin{{ToBytes: 1e4, N: 5, Mean: measure.Number(v), Percentiles: []measure.Number{1, 2, 3}},
						{ToBytes: 3e7, N: 5, Mean: measure.Number(2 * v), Percentiles: []measure.Number{1, 2, 30}}}})
			case plots.OverRanks:
				x.Timelines = append(x.Timelines, &measure.Timeline{Traffic: g, Hosts: []string{"h0"}, Rank: []int32{0},
					Iteration: []int32{0}, Operation: []int32{0}, Does: []int8{int8(len(job.ActivityNames()) - 1)},
					BeginS: []float64{0},
					EndS:   []float64{v}})
			}
		}
	}
	return x
}

// drawPlots draws the plots of an experiment with made-up results, and returns the number of pictures. No text
// exceeds its picture in any font, and no note has a number of runs that looks like a key n of the sweep.
func drawPlots(t *testing.T, s *experiment.Spec) (drawn int64) {
	t.Helper()
	o := madeUp(s)
	for _, p := range s.Plots() {
		name := report.PlotTitle(p)
		f, err := report.PlotFigure(o, p)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if f == nil {
			continue // of quantities that are not made up
		}
		svg, err := f.Render("svg")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		drawn++
		problems, err := figuretest.FindProblems(svg)
		if err != nil || len(problems) > 0 {
			t.Errorf("%s: %v\n%s", name, err, strings.Join(problems, "\n"))
		}
		if strings.Contains(f.Note, "n = ") {
			t.Errorf("%s: the note is %q", name, f.Note)
		}
	}
	return drawn
}
