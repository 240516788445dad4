//go:build !race

// Left out of race: the whole catalogue is loaded, without goroutines.

package cli

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/measure"
	"weir/study/plan"
)

// TestQuickVariants checks that the quick variant of every experiment shows the figure that it is named after. Each
// plot has points, and several places on its axis if the whole sweep has; claims and the paper's values match
// points.
//
// The resolved text, as results folders have it, is the same experiment: it has the same points, seeds, ids of runs
// and resolved text. The same is true for one point with other seeds. Its plots can be drawn. Lists show its title
// and paper.
func TestQuickVariants(t *testing.T) {
	var loaded, drawn atomic.Int64
	t.Cleanup(func() { // when all subtests have ended
		if loaded.Load() == int64(len(catalogue())) && drawn.Load() < 100 {
			t.Errorf("only %d figures were drawn", drawn.Load())
		}
	})
	eachExperiment(t, func(t *testing.T, e entry) {
		quick := mustLoad(t, e.name, experiment.Options{Quick: true})
		if e.list.Title != quick.Title() || e.list.Paper != quick.Paper() {
			t.Errorf("listed as %q of %v; it is %q of %v", e.list.Title, e.list.Paper, quick.Title(), quick.Paper())
		}
		for _, missing := range leftOut(e.mustFull(t).points, quick) {
			t.Error("--quick leaves out", missing)
		}
		sameResolved(t, "quick", quick)
		if s, ok := lastPoint(quick); ok {
			sameResolved(t, "the last point", s)
		}
		drawn.Add(drawPlots(t, quick))
		loaded.Add(1)
	})
}

// leftOut returns the plots, claims and values of an experiment that its narrower variant cannot show. The argument
// whole has the points of the experiment.
func leftOut(whole [][]measure.Coordinate, quick *experiment.Spec) (missing []string) {
	narrow := coordinates(quick)
	for i, p := range quick.Plots() {
		name := fmt.Sprintf("plot %d, %s over %s", i+1, p.Y, p.X)
		if places(narrow, p, "") == 0 {
			missing = append(missing, name+": no point is left")
			continue
		}
		keys := p.Lines
		if p.Kind == plots.OverSweep {
			keys = append([]string{p.X}, keys...)
		}
		for _, key := range keys {
			if key != "traffic" && places(whole, p, key) > 1 && places(narrow, p, key) < 2 {
				missing = append(missing, fmt.Sprintf("%s: one value of %s is left", name, key))
			}
		}
	}
	for _, c := range quick.JudgeClaims(unmeasured(quick), quick.Repeat()) {
		if c.N == 0 {
			missing = append(missing, fmt.Sprintf("claim %s: no run bears on it", c.ID))
		}
	}
	for _, v := range quick.PaperValues() {
		if !slices.ContainsFunc(quick.Points(), func(p *experiment.Point) bool { return v.Matches(p.Coordinates()) }) {
			missing = append(missing, fmt.Sprintf("the paper's %s (%s): no point is left", v.Name(), v.Source))
		}
	}
	return missing
}

// places returns the number of values of a sweep key that a plot has, or, without a key, of its points.
func places(points [][]measure.Coordinate, p plots.Plot, key string) int {
	values := map[string]bool{}
	for _, at := range points {
		if !p.Matches(at) {
			continue
		}
		value := measure.PointName(at)
		for _, c := range at {
			if key == c.Key {
				value = c.Text
			}
		}
		values[value] = true
	}
	return len(values)
}

// unmeasured returns all runs of an experiment as if they were finished with undefined values.
func unmeasured(s *experiment.Spec) (runs []claim.FinishedRun) {
	for _, r := range plan.ListRuns(s) {
		runs = append(runs, claim.FinishedRun{Point: r.Point, Seed: r.Seed, Values: &measure.Values{}})
	}
	return runs
}

// silent lists the experiments without numbers of a paper, with the reason. A star stands for the rest of a name.
var silent = map[string]string{
	"ai/all-*": "ours", "ai/faults": "ours", "ai/lockstep": "ours", "ai/storage": "ours", "ai/trimming": "ours",
	"ai/two-jobs": "ours",
	"bench/*":     "no paper has them", "ncf/*": "the paper has no evaluation",
	"p4abc/fig4*": "the paper draws figure 4 and says no number", "p4abc/prototype-fig4": "as fig4",
	"p4abc/prototype-single": "ours", "p4abc/single": "ours",
	"p4abc/fig5-200": "four times the paper's rates", "p4abc/fig6-200": "four times the paper's rates",
	"p4abc/fig6-stalls": "R0 ends at 80 Mb/s, and the paper's number is for very large ones",
	"p4abc/aggregates":  "ours", "p4abc/calls": "ours", "p4abc/two-way": "ours", "p4abc/cbr-references": "ours",
	"p4abc/compare-search": "ours",
	"p4abc/delay-*":        "ours", "p4abc/domain*": "ours", "p4abc/dual-stack": "ours", "p4abc/fair-meter": "ours",
	"p4abc/flows":  "ours",
	"p4abc/forged": "ours", "p4abc/joins": "ours", "p4abc/mixes": "ours", "p4abc/plans": "ours",
	"p4abc/references": "ours", "p4abc/scale*": "ours", "p4abc/sensitivity": "another buffer", "p4abc/uploads": "ours",
	"p4te/figure11*": "the paper draws packets of ports and says no number", "p4te/gains*": "another network",
	"p4te/ablation": "ours", "p4te/clocks": "ours", "p4te/compose": "ours", "p4te/failure": "ours",
	"p4te/lab*": "another network", "p4te/light-load": "ours", "p4te/lone": "ours",
	"hpcc/joins": "the paper draws figure 9g and says no number", "hpcc/rates": "so it does with figure 6",
	"hpcc/incast16-reaction": "and with figure 13", "hpcc/flow-control": "and with figure 12",
	"hpcc/long-short": "the paper counts from the end of the short flow, the measure from its start",
	"hpcc/hadoop-30":  "not drawn in the paper", "hpcc/hadoop-50-incast": "not drawn in the paper",
	"hpcc/websearch-*": "not drawn in the paper, whose numbers are of a testbed", "hpcc/capture": "theory",
	"hpcc/clocks": "ours", "hpcc/collectives*": "ours", "hpcc/every-nth": "ours", "hpcc/fairness*": "theory",
	"hpcc/lab*": "ours", "hpcc/mixed-nics": "ours", "hpcc/overhead": "ours", "hpcc/parameters": "ours",
	"hpcc/parking-lot": "theory", "hpcc/paths-*": "ours", "hpcc/thinning": "ours", "hpcc/wan": "ours",
	"hpcc/short-paths": "ours", "hpcc/two-way*": "ours: the papers measure one direction",
}

// TestPaperValues checks that every experiment has the numbers of its paper, or an entry in silent with the reason.
// It also checks that every entry matches an experiment.
func TestPaperValues(t *testing.T) {
	used := map[string]bool{}
	for _, x := range catalogue() {
		values, why := x.mustFull(t).values, ""
		for pattern := range silent {
			if ok, _ := path.Match(pattern, x.name); ok {
				why, used[pattern] = pattern, true
			}
		}
		if (len(values) > 0) == (why != "") {
			t.Errorf("%s has %d numbers of its paper, and the reason why there are none is %q", x.name,
				len(values), silent[why])
		}
	}
	for pattern := range silent {
		if !used[pattern] {
			t.Errorf("no experiment is %s", pattern)
		}
	}
}

// TestLeftOut checks that leftOut finds missing points, axes and lines of a plot, missing points of a claim and of
// its references, and missing numbers of the paper.
func TestLeftOut(t *testing.T) {
	const text = `
duration: 1s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 10Mbps, delay: 1ms}, {ends: [s, b], rate: 10Mbps, delay: 1ms}]
switch: [forward]
paper: {name: p4-abc, values: [{where: {rate: 2Mbps}, goodput.x: 2Mbps, source: §6.2.1}]}
traffic: [{name: x, from: a, to: b, transport: {udp: {rate: $rate, pattern: $pattern}}, start: 0s}]
sweep: {rate: [1Mbps, 2Mbps, 3Mbps], pattern: [cbr, poisson]}
quick: %s
measure: [goodput]
plot:
  - {x: rate, y: goodput, lines: [pattern]}
  - {x: rate, y: goodput, where: {rate: [1Mbps, 2Mbps]}}
expect:
  - {id: low, says: x, where: {rate: 1Mbps}, that: goodput.x > 0.5Mbps}
  - {id: rises, says: x, along: rate, that: next.goodput.x > goodput.x}
  - {id: more, says: x, where: {rate: 3Mbps}, that: goodput.x > point(rate='1Mbps').goodput.x}
`
	for _, c := range []struct{ name, quick, want string }{
		{"nothing", "{rate: [1Mbps, 2Mbps, 3Mbps]}", ""},
		{"axis", "{rate: [1Mbps, 3Mbps]}", "plot 2, goodput over rate: one value of rate is left; " +
			"the paper's goodput.x (§6.2.1): no point is left"},
		{"lines", "{pattern: [cbr]}", "plot 1, goodput over rate: one value of pattern is left"},
		{"points", "{rate: [3Mbps]}", "plot 1, goodput over rate: one value of rate is left; " +
			"plot 2, goodput over rate: no point is left; claim low: no run bears on it; claim rises: no run bears on it; " +
			"claim more: no run bears on it; the paper's goodput.x (§6.2.1): no point is left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Registry()
			src := &experiment.Source{Name: "x", File: "x.yaml", Data: fmt.Appendf(nil, text, c.quick)}
			whole, err := experiment.Load(r, src, experiment.Options{}, untried{})
			if err != nil {
				t.Fatal(err)
			}
			quick, err := experiment.Load(r, src, experiment.Options{Quick: true}, untried{})
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(leftOut(coordinates(whole), quick), "; "); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}
