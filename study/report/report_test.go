package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
	"weir/study/experiment"
	"weir/study/experiment/plots"

	"weir/core/cc"
	"weir/core/cc/cubic"
	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/transport"
	"weir/core/transport/tcp"
	"weir/core/transport/udp"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/figure"
	"weir/study/measure"
	"weir/study/results"
)

// outcome returns a small sweep: two schemes, three rates, three seeds, with a measure that is not defined at one
// point.
func outcome(t *testing.T) *results.Outcome {
	t.Helper()
	o := &results.Outcome{Name: "room/figure", World: "sim", Spec: resolved(t)}
	for _, scheme := range []string{"without", "abc"} {
		for i, r0 := range []float64{10e6, 50e6, 100e6} {
			for seed := range 3 {
				v := r0 * (1 + 0.01*float64(seed))
				delay := 0.0135
				if i == 2 {
					delay = math.NaN()
				}
				o.Runs = append(o.Runs, &results.Run{ID: fmt.Sprint(scheme, i, seed), Seed: uint64(seed + 1),
					End: results.End{Reason: "time up", TimeS: 70},
					Point: []measure.Coordinate{{Key: "scheme", Text: scheme}, {Key: "r0", Text: fmt.Sprintf("%.0fMbps", r0/1e6),
						Value: r0, IsNum: true}},
					Values: measure.Values{Measures: []measure.Measured{
						{Name: "goodput", Unit: "bps", Groups: []measure.GroupValue{{Group: "client0", Value: v},
							{Group: "client1", Value: 40e6}}},
						{Name: "delay", Unit: "s", Groups: []measure.GroupValue{{Group: "client0", Value: delay}}},
						{Name: "queue", Unit: "packets", Groups: []measure.GroupValue{{Group: "mean", Value: 7.25},
							{Group: "max", Value: 24}}},
						{Name: "jain", Value: 0.75}}},
					Drops: []results.Count{{Name: "activity", Count: 12}}})
			}
		}
	}
	o.Runs[0].End.Reason = "no progress"
	o.Runs[0].Unfinished = []results.UnfinishedFlow{{Flow: 3, Traffic: "bulk", Src: "a", Dst: "b", SizeBytes: 1000,
		DoneBytes: 10}}
	o.Claims = []claim.Claim{
		{ID: "a.b", Says: "the first <claim> holds in every case, however long its sentence may be and whatever it may say",
			Verdict: claim.Holds, N: 9, Measured: "scheme=abc r0=10Mbps: x = 1 < 2"},
		{ID: "c", Says: "second", Verdict: claim.Fails, N: 3},
		{ID: "d", Says: "third", Verdict: claim.Undecided, N: 3, Measured: "no point"},
	}
	o.Missing, o.Found = 2, 4
	return o
}

// resolved returns a valid spec, for its parameters, with the plots of the outcome.
func resolved(t *testing.T) *experiment.Spec {
	t.Helper()
	return read(t, `
title: A <title> & more
paper: {name: paper, figure: 4}
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: $r0}]
sweep:
  scheme: {without: {switch: [forward]}, abc: {switch: [forward]}}
  r0: [10Mbps, 50Mbps, 100Mbps]
measure: [goodput, {queue: {port: s->b}}]
plot:
  - {x: r0, y: goodput, lines: [scheme, traffic]}
  - {x: r0, y: queue, lines: [scheme]}
`)
}

// read reads the experiment room/figure, which must be valid.
func read(t *testing.T, text string) *experiment.Spec {
	t.Helper()
	r := &experiment.Registry{Measures: measure.Definitions(), Programs: []dataplane.Scheme{forward.Scheme()},
		Transports: []transport.Scheme{udp.Scheme(), tcp.Scheme()}, Controllers: []cc.Scheme{cubic.Scheme()},
		Library: []experiment.Library{{Name: "room", Files: fstest.MapFS{"experiments/figure.yaml": {Data: []byte(text)}}}}}
	src, err := r.OpenExperiment("room/figure")
	if err != nil {
		t.Fatal(err)
	}
	return plantest.LoadSource(t, r, src, experiment.Options{})
}

// TestTables_MatchGoldenFile compares the tables word by word. No line is wider than a terminal.
func TestTables_MatchGoldenFile(t *testing.T) {
	o := outcome(t)
	text := FormatResults(o.Spec, SummarizePoints(o.Runs)) + "\n" + FormatClaims(o.Claims) + "\n" + DescribeStatus(o)
	testkit.Golden(t, "tables.txt", text)
	for _, l := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(l) > DefaultWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
}

// TestMeanInterval_MatchesTables checks Student's t at 95 %, two-sided, as tables print it.
func TestMeanInterval_MatchesTables(t *testing.T) {
	for n, want := range map[int]float64{2: 12.706, 3: 4.303, 4: 3.182, 10: 2.262, 30: 2.045} {
		t.Run(fmt.Sprint(n, " runs"), func(t *testing.T) {
			x := make([]float64, n) // sample deviation 1, mean 0
			x[0], x[1] = math.Sqrt(float64(n-1)/2), -math.Sqrt(float64(n-1)/2)
			mean, half := claim.MeanInterval(x)
			if math.Abs(half*math.Sqrt(float64(n))-want) > 0.001 || mean != 0 {
				t.Errorf("n = %d: t = %.4f, tables say %.3f", n, half*math.Sqrt(float64(n)), want)
			}
		})
	}
	if _, half := claim.MeanInterval([]float64{3}); !math.IsNaN(half) {
		t.Error("one value has an interval")
	}
}

// TestDrawPlot_NamesAxesAndRuns checks that plots depend on the numbers only, name axes with units, and show the number
// of runs.
func TestDrawPlot_NamesAxesAndRuns(t *testing.T) {
	o := outcome(t)
	points := SummarizePoints(o.Runs)
	for _, p := range o.Spec.Plots() {
		a, err := drawPlot(p, points)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := drawPlot(p, points)
		if string(a) != string(b) {
			t.Errorf("%s: two drawings differ", PlotTitle(p))
		}
		for _, want := range []string{"r0 [Mb/s]", "3 runs", "without", "abc"} {
			if !strings.Contains(string(a), want) {
				t.Errorf("%s does not say %q", PlotTitle(p), want)
			}
		}
	}
	a, _ := drawPlot(o.Spec.Plots()[0], points)
	if !strings.Contains(string(a), "goodput [Mb/s]") || !strings.Contains(string(a), "abc client1") {
		t.Error("the axis has no unit, or a line no name")
	}
	if _, err := drawPlot(plots.Plot{X: "r0", Y: "nothing"}, points); err == nil {
		t.Error("a measure that is not there is drawn")
	}
}

// TestSVGOddities checks that a measure that is nowhere defined, a sweep over words, and one point all have a plot.
func TestSVGOddities(t *testing.T) {
	run := func(x string, v float64) *results.Run {
		return &results.Run{Point: []measure.Coordinate{{Key: "k", Text: x}},
			Values: measure.Values{Measures: []measure.Measured{{Name: "m", Value: v}}}}
	}
	for name, runs := range map[string][]*results.Run{
		"undefined": {run("a", math.NaN()), run("b", math.NaN())}, "one": {run("a", 0)}, "words": {run("a", 1), run("b", -2)},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := drawPlot(plots.Plot{X: "k", Y: "m"}, SummarizePoints(runs)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

// TestSizesByTraffic checks that a table by flow size is of one traffic, also where a point of the sweep has another
// list of traffics.
func TestSizesByTraffic(t *testing.T) {
	run := func(point string, traffics ...string) *results.Run {
		r := &results.Run{Point: []measure.Coordinate{{Key: "k", Text: point}}}
		for _, name := range traffics {
			r.Bins = append(r.Bins, measure.Binned{Name: "fct", Unit: "s", Traffic: name,
				Bins: []measure.Bin{{ToBytes: 100, N: 1, Mean: measure.Number(name[0])}}})
		}
		return r
	}
	tables := sizeTables(SummarizePoints([]*results.Run{run("one", "b"), run("two", "a", "b")}))
	if len(tables) != 2 || tables[0].Traffic != "b" || tables[1].Traffic != "a" {
		t.Fatalf("tables %+v", tables)
	}
	for _, x := range tables {
		for p, want := range map[int]float64{0: map[string]float64{"a": math.NaN(), "b": 'b'}[x.Traffic],
			1: float64(x.Traffic[0])} {
			if got := x.Mean[p][0]; got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("%s of %s is %g, want %g", x.Traffic, x.Points[p], got, want)
			}
		}
	}
}

// TestSizesCount checks that the n of a row counts the flows of its values, not the flows of all columns.
func TestSizesCount(t *testing.T) {
	var runs []*results.Run
	for k, n := range []int{2, 3, 7, 7} { // two points, two seeds
		runs = append(runs, &results.Run{Seed: uint64(k % 2),
			Point: []measure.Coordinate{{Key: "k", Text: strconv.Itoa(k / 2)}},
			Values: measure.Values{Bins: []measure.Binned{{Name: "fct", Unit: "s", Traffic: "x",
				Bins: []measure.Bin{{ToBytes: 100, N: n, Mean: 1}, {ToBytes: 200, N: 4, Mean: 1}}}}}})
	}
	text := formatSizes(resolved(t), SummarizePoints(runs))
	if !strings.Contains(text, "100B  5 … 14 ") || !strings.Contains(text, "200B       8 ") {
		t.Error(text)
	}
}

// TestPlotWithoutValues checks that a plot is no error if no run has a value of it: percentiles of few flows, a
// distribution of none, a series of flows that a seed does not have. The page names it.
func TestPlotWithoutValues(t *testing.T) {
	nan := measure.Number(math.NaN())
	r := &results.Run{Values: measure.Values{Measures: []measure.Measured{{Name: "fct", Unit: "s",
		Groups: []measure.GroupValue{}}},
		Bins: []measure.Binned{{Name: "slowdown", Traffic: "x", Percentiles: []float64{50},
			Bins: []measure.Bin{{ToBytes: 100, N: 3, Mean: 2, Percentiles: []measure.Number{nan}}}}},
		Distributions: []measure.Distribution{{Name: "fct", Unit: "s", Group: "x"}}}}
	s := read(t, `
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: tcp, size: $k, start: 0s}]
sweep: {k: [100 B, 200 B]}
measure: [fct, {slowdown: {percentiles: [50], bins: 2}}, {cwnd: {every: 1s}}]
plot:
  - {x: flow_size, y: slowdown_p50}
  - {x: fct, y: cdf}
  - {x: time, y: cwnd}
  - {x: k, y: fct}
`)
	for _, p := range s.Plots() {
		if svg, err := drawPlot(p, SummarizePoints([]*results.Run{r})); svg != nil || err != nil {
			t.Errorf("%s: %d bytes, %v", PlotTitle(p), len(svg), err)
		}
	}
	o := outcome(t)
	o.Dir, o.Runs, o.Spec = t.TempDir(), []*results.Run{r}, s
	path, err := WriteReport(o, Page{})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(path)
	if err != nil || strings.Count(string(page), "Not drawn, because no run has a value: ") != 4 ||
		!strings.Contains(string(page), ": slowdown p50 over flow size.") {
		t.Errorf("the page does not name the plots: %v", err)
	}
}

// TestWriteReport_IsReproducibleAndEscaped checks that the page is escaped, self-contained, and the same bytes each
// time, with claims before plots before tables.
func TestWriteReport_IsReproducibleAndEscaped(t *testing.T) {
	o := outcome(t)
	var pages []string
	for range 2 {
		o.Dir = t.TempDir()
		o.Command = "weir run room/figure --set 'a=b'"
		path, err := WriteReport(o, Page{Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, string(data))
		if plots, _ := filepath.Glob(filepath.Join(o.Dir, "plots", "*.svg")); len(plots) != 2 {
			t.Errorf("plots: %v", plots)
		}
	}
	if pages[0] != pages[1] {
		t.Error("two pages of one outcome differ")
	}
	page := pages[0]
	for i := range 2 { // a plot can be enlarged, and left again
		id := fmt.Sprintf("plot-%d", i)
		_, plot, _ := strings.Cut(page, `<figure id="`+id+`">`)
		plot, _, _ = strings.Cut(plot, "</figure>")
		if !strings.Contains(plot, `href="#`+id+`"`) || !strings.Contains(plot, `href="#plots"`) ||
			!strings.Contains(page, "figure:target svg") {
			t.Errorf("%s cannot be enlarged: %.100s", id, plot)
		}
	}
	for _, bad := range []string{"<title>A <title>", "first <claim>", "http://", "https://", "<script"} {
		t.Run(bad, func(t *testing.T) {
			text := strings.ReplaceAll(page, `"http://www.w3.org/2000/svg"`, "")
			text = strings.ReplaceAll(text, `"http://www.w3.org/1999/xlink"`, "")
			if i := strings.Index(text, bad); i >= 0 {
				t.Errorf("the page contains %q: %.120s", bad, text[i:])
			}
		})
	}
	last := -1
	for _, want := range []string{"A &lt;title&gt; &amp; more", ">Claims</h2>", "the first &lt;claim&gt;", ">Plots</h2>",
		"<svg", ">Results</h2>", "activity 12", "unfinished: ", ">Reproduce</h2>", "weir run room/figure"} {
		t.Run(want, func(t *testing.T) {
			i := strings.Index(page, want)
			if i < 0 {
				t.Errorf("the page lacks %q", want)
			}
			if want != "unfinished: " && want != "activity 12" {
				if i < last {
					t.Errorf("%q stands too early", want)
				}
				last = i
			}
		})
	}
}

// TestPage_HasContrastInBothThemes checks that the page is as readable on dark as on light. Texts have a contrast of
// 4.5 to their background, curves of 3 (WCAG 2.2 §1.4.3, §1.4.11), and every colour of the palette has one of its own
// on both.
func TestPage_HasContrastInBothThemes(t *testing.T) {
	light, rest, _ := strings.Cut(pageText, "prefers-color-scheme: dark")
	dark, _, _ := strings.Cut(rest, "} }")
	for name, css := range map[string]string{"light": light, "dark": dark} {
		t.Run(name, func(t *testing.T) {
			luminance := map[string]float64{}
			for _, m := range regexp.MustCompile(`--([a-z0-9-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
				rgb, err := strconv.ParseUint(m[2], 16, 32)
				if err != nil {
					t.Fatal(err)
				}
				linear := func(shift uint) float64 {
					c := float64(rgb>>shift&0xff) / 255
					if c <= 0.04045 {
						return c / 12.92
					}
					return math.Pow((c+0.055)/1.055, 2.4)
				}
				luminance[m[1]] = 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
			}
			pairs := [][2]string{{"ink", "paper"}, {"ink", "band"}, {"ink", "panel"}, {"soft", "paper"}, {"soft", "band"},
				{"link", "paper"}, {"ink", "undecided-band"}}
			for _, v := range []string{"holds", "fails", "undecided"} {
				pairs = append(pairs, [2]string{v, v + "-band"})
			}
			for i := range figure.Palette() {
				pairs = append(pairs, [2]string{fmt.Sprintf("curve%d", i+1), "panel"})
			}
			for _, p := range pairs {
				a, okA := luminance[p[0]]
				b, okB := luminance[p[1]]
				least := 4.5
				if strings.HasPrefix(p[0], "curve") {
					least = 3
				}
				if c := (max(a, b) + 0.05) / (min(a, b) + 0.05); !okA || !okB || c < least {
					t.Errorf("%s: %s on %s has a contrast of %.2f, want %g", name, p[0], p[1], c, least)
				}
			}
		})
	}
}

// TestInPage checks that plots take the page's colours in the page, and have their own as files.
func TestInPage(t *testing.T) {
	got := string(embedSVG([]byte(`<?xml version="1.0"?><svg><path style="fill:none;stroke:#0072B2;stroke-width:1"/>` +
		`<path style="fill:#FFFFFF"/>` +
		`<path style="stroke:#000000"/><path style="stroke:#E1E1E1"/><path style="fill:#123456"/>` +
		`<text>stroke:#0072B2x</text></svg>`)))
	want := `<svg><path style="fill:none;stroke:var(--curve1,#0072B2);stroke-width:1"/>` +
		`<path style="fill:var(--panel,#FFFFFF)"/>` +
		`<path style="stroke:var(--ink,#000000)"/><path style="stroke:var(--grid,#E1E1E1)"/><path style="fill:#123456"/>` +
		`<text>stroke:#0072B2x</text></svg>`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	points := SummarizePoints(outcome(t).Runs)
	svg, err := drawPlot(plots.Plot{X: "r0", Y: "goodput", Lines: []string{"scheme", "traffic"}}, points)
	if err != nil || strings.Contains(string(svg), "var(") {
		t.Errorf("a file with colours that only the page has: %v", err)
	}
	if left := svgColour.FindString(strings.ReplaceAll(string(embedSVG(svg)), ",#", "")); left != "" {
		t.Errorf("the page's plot has the fixed colour %s", left)
	}
}

// TestPageTable checks the page's table: units are over the groups that share them, means are separate from their
// intervals, and keys stay in place as far as a phone has room.
func TestPageTable(t *testing.T) {
	o := outcome(t)
	keys, values := newWorlds(o).resultColumns()
	got := newPageTable("results", keys, values, len(values[0].cells))
	if s := fmt.Sprint(got.Spans); s != "[{goodput Mb/s 2 } {delay ms 1 } {queue packets 2 } {jain  1 }]" {
		t.Errorf("spans %s", s)
	}
	if s := fmt.Sprint(got.Groups, got.Lone); s != "[client0 client1 client0 mean max ] false" {
		t.Errorf("groups %s", s)
	}
	if s := fmt.Sprint(got.Keys); s != "[{scheme 8 0 0 pin pin-wide} {r0 8 8 1 pin pin-wide edge} {runs 5 16 2 "+
		"pin-wide edge-wide}]" {
		t.Errorf("keys %s", s)
	}
	if c := got.Rows[0].Cells[0]; c != (tableCell{Mean: "10.10", Half: "0.25", Width: 4}) {
		t.Errorf("cell %+v", c)
	}
	if c := got.Rows[2].Cells[2]; c.Mean != "–" || c.Half != "" {
		t.Errorf("a value that is not defined: %+v", c)
	}
	if !got.Rows[3].First || got.Rows[4].First {
		t.Error("schemes are not set apart")
	}
}

// TestGroupParameters_GroupsByPartOfSpec checks that parameters are grouped by part of the spec, and that those that
// the user has not set are separate.
func TestGroupParameters_GroupsByPartOfSpec(t *testing.T) {
	var text []string
	for _, g := range groupParameters([]experiment.Parameter{{Path: "duration"}, {Path: "topology.links.0.rate"},
		{Path: "traffic.x.cc.bbr"},
		{Path: "traffic.y.rate"}, {Path: "sweep.n"}, {Path: "sweep.scheme.abc.queue"}, {Path: "seed"}}) {
		var rows []string
		for _, r := range g.Rows {
			rows = append(rows, strings.Join(r.Path, "."))
		}
		text = append(text, g.Name+": "+strings.Join(rows, " "))
	}
	if got, want := strings.Join(text, "; "), "the run: duration seed; topology: links.0.rate; traffic x: cc.bbr; "+
		"traffic y: rate; sweep: n; sweep scheme: abc.queue"; got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	o := outcome(t)
	page, err := FormatHTML(o, nil, nil, Page{})
	if err != nil {
		t.Fatal(err)
	}
	given, defaults, ok := strings.Cut(string(page), "with their default value")
	if !ok || !strings.Contains(given, "figure.yaml:4") || strings.Contains(given, "default:") ||
		!strings.Contains(defaults, "default: ") {
		t.Error("defaults are not apart")
	}
}

func TestScaleFor_ChoosesPrefix(t *testing.T) {
	for _, c := range []struct {
		unit string
		most float64
		want string
	}{{"bps", 5e9, "Gb/s"}, {"bps", 999e6, "Mb/s"}, {"bps", 20, "b/s"}, {"s", 0.2, "ms"}, {"s", 3, "s"}, {"s", 2e-6, "µs"},
		{"packets", 5, "packets"}, {"", 5, ""}} {
		t.Run(fmt.Sprint(c.most, " ", c.unit), func(t *testing.T) {
			if got := scaleFor(c.unit, c.most).Unit; got != c.want {
				t.Errorf("%g %s is shown in %q, want %q", c.most, c.unit, got, c.want)
			}
		})
	}
}

func ExampleWrapText() {
	fmt.Println(WrapText("one two three four", 9, "  "))
	// Output:
	// one two
	//   three
	//   four
}

// TestDescribeStatus_NamesDeadlockedPorts checks that the ports of a deadlock are listed below the runs' ends.
func TestDescribeStatus_NamesDeadlockedPorts(t *testing.T) {
	o := &results.Outcome{Runs: []*results.Run{{Seed: 3, End: results.End{Reason: "pfc deadlock", TimeS: 0.001,
		Ports: []string{"s0->s1 queue 3", "s1->s0 queue 3"}}}}}
	if got, want := DescribeStatus(o), "1 run: 1 pfc deadlock\npfc deadlock: seed 3, at 0.001 s: s0->s1 queue 3, "+
		"s1->s0 queue 3\n"; got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for range 30 {
		o.Runs[0].End.Ports = append(o.Runs[0].End.Ports, "x->y")
	}
	if got := DescribeStatus(o); !strings.Contains(got, "and 22 more") {
		t.Error(got)
	}
}

// TestReports_CountSpuriousRetransmissions checks that summary and status have the number of packets that were sent
// again although they had arrived.
func TestReports_CountSpuriousRetransmissions(t *testing.T) {
	run := func(packets int64) *results.Run {
		r := &results.Run{End: results.End{Reason: "time up", Spurious: &results.Spurious{Packets: packets}},
			Drops: []results.Count{{Count: 4}}}
		if packets > 0 {
			r.End.Spurious.By = map[string]int64{"timeout": packets - 1, "probe": 1}
		}
		return r
	}
	for _, x := range []struct {
		runs []*results.Run
		want string // "": no line
	}{
		{[]*results.Run{run(0), run(0)}, "spurious retransmissions: none"},
		{[]*results.Run{run(7), run(0)}, "spurious retransmissions: 7 (timeout 6, probe 1); packets dropped: 8"},
		{[]*results.Run{{End: results.End{Reason: "time up"}}}, ""},
	} {
		o := &results.Outcome{Runs: x.runs}
		short := summaryLines(o)
		if len(short) > 2 || strings.Join(short[1:], "") != x.want {
			t.Errorf("%q, want %q", short, x.want)
		}
		if got := strings.ReplaceAll(DescribeStatus(o), "\n    ", " "); !strings.Contains(got, x.want) ||
			x.want == "" && strings.Contains(got, "sent again") {
			t.Errorf("%q, want %q", got, x.want)
		}
	}
}
