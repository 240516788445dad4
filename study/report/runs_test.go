package report

import (
	"strings"
	"testing"

	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/measure"
	"weir/study/results"
)

// sameKey returns results of two points at which a sweep key of that name is 4, with three runs each.
func sameKey(t *testing.T, key string) *results.Outcome {
	t.Helper()
	o := &results.Outcome{Name: "room/figure", World: experiment.Sim, Spec: read(t, strings.ReplaceAll(`
title: Sizes
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic: [{name: web, from: a, to: b, transport: tcp, cc: cubic, size: $size, flows: $KEY, start: 0s}]
sweep: {KEY: [4], size: [10 kB, 20 kB]}
measure: [goodput]
expect: [{id: full, says: it is full, that: goodput.web > 1bps}]
`, "KEY", key))}
	for i, size := range []string{"10 kB", "20 kB"} {
		for seed := range 3 {
			o.Runs = append(o.Runs, &results.Run{Seed: uint64(seed + 1), End: results.End{Reason: "time up"},
				Point: []measure.Coordinate{{Key: key, Text: "4", Value: 4, IsNum: true},
					{Key: "size", Text: size, Value: 1e4 * float64(1+i), IsNum: true}},
				Values: measure.Values{Measures: []measure.Measured{grouped1("goodput", "bps", "web", 1e6)}}})
		}
	}
	o.Claims = o.Spec.JudgeClaims(nil, 1)
	for i := range o.Claims {
		o.Claims[i].N = 6
	}
	return o
}

// TestNumberOfRuns checks that every form spells out the number of runs, and that a sweep key called n or runs does not
// read like it.
func TestNumberOfRuns(t *testing.T) {
	for _, c := range []struct{ key, same string }{
		{"n", "n = 4, 3 runs"}, {"runs", "sweep key runs = 4, 3 runs"}, {"users", "users = 4, 3 runs"},
	} {
		o := sameKey(t, c.key)
		options := &TableOptions{}
		markdown, err1 := options.Markdown(o)
		latex, err2 := options.LaTeX(o)
		page, err3 := FormatHTML(o, SummarizePoints(o.Runs), nil, Page{})
		if err1 != nil || err2 != nil || err3 != nil {
			t.Fatal(err1, err2, err3)
		}
		for form, text := range map[string]string{"text": FormatText(o), "markdown": markdown, "latex": latex,
			"page": string(page)} {
			if !strings.Contains(text, c.same) {
				t.Errorf("%s, %s: %q is missing:\n%s", c.key, form, c.same, text)
			}
			if strings.Contains(text, "n = 3") || strings.Contains(text, "n = 6") {
				t.Errorf("%s, %s: a second n:\n%s", c.key, form, text)
			}
		}
		if text := FormatText(o); !strings.Contains(text, "full (6 runs)") {
			t.Errorf("%s: a claim does not say its runs:\n%s", c.key, text)
		}
		p := plots.Plot{X: "size", Y: "goodput"}
		f, err := PlotFigure(o, p)
		if err != nil || f.Note != "mean and 95 % interval of 3 runs" {
			t.Errorf("%s: the note of a plot is %q: %v", c.key, f.Note, err)
		}
	}
}

// TestRunsColumn checks that different numbers of runs at points are a column. Its name is no key of the sweep.
func TestRunsColumn(t *testing.T) {
	for key, want := range map[string]string{"n": "n runs", "runs": "runs runs per point"} {
		o := sameKey(t, key)
		o.Runs = o.Runs[:5]
		o.Runs[3].Point[0].Text, o.Runs[4].Point[0].Text = "8", "8"
		keys, _ := newWorlds(o).resultColumns()
		var names []string
		for _, k := range keys {
			if name := k.head[2]; name != "size" {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("columns %q, want %q", got, want)
		}
	}
}
