package report

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"weir/dataplane"
	"weir/dataplane/forward"
	"weir/experiment"
	"weir/internal/testutil"
	"weir/transport"
	"weir/transport/udp"
)

// outcome is a small sweep: two schemes, three rates, three seeds, with a measure
// that is not defined at one point.
func outcome(t *testing.T) *experiment.Outcome {
	t.Helper()
	o := &experiment.Outcome{Name: "room/figure", World: "sim", Spec: spec(t)}
	for _, scheme := range []string{"without", "abc"} {
		for i, r0 := range []float64{10e6, 50e6, 100e6} {
			for seed := range 3 {
				v := r0 * (1 + 0.01*float64(seed))
				delay := 0.0135
				if i == 2 {
					delay = math.NaN()
				}
				o.Runs = append(o.Runs, &experiment.Run{ID: fmt.Sprint(scheme, i, seed), Seed: uint64(seed + 1), End: experiment.End{Reason: "time up", TimeS: 70},
					Point: []experiment.Coordinate{{Key: "scheme", Text: scheme}, {Key: "r0", Text: fmt.Sprintf("%.0fMbps", r0/1e6), Value: r0, IsNum: true}},
					Measures: []experiment.Measured{
						{Name: "goodput", Unit: "bps", Groups: []experiment.Grouped{{Group: "client0", Value: v}, {Group: "client1", Value: 40e6}}},
						{Name: "delay", Unit: "s", Groups: []experiment.Grouped{{Group: "client0", Value: delay}}},
						{Name: "queue", Unit: "packets", Groups: []experiment.Grouped{{Group: "mean", Value: 7.25}, {Group: "max", Value: 24}}},
						{Name: "jain", Value: 0.75}},
					Drops: []experiment.Count{{Name: "activity", Count: 12}}})
			}
		}
	}
	o.Runs[0].End.Reason = "no progress"
	o.Runs[0].Unfinished = []experiment.UnfinishedFlow{{Flow: 3, Traffic: "bulk", Src: "a", Dst: "b", SizeBytes: 1000, DoneBytes: 10}}
	o.Claims = []experiment.Claim{
		{ID: "a.b", Says: "the first <claim> holds in every case, however long its sentence may be and whatever it may say", Verdict: experiment.Holds, N: 9, Measured: "scheme=abc r0=10Mbps: x = 1 < 2"},
		{ID: "c", Says: "second", Verdict: experiment.Fails, N: 3},
		{ID: "d", Says: "third", Verdict: experiment.Undecided, N: 3, Measured: "no point"},
	}
	o.Missing, o.Found = 2, 4
	return o
}

// spec is a valid one, for its parameters, with the plots of the outcome.
func spec(t *testing.T) *experiment.Spec {
	t.Helper()
	r := &experiment.Registry{Programs: []dataplane.Scheme{forward.Scheme()}, Transports: []transport.Scheme{udp.Scheme()},
		Library: []experiment.Library{{Name: "room", Files: fstest.MapFS{"experiments/figure.yaml": {Data: []byte(`
title: A <title> & more
paper: {name: paper, figure: 4}
duration: 5s
topology: {hosts: [a, b], switches: [s], links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]}
switch: [forward]
traffic: [{name: x, from: a, to: b, transport: udp, rate: 10kbps}]
`)}}}}}
	src, err := r.Open("room/figure")
	if err != nil {
		t.Fatal(err)
	}
	s, err := experiment.Load(r, src, experiment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Plots = []experiment.Plot{{X: "r0", Y: "goodput", Lines: []string{"scheme", "traffic"}}, {X: "r0", Y: "queue", Lines: []string{"scheme"}}}
	return s
}

// The tables, word by word; nothing is wider than a terminal.
func TestTables(t *testing.T) {
	o := outcome(t)
	text := Results(Summarise(o.Runs)) + "\n" + Claims(o.Claims) + "\n" + Ends(o)
	testutil.Golden(t, "tables.txt", text)
	for _, l := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(l) > Width {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
}

// Student's t at 95 %, two-sided, as tables print it.
func TestInterval(t *testing.T) {
	for n, want := range map[int]float64{2: 12.706, 3: 4.303, 4: 3.182, 10: 2.262, 30: 2.045} {
		x := make([]float64, n) // sample deviation 1, mean 0
		x[0], x[1] = math.Sqrt(float64(n-1)/2), -math.Sqrt(float64(n-1)/2)
		mean, half := experiment.MeanInterval(x)
		if math.Abs(half*math.Sqrt(float64(n))-want) > 0.001 || mean != 0 {
			t.Errorf("n = %d: t = %.4f, tables say %.3f", n, half*math.Sqrt(float64(n)), want)
		}
	}
	if _, half := experiment.MeanInterval([]float64{3}); !math.IsNaN(half) {
		t.Error("one value has an interval")
	}
}

// Plots depend on the numbers only, name axes with units, and say n.
func TestSVG(t *testing.T) {
	o := outcome(t)
	points := Summarise(o.Runs)
	for _, p := range o.Spec.Plots {
		a, err := SVG(p, points)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := SVG(p, points)
		if string(a) != string(b) {
			t.Errorf("%s: two drawings differ", Title(p))
		}
		for _, want := range []string{"r0 [Mb/s]", "n = 3", "without", "abc"} {
			if !strings.Contains(string(a), want) {
				t.Errorf("%s does not say %q", Title(p), want)
			}
		}
	}
	a, _ := SVG(o.Spec.Plots[0], points)
	if !strings.Contains(string(a), "goodput [Mb/s]") || !strings.Contains(string(a), "abc client1") {
		t.Error("the axis has no unit, or a line no name")
	}
	if _, err := SVG(experiment.Plot{X: "r0", Y: "nothing"}, points); err == nil {
		t.Error("a measure that is not there is drawn")
	}
}

// A measure that is nowhere defined, a sweep over words, one point: all have a
// plot.
func TestSVGOddities(t *testing.T) {
	run := func(x string, v float64) *experiment.Run {
		return &experiment.Run{Point: []experiment.Coordinate{{Key: "k", Text: x}}, Measures: []experiment.Measured{{Name: "m", Value: v}}}
	}
	for name, runs := range map[string][]*experiment.Run{
		"undefined": {run("a", math.NaN()), run("b", math.NaN())}, "one": {run("a", 0)}, "words": {run("a", 1), run("b", -2)},
	} {
		if _, err := SVG(experiment.Plot{X: "k", Y: "m"}, Summarise(runs)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The page: escaped, self-contained, the same bytes each time, claims before plots
// before tables.
func TestWrite(t *testing.T) {
	o := outcome(t)
	var pages []string
	for range 2 {
		o.Dir = t.TempDir()
		o.Command = "weir run room/figure --set 'a=b'"
		path, err := Write(o, Page{Version: "test"})
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
	for _, bad := range []string{"<title>A <title>", "first <claim>", "http://", "https://", "<script"} {
		text := strings.ReplaceAll(page, `"http://www.w3.org/2000/svg"`, "")
		text = strings.ReplaceAll(text, `"http://www.w3.org/1999/xlink"`, "")
		if i := strings.Index(text, bad); i >= 0 {
			t.Errorf("the page contains %q: %.120s", bad, text[i:])
		}
	}
	last := -1
	for _, want := range []string{"A &lt;title&gt; &amp; more", ">Claims</h2>", "the first &lt;claim&gt;", ">Plots</h2>", "<svg", ">Results</h2>", "activity 12", "unfinished: ", ">To reproduce</h2>", "weir run room/figure"} {
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
	}
}

func TestScales(t *testing.T) {
	for _, c := range []struct {
		unit string
		most float64
		want string
	}{{"bps", 5e9, "Gb/s"}, {"bps", 999e6, "Mb/s"}, {"bps", 20, "b/s"}, {"s", 0.2, "ms"}, {"s", 3, "s"}, {"s", 2e-6, "µs"}, {"packets", 5, "packets"}, {"", 5, ""}} {
		if got := scaleFor(c.unit, c.most).Unit; got != c.want {
			t.Errorf("%g %s is shown in %q, want %q", c.most, c.unit, got, c.want)
		}
	}
}

func ExampleWrap() {
	fmt.Println(Wrap("one two three four", 9, "  "))
	// Output:
	// one two
	//   three
	//   four
}
