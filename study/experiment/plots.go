package experiment

import "strings"

// Plot is one entry of the spec's plot list.
type Plot struct {
	Kind  PlotKind
	X, Y  string
	Lines []string // what tells lines apart: sweep keys, or "traffic" for the groups of the measure
	LogX  bool
	LogY  bool

	filter
}

// Only are the sweep keys of which where picks one value, as key=value in the file's order:
// what tells two plots of the same axes apart.
func (p *Plot) Only() (keys []string) {
	for _, c := range p.where {
		if c.only != "" {
			keys = append(keys, c.key+"="+c.only)
		}
	}
	return keys
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

// Means tells whether a point belongs into the plot.
func (p *Plot) Means(at []Coordinate) bool { return p.means(at) }

var plotKeys = []string{"x", "y", "lines", "where", "log"}

// decodePlots reads the plot list.
func (s *Spec) decodePlots(d *decoder) {
	t := s.root.get("plot")
	if t == nil {
		return
	}
	if t.kind != list {
		d.fail(t.place, "[{x: …, y: …, lines: […]}]", "plot is a list")
		return
	}
	names := s.shape()
	sets := [4]map[string]any{{}, {}, {}, {}} // what each kind can show
	for _, m := range names.Measures {
		sets[OverSweep][m.Name] = nil
	}
	for _, x := range names.Series {
		sets[OverTime][x.Name] = nil
	}
	for _, b := range names.Bins {
		sets[OverSize][b.Name] = nil
		for _, q := range b.Percentiles {
			sets[OverSize][percentileName(b.Name, q)] = nil
		}
	}
	for _, x := range names.Distributions {
		sets[CDF][x.Name] = nil
	}
	keys := sweepKeys(s.root)
	for _, x := range t.items {
		if !d.keys(x, "plot's key", plotKeys) {
			continue
		}
		axisX, axisY := x.get("x"), x.get("y")
		if axisX == nil {
			d.missing(x, "x", "plot's key", plotKeys, "x: "+strings.Join(append(append([]string{}, keys...), timeAxis, sizeAxis),
				", "), "the plot has no x")
		}
		if axisY == nil {
			d.missing(x, "y", "plot's key", plotKeys, "y: "+strings.Join(sortedKeys(sets[OverSweep]), ", "), "the plot has no y")
		}
		if axisX == nil || axisY == nil {
			continue
		}
		var p Plot
		measured := axisY
		switch {
		case axisX.text == timeAxis && !contains(keys, timeAxis):
			p.Kind = OverTime
		case axisX.text == sizeAxis && !contains(keys, sizeAxis):
			p.Kind, p.LogX = OverSize, true
		case axisY.text == cdfAxis:
			p.Kind, measured = CDF, axisX
		}
		if p.Kind == OverSweep {
			p.X = d.word(axisX, "sweep key", append(append([]string{}, keys...), timeAxis, sizeAxis))
		}
		words := sortedKeys(sets[p.Kind])
		if len(words) == 0 {
			why := [4]string{"", "goodput: {every: 100ms}, or queue: {port: …}", "slowdown: {bins: 20}",
				"slowdown, fct, delay, queue, or nacks"}[p.Kind]
			d.fail(x.place, "a measure such as "+why, "no measure of the experiment has what the plot shows")
			continue
		}
		d.word(measured, "measure", words)
		p.X, p.Y = axisX.text, axisY.text
		if v := x.get("log"); v != nil {
			w := d.word(v, "logarithmic axis", []string{"x", "y", "xy", "none"})
			p.LogX, p.LogY = strings.Contains(w, "x"), strings.Contains(w, "y")
		}
		if v := x.get("lines"); v != nil {
			items := []*tree{v}
			if v.kind == list {
				items = v.items
			}
			for _, l := range items {
				p.Lines = append(p.Lines, d.word(l, "what tells lines apart", append(append([]string{}, keys...), "traffic")))
			}
		}
		if w := x.get("where"); w != nil {
			s.decodeWhere(d, &p.filter, w)
		}
		s.Plots = append(s.Plots, p)
	}
}
