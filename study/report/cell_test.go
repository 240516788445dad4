package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/study/measure"
	"weir/study/spec"
)

// A column has as many decimals as its largest value needs, means and intervals
// alike; nothing is shown as 0 that is not.
func TestCell(t *testing.T) {
	for _, c := range []struct {
		mean, half, most float64
		want             string
	}{
		{9.6812, 0.0232, 40, "9.68 ± 0.02"},
		{40, 0.0011, 40, "40.00 ± <0.01"},
		{40, 0, 40, "40.00 ± 0"},
		{40, math.NaN(), 40, "40.00"},
		{0, 0, 0.9, "0 ± 0"},
		{math.Copysign(0, -1), 0, 0.9, "0 ± 0"},
		{6.44e-6, 2.77e-5, 0.9, "6.4e-06 ± 2.8e-05"},
		{-6.44e-6, math.NaN(), 0.9, "-6.4e-06"},
		{0.0353, 0.000137, 0.9, "0.035 ± <0.001"},
		{2.39e-10, 3.04e-9, 2.39e-10, "2.4e-10 ± 3e-09"},
		{12345.6, 7.8, 12345.6, "12346 ± 8"},
		{123.45, 1, 123.45, "123.5 ± 1.0"},
		{-5.5, math.NaN(), 5.5, "-5.50"},
		{math.NaN(), math.NaN(), 1, "–"},
		{math.Inf(1), math.NaN(), 1, "–"},
	} {
		t.Run(fmt.Sprint(c.mean, " ± ", c.half), func(t *testing.T) {
			if got := Cell(c.mean, c.half, decimalsFor(c.most)); got != c.want {
				t.Errorf("%g ± %g in a column up to %g is %q, want %q", c.mean, c.half, c.most, got, c.want)
			}
		})
	}
}

// An axis has four to eight round numbers.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      string
	}{
		{10, 100, "20 40 60 80 100"},
		{0, 41.7, "0 10 20 30 40"},
		{-3, 3, "-3 -2 -1 0 1 2 3"},
		{0, 1, "0.0 0.2 0.4 0.6 0.8 1.0"},
		{0, 0.00031, "0.00000 0.00005 0.00010 0.00015 0.00020 0.00025 0.00030"},
		{5, 5, "5"},
	} {
		t.Run(c.want, func(t *testing.T) {
			var labels []string
			for _, x := range ticks(c.low, c.high) {
				labels = append(labels, x.Label)
			}
			if got := strings.Join(labels, " "); got != c.want {
				t.Errorf("from %g to %g: %s, want %s", c.low, c.high, got, c.want)
			}
		})
	}
}

func points(of ...[]measure.Coordinate) []PointSummary {
	var out []PointSummary
	for i, p := range of {
		out = append(out, PointSummary{Point: p, N: 1, Values: []Value{{Measure: "m", Mean: float64(i), Half: math.NaN()}}})
	}
	return out
}

// Words on the x axis stand in the order of the sweep, once each; a key that the
// sweep varies and the plot does not name makes curves of its own.
func TestCurves(t *testing.T) {
	at := func(scheme, n string) []measure.Coordinate {
		return []measure.Coordinate{{Key: "scheme", Text: scheme}, {Key: "n", Text: n, Value: float64(len(n)),
			IsNum: true}}
	}
	p := points(at("b", "1"), at("b", "22"), at("a", "1"), at("a", "22"))
	d := collect(spec.Plot{X: "scheme", Y: "m"}, p)
	if strings.Join(d.words, " ") != "b a" || len(d.lines) != 2 || d.lines[0].name != "n=1" || len(d.lines[1].x) != 2 ||
		d.lines[1].x[1] != 1 {
		t.Errorf("%+v", d)
	}
	d = collect(spec.Plot{X: "n", Y: "m", Lines: []string{"scheme"}}, p)
	if d.words != nil || len(d.lines) != 2 || d.lines[0].name != "b" || d.lines[1].x[1] != 2 {
		t.Errorf("%+v", d)
	}
	svg, err := SVG(spec.Plot{X: "scheme", Y: "m"}, p)
	if err != nil || !strings.Contains(string(svg), ">b<") || !strings.Contains(string(svg), ">n=22<") {
		t.Errorf("%v: %s", err, svg)
	}
}

// Names that come from the spec are escaped in a plot and harmless in its file's
// name.
func TestNames(t *testing.T) {
	key := `a<b>&"/../c`
	p := points([]measure.Coordinate{{Key: key, Text: "</svg><script>", Value: 1}})
	svg, err := SVG(spec.Plot{X: key, Y: "m", Lines: []string{key}}, p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(svg), "<script") || strings.Contains(string(svg), "a<b>") {
		t.Errorf("not escaped: %s", svg)
	}
	if got, want := fileName("m over "+key), "m-over-a-b----..-c"; got != want {
		t.Errorf("file name %q, want %q", got, want)
	}
}
