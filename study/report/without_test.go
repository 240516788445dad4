package report

import (
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/forward"
	"weir/core/topology"
	"weir/core/transport"
	"weir/core/transport/udp"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

const listed = `
title: x
duration: 1s
topology: {star: {hosts: 3, rate: 1Gbps, delay: 1us}}
switch: [$how]
traffic: [{name: x, from: [h1, h2], to: h0, transport: udp, rate: $rate}]
sweep: {how: [forward, ecmp], rate: [1Mbps, 2Mbps, 3Mbps]}
without:
  - {where: {how: ecmp, rate: [1Mbps, 3Mbps]}, why: "it means nothing: <none> & nobody asks"}
measure: [goodput, jain]
tables: {columns: [goodput], sort: "goodput.x:desc"}
`

// listedOutcome returns an outcome with a run at each of the first points that are not left out. Later runs are faster.
func listedOutcome(t *testing.T, runs int) *results.Outcome {
	t.Helper()
	r := &experiment.Registry{Measures: measure.Definitions(), Topologies: topology.Schemes(),
		Programs: []dataplane.Scheme{ecmp.Scheme(), forward.Scheme()}, Transports: []transport.Scheme{udp.Scheme()}}
	s := plantest.LoadSource(t, r, plantest.NewSource("x.yaml", listed), experiment.Options{})
	o := &results.Outcome{Name: "x", World: experiment.Sim, Spec: s}
	for i, x := range plan.ListRuns(s)[:runs] {
		o.Runs = append(o.Runs, &results.Run{Seed: x.Seed, Point: x.Point, End: results.End{Reason: "time up"},
			Values: measure.Values{Measures: []measure.Measured{grouped1("goodput", "bps", "x", float64(1+i)*1.111e6),
				{Name: "jain", Value: 1}}}})
	}
	return o
}

// TestListedTables checks that tables have the columns and the order of the file, unless options request others. Every
// form names what is left out, also without runs.
func TestListedTables(t *testing.T) {
	o := listedOutcome(t, 4)
	text := FormatText(o)
	for _, want := range []string{"left out: how=ecmp rate=1Mbps|3Mbps: it means nothing: <none> & nobody asks",
		"ecmp     2Mbps    4.444", "forward  3Mbps    3.333"} {
		if !strings.Contains(text, want) {
			t.Errorf("not in the text: %s\n%s", want, text)
		}
	}
	if a, b := strings.Index(text, "ecmp     2Mbps"), strings.Index(text, "forward  1Mbps"); a > b {
		t.Errorf("not sorted\n%s", text)
	}
	if strings.Contains(text, "jain") {
		t.Errorf("a column that is not asked for\n%s", text)
	}
	text, err := (&TableOptions{Columns: []string{"jain"}, Sort: []string{"rate"}}).Text(o)
	if err != nil || strings.Contains(text, "[Mb/s]") || !strings.Contains(text, "1Mbps") {
		t.Errorf("%v\n%s", err, text)
	}
	for form, made := range map[string]func(*results.Outcome) (string, error){
		"Markdown": (&TableOptions{}).Markdown, "LaTeX": (&TableOptions{}).LaTeX, "JSON": func(o *results.Outcome) (string,
			error) {
			return string(o.JSON()), nil
		}, "page": func(o *results.Outcome) (string, error) {
			page, err := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
			return string(page), err
		}} {
		for _, runs := range []int{4, 0} {
			text, err := made(listedOutcome(t, runs))
			text = strings.Join(strings.Fields(text), " ")
			if form == "LaTeX" && runs == 0 { // there is no table
				continue
			}
			if err != nil || !strings.Contains(text, "it means nothing:") {
				t.Errorf("%s of %d runs does not name what is left out (%v)", form, runs, err)
			}
		}
	}
	page, err := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
	if a, b := strings.Index(string(page), "4.444"), strings.Index(string(page), "1.111"); err != nil || a > b || a < 0 {
		t.Errorf("the page is not sorted: %d, %d (%v)", a, b, err)
	}
}

// TestFactsLine_ShowsMeasuredTime checks that the measured time and the warm-up are shown as times, also where the
// sweep has them.
func TestFactsLine_ShowsMeasuredTime(t *testing.T) {
	r := &experiment.Registry{Measures: measure.Definitions(), Topologies: topology.Schemes(),
		Programs: []dataplane.Scheme{ecmp.Scheme(), forward.Scheme()}, Transports: []transport.Scheme{udp.Scheme()}}
	keys := map[string]string{"duration: 1s\nwarmup: $w": "w: [5ms, 2s], ", "duration: $w": "w: [5ms, 2s], ",
		"duration: $d\nwarmup: $e": "d: [7ms], e: [3ms], "}
	for text, want := range map[string]string{
		"duration: 1s":                "; 1s measured",
		"duration: 1s\nwarmup: $w":    "; 1s measured after a warm-up of 5ms … 2s",
		"duration: $w":                "; 5ms … 2s measured",
		"duration: 1s\nwarmup: 100ms": "; 1s measured after a warm-up of 100ms",
		"duration: $d\nwarmup: $e":    "; 7ms measured after a warm-up of 3ms",
	} {
		file := strings.Replace(strings.Replace(listed, "duration: 1s", text, 1), "sweep: {",
			"sweep: {"+keys[text], 1)
		s := plantest.LoadSource(t, r, plantest.NewSource("x.yaml", file), experiment.Options{})
		if got := factsLine(&results.Outcome{Name: "x", World: experiment.Sim, Spec: s}, 0); !strings.HasSuffix(got, want) {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
