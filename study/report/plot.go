package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/study/experiment/plots"
	"weir/study/figure"
	"weir/study/results"
)

// spoken is a name as people read it.
func spoken(s string) string { return strings.ReplaceAll(s, "_", " ") }

// Title is a plot's heading.
func Title(p plots.Plot) string {
	if p.Title != "" {
		return p.Title
	}
	of := ""
	if len(p.Groups) == 1 {
		of = " of " + p.Groups[0]
	}
	switch {
	case p.Kind == plots.OverRanks:
		return "what ranks do" + of
	case p.Drawn == plots.KindHeat:
		return spoken(p.Z) + of + " over " + spoken(p.X) + " and " + spoken(p.Y)
	case p.Kind == plots.CDF && p.Y == plots.KindCCDF:
		return "complementary distribution of " + spoken(p.X) + of
	case p.Kind == plots.CDF:
		return "distribution of " + spoken(p.X) + of
	}
	return spoken(p.Y) + of + " over " + spoken(p.X)
}

// svg draws one plot, one curve a combination of the keys in Lines and of any other
// key that the sweep varies: y over the sweep key x, or by flow size, with 95 %
// intervals over the seeds; a series of each point's first run; or distributions of
// all runs of a point together. The bytes depend on the numbers only. It is nil if no
// value is defined.
func svg(p plots.Plot, points []PointSummary) ([]byte, error) {
	return (&worlds{own: points}).svg(p)
}

// Figure makes a plot of results: a file's, or one of its own. It is nil if no value is defined.
func Figure(o *results.Outcome, p plots.Plot) (*figure.Figure, error) {
	return worldsOf(o).figure(p)
}

// FileName is a text as the name of a file that every file system accepts.
func FileName(text string) string { return fileName(text) }

// svg draws a plot of all worlds in one picture.
func (all *worlds) svg(p plots.Plot) ([]byte, error) {
	f, err := all.figure(p)
	if f == nil || err != nil {
		return nil, err
	}
	return f.Write("svg")
}

// drawn is one plot of all worlds while its figure is made.
type drawn struct {
	plots.Plot
	figure.Figure
	own, sim, paper drawing
	both            bool  // own is the lab's, with the simulator's beside
	logX, logY      bool  // axes are logarithmic
	xScale, yScale  Scale // of values, to those that the axes show
	names           []string
	panels          []string
	crossed         bool // a number of the paper is shown
	shown           map[string]bool
}

// figure makes a plot of all worlds: of the lab the simulator as a line and the lab as markers, of what has no
// markers as dashes; over a sweep key the paper's numbers as crosses. A curve has its colour in every world. It is
// nil if no value is defined.
func (all *worlds) figure(p plots.Plot) (*figure.Figure, error) {
	if p.Drawn == plots.KindHeat {
		return all.heat(p)
	}
	if p.Kind == plots.OverRanks {
		return all.timeline(p)
	}
	x, err := all.collect(p)
	if x == nil || err != nil {
		return nil, err
	}
	x.order()
	x.axes()
	x.marks()
	if len(x.Names) == 0 {
		return nil, nil // nothing of it is defined
	}
	x.legend()
	x.heading()
	return &x.Figure, nil
}

// collect has what a plot shows; nil if there is nothing.
func (all *worlds) collect(p plots.Plot) (*drawn, error) {
	w := all.only(p.Means)
	x := &drawn{Plot: p, both: w.sim != nil, shown: map[string]bool{}}
	make := func(p plots.Plot, each bool) {
		x.own, x.sim, x.paper = collect(p, w.own, each), drawing{}, drawing{}
		if x.both {
			x.sim = collect(p, w.sim, each)
		}
		if w.paper != nil && p.Kind == plots.OverSweep && p.Drawn != plots.KindBox {
			x.paper = collect(p, w.paper, each)
		}
		x.Plot = p
	}
	make(p, false)
	if p.Panels == "" && x.most() > figure.MostSeries { // more cannot be told apart
		split(p, w.own, make)
	}
	if x.most() > figure.MostSeries {
		make(p, true)
	}
	if len(x.own.lines) == 0 && len(x.sim.lines) > 0 { // the lab has nothing of it
		x.own = x.sim.shell()
	}
	switch {
	case len(x.own.lines) > 0 || len(x.sim.lines) > 0:
	case len(w.own) > 0 && p.Kind == plots.OverSweep && !measured(p.Y, w.own):
		return nil, fmt.Errorf("plot %s: no run has the measure", Title(p))
	default: // no value of it is defined, as of percentiles with too few samples
		return nil, nil
	}
	if x.both {
		x.own.bothNotes(&x.sim)
	}
	if w.chosen && !x.own.plain {
		x.own.note += ", chosen by the data"
	}
	return x, nil
}

// split tries the keys by which a plot with too many curves can have panels, and takes the one with the fewest.
func split(p plots.Plot, points []PointSummary, make func(plots.Plot, bool)) {
	keys := slices.Clone(p.Lines)
	for _, c := range points[0].Point {
		if c.Key != p.X && !slices.Contains(keys, c.Key) {
			keys = append(keys, c.Key)
		}
	}
	if !slices.Contains(keys, byGroup) && p.Kind != plots.OverSweep {
		keys = append(keys, byGroup)
	}
	best, fewest := "", math.MaxInt
	for _, key := range keys {
		q := p
		q.Panels = key
		d := collect(q, points, false)
		names, panels := d.count()
		if names <= figure.MostSeries && panels > 1 && panels < fewest {
			best, fewest = key, panels
		}
	}
	if best != "" {
		p.Panels = best
		make(p, false)
	}
}

// most is how many curves have to be told apart.
func (x *drawn) most() int {
	names, _ := x.own.count()
	other, _ := x.sim.count()
	return max(names, other)
}

// call is what a name of the file is called in the figure.
func (x *drawn) call(name string) string {
	if to, ok := x.Style.Names[name]; ok {
		return to
	}
	if len(x.Style.Names) == 0 {
		return name
	}
	parts := strings.Split(name, " ")
	for i, part := range parts {
		if to, ok := x.Style.Names[part]; ok {
			parts[i] = to
		} else if key, value, ok := strings.Cut(part, "="); ok {
			if to, ok := x.Style.Names[value]; ok {
				value = to
			}
			if to, ok := x.Style.Names[key]; ok {
				key = to
			}
			parts[i] = key + "=" + value
		}
	}
	return strings.Join(parts, " ")
}

// axes makes the axes and their scales.
func (x *drawn) axes() {
	most := max(x.own.highest(), x.sim.highest(), x.paper.highest())
	x.yScale, x.xScale = scaleFor(x.own.unit, most), scaleFor(x.own.xUnit, max(largest(x.own.xs), largest(x.sim.xs)))
	x.logX, x.logY = x.LogX && x.own.words == nil, x.LogY
	if !x.Scaled && x.Kind == plots.OverSweep && x.own.words == nil && byFactors(x.own.xs) &&
		!(x.XRange.HasLow && x.XRange.Low <= 0) {
		x.logX = true
	}
	if low, high := extremes(x.own.xs); x.logX && (x.Kind != plots.OverSweep || high >= 1e4*low) {
		x.xScale = Scale{baseUnit(x.own.xUnit), 1}
	}
	if x.logY && x.Kind != plots.CDF {
		x.yScale = Scale{baseUnit(x.own.unit), 1}
	}
	X, Y := &x.Figure.X, &x.Figure.Y
	*X = axisOf(axis(x.call(spoken(x.own.xName)), x.xScale.Unit), x.XLabel, x.XRange, x.XTicks, x.xScale, x.logX)
	*Y = axisOf(axis(x.call(spoken(x.own.yName)), x.yScale.Unit), x.YLabel, x.YRange, x.YTicks, x.yScale, x.logY)
	if x.own.words != nil {
		for _, w := range x.own.words {
			X.Words = append(X.Words, x.call(w))
		}
	} else if x.Kind == plots.OverSweep {
		for _, v := range x.own.xs {
			X.At = append(X.At, v*x.xScale.Factor)
		}
	}
	if x.Kind == plots.CDF {
		Y.Top = 1
	}
	Y.Zero = x.barred() && !x.logY
}

// barred reports whether values are bars.
func (x *drawn) barred() bool {
	return x.Kind == plots.OverSweep && (x.Drawn == plots.KindBars || x.Drawn == "" && x.own.words != nil)
}

// axisOf is an axis with what the file says of it.
func axisOf(label, given string, r plots.Range, t plots.Ticks, sc Scale, log bool) figure.Axis {
	a := figure.Auto(label)
	if given != "" {
		a.Label = given
	}
	a.Log = log
	if r.HasLow {
		a.Min = r.Low * sc.Factor
	}
	if r.HasHigh {
		a.Max = r.High * sc.Factor
	}
	for _, v := range t.At {
		a.Ticks = append(a.Ticks, v*sc.Factor)
	}
	a.Count = t.Count
	return a
}

// marks makes those of all worlds; what comes later lies above.
func (x *drawn) marks() {
	for _, d := range []*drawing{&x.sim, &x.own, &x.paper} {
		for i := range d.lines {
			x.mark(d, &d.lines[i])
		}
	}
	var used []int // series of which something is defined
	for _, p := range x.Figure.Panels {
		for _, m := range p.Marks {
			if !slices.Contains(used, m.Series) {
				used = append(used, m.Series)
			}
		}
	}
	if len(used) == 0 {
		x.Figure.Names = nil
	}
}

// place is the panel of a title, which it begins.
func (x *drawn) place(title string) *figure.Panel {
	i := slices.Index(x.panels, title)
	if i < 0 {
		i = len(x.panels)
		x.panels = append(x.panels, title)
		x.Figure.Panels = append(x.Figure.Panels, figure.Panel{Title: x.call(title)})
	}
	return &x.Figure.Panels[i]
}

// mark adds a curve of one world.
func (x *drawn) mark(d *drawing, l *line) {
	i := slices.Index(x.names, l.name)
	if d.each {
		i = 0
	}
	m := figure.Mark{Series: i, Form: x.form(d), Plain: d.plain}
	for k := range l.y {
		at, y := l.x[k]*x.xScale.Factor, l.y[k]*x.yScale.Factor
		if x.own.words != nil {
			at = l.x[k]
		}
		if math.IsNaN(y) || math.IsInf(y, 0) || x.logX && at <= 0 || x.logY && y <= 0 {
			continue
		}
		m.X, m.Y = append(m.X, at), append(m.Y, y)
		if l.boxes != nil {
			b, by := l.boxes[k], x.yScale.Factor
			m.Boxes = append(m.Boxes, figure.Box{Low: b.Low * by, Q1: b.Q1 * by, Median: b.Median * by, Q3: b.Q3 * by,
				High: b.High * by})
		}
		if l.half != nil && d.most > 1 && d != &x.paper && x.Error != "none" {
			half := l.interval(k) * x.yScale.Factor
			m.Low, m.High = append(m.Low, y-half), append(m.High, y+half)
		}
	}
	if i < 0 || len(m.X) == 0 { // of a curve that is not shown; not defined
		return
	}
	m.Band = x.Error == "band" && m.Form != figure.Bars
	switch {
	case d == &x.paper:
		x.crossed = true
	case x.both && d.plain && d == &x.own:
		m.Dash = figure.Broken
	case x.both && d.plain:
		m.Dash = figure.Solid
	case x.both && d == &x.sim:
		m.Thin = true
	}
	x.shown[l.name] = true
	p := x.place(l.panel)
	p.Marks = append(p.Marks, m)
}

// form is how a world's values look.
func (x *drawn) form(d *drawing) figure.Form {
	switch {
	case d == &x.paper:
		return figure.Crosses
	case x.Drawn == plots.KindBox:
		return figure.Boxes
	case x.both && !d.plain && d == &x.own:
		return figure.Hollow
	case x.barred():
		return figure.Bars
	case x.Drawn == plots.KindPoints:
		return figure.Points
	case d.steps:
		return figure.Steps
	}
	return figure.Line
}

// legend adds the entries of the worlds and of the paper.
func (x *drawn) legend() {
	x.Figure.Legend = figure.LegendPosition(x.Style.Legend)
	add := func(name string, form figure.Form, dash figure.Dash) {
		x.Extra = append(x.Extra, figure.LegendEntry{Name: name, Form: form, Dash: dash, Series: -1})
	}
	switch {
	case x.both && x.own.plain:
		add(simulatorName, figure.Line, figure.Solid)
		add(labName, figure.Line, figure.Broken)
	case x.both:
		form := figure.Line
		if x.barred() {
			form = figure.Bars
		}
		add(simulatorName, form, figure.Solid)
		add(labName, figure.Hollow, figure.BySeries)
	}
	if x.crossed {
		add(paperName, figure.Crosses, figure.BySeries)
	}
	if len(x.Figure.Names) == 1 && (x.names[0] == x.Measured() || x.own.each) && len(x.Extra) == 0 {
		x.Figure.Names[0] = ""
	}
	if x.own.each { // every curve has a panel of its own, with its name
		for i := range x.Figure.Names {
			x.Figure.Names[i] = ""
		}
	}
}

// heading makes title and note, and the figure's size.
func (x *drawn) heading() {
	x.Figure.Size = sizeOf(x.Style)
	if x.Untitled {
		return
	}
	x.Figure.Title = Title(x.Plot)
	if only := x.Only(); len(only) > 0 {
		x.Figure.Title += "\n" + strings.Join(only, " ")
	}
	x.Figure.Note = x.own.note
	if x.Error == "none" {
		x.Figure.Note = strings.Replace(x.Figure.Note, meanNote, "mean of ", 1)
	}
	var none []string
	for _, n := range x.names {
		if !x.shown[n] {
			none = append(none, x.call(n))
		}
	}
	if len(none) > 0 {
		x.Figure.Note += "; without a value: " + strings.Join(none, ", ")
	}
}

// sizeOf is the size of a figure.
func sizeOf(l plots.Style) figure.Size {
	size := figure.Screen()
	if l.Width > 0 {
		size = figure.Print(l.Width)
	}
	if l.Text > 0 {
		size.Text = l.Text
	}
	size.Height = l.Height
	return size
}
