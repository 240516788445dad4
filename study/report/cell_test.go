package report

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"weir/study/experiment/plots"
	"weir/study/measure"
)

// TestNumberCell_RoundsByInterval checks that the interval decides the digits, for means and intervals. A value that is
// not 0 is never shown as 0.
func TestNumberCell_RoundsByInterval(t *testing.T) {
	for _, c := range []struct {
		mean, half float64
		want       string
	}{
		{9.6812, 0.0232, "9.681 ± 0.023"},
		{9.6812, 0.232, "9.68 ± 0.23"},
		{42.3612, 24.63, "42 ± 25"},
		{39.99981234, 0.0011, "39.9998 ± 0.0011"},
		{39.99981234, 0.0000011, "39.9998 ± <0.0001"},
		{40, 0, "40 ± 0"},
		{0.1, 0, "0.1000 ± 0"},
		{40, math.NaN(), "40"},
		{40.25, math.NaN(), "40.25"},
		{0.0353, math.NaN(), "0.03530"},
		{0, 0, "0 ± 0"},
		{math.Copysign(0, -1), 0, "0 ± 0"},
		{0, 0.25, "0 ± 0.25"},
		{6.44e-6, 2.77e-5, "0.000006 ± 0.000028"},
		{-6.44e-6, math.NaN(), "-6.44e-06"},
		{0.0353, 0.000137, "0.03530 ± 0.00014"},
		{0.035314, 0.0000581, "0.035314 ± 0.000058"},
		{2.39e-10, 3.04e-9, "2e-10 ± 3e-09"},
		{0.003, 24.63, "0.003 ± 25"},
		{12345.6, 7.8, "12345.6 ± 7.8"},
		{123456789, 7.8, "123456789 ± 8"},
		{123456789, 7800, "123456789 ± 7800"},
		{123.45, 1, "123.5 ± 1.0"},
		{999.96, 0.996, "999.96 ± 1.00"},
		{-5.5, math.NaN(), "-5.500"},
		{24, math.NaN(), "24"},
		{1.5e6, math.NaN(), "1500000"},
		{math.NaN(), math.NaN(), "–"},
		{math.Inf(1), math.NaN(), "–"},
		{3, math.Inf(1), "3"},
	} {
		t.Run(fmt.Sprint(c.mean, " ± ", c.half), func(t *testing.T) {
			got := numberCell(c.mean, c.half)
			if got.String() != c.want {
				t.Errorf("%g ± %g is %q, want %q", c.mean, c.half, got.String(), c.want)
			}
		})
	}
}

func points(of ...[]measure.Coordinate) []PointSummary {
	var out []PointSummary
	for i, p := range of {
		out = append(out, PointSummary{Point: p, N: 1, Values: []Value{{Measure: "m", Mean: float64(i),
			HalfInterval: math.NaN()}}})
	}
	return out
}

// TestCollectCurves_FollowsOrderOfSweep checks that words on the x axis are in the order of the sweep, once each. A key
// that the sweep varies and the plot does not name makes curves of its own.
func TestCollectCurves_FollowsOrderOfSweep(t *testing.T) {
	at := func(scheme, n string) []measure.Coordinate {
		return []measure.Coordinate{{Key: "scheme", Text: scheme}, {Key: "n", Text: n, Value: float64(len(n)),
			IsNum: true}}
	}
	p := points(at("b", "1"), at("b", "22"), at("a", "1"), at("a", "22"))
	d := collectCurves(plots.Plot{X: "scheme", Y: "m"}, p, false)
	if strings.Join(d.words, " ") != "b a" || len(d.curves) != 2 || d.curves[0].name != "n=1" || len(d.curves[1].x) != 2 ||
		d.curves[1].x[1] != 1 {
		t.Errorf("%+v", d)
	}
	d = collectCurves(plots.Plot{X: "n", Y: "m", Lines: []string{"scheme"}}, p, false)
	if d.words != nil || len(d.curves) != 2 || d.curves[0].name != "b" || d.curves[1].x[1] != 2 {
		t.Errorf("%+v", d)
	}
	svg, err := drawPlot(plots.Plot{X: "scheme", Y: "m"}, p)
	if err != nil || !strings.Contains(string(svg), ">b<") || !strings.Contains(string(svg), ">n=22<") {
		t.Errorf("%v: %s", err, svg)
	}
}

// TestDrawPlot_EscapesNames checks that names from the spec are escaped in a plot and harmless in its file's name.
func TestDrawPlot_EscapesNames(t *testing.T) {
	key := `a<b>&"/../c`
	p := points([]measure.Coordinate{{Key: key, Text: "</svg><script>", Value: 1}})
	svg, err := drawPlot(plots.Plot{X: key, Y: "m", Lines: []string{key}}, p)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(svg), "<script") || strings.Contains(string(svg), "a<b>") {
		t.Errorf("not escaped: %s", svg)
	}
	if got, want := safeFileName("m over "+key), "m-over-a-b----..-c"; got != want {
		t.Errorf("file name %q, want %q", got, want)
	}
}
