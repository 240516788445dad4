package experiment

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// Plot is one entry of the spec's plot list.
type Plot struct {
	Kind    PlotKind
	Drawn   string // one of the kinds that keys have; "" by what is shown
	X, Y, Z string // Z is what a heat map's colours show
	Groups  []string
	Lines   []string // what tells lines apart: sweep keys, or "traffic" for the groups of the measure
	Panels  string   // a sweep key, or "traffic": a panel each
	LogX    bool
	LogY    bool
	Scaled  bool // the file says which axes are logarithmic

	Ranks   []int // of a timeline, in this order; nil: by Slowest
	Slowest int   // so many, first those that others wait for; 0: all, if there is room

	Look
	claim.Filter
}

// Look is how a plot is to look; zero values leave it to the drawing.
type Look struct {
	XRange, YRange, ZRange Range
	XTicks, YTicks         Ticks
	XLabel, YLabel, ZLabel string
	Title                  string
	Untitled               bool
	Legend                 string
	Order                  []string // rising or falling alone is by value
	Names                  map[string]string
	Error                  string  // bars, band, none; "" as usual
	Width, Height          float64 // in points; 0 as usual
	Text                   float64 // in points
}

// Range is that of an axis; an end that is not given is left to the values.
type Range struct {
	Low, High       float64
	HasLow, HasHigh bool
}

// Ticks are those of an axis, or about how many.
type Ticks struct {
	At    []float64
	Count int
}

// PlotKind says what a plot's axes are.
type PlotKind uint8

// Kinds of plots. OverSweep has a measure over a sweep key; OverTime a series; OverSize
// a measure by flow size; CDF the share of values of X up to each, or beyond each; OverRanks
// what ranks of jobs do over time.
const (
	OverSweep PlotKind = iota
	OverTime
	OverSize
	CDF
	OverRanks
	plotKinds // how many there are
)

// Kinds that files name.
const (
	KindLines    = "lines"
	KindPoints   = "points"
	KindBars     = "bars"
	KindBox      = "box"
	KindCDF      = "cdf"
	KindCCDF     = "ccdf"
	KindHeat     = "heat"
	KindSeries   = "series"
	KindTimeline = "timeline"
)

// Names on axes that are no measures.
const (
	timeAxis = "time"
	sizeAxis = "flow_size"
	cdfAxis  = KindCDF
	ccdfAxis = KindCCDF
	byGroup  = "traffic"
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

// ParsePlot reads a plot that is no entry of the list: keys in their order, each with the text of its value as a
// file has it. Places of errors are names, such as those of flags.
func (s *Spec) ParsePlot(keys []PlotKey) (Plot, error) {
	d := &decoder{reader: &reader{Reader: document.NewReader(document.Kind{Name: "plot", Whole: "a plot",
		First: "x, y, …"})}}
	item := &document.Node{Kind: document.Mapping, Place: document.Place{File: "the plot", Line: 1, Column: 1}}
	for _, k := range keys {
		if v := document.Parse(d.Reader, k.Place, []byte(k.Text)); v != nil {
			item.Keys = append(item.Keys, document.Entry{Place: v.Place, Name: k.Name, Value: v})
		}
	}
	of := Spec{sweep: s.sweep, view: s.view, root: s.root, names: s.names, trial: s.trial, points: s.points}
	if x, ok := d.Map(item, plot); ok && d.OK() {
		sets := s.plotted()
		of.onePlot(d, x, &sets)
	}
	if err := d.Err(); err != nil {
		return Plot{}, err
	}
	return of.plots[0], nil
}

// PlotKey is a key of a plot with its text, and where that is from.
type PlotKey struct{ Name, Text, Place string }

// PlotKeysOf are the keys of the i-th plot of the file.
func (s *Spec) PlotKeysOf(i int) (keys []PlotKey) {
	for _, k := range top.Of(s.root).Get("plot").Items[i].Keys {
		keys = append(keys, PlotKey{k.Name, k.Value.Flow(), fmt.Sprintf("plot %d, %s", i+1, k.Name)})
	}
	return keys
}

// PlotKeys are the names and meanings of a plot's keys.
func PlotKeys() []document.Key { return slices.Clone(plot.Keys) }

// shownGroups are the groups of what a plot can show, by its name.
type shownGroups map[string][]string

func (g shownGroups) add(name string, groups ...string) {
	g[name] = append(g[name], groups...)
}

// plotted is what plots of each kind can show, with groups.
func (s *Spec) plotted() [plotKinds]shownGroups {
	names := s.shape()
	var sets [plotKinds]shownGroups
	for i := range sets {
		sets[i] = shownGroups{}
	}
	for _, m := range names.Measures {
		sets[OverSweep].add(m.Name)
		for _, g := range m.Groups {
			sets[OverSweep].add(m.Name, g.Group)
		}
	}
	for _, x := range names.Series {
		sets[OverTime].add(x.Name, x.Group)
	}
	for _, b := range names.Bins {
		sets[OverSize].add(b.Name, b.Traffic)
		for _, q := range b.Percentiles {
			sets[OverSize].add(measure.PercentileName(b.Name, q), b.Traffic)
		}
	}
	for _, x := range names.Distributions {
		sets[CDF].add(x.Name, x.Group)
	}
	for _, x := range names.Timelines {
		sets[OverRanks].add(KindTimeline, x.Traffic)
	}
	return sets
}

// traffics are the names of all points' traffics.
func (s *Spec) traffics() (names []string) {
	for _, p := range s.points {
		for i := range p.seen.Traffic {
			if n := p.seen.Traffic[i].Name; !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
	}
	return names
}

// onePlot reads an entry of the list.
func (s *Spec) onePlot(d *decoder, x document.Map, sets *[plotKinds]shownGroups) {
	p := Plot{}
	if v := x.Get("kind"); v != nil {
		p.Drawn = d.Word(v, "kind of plot", kinds)
	}
	if p.Drawn == KindTimeline {
		s.timelinePlot(d, x, &p, sets)
		return
	}
	if v := x.Get("ranks"); v != nil {
		d.Fail(v.Place, "kind: timeline", "only a timeline has ranks")
	}
	measured := s.plotAxes(d, x, &p, sets)
	if measured != nil {
		s.plotMeasure(d, x, &p, measured, sets)
	}
	if v := x.Get("log"); v != nil {
		w := d.Word(v, "logarithmic axis", plot.Key("log").Form.Words)
		p.LogX, p.LogY, p.Scaled = strings.Contains(w, "x"), strings.Contains(w, "y"), true
	}
	apart := append(sweepKeys(s.root), byGroup)
	for _, l := range items(x.Get("lines")) {
		p.Lines = append(p.Lines, d.Word(l, "what tells lines apart", apart))
	}
	if v := x.Get("panels"); v != nil {
		if p.Panels = d.Word(v, "what panels are of", apart); p.Panels == p.X || p.Panels == p.Y {
			d.Fail(v.Place, "another key", "%s is on an axis already", p.Panels)
		}
	}
	s.readLook(d, x, &p)
	if measured == nil {
		return
	}
	s.plotWhere(d, x, &p, sets)
	s.checkNames(d, x, &p, sets)
	s.allTraffics(&p, sets)
	s.plots = append(s.plots, p)
}

// items are a list's, or the one value itself.
func items(v *document.Node) []*document.Node {
	switch {
	case v == nil:
		return nil
	case v.Kind == document.List:
		return v.Items
	}
	return []*document.Node{v}
}

// plotAxes reads x and y, and says what the kind of plot is and which of the two is a measure; nil if that cannot be
// told.
func (s *Spec) plotAxes(d *decoder, x document.Map, p *Plot, sets *[plotKinds]shownGroups) *document.Node {
	keys := sweepKeys(s.root)
	axisX, axisY := x.Get("x"), x.Get("y")
	shares := p.Drawn == KindCDF || p.Drawn == KindCCDF
	if axisX == nil && p.Drawn == KindSeries {
		axisX = &document.Node{Place: x.Place, Text: timeAxis}
	}
	if axisY == nil && shares {
		axisY = &document.Node{Place: x.Place, Text: p.Drawn}
	}
	if axisX == nil {
		d.Missing(x.Node, "x", plot.What, plot.Names(), "x: "+
			document.Choices(append(append([]string{}, keys...), timeAxis, sizeAxis)), "the plot has no x")
	}
	if axisY == nil {
		d.Missing(x.Node, "y", plot.What, plot.Names(), "y: "+document.Choices(slices.Sorted(maps.Keys(sets[OverSweep]))),
			"the plot has no y")
	}
	if axisX == nil && axisY != nil && p.Drawn != KindHeat {
		s.lonelyY(d, axisY, sets)
	}
	if axisX == nil || axisY == nil {
		return nil
	}
	p.X, p.Y = d.Text(axisX), d.Text(axisY)
	measured := axisY
	switch {
	case p.Drawn == KindHeat:
		return s.heatAxes(d, x, p, axisX, axisY)
	case p.X == timeAxis && !slices.Contains(keys, timeAxis):
		p.Kind = OverTime
	case p.X == sizeAxis && !slices.Contains(keys, sizeAxis):
		p.Kind, p.LogX = OverSize, true
	case p.Y == cdfAxis, p.Y == ccdfAxis:
		p.Kind, measured = CDF, axisX
		p.LogY = p.Y == ccdfAxis
	}
	if p.Kind == OverSweep {
		d.Word(axisX, "sweep key", append(append([]string{}, keys...), timeAxis, sizeAxis))
	}
	s.fitting(d, x, p, shares)
	return measured
}

// lonelyY refuses the y of a plot without an x if it is nothing that any plot can show.
func (s *Spec) lonelyY(d *decoder, axisY *document.Node, sets *[5]shownGroups) {
	name, _, _ := strings.Cut(d.Text(axisY), ".")
	if slices.Contains([]string{cdfAxis, ccdfAxis, byGroup}, name) || slices.Contains(sweepKeys(s.root), name) {
		return
	}
	words := map[string]bool{}
	for _, set := range sets {
		for w := range set {
			words[w] = true
		}
	}
	if len(words) > 0 && !words[name] {
		d.Unknown(axisY.Place, "measure", name, slices.Sorted(maps.Keys(words)))
	}
}

// fitting refuses kinds that do not go with the axes.
func (s *Spec) fitting(d *decoder, x document.Map, p *Plot, shares bool) {
	allowed := map[PlotKind][]string{OverSweep: {KindLines, KindPoints, KindBars, KindBox, KindHeat},
		OverTime: {KindSeries, KindLines, KindPoints}, OverSize: {KindLines, KindPoints}, CDF: {KindCDF, KindCCDF}}[p.Kind]
	switch {
	case !slices.Contains(kinds, p.Drawn): // none is given, or that has been said
	case !slices.Contains(allowed, p.Drawn):
		d.Fail(x.Get("kind").Place, document.Choices(allowed), "kind %q does not go with x: %s and y: %s", p.Drawn, p.X,
			p.Y)
	case shares && p.Y != p.Drawn:
		d.Fail(x.Get("y").Place, "y: "+p.Drawn, "kind %q does not go with y: %s", p.Drawn, p.Y)
	}
}

// heatAxes reads those of a heat map, whose measure is z.
func (s *Spec) heatAxes(d *decoder, x document.Map, p *Plot, axisX, axisY *document.Node) *document.Node {
	keys := sweepKeys(s.root)
	if p.X == timeAxis && !slices.Contains(keys, timeAxis) {
		p.Kind = OverTime
	} else {
		d.Word(axisX, "sweep key", append(append([]string{}, keys...), timeAxis))
	}
	d.Word(axisY, "what rows are of", append(append([]string{}, keys...), byGroup))
	if p.X == p.Y {
		d.Fail(axisY.Place, "another key", "%s is on the other axis already", p.Y)
	}
	z := x.Get("z")
	if z == nil {
		d.Missing(x.Node, "z", plot.What, plot.Names(), "z: a measure", "the heat map has no z, which its colours show")
	}
	return z
}

// plotMeasure reads what is shown: a measure, or measure.group.
func (s *Spec) plotMeasure(d *decoder, x document.Map, p *Plot, measured *document.Node, sets *[plotKinds]shownGroups) {
	set := sets[p.Kind]
	if p.Drawn == KindBox { // of seeds, or of all values
		set = maps.Clone(set)
		for name, groups := range sets[CDF] {
			set.add(name, groups...)
		}
	}
	words := slices.Sorted(maps.Keys(set))
	if len(words) == 0 {
		why := [plotKinds]string{"", "goodput: {every: 100ms}, or queue: {port: …}", "slowdown: {bins: 20}",
			"slowdown, fct, delay, queue, or nacks"}[p.Kind]
		d.Fail(x.Place, "a measure such as "+why, "no measure of the experiment has what the plot shows")
		return
	}
	name := measured.Text
	if _, whole := set[name]; !whole {
		if m, g, ok := strings.Cut(name, "."); ok && set[m] != nil {
			allowed := s.groupsOf(m, set)
			if !slices.Contains(allowed, g) {
				d.Unknown(measured.Place, "group of "+m, g, allowed)
			}
			name, p.Groups = m, []string{g}
		} else {
			d.Word(measured, "measure", words)
		}
	}
	switch {
	case p.Drawn == KindHeat:
		p.Z = name
	case p.Kind == CDF:
		p.X = name
	default:
		p.Y = name
	}
	if x.Get("z") != nil && p.Drawn != KindHeat {
		d.Fail(x.Get("z").Place, "kind: heat", "only a heat map has a z")
	}
}

// Measured is the measure that a plot shows.
func (p *Plot) Measured() string {
	switch {
	case p.Drawn == KindHeat:
		return p.Z
	case p.Kind == OverRanks:
		return KindTimeline
	case p.Kind == CDF:
		return p.X
	}
	return p.Y
}

// groupsOf are the groups of a measure that some point has.
func (s *Spec) groupsOf(name string, set shownGroups) (out []string) {
	traffics := s.traffics()
	byTraffic := false
	for _, g := range set[name] {
		if g != "" && !slices.Contains(out, g) {
			out = append(out, g)
		}
		of, _, _ := strings.Cut(g, ".") // a flow of a traffic
		byTraffic = byTraffic || slices.Contains(traffics, of)
	}
	for _, t := range traffics { // other points may have others
		if byTraffic && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// plotWhere reads the points, and the groups, that are shown.
func (s *Spec) plotWhere(d *decoder, x document.Map, p *Plot, sets *[plotKinds]shownGroups) {
	groups := items(x.Get("traffic"))
	if w := x.Get("where"); w != nil {
		if t := w.Find(byGroup); t != nil && !slices.Contains(sweepKeys(s.root), byGroup) {
			groups = append(groups, items(t)...)
			rest := *w
			rest.Keys = slices.DeleteFunc(slices.Clone(w.Keys), func(e document.Entry) bool { return e.Name == byGroup })
			w = &rest
		}
		s.view.Where(d.Reader, &p.Filter, w)
	}
	set := sets[p.Kind]
	if _, ok := set[p.Measured()]; !ok {
		set = sets[CDF]
	}
	if _, ok := set[p.Measured()]; !ok { // that has been said
		return
	}
	allowed := s.groupsOf(p.Measured(), set)
	for _, g := range groups {
		if len(allowed) == 0 {
			d.Fail(g.Place, "no traffic", "%s has no groups", p.Measured())
			return
		}
		if w := d.Word(g, "group of "+p.Measured(), allowed); !slices.Contains(p.Groups, w) {
			p.Groups = append(p.Groups, w)
		}
	}
}

// allTraffics has a plot that does not say which traffic it shows tell all of them apart.
func (s *Spec) allTraffics(p *Plot, sets *[plotKinds]shownGroups) {
	if p.Kind != OverSweep || slices.Contains(p.Lines, byGroup) || p.Panels == byGroup || p.Y == byGroup {
		return
	}
	traffics, n := s.traffics(), 0
	for _, g := range sets[OverSweep][p.Measured()] {
		if slices.Contains(traffics, g) {
			n++
		}
	}
	if len(p.Groups) > 1 || len(p.Groups) == 0 && (n > 1 || n == 1 && len(traffics) > 1) {
		p.Lines = append(p.Lines, byGroup)
	}
}
