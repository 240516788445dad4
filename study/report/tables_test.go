package report

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/internal/testkit"
	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// tableSpec sweeps schemes, which are alternatives, and a load, which is a condition. Two traffics share the network.
func tableSpec(t *testing.T, best string) *experiment.Spec {
	t.Helper()
	return read(t, `
title: Two schemes under load
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic: [{name: web, from: a, to: b, transport: tcp, cc: $cc, size: $size, start: 0s},
          {name: bulk, from: a, to: b, transport: tcp, cc: $cc, start: 0s}]
sweep:
  scheme: {one: {cc: cubic}, two: {cc: {cubic: {beta: 0.5}}}}
  size: [10 kB, 20 kB]
measure: [goodput, {fct: {percentiles: [50, 99]}}, {queue: {port: s->b}}, jain, delay, loss]
`+best)
}

// tableOutcome returns an outcome with these values of every measure, by point and by seed.
func tableOutcome(t *testing.T, values func(point, seed int) []measure.Measured) *results.Outcome {
	t.Helper()
	const best = "best: {goodput.web: higher, fct: lower}\n"
	o := &results.Outcome{Name: "room/figure", World: experiment.Sim, Spec: tableSpec(t, best)}
	for i, scheme := range []string{"one", "one", "two", "two"} {
		for seed := range 3 {
			size := []string{"10 kB", "20 kB"}[i%2]
			o.Runs = append(o.Runs, &results.Run{Seed: uint64(seed + 1), End: results.End{Reason: "time up"},
				Point: []measure.Coordinate{{Key: "scheme", Text: scheme}, {Key: "size", Text: size,
					Value: 1e4 * float64(1+i%2), IsNum: true}},
				Values: measure.Values{Measures: values(i, seed)}})
		}
	}
	return o
}

func grouped1(name, unit, group string, v float64) measure.Measured {
	return measure.Measured{Name: name, Unit: unit, Groups: []measure.GroupValue{{Group: group, Value: v}}}
}

// TestOneUnit checks that a measure has one unit in all columns and tables, chosen by the middle of its values. The
// interval determines the digits, so that no digit is lost.
func TestOneUnit(t *testing.T) {
	o := tableOutcome(t, func(point, seed int) []measure.Measured {
		x := 1 + 0.01*float64(seed-1) + 0.1*float64(point)
		return []measure.Measured{grouped1("fct", "s", "web", 254.4e-6*x), grouped1("fct_max", "s", "web", 5.35e-3*x),
			grouped1("fct_p50", "s", "web", 31.27e-6*x), grouped1("delay", "s", "web", 2e-3*x)}
	})
	for _, r := range o.Runs {
		r.Bins = []measure.Binned{{Name: "fct", Unit: "s", Traffic: "web", Bins: []measure.Bin{{ToBytes: 100, N: 2,
			Mean: 7e-3}}}}
	}
	_, values := newWorlds(o).resultColumns()
	units := map[string]string{}
	for _, c := range values {
		units[c.head[0]] = c.head[2]
	}
	if units["fct"] != "[µs]" || units["fct max"] != "[µs]" || units["fct p50"] != "[µs]" || units["delay"] != "[ms]" {
		t.Errorf("units %v", units)
	}
	if got := values[2].cells[0].String(); got != "31.27 ± 0.78" {
		t.Errorf("a median of 31.27 µs beside a largest of 5 ms is %s", got)
	}
	for _, g := range newWorlds(o).sizeGrids(&TableOptions{}) {
		if got := g.values[0].head; got[len(got)-1] != "[µs]" {
			t.Errorf("by flow size the unit is %q", got)
		}
	}
}

// many returns more measures than a line has room for.
func many(point, seed int) (all []measure.Measured) {
	for i := range 24 {
		v := float64(1+point)*1.5 + 0.1*float64(seed)
		if i == 7 {
			v = math.NaN()
		}
		all = append(all, grouped1(fmt.Sprintf("delay_p%d", i+1), "s", "all", v))
	}
	return all
}

// TestFewPoints checks that many measures of few points are one table, or two, with a row for each. A value that is
// nowhere defined has no column or row, and is named.
func TestFewPoints(t *testing.T) {
	o := tableOutcome(t, many)
	s := FormatResults(o.Spec, SummarizePoints(o.Runs))
	if n := strings.Count(s, "\n\n"); n > 2 { // one behind what is the same at all points
		t.Errorf("%d tables of four points:\n%s", n, s)
	}
	if strings.Contains(s, "–") || !strings.Contains(s, "undefined at all points: delay p8 all\n") {
		t.Errorf("a value that is nowhere defined has a column, or is not named:\n%s", s)
	}
	for i := range 24 {
		if !strings.Contains(s, fmt.Sprintf("delay p%d all ", i+1)) && i != 7 {
			t.Errorf("delay p%d is not there", i+1)
		}
	}
	testkit.Golden(t, "turned.txt", s)
}

// TestMarkBest_MarksBestAndTies checks that the best value is marked where it is better by more than the intervals.
// Values that the intervals do not separate from it have another mark. If no value is worse, there is no mark.
func TestMarkBest_MarksBestAndTies(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		better measure.Better
		means  []float64
		halves []float64
		want   string
	}{
		{"higher", measure.Higher, []float64{1, 3, 2}, []float64{.1, .1, .1}, ".*."},
		{"lower", measure.Lower, []float64{1, 3, 2}, []float64{.1, .1, .1}, "*.."},
		{"neither", measure.Neither, []float64{1, 3, 2}, []float64{.1, .1, .1}, "..."},
		{"two tied", measure.Higher, []float64{1, 3, 2.9}, []float64{.1, .1, .1}, ".~~"},
		{"all tied", measure.Higher, []float64{1, 1.1, 1.05}, []float64{.1, .1, .1}, "..."},
		{"equal without spread", measure.Lower, []float64{2, 1, 1}, []float64{0, 0, 0}, ".~~"},
		{"apart without spread", measure.Lower, []float64{2, 1, 1.001}, []float64{0, 0, 0}, ".*."},
		{"one run", measure.Higher, []float64{1, 3, 2}, []float64{nan, nan, nan}, "..."},
		{"one run of one", measure.Higher, []float64{1, 3, 2}, []float64{nan, .1, .1}, "..."},
		{"not defined", measure.Higher, []float64{nan, 3, 2}, []float64{nan, .1, .1}, ".*."},
		{"alone", measure.Higher, []float64{nan, 3, nan}, []float64{nan, .1, nan}, "..."},
		{"wide beside narrow", measure.Higher, []float64{1, 3, 2}, []float64{5, .1, .1}, "~~."},
	} {
		t.Run(c.name, func(t *testing.T) {
			var of []estimate
			for i := range c.means {
				of = append(of, estimate{c.means[i], c.halves[i]})
			}
			got := ""
			for _, m := range markBest(of, c.better) {
				got += (m.sign() + ".")[:1]
			}
			if got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// judged returns the values of two schemes. The second is better at the small size, and as good at the large one.
func judged(point, seed int) []measure.Measured {
	spread := 0.01 * float64(seed-1)
	fct := []float64{0.2, 0.4, 0.1, 0.4}[point] * (1 + spread)
	return []measure.Measured{{Name: "goodput", Unit: "bps", Groups: []measure.GroupValue{
		{Group: "web", Value: []float64{1e6, 3e6, 2e6, 3.001e6}[point] * (1 + spread)}, {Group: "bulk", Value: 5e6}}},
		grouped1("fct", "s", "web", fct), grouped1("fct_finished", "flows", "web", 7),
		{Name: "jain", Value: 0.5}}
}

// TestReports_MarkBestScheme checks that schemes are compared at the same load, in the table, by flow size, in Markdown
// and on the page. Marks are visible without colours.
func TestReports_MarkBestScheme(t *testing.T) {
	o := tableOutcome(t, judged)
	for _, r := range o.Runs {
		fct := r.FindMeasure("fct").Groups[0].Value
		r.Bins = []measure.Binned{{Name: "fct", Unit: "s", Traffic: "web", Bins: []measure.Bin{{ToBytes: 100, N: 2,
			Mean: measure.Number(fct)}}}}
	}
	got := FormatText(o)
	testkit.Golden(t, "marked.txt", got)
	if n := strings.Count(got, bestSign); n != 3+2 { // goodput, fct, by size; and two legends
		t.Errorf("%d marks:\n%s", n, got)
	}
	if !strings.Contains(got, "* the best, of points with the same size\n") {
		t.Error("it is not said what a mark is")
	}
	options := &TableOptions{}
	if doc, err := options.Markdown(o); err != nil || strings.Count(doc, "**2.000 ± 0.050**") != 1 {
		t.Errorf("%v in\n%s", err, doc)
	}
	if doc, err := options.LaTeX(o); err != nil || strings.Count(doc, `$\mathbf{2.000} \pm 0.050$`) != 1 {
		t.Errorf("%v in\n%s", err, doc)
	}
	page, err := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
	if err != nil || strings.Count(string(page), `<strong class="best">2.000</strong>`) != 1 ||
		strings.Count(string(page), `<strong class="best">`) != 3 ||
		!strings.Contains(string(page), "bold: the best, of points with the same size.") {
		t.Errorf("%v: the page does not mark it", err)
	}
	for _, r := range o.Runs {
		r.Seed = 1
	}
	o.Runs = slices.DeleteFunc(o.Runs, func(r *results.Run) bool { return r.FindMeasure("jain") == nil })
	o.Runs = []*results.Run{o.Runs[0], o.Runs[3], o.Runs[6], o.Runs[9]} // one of each point
	if got := FormatText(o); strings.Contains(got, bestSign) {
		t.Errorf("without intervals something is marked:\n%s", got)
	}
}

// TestUnmarkedTraffics checks that without a key in the file no value of one traffic is marked, in any form, since
// another traffic may lose what it gains. Indices and totals are marked.
func TestUnmarkedTraffics(t *testing.T) {
	o := tableOutcome(t, func(point, seed int) []measure.Measured {
		x := 1 + float64(point/2) + 0.01*float64(seed)
		return []measure.Measured{grouped1("goodput", "bps", "web", 1e6*x), grouped1("goodput", "bps", "bulk", 2e6/x),
			grouped1("fct", "s", "web", x), {Name: "jain", Value: 0.3 * x}}
	})
	o.Spec = tableSpec(t, "")
	for _, r := range o.Runs {
		r.Bins = []measure.Binned{{Name: "fct", Unit: "s", Traffic: "web", Bins: []measure.Bin{{ToBytes: 100, N: 2,
			Mean: measure.Number(r.FindMeasure("fct").Groups[0].Value)}}}}
	}
	options := &TableOptions{}
	markdown, err1 := options.Markdown(o)
	latex, err2 := options.LaTeX(o)
	page, err3 := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		form, text, sign string
		want             int
	}{{"text", FormatText(o), bestSign, 2 + 1}, {"Markdown", markdown, " **", 2}, {"LaTeX", latex, `\mathbf`, 2},
		{"page", string(page), `<strong class="best">`, 2}} {
		if n := strings.Count(c.text, c.sign); n != c.want { // jain at two sizes, and the legend
			t.Errorf("%s: %d marks, want %d:\n%s", c.form, n, c.want, c.text)
		}
	}
}

// TestReports_MarkPartialMeans checks that a mean over fewer iterations than required is marked in every form, and is
// never the best, however low it is.
func TestReports_MarkPartialMeans(t *testing.T) {
	o := tableOutcome(t, func(point, seed int) []measure.Measured {
		ended := 3.0
		if point == 2 && seed == 2 {
			ended = 1
		}
		return []measure.Measured{
			grouped1("job_iteration", "s", "all", []float64{0.2, 0.4, 0.1, 0.3}[point]*(1+0.01*float64(seed-1))),
			grouped1("job_iterations", "", "all", ended), grouped1("job_iterations_asked", "", "all", 3)}
	})
	options := &TableOptions{}
	markdown, err := options.Markdown(o)
	if err != nil {
		t.Fatal(err)
	}
	latex, err := options.LaTeX(o)
	if err != nil {
		t.Fatal(err)
	}
	page, err := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
	if err != nil {
		t.Fatal(err)
	}
	const legend = "from fewer samples than required (job_iterations)"
	inCode := strings.ReplaceAll(legend, "_", `\_`)
	for name, x := range map[string]struct{ got, sign, best, legend string }{
		"text":     {strings.Join(strings.Fields(FormatText(o)), " "), "†", bestSign + " ", legend},
		"markdown": {markdown, "†", "**", inCode},
		"latex":    {latex, `^\dagger`, `\mathbf{`, inCode},
		"page":     {string(page), "†", `class="best">`, legend},
	} {
		if n := strings.Count(x.got, x.sign); n != 2 || !strings.Contains(x.got, x.legend) {
			t.Errorf("%s: %d marks in\n%s", name, n, x.got)
		}
		if strings.Contains(x.got, x.best+"100.0") || !strings.Contains(x.got, "300.0") {
			t.Errorf("%s: the mean over fewer is the best", name)
		}
	}
	if strings.Contains(FormatText(o), "2.5*") || !strings.Contains(FormatText(o), "7.5*") {
		t.Errorf("it is the best, and not that of as many as there were to be:\n%s", FormatText(o))
	}
}

// TestSummaryFirst checks that the claims are before the tables, and that missing runs are reported before the claims.
// The first lines are a summary.
func TestSummaryFirst(t *testing.T) {
	o := outcome(t)
	got := FormatText(o)
	at := -1
	for _, want := range []string{"A <title> & more\n", "18 runs of 6 points, seed 1; 5s measured\n",
		"not all runs are complete: 2 missing; see the last lines\n", "3 claims: 1 holds, 1 fails, 1 undecided\n",
		"holds      a.b", "at all points: 3 runs\n", "goodput", "18 runs: "} {
		next := strings.Index(got, want)
		if next <= at {
			t.Errorf("%q stands at %d, after %d, in\n%s", want, next, at, got)
		}
		at = next
	}
}

var ownCodes = regexp.MustCompile("\x1b\\[(0|1|2|1;3[123])m")

// TestTableOptions_ColourOnlyOwnText checks that only the report's own text has colours, and no text from elsewhere.
// Without colours the text is the same.
func TestTableOptions_ColourOnlyOwnText(t *testing.T) {
	o := tableOutcome(t, judged)
	o.Claims = outcome(t).Claims
	options := &TableOptions{Color: true}
	got, err := options.Text(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\x1b[1;32mholds", "\x1b[1;31mfails", "\x1b[1;33mundecided",
		"\x1b[1;32m2.000 ± 0.050*\x1b[0m"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if bare := ownCodes.ReplaceAllString(got, ""); bare != FormatText(o) {
		t.Errorf("without codes it is\n%s\nwant\n%s", bare, FormatText(o))
	}
	if strings.Contains(FormatText(o), "\x1b") {
		t.Error("there are codes without colours")
	}
	const hostile = "\x1b]0;x\a\x1b[31m\u202e\x9b"
	for _, r := range o.Runs {
		r.Point[0].Text += hostile
		r.End.Reason += hostile
	}
	o.Claims[0].Says, o.Claims[1].ID, o.Claims[2].Measured = hostile, hostile, hostile
	if got, err = options.Text(o); err != nil {
		t.Fatal(err)
	}
	if bare := ownCodes.ReplaceAllString(got, ""); text.EscapeLines(bare) != bare {
		t.Errorf("others' codes are among them: %q", bare)
	}
}

// TestTableOptions_TextFitsWidth checks that no line exceeds the requested width, in tables of many columns and of few,
// with long claims. A wide terminal is used.
func TestTableOptions_TextFitsWidth(t *testing.T) {
	for _, width := range []int{40, 60, 80, 132, 200} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			for _, o := range []*results.Outcome{tableOutcome(t, many), tableOutcome(t, judged), outcome(t), labOutcome(t)} {
				if width < 80 && o.World == experiment.Lab {
					continue // a cluster of simulator, lab, paper and difference needs its room
				}
				options := &TableOptions{Width: width}
				got, err := options.Text(o)
				if err != nil {
					t.Fatal(err)
				}
				widest := 0
				for _, l := range strings.Split(got, "\n") {
					if n := utf8.RuneCountInString(l); n > width {
						t.Errorf("%d columns: %s", n, l)
					} else {
						widest = max(widest, n)
					}
				}
				if widest < min(width, 80)*3/4 {
					t.Errorf("%d columns of %d are used:\n%s", widest, width, got)
				}
			}
		})
	}
}

// TestWrapHanging_FillsEachLine checks that lines after the first are as long as there is room: an indent is not
// subtracted twice.
func TestWrapHanging_FillsEachLine(t *testing.T) {
	const words = "aa bb cc dd ee ff gg hh"
	if got, want := WrapHanging("x   ", words, "    ", 12), "x   aa bb cc\n    dd ee ff\n    gg hh"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := WrapHanging("", words, "    ", 12), "aa bb cc dd\n    ee ff gg\n    hh"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := WrapHanging("x ", "aaaaaaaaaaaa b", "  ", 5), "x aaaaaaaaaaaa\n  b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	o := outcome(t)
	o.Claims[0].Says = strings.Repeat("abcd ", 40)
	lines := strings.Split(FormatClaims(o.Claims), "\n")
	for _, l := range lines[1:3] {
		if n := utf8.RuneCountInString(l); n < 76 || n > 80 {
			t.Errorf("%d columns of 80: %q", n, l)
		}
	}
}

// TestChosenColumns checks that columns and rows are as the user requests them.
func TestChosenColumns(t *testing.T) {
	o := tableOutcome(t, judged)
	for _, c := range []struct {
		name          string
		columns, sort []string
		heads, rows   string
	}{
		{"all", nil, nil, "goodput.web goodput.bulk fct.web fct_finished.web jain.", "one/10 one/20 two/10 two/20"},
		{"measures", []string{"jain", "goodput"}, nil, "jain. goodput.web goodput.bulk", "one/10 one/20 two/10 two/20"},
		{"groups", []string{"goodput.bulk"}, nil, "goodput.bulk", "one/10 one/20 two/10 two/20"},
		{"pattern", []string{"fct*", "*.bulk"}, nil, "fct.web fct_finished.web goodput.bulk", "one/10 one/20 two/10 two/20"},
		{"by key", []string{"jain"}, []string{"size:desc"}, "jain.", "one/20 two/20 one/10 two/10"},
		{"by word", []string{"jain"}, []string{"scheme:desc"}, "jain.", "two/10 two/20 one/10 one/20"},
		{"by value", []string{"jain"}, []string{"goodput.web"}, "jain.", "one/10 two/10 one/20 two/20"},
		{"by two", []string{"jain"}, []string{"size", "fct"}, "jain.", "two/10 one/10 one/20 two/20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, options := newWorlds(o), &TableOptions{Columns: c.columns, Sort: c.sort}
			if err := w.checkOptions(options, o); err != nil {
				t.Fatal(err)
			}
			g, _ := w.resultGrid(options)
			var heads, rows []string
			for _, v := range g.values {
				heads = append(heads, v.value.Measure+"."+v.value.Group)
			}
			for r := range g.rows {
				rows = append(rows, g.keys[0].cells[r].text+"/"+strings.TrimSuffix(g.keys[1].cells[r].text, " kB"))
			}
			if strings.Join(heads, " ") != c.heads || strings.Join(rows, " ") != c.rows {
				t.Errorf("%s; %s", heads, rows)
			}
		})
	}
	o.Runs[0].FindMeasure("fct").Groups[0].Value = math.NaN()
	for _, by := range []string{"fct", "fct:desc"} {
		g, _ := newWorlds(o).resultGrid(&TableOptions{Sort: []string{by}})
		if last := g.keys[0].cells[3].text + g.keys[1].cells[3].text; last != "one10 kB" {
			t.Errorf("by %s the last is %s, not what is not defined", by, last)
		}
	}
}

// TestChosenErrors checks that an unknown column or key is an error with what is allowed, before and after the runs.
func TestChosenErrors(t *testing.T) {
	o := tableOutcome(t, judged)
	for _, c := range []struct {
		name    string
		options TableOptions
		want    []string
	}{
		{"column", TableOptions{Columns: []string{"goodptu"}}, []string{"--columns", `did you mean "goodput"?`,
			"goodput.bulk"}},
		{"group", TableOptions{Columns: []string{"goodput.nobody"}}, []string{"matches no column", "goodput.web"}},
		{"pattern", TableOptions{Columns: []string{"x*"}}, []string{"matches no column"}},
		{"sort", TableOptions{Sort: []string{"schem"}}, []string{"--sort", `did you mean "scheme"?`, "size", "jain"}},
		{"several", TableOptions{Sort: []string{"goodput"}}, []string{"matches several columns",
			"goodput.web, goodput.bulk"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, after := c.options.Text(o)
			_, document := c.options.Markdown(o)
			_, paper := c.options.LaTeX(o)
			for _, err := range []error{after, document, paper, c.options.Check(o.Spec)} {
				var choice *optionError
				if !errors.As(err, &choice) {
					t.Fatalf("no such error: %v", err)
				}
				for _, want := range append(c.want, "allowed: ") {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v lacks %s", err, want)
					}
				}
			}
		})
	}
}
