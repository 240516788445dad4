package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/measure"
	"weir/study/results"
)

// paperSpec returns a valid spec, with a sweep and numbers of the paper.
func paperSpec(t *testing.T, more string) *experiment.Spec {
	t.Helper()
	r := &experiment.Registry{Measures: measure.Definitions(), Programs: []dataplane.Scheme{forward.Scheme()},
		Transports: []transport.Scheme{udp.Scheme()},
		Library: []experiment.Library{{Name: "room", Files: fstest.MapFS{"experiments/figure.yaml": {Data: []byte(`
title: Two senders
paper:
  name: paper
  figure: 4
  values:
    - {where: {scheme: abc, r0: 100Mbps}, goodput.client0: 32Mbps, source: "§6.2.3, <in words>"}
    - {where: {scheme: abc, r0: 10Mbps}, goodput.client0: 9.7Mbps, jain: 0.8, source: figure 4}
    - {where: {scheme: abc}, goodput.client0: 9.1Mbps, column: released, source: its logs}
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic:
  - {name: client0, from: a, to: b, transport: udp, rate: $r0}
  - {name: client1, from: a, to: b, transport: udp, rate: $rate}
sweep:
  scheme: {without: {rate: 10kbps}, abc: {rate: 20kbps}}
  r0: [10Mbps, 50Mbps, 100Mbps]
measure: [goodput, delay, {queue: {port: s->b}}, jain]
plot:
  - {x: r0, y: goodput, lines: [scheme, traffic]}
  - {x: r0, y: queue, lines: [scheme]}
` + more)}}}}}
	src, err := r.OpenExperiment("room/figure")
	if err != nil {
		t.Fatal(err)
	}
	return plantest.LoadSource(t, r, src, experiment.Options{})
}

// labOutcome returns an outcome of the lab next to the small sweep's. It has two seeds of three, goodputs that differ
// more from point to point, and no run of the last two points. One run was repeated until it was undisturbed, one
// stayed disturbed, and one has an error.
func labOutcome(t *testing.T) *results.Outcome {
	t.Helper()
	sim := outcome(t)
	sim.Spec, sim.Runs[0].End.Reason, sim.Runs[0].Unfinished, sim.Missing = paperSpec(t, ""), "time up", nil, 0
	o := &results.Outcome{Name: sim.Name, World: experiment.Lab, Spec: sim.Spec, Counterpart: sim, Missing: 4,
		Command: "weir run room/figure --on lab"}
	point := 0
	for _, r := range sim.Runs {
		if r.Seed == 1 {
			point++
		}
		if r.Seed == 3 || point > 4 {
			continue
		}
		x := *r
		x.Measures = nil
		for _, m := range r.Measures {
			m.Groups = slices.Clone(m.Groups)
			for k := range m.Groups {
				m.Groups[k].Value *= 1 + 0.04*float64(point-1)
			}
			x.Measures = append(x.Measures, m)
		}
		x.Attempts = []results.Attempt{{Disturbed: []string{}, Errors: []string{}, Frames: 1000, LateP50S: 41e-6,
			LateP99S: 180e-6, LateP999S: 0.9e-3, LateMaxS: 1.7e-3,
			Lateness: []uint64{15: 600, 16: 300, 20: 90, 21: 10}, StallS: 1.2e-3, Steal: 0.0002, CPU: 0.215,
			OwnCPU: 0.11, HostsWaitedS: 0.0124, WallS: 71,
			Send: &results.SendLate{Datagrams: 400, P50S: 50e-6, P99S: 0.2e-3, MaxS: 1e-3}}}
		bad := x.Attempts[0]
		bad.LateP999S, bad.LateMaxS, bad.Steal, bad.Lateness = 3.4e-3, 12e-3, 0.041, []uint64{15: 500, 24: 7}
		bad.Disturbed = []string{"1 % of frames left 3.4 ms late or more",
			"stalls disturbed 1.3 % of the time, the longest for 9.0 ms (the hypervisor took 4.1 % of all cores)"}
		bad.StallShare = 0.013
		switch {
		case point == 2 && r.Seed == 1:
			x.Attempts = []results.Attempt{bad, bad, x.Attempts[0]}
		case point == 3 && r.Seed == 2:
			x.Attempts = []results.Attempt{bad, bad}
		case point == 1 && r.Seed == 1:
			x.Attempts[0].Errors, x.Attempts[0].RingLost, x.Attempts[0].Lost = []string{"12 frames did not fit into a ring"}, 12,
				2
		}
		o.Runs = append(o.Runs, &x)
	}
	o.Claims = slices.Clone(sim.Claims)
	o.Claims[0].Verdict, o.Claims[0].N, o.Claims[0].Measured = claim.Fails, 8, "scheme=abc r0=10Mbps: x = 3 < 2"
	o.Counterpart.Claims = o.Counterpart.Claims[:2] // the third has no verdict of the simulator
	return o
}

// TestLabText compares the terminal's text of the lab word by word. It has the values of simulator, lab and paper,
// which of them agree, the verdicts of both worlds, and what the machine did.
func TestLabText(t *testing.T) {
	text := FormatText(labOutcome(t))
	testkit.Golden(t, "lab.txt", text)
	for _, l := range strings.Split(text, "\n") {
		if utf8.RuneCountInString(l) > DefaultWidth || strings.TrimRight(l, " ") != l {
			t.Errorf("%d columns: %q", utf8.RuneCountInString(l), l)
		}
	}
	if text != FormatText(labOutcome(t)) {
		t.Error("the same outcome has another text")
	}
}

// TestPaperColumns checks that a simulated outcome has the paper's numbers in separate columns. Without them the text
// equals the tables.
func TestPaperColumns(t *testing.T) {
	o := outcome(t)
	got := FormatText(o)
	for _, want := range []string{o.Spec.Title() + "\n", "\n3 claims: 1 holds, 1 fails, 1 undecided\n" +
		FormatClaims(o.Claims) + "\n",
		"\n\n" + FormatResults(o.Spec, SummarizePoints(o.Runs)) + "\n", "\n\n" + DescribeStatus(o)} {
		if at := strings.Index(got, want); at < 0 {
			t.Errorf("without a paper's numbers: after what comes before, it lacks\n%s\ngot\n%s", want, got)
		} else {
			got = got[at:]
		}
	}
	o.Spec = paperSpec(t, "")
	testkit.Golden(t, "paper.txt", FormatText(o)+"\n"+FormatPaperValues(o.Spec))
	for _, l := range strings.Split(FormatText(o), "\n") {
		if utf8.RuneCountInString(l) > DefaultWidth {
			t.Errorf("%d columns: %s", utf8.RuneCountInString(l), l)
		}
	}
}

// TestTable_JudgesDifferenceByBothBounds checks that a goodput agrees within a tenth, or within 1 Mb/s: both sides of
// both bounds, as the table shows them.
func TestTable_JudgesDifferenceByBothBounds(t *testing.T) {
	for _, c := range []struct {
		sim, lab float64
		want     string
	}{
		{40e6, 43.8e6, "+9.5 % inside"}, {40e6, 44.2e6, "+10.5 % outside"}, {40e6, 35.8e6, "-10.5 % outside"},
		{2e6, 2.9e6, "+45.0 % inside"}, {2e6, 0.9e6, "-55.0 % outside"}, {0, 0, "0 % inside"}, {0, 0.5e6, "+500 kb/s inside"},
		{0, 2e6, "+2 Mb/s outside"},
		{1e3, 9e5, "+899 kb/s inside"}, {math.NaN(), 1e6, "–"},
	} {
		t.Run(c.want, func(t *testing.T) {
			run := func(v float64) []*results.Run {
				return []*results.Run{{Seed: 1, Values: measure.Values{Measures: []measure.Measured{{Name: "goodput",
					Unit:   "bps",
					Groups: []measure.GroupValue{{Group: "x", Value: v}}}}}}}
			}
			o := &results.Outcome{World: experiment.Lab, Spec: resolved(t), Runs: run(c.lab),
				Counterpart: &results.Outcome{World: experiment.Sim, Runs: run(c.sim)}}
			_, values := newWorlds(o).resultColumns()
			if got := values[len(values)-1].cells[0].String(); got != c.want {
				t.Errorf("%g and %g: %q, want %q", c.sim, c.lab, got, c.want)
			}
		})
	}
}

// TestDifferenceUnits checks that a difference that is no share has the unit of its measure.
func TestDifferenceUnits(t *testing.T) {
	for _, c := range []struct {
		sim, lab   float64
		unit, want string
	}{
		{0, 86, "packets", "+86 packets undecided"}, {86, 0, "packets", "-100.0 % undecided"},
		{-1, 85, "packets", "+86 packets undecided"}, {1, -85, "packets", "-86 packets undecided"},
		{0, 8600, "bytes", "+8.6 kB undecided"}, {0, 0.0086, "s", "+8.6 ms undecided"}, {0, 0.07, "", "+0.07 undecided"},
		{0, 3, "pauses", "+3 pauses undecided"}, {0, 86e3, "bps", "+86 kb/s undecided"},
	} {
		t.Run(c.want, func(t *testing.T) {
			a := results.Agreement{Sim: c.sim, Lab: c.lab, Unit: c.unit, Verdict: claim.Undecided}
			if got := differenceText(a); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestTooFewSamples checks that a percentile with fewer than ten samples beyond it in a run of either world is not
// judged, and that the table gives the reason. Other values of the point are judged.
func TestTooFewSamples(t *testing.T) {
	none := math.NaN()
	for _, c := range []struct {
		name     string
		sim, lab [2]float64 // p50 and p99
		cells    [2]string
		points   int
	}{
		{"both", [2]float64{10, none}, [2]float64{11, none}, [2]string{"+10.0 % inside", "too few samples"}, 1},
		{"simulator", [2]float64{10, none}, [2]float64{11, 20}, [2]string{"+10.0 % inside", "too few samples"}, 1},
		{"lab", [2]float64{10, 20}, [2]float64{11, none}, [2]string{"+10.0 % inside", "too few samples"}, 1},
		{"all", [2]float64{none, none}, [2]float64{none, none}, [2]string{"too few samples", "too few samples"}, 0},
		{"none", [2]float64{10, 20}, [2]float64{11, 21}, [2]string{"+10.0 % inside", "+5.0 % inside"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			runs := func(v [2]float64) (all []*results.Run) {
				for seed := range uint64(2) {
					all = append(all, &results.Run{Seed: seed + 1, Values: measure.Values{Measures: []measure.Measured{{
						Name: "queue", Unit: "packets", Groups: []measure.GroupValue{{Group: "s->b mean", Value: 9},
							{Group: "s->b p50", Value: v[0]}, {Group: "s->b p99", Value: v[1]}}}}}})
				}
				return all
			}
			o := &results.Outcome{World: experiment.Lab, Spec: paperSpec(t, ""), Runs: runs(c.lab),
				Counterpart: &results.Outcome{World: experiment.Sim, Runs: runs(c.sim)}}
			w := newWorlds(o)
			for i, group := range []string{"s->b p50", "s->b p99"} {
				d, judged := w.differenceColumn(Value{Measure: "queue", Group: group, Unit: "packets"})
				if !judged || d.cells[0].String() != c.cells[i] {
					t.Errorf("%s: %v, want %q", group, d.cells, c.cells[i])
				}
			}
			if d, judged := w.differenceColumn(Value{Measure: "queue", Group: "s->b mean", Unit: "packets"}); judged {
				t.Errorf("a mean is judged: %v", d.cells)
			}
			if a := results.CountAgreements(o.Agreements()); a.Points != c.points || a.Inside != c.points || len(outsideLines(o,
				w)) > 0 {
				t.Errorf("%+v, %q", a, outsideLines(o, w))
			}
			text := FormatText(o)
			if strings.Contains(text, "undecided") || strings.Contains(text, "not compared") != (c.points == 0) {
				t.Error(text)
			}
			if text := string(o.JSON()); strings.Contains(text, `"unmeasured": true`) == (c.name == "none") {
				t.Error(text)
			}
		})
	}
}

// TestLab_WithoutSimulatorResultsIsNotCompared checks that without the simulator's results the lab's are shown without
// a comparison.
func TestLab_WithoutSimulatorResultsIsNotCompared(t *testing.T) {
	o := labOutcome(t)
	o.Counterpart = nil
	text := FormatText(o)
	if strings.Contains(text, "inside") || strings.Contains(text, "simulator  lab  ") ||
		!strings.Contains(text, "not compared") || !strings.Contains(text, "–          fails      a.b") {
		t.Error(text)
	}
	o.Dir = t.TempDir()
	if _, err := WriteReport(o, Page{}); err != nil {
		t.Error(err)
	}
	o.Runs, o.Counterpart = nil, labOutcome(t).Counterpart // interrupted before the first run
	if text := FormatText(o); !strings.Contains(text, "not compared") {
		t.Error(text)
	}
	if _, err := WriteReport(o, Page{}); err != nil {
		t.Error(err)
	}
}

// TestLabPage checks the page of the lab: claims with both verdicts, plots with both worlds and the paper's numbers,
// the machine with its histogram and every attempt. The page loads no other file.
func TestLabPage(t *testing.T) {
	o := labOutcome(t)
	o.Dir, o.Spec = t.TempDir(), paperSpec(t, "repeat: 3\nlab_repeat: 2\n")
	o.Counterpart.Spec = o.Spec
	path, err := WriteReport(o, Page{Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for _, want := range []string{"claim</th><th>simulator</th><th>lab",
		"simulator and lab agree in 2 of 4 points", "lab: 2 fail", ">paper<", ">lab<", ">simulator<", "<td>32",
		"§6.2.3, &lt;in words&gt;", `class="outside"`, "outside: scheme=abc r0=10Mbps goodput client0", `id="machine"`,
		"lateness of transmissions, 8 runs", "2 of 3", "error: 12 frames did not fit into a ring",
		"disturbed by 1 % of frames left 3.4 ms late or more", "--on lab", "vary between runs",
		", seeds 1 … 2, in the simulator seeds 1 … 3;"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(page, want) {
				t.Errorf("the page lacks %q", want)
			}
		})
	}
	for _, bad := range []string{"<in words>", "http://", "https://", "<script", "give the same numbers"} {
		t.Run(bad, func(t *testing.T) {
			text := strings.NewReplacer(`"http://www.w3.org/2000/svg"`, "", `"http://www.w3.org/1999/xlink"`, "").Replace(page)
			if strings.Contains(text, bad) {
				t.Errorf("the page contains %q", bad)
			}
		})
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1) {
		if left := svgColour.FindString(strings.ReplaceAll(svg, ",#", "")); left != "" {
			t.Errorf("a plot has the fixed colour %s", left)
		}
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "plots", "lateness.svg")); err != nil {
		t.Error(err)
	}
}

// TestBothWorldsPlot checks that a plot of both worlds names simulator, lab and paper, and each curve once, also if the
// lab has not reached a point. Plots over time and of distributions have both worlds, too.
func TestBothWorldsPlot(t *testing.T) {
	o := labOutcome(t)
	svg, err := newWorlds(o).drawSVG(o.Spec.Plots()[0])
	if err != nil {
		t.Fatal(err)
	}
	text := string(svg)
	for _, want := range []string{"2 runs in the lab", "abc client1", ">simulator<", ">lab<", ">paper<"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(text, want) {
				t.Errorf("the plot does not say %q", want)
			}
		})
	}
	if strings.Count(text, ">abc client0<") != 1 {
		t.Error("a curve stands twice in the legend")
	}
	o.Counterpart = nil
	if svg, err = newWorlds(o).drawSVG(o.Spec.Plots()[0]); err != nil || strings.Contains(string(svg), ">simulator<") {
		t.Errorf("without the simulator: %v", err)
	}
	for _, k := range []plots.Plot{{Kind: plots.OverTime, X: "time", Y: "queue"}, {Kind: plots.CDF,
		X: "queue", Y: "cdf"}} {
		t.Run(string(k.Kind), func(t *testing.T) {
			o := labOutcome(t)
			for _, r := range append(slices.Clone(o.Runs), o.Counterpart.Runs...) {
				r.Series = []measure.Series{{Name: "queue", Unit: "packets", Group: "s->b", StepS: 1,
					Values: []measure.Number{1, 2, 3}}}
				r.Distributions = []measure.Distribution{{Name: "queue", Unit: "packets", Group: "s->b", Values: []float64{1, 2},
					Counts: []uint64{3, 1}}}
			}
			svg, err := newWorlds(o).drawSVG(k)
			if err != nil || !strings.Contains(string(svg), ">simulator<") ||
				!strings.Contains(string(svg), "stroke-dasharray") {
				t.Errorf("%s: %v", PlotTitle(k), err)
			}
		})
	}
}

// TestSumLateness_CountsValidAttempts checks that the histogram counts every frame of the attempts that count.
func TestSumLateness_CountsValidAttempts(t *testing.T) {
	o := labOutcome(t)
	sum, n := sumLateness(listAttempts(o, false))
	if n != 7*1000+507 || sum[15] != 7*600+500 || sum[24] != 7 {
		t.Errorf("%d frames, %v", n, sum)
	}
	svg, err := latenessSVG(o)
	if err != nil || !strings.Contains(string(svg), "7.507 k frames of the last attempts, which count") ||
		!strings.Contains(string(svg), "1.521 k frames of repeated attempts") {
		t.Errorf("%v", err)
	}
	if svg, err := latenessSVG(outcome(t)); svg != nil || err != nil {
		t.Errorf("of the simulator: %d bytes, %v", len(svg), err)
	}
}

// TestLabDocuments checks that documents of the lab have both worlds, and the simulator's are unchanged.
func TestLabDocuments(t *testing.T) {
	o := labOutcome(t)
	var doc struct {
		World     string
		Runs      []struct{ Attempts []results.Attempt }
		Simulator struct {
			Runs   []struct{ ID string }
			Claims []claim.Claim
		}
		Agreement []struct {
			Point          map[string]string
			Measure, Group string
			Simulator, Lab float64
			Paper          *float64
			Judged         bool
			Verdict        claim.Verdict
		}
		Agree struct {
			Inside, Points int
			Verdict        claim.Verdict
		}
	}
	if err := json.Unmarshal(o.JSON(), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.World != "lab" || len(doc.Runs) != 8 || len(doc.Runs[2].Attempts) != 3 || len(doc.Simulator.Runs) != 18 ||
		len(doc.Simulator.Claims) != 2 {
		t.Errorf("%+v", doc)
	}
	if a := doc.Agree; a.Inside != 2 || a.Points != 4 || a.Verdict != claim.Fails {
		t.Errorf("%+v", a)
	}
	found := false
	for _, a := range doc.Agreement {
		if a.Point["scheme"] == "abc" && a.Point["r0"] == "10Mbps" && a.Measure == "goodput_bps" && a.Group == "client0" {
			found = a.Judged && a.Verdict == claim.Undecided && a.Paper != nil && *a.Paper == 9.7e6 &&
				math.Abs(a.Simulator-10.1e6) < 1
		}
		if a.Judged != (a.Verdict != "") {
			t.Errorf("%+v", a)
		}
	}
	if !found {
		t.Errorf("%+v", doc.Agreement)
	}
	if text := string(outcome(t).JSON()); strings.Contains(text, "agree") || strings.Contains(text, "simulator") {
		t.Error("the simulator's document has the lab's keys")
	}
	rows := func(o *results.Outcome) [][]string {
		var b bytes.Buffer
		if err := o.CSV(&b); err != nil {
			t.Fatal(err)
		}
		all, err := csv.NewReader(&b).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	all, sim := rows(o), rows(o.Counterpart)
	if all[0][0] != "world" || all[1][0] != "lab" || all[len(all)-1][0] != "sim" || sim[0][0] != "run" ||
		len(all)-1 != (len(sim)-1)*26/18 {
		t.Errorf("%v … %v (%d), %v (%d)", all[0], all[len(all)-1], len(all), sim[0], len(sim))
	}
}

// TestLabDiff checks that two folders of different worlds can be compared.
func TestLabDiff(t *testing.T) {
	o := labOutcome(t)
	text, _ := diffOutcomes(o.Counterpart, o)
	for _, want := range []string{"A  room/figure, 18 runs\nB  room/figure, 8 runs in the lab\n", "goodput client0 [Mb/s]",
		"only in A: scheme=abc r0=100Mbps"} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(text, want) {
				t.Errorf("it lacks %q:\n%s", want, text)
			}
		})
	}
}

// TestDescribeVerdict_OneSeed checks that a value outside by one seed in each world is marked as such, and one by
// several seeds is not.
func TestDescribeVerdict_OneSeed(t *testing.T) {
	a := results.Agreement{Sim: 5, Lab: 7, Judged: true, Verdict: claim.Fails, Interval: math.NaN()}
	if got := describeVerdict(&a, 1); got != ", one seed in each world" {
		t.Errorf("one seed in each world: %q", got)
	}
	a.Interval = 0.5
	if got := describeVerdict(&a, 1); got != "" {
		t.Errorf("several seeds: %q", got)
	}
}
