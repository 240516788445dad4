package experiment_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/study/experiment"
	"weir/study/experiment/plots"
	"weir/study/plan"
)

// plotted is an experiment with two traffics, storage and web, and plots.
const plotted = `
duration: 5s
topology:
  hosts: [a, b]
  switches: [s]
  links: [{ends: [a, s], rate: 1Mbps, delay: 1ms}, {ends: [s, b], rate: 1Mbps, delay: 1ms}]
switch: [forward]
traffic:
  - {name: storage, from: a, to: b, transport: tcp, size: $k, start: 0s}
  - {name: web, from: a, to: b, transport: tcp, size: $k, start: 0s}
sweep: {k: [100 B, 200 B], aqm: {x: {switch: [forward]}, y: {switch: [forward]}}}
measure: [{fct: {percentiles: [99]}}, {cwnd: {every: 1s}}, {queue: {port: s->b}}]
plot: [%s]
`

// TestPlotKeys checks every key of a plot and its result.
func TestPlotKeys(t *testing.T) {
	for text, want := range map[string]func(p *plots.Plot) bool{
		"{x: k, y: fct_p99.storage}": func(p *plots.Plot) bool {
			return p.Y == "fct_p99" && strings.Join(p.Groups, " ") == "storage"
		},
		"{x: k, y: fct, where: {traffic: web}}": func(p *plots.Plot) bool {
			return p.Groups[0] == "web" && len(p.SingleValues()) == 0
		},
		"{x: k, y: fct, where: {aqm: x, traffic: [web]}}": func(p *plots.Plot) bool {
			return p.Groups[0] == "web" && p.SingleValues()[0] == "aqm=x"
		},
		"{x: k, y: fct, traffic: [web, storage]}": func(p *plots.Plot) bool {
			return len(p.Groups) == 2 && p.Lines[0] == "traffic"
		},
		"{x: k, y: fct, lines: [aqm]}": func(p *plots.Plot) bool {
			return strings.Join(p.Lines, " ") == "aqm traffic"
		},
		"{x: k, y: queue, lines: [aqm]}": func(p *plots.Plot) bool {
			return strings.Join(p.Lines, " ") == "aqm"
		},
		"{x: k, y: queue.p99}": func(p *plots.Plot) bool { return p.Groups[0] == "p99" },
		"{x: time, y: cwnd, traffic: web, kind: series}": func(p *plots.Plot) bool {
			return p.Kind == plots.OverTime && p.Groups[0] == "web"
		},
		"{y: cwnd, kind: series, error: band}": func(p *plots.Plot) bool {
			return p.X == "time" && p.Error == "band"
		},
		"{x: fct.web, kind: ccdf}": func(p *plots.Plot) bool {
			return p.Kind == plots.CDF && p.X == "fct" && p.LogY
		},
		"{x: fct, y: cdf, log: x}": func(p *plots.Plot) bool { return p.LogX && p.LogSet },
		"{x: aqm, y: fct, kind: box, order: rising}": func(p *plots.Plot) bool {
			return p.DrawnAs == plots.KindBox && p.Order[0] == "rising"
		},
		"{x: k, y: aqm, z: fct.web, kind: heat}": func(p *plots.Plot) bool {
			return p.Z == "fct" && p.Y == "aqm"
		},
		"{x: time, y: traffic, z: cwnd, kind: heat}": func(p *plots.Plot) bool {
			return p.Kind == plots.OverTime && p.Z == "cwnd"
		},
		"{x: k, y: fct, x_range: 10B..1kB, y_range: ..2ms}": func(p *plots.Plot) bool {
			return p.XRange.Low == 10 && !p.YRange.HasLow && p.YRange.High == 0.002
		},
		"{x: k, y: fct, x_ticks: [100 B, 200 B], y_ticks: 4}": func(p *plots.Plot) bool {
			return p.XTicks.Values[1] == 200 && p.YTicks.Count == 4
		},
		"{x: k, y: fct, x_label: size, y_label: t, title: T}": func(p *plots.Plot) bool {
			return p.XLabel+p.YLabel+p.Title == "sizetT"
		},
		"{x: k, y: fct, title: none, legend: top_left}": func(p *plots.Plot) bool {
			return p.Untitled && p.Legend == "top_left"
		},
		"{x: k, y: fct, panels: traffic, lines: aqm}": func(p *plots.Plot) bool {
			return p.Panels == "traffic" && len(p.Lines) == 1
		},
		"{x: k, y: fct, names: {web: Web}, order: [y, x]}": func(p *plots.Plot) bool {
			return p.Names["web"] == "Web" && p.Order[1] == "x"
		},
		"{x: k, y: fct, width: 89mm, height: 5cm, text: 7pt}": func(p *plots.Plot) bool {
			return math.Abs(p.Width-252.28) < 0.01 && math.Abs(p.Height-141.73) < 0.01 && p.Text == 7
		},
		"{x: k, y: fct, kind: points, z_label: none}": func(p *plots.Plot) bool {
			return p.DrawnAs == plots.KindPoints
		},
	} {
		t.Run(text, func(t *testing.T) {
			s, err := parse(t, fmt.Sprintf(plotted, text))
			if err != nil {
				t.Fatal(err)
			}
			if p := s.Plots()[0]; !want(&p) {
				t.Errorf("%+v", p)
			}
			again, err := s.ParsePlot(s.PlotKeysOf(0))
			if err != nil || !want(&again) {
				t.Errorf("its keys, read again: %+v, %v", again, err)
			}
		})
	}
}

// TestWrongPlots checks that mistakes in a plot are reported with their place and the allowed values.
func TestWrongPlots(t *testing.T) {
	for text, want := range map[string]string{
		"{x: k, y: fct.storag}":                                 `"storag"; did you mean "storage"?`,
		"{x: k, y: fct, traffic: wep}":                          `did you mean "web"?`,
		"{x: k, y: fct, where: {traffic: wep}}":                 `did you mean "web"?`,
		"{x: k, y: fct, kind: pie}":                             `unknown plot kind "pie"; allowed: lines,`,
		"{x: time, y: cwnd, kind: bars}":                        `kind "bars" does not fit x: time`,
		"{x: k, y: aqm, kind: heat}":                            "the heat map needs the key z",
		"{x: k, y: k, z: fct, kind: heat}":                      "which is already on the x axis",
		"{x: k, y: fct, z: fct}":                                "z is given, but only a heat map has z",
		"{x: k, y: fct, y_range: 3..1}":                         "the range 3..1 is empty",
		"{x: k, y: fct, y_range: 3}":                            "low..high such as 0..50Mbps",
		"{x: k, y: fct, y_range: 0s..1s, log: y}":               "a logarithmic axis cannot show the range",
		"{x: k, y: fct, y_ticks: many}":                         "a list of values, or 2 … 50",
		"{x: k, y: fct, y_ticks: [fast]}":                       `"fast" is not a quantity`,
		"{x: k, y: fct, width: 5mm}":                            "30mm … 1000mm",
		"{x: k, y: fct, width: 89}":                             "is not a length in the range",
		"{x: k, y: fct, text: 6pt}":                             "7pt … 30pt",
		"{x: k, y: fct, panels: k}":                             "panels is k, which is already on an axis",
		"{x: k, y: fct, legend: left}":                          "top_left",
		"{y: fctt, width: 1mm}":                                 `unknown measure "fctt"; did you mean "fct"?`,
		"{y: fct, lines: [aqn], width: 1mm}":                    `"aqn"; did you mean "aqm"?`,
		"{x: k, y: fct, order: [wep]}":                          `unknown value in order "wep"; did you mean "web"?`,
		"{x: k, y: fct, names: {aqn: AQM}}":                     `in names "aqn"; did you mean "aqm"?`,
		"{x: k, y: fct, names: [a]}":                            "names is not a map",
		"{x: k}":                                                "the plot needs the key y",
		"{x: fct, y: cdf, kind: ccdf}":                          `does not fit y: cdf`,
		"{x: kk, y: fcts, traffic: web, width: 1mm, kind: pie}": "30mm … 1000mm", // all at once
	} {
		t.Run(text, func(t *testing.T) {
			_, err := parse(t, fmt.Sprintf(plotted, text))
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ":13:") {
				t.Errorf("%v\nwant %s", err, want)
			}
		})
	}
}

// parse reads an experiment, which may be wrong.
func parse(t *testing.T, text string) (*experiment.Spec, error) {
	t.Helper()
	return plan.Load(room(), file("mine", text), experiment.Options{})
}
