package report

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/study/experiment/plots"
	"weir/study/figure"
	"weir/study/measure"
	"weir/study/results"
)

// swept returns the points of runs with the given number of seeds, for a sweep key n and a scheme, with two traffics.
func swept(values []float64, schemes []string, seeds int) (points []PointSummary) {
	var runs []*results.Run
	for _, scheme := range schemes {
		for _, v := range values {
			for seed := range seeds {
				y := 10 + v + float64(len(scheme)) + float64(seed)
				runs = append(runs, &results.Run{Seed: uint64(seed + 1),
					Point: []measure.Coordinate{{Key: "scheme", Text: scheme},
						{Key: "n", Text: strconv.FormatFloat(v, 'g', -1, 64), Value: v, IsNum: true}},
					Values: measure.Values{Measures: []measure.Measured{{Name: "goodput", Unit: "bps",
						Groups: []measure.GroupValue{{Group: "a", Value: 1e6 * y}, {Group: "b", Value: 2e6 * y}}},
						{Name: "queue", Unit: "packets", Groups: []measure.GroupValue{{Group: "mean", Value: y},
							{Group: "p99", Value: 2 * y}}}},
						Series: []measure.Series{{Name: "queue", Unit: "packets", Group: "s->a", StepS: 1,
							Values: []measure.Number{1, measure.Number(y), 3}}},
						Distributions: []measure.Distribution{{Name: "queue", Unit: "packets", Group: "s->a",
							Values: []float64{0, y}, Counts: []uint64{93, 7}}}}})
			}
		}
	}
	return SummarizePoints(runs)
}

// figureOf returns the figure of a plot.
func figureOf(t *testing.T, p plots.Plot, points []PointSummary) *figure.Figure {
	t.Helper()
	f, err := (&worlds{own: points}).newFigure(p)
	if err != nil || f == nil {
		t.Fatalf("%s: %v", PlotTitle(p), err)
	}
	if _, err := f.Render("svg"); err != nil {
		t.Fatalf("%s: %v", PlotTitle(p), err)
	}
	return f
}

// TestTimelines_HavePanelPerPointAndJob checks that a timeline has a panel for each point and job. It has its ranks in
// their order where there is room for all, and otherwise those that wait least. The note has what is left out.
func TestTimelines_HavePanelPerPointAndJob(t *testing.T) {
	line := func(ranks int) *measure.Timeline {
		x := &measure.Timeline{Traffic: "train"}
		for r := range int32(ranks) {
			x.Hosts = append(x.Hosts, fmt.Sprint("h", r))
			wait := 1e-3 * float64((r*7)%int32(ranks)+1) // rank 0 waits least
			x.Rank, x.Iteration, x.Operation = append(x.Rank, r, r), append(x.Iteration, 0, 0), append(x.Operation, -1, 0)
			x.Does, x.BeginS, x.EndS = append(x.Does, 1, 0), append(x.BeginS, 0, 1), append(x.EndS, 1, 1+wait)
		}
		return x
	}
	of := func(points ...int) (out []PointSummary) {
		var runs []*results.Run
		for i, ranks := range points {
			runs = append(runs, &results.Run{Seed: 1, Point: []measure.Coordinate{{Key: "n", Text: strconv.Itoa(i)}},
				Values: measure.Values{Timelines: []*measure.Timeline{line(ranks)}}})
		}
		return SummarizePoints(runs)
	}
	plot := plots.Plot{Kind: plots.OverRanks, DrawnAs: plots.KindTimeline, X: "time"}
	f := figureOf(t, plot, of(5, 40))
	if len(f.Panels) != 2 || f.Panels[0].Title != "n=0 train" || len(f.Panels[0].Rows.Names) != 5 ||
		f.Panels[0].Rows.Names[4] != "4 h4" || len(f.Panels[1].Rows.Names) != 32 || f.Panels[1].Rows.Names[0] != "0 h0" {
		t.Errorf("%+v", f.Panels)
	}
	if !strings.Contains(f.Note, "of the 40 ranks of train, the 32 that wait least") {
		t.Error(f.Note)
	}
	plot.Ranks = []int{3, 1}
	if f = figureOf(t, plot, of(5)); !slices.Equal(f.Panels[0].Rows.Names, []string{"3 h3", "1 h1"}) ||
		!strings.Contains(f.Note, "2 of the 5 ranks of train") {
		t.Errorf("%v; %s", f.Panels[0].Rows.Names, f.Note)
	}
	f = figureOf(t, plot, of(2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2))
	if len(f.Panels) != 12 || !strings.Contains(f.Note, "the first 12 of 14 jobs and points") {
		t.Errorf("%d panels; %s", len(f.Panels), f.Note)
	}
	if data, err := f.CSV(); err != nil || !strings.Contains(string(data), "n=0 train,computing,span,1 h1,0,,0,1,,,,0\n") {
		t.Errorf("%s, %v", data, err)
	}
	if none, err := (&worlds{own: swept([]float64{1}, []string{"a"}, 1)}).newFigure(plot); none != nil || err != nil {
		t.Errorf("without a timeline: %v, %v", none, err)
	}
}

// texts returns the texts of a drawing.
func texts(t *testing.T, f *figure.Figure) (all []string) {
	t.Helper()
	svg, err := f.Render("svg")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`>([^<>]+)</text>`).FindAllStringSubmatch(string(svg), -1) {
		all = append(all, m[1])
	}
	return all
}

// named returns n names.
func named(n int) (all []string) {
	for k := range n {
		all = append(all, fmt.Sprintf("scheme%02d", k))
	}
	return all
}

// TestFigure_NoteNamesOmittedGroups checks that of a measure that is not by traffic the first group is drawn, and the
// plot names the omitted ones.
func TestFigure_NoteNamesOmittedGroups(t *testing.T) {
	f := figureOf(t, plots.Plot{X: "n", Y: "queue", Lines: []string{"scheme"}}, swept([]float64{1, 2},
		[]string{"abc"}, 2))
	if !strings.Contains(f.Note, "only mean is shown, not p99") {
		t.Errorf("the note is %q", f.Note)
	}
	f = figureOf(t, plots.Plot{X: "n", Y: "goodput", Lines: []string{"scheme", "traffic"}},
		swept([]float64{1}, []string{"x"}, 1))
	if strings.Join(f.Names, ",") != "x a,x b" || strings.Contains(f.Note, "only") {
		t.Errorf("%q, %q", f.Names, f.Note)
	}
}

// TestOneTraffic checks that one traffic can be chosen.
func TestOneTraffic(t *testing.T) {
	f := figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"b"}}, swept([]float64{1, 2}, []string{"x"},
		1))
	if len(f.Panels[0].Marks) != 1 || f.Panels[0].Marks[0].Y[0] != 24 || f.Title != "goodput of b over n" {
		t.Errorf("%q: %+v", f.Title, f.Panels[0].Marks)
	}
}

// TestManyCurves checks that up to 16 curves are one panel, with a style each. More are small multiples, which have
// every curve.
func TestManyCurves(t *testing.T) {
	for _, n := range []int{1, 16, 17, 40, 300} {
		t.Run(fmt.Sprint(n, " curves"), func(t *testing.T) {
			f := figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}, Lines: []string{"scheme"}},
				swept([]float64{1, 2, 3}, named(n), 1))
			marks, most := 0, 0
			for _, p := range f.Panels {
				marks, most = marks+len(p.Marks), max(most, len(p.Marks))
			}
			if marks != n || most > figure.MaxSeries || (len(f.Panels) > 1) != (n > 16) {
				t.Errorf("%d curves in %d panels, up to %d in one", marks, len(f.Panels), most)
			}
			all := texts(t, f)
			for _, name := range named(n) {
				if n > 1 && !slices.ContainsFunc(all, func(s string) bool { return strings.Contains(s, name) }) {
					t.Errorf("%s is not named", name)
				}
			}
		})
	}
	f := figureOf(t, plots.Plot{X: "n", Y: "goodput", Lines: []string{"scheme", "traffic"}},
		swept([]float64{1, 2}, named(12), 1))
	if len(f.Panels) != 2 || f.Panels[0].Title != "a" || len(f.Names) != 12 {
		t.Errorf("24 curves of 12 schemes and 2 traffics: %d panels, %d names", len(f.Panels), len(f.Names))
	}
}

// TestManySeries checks the same for 30 series over time: none is omitted.
func TestManySeries(t *testing.T) {
	f := figureOf(t, plots.Plot{Kind: plots.OverTime, X: "time", Y: "queue"}, swept([]float64{1, 2, 3},
		named(10), 1))
	marks := 0
	for _, p := range f.Panels {
		marks += len(p.Marks)
	}
	if marks != 30 || len(f.Panels) != 3 || strings.Contains(f.Note, "not shown") {
		t.Errorf("%d of 30 series in %d panels: %s", marks, len(f.Panels), f.Note)
	}
}

// TestCategoriesAreBars checks that words are bars, from 0 on, without a line between them. Numbers are lines.
func TestCategoriesAreBars(t *testing.T) {
	points := swept([]float64{1, 2, 3}, []string{"abc", "none"}, 3)
	f := figureOf(t, plots.Plot{X: "scheme", Y: "goodput", Groups: []string{"a"}}, points)
	for _, m := range f.Panels[0].Marks {
		if m.Form != figure.Bars || !f.Y.IncludeZero || m.Low == nil {
			t.Errorf("over words: %+v", m)
		}
	}
	f = figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}}, points)
	for _, m := range f.Panels[0].Marks {
		if m.Form != figure.Line {
			t.Errorf("over numbers: %+v", m)
		}
	}
}

// TestAxisOfFactors checks that n = 1, 2, 4, 8, 16 is a logarithmic axis with these ticks, unless the file overrides
// it. 10, 20, 30 is not.
func TestAxisOfFactors(t *testing.T) {
	for _, c := range []struct {
		values []float64
		log    bool
		scaled bool
		ticks  string
	}{{[]float64{1, 2, 4, 8, 16}, true, false, "1 2 4 8 16"}, {[]float64{1, 2, 4, 8, 16}, false, true, "0 5 10 15"},
		{[]float64{10, 20, 30, 40}, false, false, "10 20 30 40"},
		{[]float64{0, 1, 10, 100}, false, false, "0 20 40 60 80 100"}} {
		t.Run(fmt.Sprint(c.values, c.scaled), func(t *testing.T) {
			f := figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}, LogSet: c.scaled},
				swept(c.values, []string{"x"}, 1))
			all := strings.Join(texts(t, f), " ")
			if f.X.Log != c.log || !strings.Contains(all, c.ticks+" ") {
				t.Errorf("logarithmic: %v; %s", f.X.Log, all)
			}
		})
	}
}

// TestNewFigure_KeepsPercentOfSweep checks that a sweep of percent shows percent.
func TestNewFigure_KeepsPercentOfSweep(t *testing.T) {
	points := swept([]float64{1, 2, 3, 4}, []string{"x"}, 1)
	for i := range points {
		c := &points[i].Point[1]
		c.Text, c.Value = c.Text+"%", c.Value/100
	}
	f := figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}}, points)
	if all := strings.Join(texts(t, f), " "); f.X.Label != "n [%]" || !strings.Contains(all, "1 2 3 4") ||
		strings.Contains(all, "0.01") {
		t.Errorf("%s: %s", f.X.Label, all)
	}
}

// TestAxesStart checks that axes start where the data allow: near 0.9 for a distribution with all shares above it, at 0
// for goodput with any interval, and near values that are far above 0.
func TestAxesStart(t *testing.T) {
	data := func(f *figure.Figure) (least float64) {
		csv, err := f.GnuplotScript("d.csv", "d.svg")
		if err != nil {
			t.Fatal(err)
		}
		m := regexp.MustCompile(`set yrange \[([^:]+):`).FindStringSubmatch(string(csv))
		least, _ = strconv.ParseFloat(m[1], 64)
		return least
	}
	f := figureOf(t, plots.Plot{Kind: plots.CDF, X: "queue", Y: "cdf"}, swept([]float64{1}, []string{"x"}, 1))
	if got := data(f); got < 0.9 || got > 0.93 {
		t.Errorf("shares of 0.93 and 1: the axis starts at %g", got)
	}
	points := swept([]float64{1, 2}, []string{"x"}, 2)
	for i := range points { // intervals that reach below 0
		points[i].Values[0].HalfInterval = 100e6
	}
	if got := data(figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}}, points)); got != 0 {
		t.Errorf("goodput with wide intervals: the axis starts at %g", got)
	}
	for i := range points {
		points[i].Values[0].Mean, points[i].Values[0].HalfInterval = 97e6+1e6*float64(i), math.NaN()
	}
	if got := data(figureOf(t, plots.Plot{X: "n", Y: "goodput", Groups: []string{"a"}}, points)); got < 90 {
		t.Errorf("97 and 98 Mb/s: the axis starts at %g", got)
	}
}

// TestNewFigure_FollowsKeysOfPlot checks the other keys: ranges, ticks, labels, title, order, names, boxes, heat maps,
// bands, panels.
func TestNewFigure_FollowsKeysOfPlot(t *testing.T) {
	points := swept([]float64{1, 2, 3}, []string{"abc", "none"}, 3)
	base := plots.Plot{X: "n", Y: "goodput", Lines: []string{"scheme"}, Groups: []string{"a"}}
	for name, c := range map[string]struct {
		set  func(p *plots.Plot)
		want func(f *figure.Figure) bool
	}{
		"range": {func(p *plots.Plot) {
			p.YRange = plots.Range{Low: 5e6, High: 14e6, HasLow: true, HasHigh: true}
		},
			func(f *figure.Figure) bool {
				return f.Y.Min == 5 && f.Y.Max == 14 && strings.Contains(strings.Join(texts(t, f), " "), "outside of the axes")
			}},
		"ticks": {func(p *plots.Plot) { p.XTicks.Values = []float64{1, 3} }, func(f *figure.Figure) bool {
			return len(f.X.Ticks) == 2
		}},
		"label": {func(p *plots.Plot) { p.XLabel = "flows" },
			func(f *figure.Figure) bool { return f.X.Label == "flows" }},
		"title": {func(p *plots.Plot) { p.Title = "T" }, func(f *figure.Figure) bool { return f.Title == "T" }},
		"none": {func(p *plots.Plot) { p.Untitled = true },
			func(f *figure.Figure) bool { return f.Title+f.Note == "" }},
		"legend": {func(p *plots.Plot) { p.Legend = "right" }, func(f *figure.Figure) bool {
			return f.Legend == figure.Right
		}},
		"order": {func(p *plots.Plot) { p.Order = []string{"none"} },
			func(f *figure.Figure) bool { return f.Names[0] == "none" && f.Names[1] == "abc" }},
		"falling": {func(p *plots.Plot) { p.Order, p.DrawnAs = []string{"falling"}, plots.KindBars },
			func(f *figure.Figure) bool { return strings.Join(f.X.Words, "") == "321" }},
		"names": {func(p *plots.Plot) { p.Names = map[string]string{"abc": "P4-ABC", "n": "users"} },
			func(f *figure.Figure) bool { return f.Names[0] == "P4-ABC" && f.X.Label == "users" }},
		"error": {func(p *plots.Plot) { p.Error = "none" },
			func(f *figure.Figure) bool {
				return f.Panels[0].Marks[0].Low == nil && !strings.Contains(f.Note, "interval")
			}},
		"band": {func(p *plots.Plot) { p.Error = "band" },
			func(f *figure.Figure) bool { return f.Panels[0].Marks[0].Band }},
		"panels": {func(p *plots.Plot) { p.Panels = "scheme" },
			func(f *figure.Figure) bool { return len(f.Panels) == 2 }},
		"width": {func(p *plots.Plot) { p.Width, p.Text = 252, 9 },
			func(f *figure.Figure) bool { return f.Size.Width == 252 && f.Size.Text == 9 }},
		"points": {func(p *plots.Plot) { p.DrawnAs = plots.KindPoints },
			func(f *figure.Figure) bool { return f.Panels[0].Marks[0].Form == figure.Points }},
		"box": {func(p *plots.Plot) { p.DrawnAs = plots.KindBox },
			func(f *figure.Figure) bool {
				m := f.Panels[0].Marks[0]
				return m.Form == figure.Boxes && m.Boxes[0] == figure.Box{Low: 14, Q1: 14, Median: 15, Q3: 16, High: 16}
			}},
		"heat": {func(p *plots.Plot) { p.DrawnAs, p.Y, p.Z = plots.KindHeat, "scheme", "goodput" },
			func(f *figure.Figure) bool {
				h := f.Panels[0].Heat
				return h.Rows == 2 && h.Columns == 3 && h.Values[0] == 15 && strings.Join(f.Y.Words, " ") == "abc none"
			}},
		"heat over time": {func(p *plots.Plot) {
			p.DrawnAs, p.Kind, p.X, p.Y, p.Z = plots.KindHeat, plots.OverTime, "time", "scheme", "queue"
			p.Groups, p.Panels = nil, "n"
		}, func(f *figure.Figure) bool { return len(f.Panels) == 3 && f.Panels[0].Heat.Columns == 3 }},
		"series with band": {func(p *plots.Plot) {
			p.Kind, p.X, p.Y, p.Groups, p.Error = plots.OverTime, "time", "queue", nil, "band"
		},
			func(f *figure.Figure) bool {
				m := f.Panels[0].Marks[0]
				return m.Band && m.Y[1] == 15 && m.High[1] > 15
			}},
		"ccdf": {func(p *plots.Plot) {
			p.Kind, p.X, p.Y, p.LogY, p.Groups = plots.CDF, "queue", "ccdf", true, nil
		},
			func(f *figure.Figure) bool { return math.Abs(f.Panels[0].Marks[0].Y[1]-0.07) < 1e-9 }},
		"box of all values": {func(p *plots.Plot) { p.DrawnAs, p.Y, p.Groups = plots.KindBox, "queue", nil },
			func(f *figure.Figure) bool { b := f.Panels[0].Marks[0].Boxes[0]; return b.Median == 0 && b.High > 10 }},
	} {
		t.Run(name, func(t *testing.T) {
			p := base
			c.set(&p)
			if f := figureOf(t, p, points); !c.want(f) {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestHeatWithPaper checks that a heat map has the paper's numbers in the cells of their points, for any order of the
// columns. Without any, it has no entry of the paper's.
func TestHeatWithPaper(t *testing.T) {
	points := swept([]float64{1, 2, 3}, []string{"abc", "none"}, 2)
	paper := swept([]float64{1, 2, 3}, []string{"abc", "none"}, 1)
	for i := range paper {
		paper[i].N = 0
		for k := range paper[i].Values {
			paper[i].Values[k].Mean, paper[i].Values[k].HalfInterval = math.NaN(), math.NaN()
		}
	}
	paper[1].Values[0].Mean, paper[5].Values[0].Mean = 50e6, 7e6 // abc at 2, none at 3
	p := plots.Plot{X: "n", Y: "scheme", Z: "goodput", DrawnAs: plots.KindHeat, Groups: []string{"a"}}
	for _, order := range []string{"", "falling"} {
		if p.Order = nil; order != "" {
			p.Order = []string{order}
		}
		f, err := (&worlds{own: points, paper: paper}).newFigure(p)
		if err != nil {
			t.Fatal(err)
		}
		h := f.Panels[0].Heat
		for i := range h.Values {
			at := f.Y.Words[i/h.Columns] + f.X.Words[i%h.Columns]
			want := map[string]float64{"abc2": 50, "none3": 7}[at]
			if got := h.Reference[i]; got != want && !(want == 0 && math.IsNaN(got)) {
				t.Errorf("%s, at %s: %g, not %g", order, at, got, want)
			}
		}
		all := strings.Join(texts(t, f), " ")
		csv, err := f.CSV()
		if err != nil || !strings.Contains(all, "paper") || !strings.Contains(all, "50.0") ||
			!strings.Contains(string(csv), ",abc,crosses,2,") {
			t.Errorf("%s\n%s, %v", all, csv, err)
		}
	}
	if f := figureOf(t, p, points); f.Panels[0].Heat.Reference != nil || len(f.ExtraEntries) > 0 ||
		f.Legend != figure.NoLegend {
		t.Errorf("%+v", f.ExtraEntries)
	}
}
