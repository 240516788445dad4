package spec

import (
	"maps"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// Plot is one entry of the spec's plot list.
type Plot struct {
	Kind  PlotKind
	X, Y  string
	Lines []string // what tells lines apart: sweep keys, or "traffic" for the groups of the measure
	LogX  bool
	LogY  bool

	claim.Filter
}

// PlotKind says what a plot's axes are.
type PlotKind uint8

// Kinds of plots. OverSweep has a measure over a sweep key; OverTime a series; OverSize
// a measure by flow size; CDF the share of values of X up to each.
const (
	OverSweep PlotKind = iota
	OverTime
	OverSize
	CDF
)

// Names on axes that are no measures.
const (
	timeAxis = "time"
	sizeAxis = "flow_size"
	cdfAxis  = "cdf"
)

// decodePlots reads the plot list.
func (s *Spec) decodePlots(d *decoder) {
	t := top.Of(s.root).Get("plot")
	if t == nil {
		return
	}
	if t.Kind != document.List {
		d.Fail(t.Place, "[{x: …, y: …, lines: […]}]", "plot is a list")
		return
	}
	sets := s.plotted()
	for _, item := range t.Items {
		if x, ok := d.Map(item, plot); ok {
			s.onePlot(d, x, &sets)
		}
	}
}

// plotted is what plots of each kind can show.
func (s *Spec) plotted() [4]map[string]any {
	names := s.shape()
	sets := [4]map[string]any{{}, {}, {}, {}}
	for _, m := range names.Measures {
		sets[OverSweep][m.Name] = nil
	}
	for _, x := range names.Series {
		sets[OverTime][x.Name] = nil
	}
	for _, b := range names.Bins {
		sets[OverSize][b.Name] = nil
		for _, q := range b.Percentiles {
			sets[OverSize][measure.PercentileName(b.Name, q)] = nil
		}
	}
	for _, x := range names.Distributions {
		sets[CDF][x.Name] = nil
	}
	return sets
}

// onePlot reads an entry of the list.
func (s *Spec) onePlot(d *decoder, x document.Map, sets *[4]map[string]any) {
	keys := sweepKeys(s.root)
	axisX, axisY := x.Get("x"), x.Get("y")
	if axisX == nil {
		d.Missing(x.Node, "x", plot.What, plot.Names(), "x: "+
			strings.Join(append(append([]string{}, keys...), timeAxis, sizeAxis),
				", "), "the plot has no x")
	}
	if axisY == nil {
		d.Missing(x.Node, "y", plot.What, plot.Names(), "y: "+strings.Join(slices.Sorted(maps.Keys(sets[OverSweep])), ", "),
			"the plot has no y")
	}
	if axisX == nil || axisY == nil {
		return
	}
	var p Plot
	measured := axisY
	switch {
	case axisX.Text == timeAxis && !slices.Contains(keys, timeAxis):
		p.Kind = OverTime
	case axisX.Text == sizeAxis && !slices.Contains(keys, sizeAxis):
		p.Kind, p.LogX = OverSize, true
	case axisY.Text == cdfAxis:
		p.Kind, measured = CDF, axisX
	}
	if p.Kind == OverSweep {
		p.X = d.Word(axisX, "sweep key", append(append([]string{}, keys...), timeAxis, sizeAxis))
	}
	words := slices.Sorted(maps.Keys(sets[p.Kind]))
	if len(words) == 0 {
		why := [4]string{"", "goodput: {every: 100ms}, or queue: {port: …}", "slowdown: {bins: 20}",
			"slowdown, fct, delay, queue, or nacks"}[p.Kind]
		d.Fail(x.Place, "a measure such as "+why, "no measure of the experiment has what the plot shows")
		return
	}
	d.Word(measured, "measure", words)
	p.X, p.Y = axisX.Text, axisY.Text
	if v := x.Get("log"); v != nil {
		w := d.Word(v, "logarithmic axis", plot.Key("log").Form.Words)
		p.LogX, p.LogY = strings.Contains(w, "x"), strings.Contains(w, "y")
	}
	if v := x.Get("lines"); v != nil {
		items := []*document.Node{v}
		if v.Kind == document.List {
			items = v.Items
		}
		for _, l := range items {
			p.Lines = append(p.Lines, d.Word(l, "what tells lines apart", append(append([]string{}, keys...), "traffic")))
		}
	}
	if w := x.Get("where"); w != nil {
		s.view.Where(d.Reader, &p.Filter, w)
	}
	s.plots = append(s.plots, p)
}
