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

// readableName returns a name with spaces in place of underscores.
func readableName(s string) string { return strings.ReplaceAll(s, "_", " ") }

// PlotTitle returns the title of a plot: the file's, or one from its measure and axes. It ignores Untitled.
func PlotTitle(p plots.Plot) string {
	if p.Title != "" {
		return p.Title
	}
	suffix := ""
	if len(p.Groups) == 1 {
		suffix = " of " + p.Groups[0]
	}
	switch {
	case p.Kind == plots.OverRanks:
		return "what ranks do" + suffix
	case p.DrawnAs == plots.KindHeat:
		return readableName(p.Z) + suffix + " over " + readableName(p.X) + " and " + readableName(p.Y)
	case p.Kind == plots.CDF && p.Y == plots.KindCCDF:
		return "complementary distribution of " + readableName(p.X) + suffix
	case p.Kind == plots.CDF:
		return "distribution of " + readableName(p.X) + suffix
	}
	return readableName(p.Y) + suffix + " over " + readableName(p.X)
}

// drawPlot draws a plot with one curve for each combination of the keys in Lines and of other varying keys. It shows
// y over the sweep key x or by flow size with 95 % intervals over the seeds, a series of each point's first run, or
// distributions over all runs of a point. The bytes depend only on the numbers. It returns nil if no value is
// defined.
func drawPlot(p plots.Plot, points []PointSummary) ([]byte, error) {
	return (&worlds{own: points}).drawSVG(p)
}

// PlotFigure returns the figure of a plot of results; nil if no value is defined.
func PlotFigure(o *results.Outcome, p plots.Plot) (*figure.Figure, error) {
	return newWorlds(o).newFigure(p)
}

// SafeFileName replaces characters that some file systems reject by "-".
func SafeFileName(text string) string { return safeFileName(text) }

// drawSVG draws a plot of all worlds as an SVG; nil without values.
func (all *worlds) drawSVG(p plots.Plot) ([]byte, error) {
	f, err := all.newFigure(p)
	if f == nil || err != nil {
		return nil, err
	}
	return f.Render("svg")
}

// plotBuilder builds the figure of a plot of all worlds.
type plotBuilder struct {
	plots.Plot
	figure.Figure
	own, sim, paper curveSet
	sideBySide      bool  // own is the lab's, shown with the simulator's
	logX, logY      bool  // logarithmic axes
	xScale, yScale  Scale // from base units to those of the axes
	names           []string
	panels          []string
	hasPaper        bool // a value of the paper is shown
	shown           map[string]bool
}

// newFigure returns the figure of a plot of all worlds; nil without values. For lab results the simulator is a line and
// the lab has markers, or dashes where plots have no markers. Over a sweep key the paper's numbers are crosses. A curve
// has the same colour in all worlds. An error is about a measure that no run has.
func (all *worlds) newFigure(p plots.Plot) (*figure.Figure, error) {
	if p.DrawnAs == plots.KindHeat {
		return all.newHeatMap(p)
	}
	if p.Kind == plots.OverRanks {
		return all.newTimeline(p)
	}
	x, err := all.collectPlot(p)
	if x == nil || err != nil {
		return nil, err
	}
	x.orderCurves()
	x.setAxes()
	x.addMarks()
	if len(x.Names) == 0 {
		return nil, nil // no value is defined
	}
	x.addLegend()
	x.addHeading()
	return &x.Figure, nil
}

// collectPlot collects the curves of a plot; nil without values. It returns an error if no run has the measure.
func (all *worlds) collectPlot(p plots.Plot) (*plotBuilder, error) {
	w := all.selectPoints(p.Matches)
	x := &plotBuilder{Plot: p, sideBySide: w.sim != nil, shown: map[string]bool{}}
	make := func(p plots.Plot, each bool) {
		x.own, x.sim, x.paper = collectCurves(p, w.own, each), curveSet{}, curveSet{}
		if x.sideBySide {
			x.sim = collectCurves(p, w.sim, each)
		}
		if w.paper != nil && p.Kind == plots.OverSweep && p.DrawnAs != plots.KindBox {
			x.paper = collectCurves(p, w.paper, each)
		}
		x.Plot = p
	}
	make(p, false)
	if p.Panels == "" && x.countNames() > figure.MaxSeries { // more are indistinguishable
		splitPanels(p, w.own, make)
	}
	if x.countNames() > figure.MaxSeries {
		make(p, true)
	}
	if len(x.own.curves) == 0 && len(x.sim.curves) > 0 { // the lab has no such values
		x.own = x.sim.withoutCurves()
	}
	switch {
	case len(x.own.curves) > 0 || len(x.sim.curves) > 0:
	case len(w.own) > 0 && p.Kind == plots.OverSweep && !hasMeasure(p.Y, w.own):
		return nil, fmt.Errorf("plot %s: no run has the measure; choose a measure of the experiment", PlotTitle(p))
	default: // no value is defined, such as percentiles of few samples
		return nil, nil
	}
	if x.sideBySide {
		x.own.noteBothWorlds(&x.sim)
	}
	if w.chosen && !x.own.plain {
		x.own.note += ", chosen by the data"
	}
	return x, nil
}

// splitPanels divides a plot with too many curves into panels by the key that gives the fewest panels. It calls make
// for the divided plot, and makes no call if no key helps. points must not be empty.
func splitPanels(p plots.Plot, points []PointSummary, make func(plots.Plot, bool)) {
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
		d := collectCurves(q, points, false)
		names, panels := d.countCurves()
		if names <= figure.MaxSeries && panels > 1 && panels < fewest {
			best, fewest = key, panels
		}
	}
	if best != "" {
		p.Panels = best
		make(p, false)
	}
}

// countNames returns the number of curves that must be distinguishable.
func (x *plotBuilder) countNames() int {
	names, _ := x.own.countCurves()
	other, _ := x.sim.countCurves()
	return max(names, other)
}

// displayName returns the name that the plot's style gives to a name of the file, as a whole or to its parts; the name
// itself without one.
func (x *plotBuilder) displayName(name string) string {
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

// setAxes sets the axes and their scales. The curves must be ordered.
func (x *plotBuilder) setAxes() {
	highest := max(x.own.maxHeight(), x.sim.maxHeight(), x.paper.maxHeight())
	x.yScale, x.xScale = scaleFor(x.own.unit, highest), scaleFor(x.own.xUnit, max(maxMagnitude(x.own.xs),
		maxMagnitude(x.sim.xs)))
	x.logX, x.logY = x.LogX && x.own.words == nil, x.LogY
	if !x.LogSet && x.Kind == plots.OverSweep && x.own.words == nil && growsByFactors(x.own.xs) &&
		!(x.XRange.HasLow && x.XRange.Low <= 0) {
		x.logX = true
	}
	if low, high := minMax(x.own.xs); x.logX && (x.Kind != plots.OverSweep || high >= 1e4*low) {
		x.xScale = Scale{baseUnit(x.own.xUnit), 1}
	}
	if x.logY && x.Kind != plots.CDF {
		x.yScale = Scale{baseUnit(x.own.unit), 1}
	}
	X, Y := &x.Figure.X, &x.Figure.Y
	*X = newAxis(axisLabel(x.displayName(readableName(x.own.xName)), x.xScale.Unit), x.XLabel, x.XRange, x.XTicks,
		x.xScale, x.logX)
	*Y = newAxis(axisLabel(x.displayName(readableName(x.own.yName)), x.yScale.Unit), x.YLabel, x.YRange, x.YTicks,
		x.yScale, x.logY)
	if x.own.words != nil {
		for _, w := range x.own.words {
			X.Words = append(X.Words, x.displayName(w))
		}
	} else if x.Kind == plots.OverSweep {
		for _, v := range x.own.xs {
			X.SweepValues = append(X.SweepValues, v*x.xScale.Factor)
		}
	}
	if x.Kind == plots.CDF {
		Y.UpperBound = 1
	}
	Y.IncludeZero = x.hasBars() && !x.logY
}

// hasBars reports whether the values are drawn as bars.
func (x *plotBuilder) hasBars() bool {
	return x.Kind == plots.OverSweep && (x.DrawnAs == plots.KindBars || x.DrawnAs == "" && x.own.words != nil)
}

// newAxis returns an axis with the label, range and ticks of the file. label applies if fileLabel is "". Range and
// ticks are in base units, which sc converts.
func newAxis(label, fileLabel string, r plots.Range, t plots.Ticks, sc Scale, log bool) figure.Axis {
	a := figure.NewAutoAxis(label)
	if fileLabel != "" {
		a.Label = fileLabel
	}
	a.Log = log
	if r.HasLow {
		a.Min = r.Low * sc.Factor
	}
	if r.HasHigh {
		a.Max = r.High * sc.Factor
	}
	for _, v := range t.Values {
		a.Ticks = append(a.Ticks, v*sc.Factor)
	}
	a.Count = t.Count
	return a
}

// addMarks adds the marks of all worlds; later marks are drawn above earlier ones. If no value is defined, it clears
// the figure's names.
func (x *plotBuilder) addMarks() {
	for _, d := range []*curveSet{&x.sim, &x.own, &x.paper} {
		for i := range d.curves {
			x.addMark(d, &d.curves[i])
		}
	}
	var used []int // series with a defined value
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

// findPanel returns the panel with a title, and adds it if necessary. title is the file's name; the panel shows its
// display name. The pointer is valid until the next panel is added.
func (x *plotBuilder) findPanel(title string) *figure.Panel {
	i := slices.Index(x.panels, title)
	if i < 0 {
		i = len(x.panels)
		x.panels = append(x.panels, title)
		x.Figure.Panels = append(x.Figure.Panels, figure.Panel{Title: x.displayName(title)})
	}
	return &x.Figure.Panels[i]
}

// addMark adds curve l of world d to its panel, and marks its name as shown. It leaves out values that are undefined or
// that a logarithmic axis cannot show, and a curve without other values.
func (x *plotBuilder) addMark(d *curveSet, l *curve) {
	i := slices.Index(x.names, l.name)
	if d.panelPerCurve {
		i = 0
	}
	m := figure.Mark{Series: i, Form: x.markForm(d), SparseMarkers: d.plain}
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
		if l.half != nil && d.maxRuns > 1 && d != &x.paper && x.Error != "none" {
			half := l.intervalAt(k) * x.yScale.Factor
			m.Low, m.High = append(m.Low, y-half), append(m.High, y+half)
		}
	}
	if i < 0 || len(m.X) == 0 { // the curve is not shown, or has no defined value
		return
	}
	m.Band = x.Error == "band" && m.Form != figure.Bars
	switch {
	case d == &x.paper:
		x.hasPaper = true
	case x.sideBySide && d.plain && d == &x.own:
		m.Dash = figure.Broken
	case x.sideBySide && d.plain:
		m.Dash = figure.Solid
	case x.sideBySide && d == &x.sim:
		m.Light = true
	}
	x.shown[l.name] = true
	p := x.findPanel(l.panel)
	p.Marks = append(p.Marks, m)
}

// markForm returns the form of a world's values.
func (x *plotBuilder) markForm(d *curveSet) figure.Form {
	switch {
	case d == &x.paper:
		return figure.Crosses
	case x.DrawnAs == plots.KindBox:
		return figure.Boxes
	case x.sideBySide && !d.plain && d == &x.own:
		return figure.Hollow
	case x.hasBars():
		return figure.Bars
	case x.DrawnAs == plots.KindPoints:
		return figure.Points
	case d.steps:
		return figure.Steps
	}
	return figure.Line
}

// addLegend adds entries for the worlds and the paper, and removes redundant names. The marks must be set.
func (x *plotBuilder) addLegend() {
	x.Figure.Legend = figure.LegendPosition(x.Style.Legend)
	add := func(name string, form figure.Form, dash figure.Dash) {
		x.ExtraEntries = append(x.ExtraEntries, figure.LegendEntry{Name: name, Form: form, Dash: dash, Series: -1})
	}
	switch {
	case x.sideBySide && x.own.plain:
		add(simulatorName, figure.Line, figure.Solid)
		add(labName, figure.Line, figure.Broken)
	case x.sideBySide:
		form := figure.Line
		if x.hasBars() {
			form = figure.Bars
		}
		add(simulatorName, form, figure.Solid)
		add(labName, figure.Hollow, figure.BySeries)
	}
	if x.hasPaper {
		add(paperName, figure.Crosses, figure.BySeries)
	}
	if len(x.Figure.Names) == 1 && (x.names[0] == x.Measure() || x.own.panelPerCurve) && len(x.ExtraEntries) == 0 {
		x.Figure.Names[0] = ""
	}
	if x.own.panelPerCurve { // each panel has its curve's name as the title
		for i := range x.Figure.Names {
			x.Figure.Names[i] = ""
		}
	}
}

// addHeading sets title, note and size of the figure.
func (x *plotBuilder) addHeading() {
	x.Figure.Size = figureSize(x.Style)
	if x.Untitled {
		return
	}
	x.Figure.Title = PlotTitle(x.Plot)
	if only := x.SingleValues(); len(only) > 0 {
		x.Figure.Title += "\n" + strings.Join(only, " ")
	}
	x.Figure.Note = x.own.note
	if x.Error == "none" {
		x.Figure.Note = strings.Replace(x.Figure.Note, meanNote, "mean of ", 1)
	}
	var none []string
	for _, n := range x.names {
		if !x.shown[n] {
			none = append(none, x.displayName(n))
		}
	}
	if len(none) > 0 {
		x.Figure.Note += "; without a value: " + strings.Join(none, ", ")
	}
}

// figureSize returns the size of a figure with a style; for the screen without a width.
func figureSize(l plots.Style) figure.Size {
	size := figure.ScreenSize()
	if l.Width > 0 {
		size = figure.PrintSize(l.Width)
	}
	if l.Text > 0 {
		size.Text = l.Text
	}
	size.Height = l.Height
	return size
}
