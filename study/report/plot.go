package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"weir/internal/text"
	"weir/study/spec"
)

// Size of a plot without its legend. At a phone's width its texts can still be read.
const (
	plotWidth  = 5.4 * vg.Inch
	plotHeight = 3.7 * vg.Inch
)

// fonts of a plot: Liberation Sans has the widths of Arial and Helvetica, which
// stand in for it where it is not installed.
const (
	drawnFont = "font-family:Liberation Sans;"
	namedFont = "font-family:Liberation Sans,Arial,Helvetica,sans-serif;"
)

// sans is the plots' font.
func sans(size vg.Length) font.Font {
	return font.From(font.Font{Typeface: "Liberation", Variant: "Sans"}, size)
}

// Title is a plot's heading.
func Title(p spec.Plot) string {
	words := func(s string) string { return strings.ReplaceAll(s, "_", " ") }
	if p.Kind == spec.CDF {
		return "distribution of " + words(p.X)
	}
	return words(p.Y) + " over " + words(p.X)
}

// SVG draws one plot, one curve a combination of the keys in Lines and of any other
// key that the sweep varies: y over the sweep key x, or by flow size, with 95 %
// intervals over the seeds; a series of each point's first run; or distributions of
// all runs of a point together. The bytes depend on the numbers only. It is nil if no
// value is defined.
func SVG(p spec.Plot, points []PointSummary) ([]byte, error) {
	return (&worlds{own: points}).svg(p)
}

// figure is one plot of all worlds while it is drawn.
type figure struct {
	spec.Plot
	pl              *plot.Plot
	own, sim, paper drawing
	both            bool  // own is the lab's, with the simulator's beside
	logX            bool  // the x axis is logarithmic
	xScale, yScale  Scale // of values, to those that the axes show
	entries         []entry
	number          map[string]int // of a curve's colour
	crossed         bool           // a number of the paper is shown
}

// svg draws a plot of all worlds in one picture: of the lab the simulator as a line and
// the lab as markers, of what has no markers as dashes; over a sweep key the paper's
// numbers as crosses. A curve has its colour in every world.
func (all *worlds) svg(p spec.Plot) ([]byte, error) {
	f, err := all.figure(p)
	if f == nil || err != nil {
		return nil, err
	}
	f.axes()
	f.numbers()
	for _, x := range []*drawing{&f.sim, &f.own, &f.paper} { // what is drawn later lies above
		for i := range x.lines {
			if err := f.curve(x, &x.lines[i]); err != nil {
				return nil, err
			}
		}
	}
	f.entries = slices.DeleteFunc(f.entries, func(e entry) bool { return len(e.thumbs) == 0 })
	if len(f.entries) == 0 {
		return nil, nil // nothing of it is defined
	}
	f.legend()
	f.limits()
	return render(f.pl, f.entries)
}

// figure collects what a plot shows; nil if there is nothing.
func (all *worlds) figure(p spec.Plot) (*figure, error) {
	w := all.only(p.Means)
	f := &figure{Plot: p, own: collect(p, w.own), both: w.sim != nil, number: map[string]int{}}
	if f.both {
		f.sim = collect(p, w.sim)
	}
	if w.paper != nil && p.Kind == spec.OverSweep {
		f.paper = collect(p, w.paper)
	}
	if len(f.own.lines) == 0 && len(f.sim.lines) > 0 { // the lab has nothing of it
		f.own = f.sim.shell()
	}
	switch {
	case len(f.own.lines) > 0 || len(f.sim.lines) > 0:
	case len(w.own) > 0 && p.Kind == spec.OverSweep && !measured(p.Y, w.own):
		return nil, fmt.Errorf("plot %s: no run has the measure", Title(p))
	default: // no value of it is defined, as of percentiles with too few samples
		return nil, nil
	}
	if f.both {
		f.own.bothNotes(&f.sim)
	}
	if w.chosen && !f.own.plain {
		f.own.note += " by the data"
	}
	return f, nil
}

// axes makes the plot with its axes and their scales.
func (f *figure) axes() {
	most := max(f.own.highest(), f.sim.highest(), f.paper.highest())
	f.yScale, f.xScale = scaleFor(f.own.unit, most), scaleFor(f.own.xUnit, max(largest(f.own.xs), largest(f.sim.xs)))
	if f.LogX && f.Kind != spec.OverSweep {
		f.xScale = Scale{f.own.xUnit, 1}
	}
	if f.LogY {
		f.yScale = Scale{baseUnit(f.own.unit), 1}
	}
	f.pl = newPlot()
	f.pl.X.Label.Text = axis(strings.ReplaceAll(f.own.xName, "_", " "), f.xScale.Unit)
	f.pl.Y.Label.Text = axis(strings.ReplaceAll(f.own.yName, "_", " "), f.yScale.Unit)
	f.pl.Title.Text = Title(f.Plot) + f.own.note
	if only := f.Only(); len(only) > 0 {
		f.pl.Title.Text += "\n" + strings.Join(only, " ")
	}
	if f.logX = f.LogX && f.own.words == nil; f.logX {
		f.pl.X.Scale, f.pl.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if f.LogY {
		f.pl.Y.Scale, f.pl.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	f.pl.Add(plainGrid())
}

// numbers gives each curve its colour and its entry in the legend: the own world's first.
func (f *figure) numbers() {
	for _, x := range []*drawing{&f.own, &f.sim} {
		for _, l := range x.lines {
			if _, ok := f.number[l.name]; !ok {
				f.number[l.name] = len(f.number)
				f.entries = append(f.entries, entry{name: l.name})
			}
		}
	}
}

// intervals are a curve's points with their intervals.
type intervals struct {
	plotter.XYs
	plotter.YErrors
}

// points are those of a curve that the axes can show.
func (f *figure) points(l *line) (data intervals) {
	for k := range l.x {
		x, y := l.x[k]*f.xScale.Factor, l.y[k]*f.yScale.Factor
		if math.IsNaN(y) || math.IsInf(y, 0) || f.logX && x <= 0 || f.LogY && y <= 0 {
			continue
		}
		h := l.interval(k) * f.yScale.Factor
		low := h
		if f.LogY && y-h <= 0 { // down to the axis
			low = y * 0.9
		}
		data.XYs = append(data.XYs, plotter.XY{X: x, Y: y})
		data.YErrors = append(data.YErrors, struct{ Low, High float64 }{low, h})
	}
	return data
}

// curve draws a curve of one world.
func (f *figure) curve(x *drawing, l *line) error {
	i, ok := f.number[l.name]
	data := f.points(l)
	if !ok || len(data.XYs) == 0 { // of a curve that is not shown; not defined
		return nil
	}
	curve, marks, err := plotter.NewLinePoints(data.XYs)
	if err != nil {
		return err
	}
	isLine, isMarks := f.style(x, i, curve, marks)
	var thumbs []plot.Thumbnailer
	if isLine {
		f.pl.Add(curve)
		thumbs = append(thumbs, curve)
	}
	if isMarks {
		f.pl.Add(marks)
		thumbs = append(thumbs, marks)
	}
	if l.half != nil && x.most > 1 && x != &f.paper {
		bars, err := plotter.NewYErrorBars(data)
		if err != nil {
			return err
		}
		bars.Color, bars.Width, bars.CapWidth = curve.Color, vg.Points(1.2), vg.Points(6)
		if x == &f.sim {
			bars.Width, bars.CapWidth = vg.Points(0.8), vg.Points(3)
		}
		f.pl.Add(bars)
	}
	if x != &f.paper && (!f.own.plain || len(f.entries[i].thumbs) == 0) {
		f.entries[i].thumbs = append(f.entries[i].thumbs, thumbs...)
	}
	return nil
}

// style says how the curve with number i looks in a world, and whether its line and its markers are shown.
func (f *figure) style(x *drawing, i int, curve *plotter.Line, marks *plotter.Scatter) (isLine, isMarks bool) {
	c := palette[i%len(palette)]
	curve.Color, curve.Width, curve.Dashes = c, vg.Points(1.8), dashes[i%len(dashes)]
	marks.Color, marks.Radius, marks.Shape = c, vg.Points(3.2), markers[i%len(markers)]
	if f.own.plain {
		if curve.Width = vg.Points(1.4); f.own.steps {
			curve.StepStyle = plotter.PostStep
		}
		if f.both {
			curve.Dashes = nil
			if x == &f.own {
				curve.Dashes = dashes[1]
			}
		}
	}
	isLine, isMarks = true, !f.own.plain
	switch {
	case x == &f.paper:
		marks.Shape, marks.Radius, f.crossed = cross{}, vg.Points(4.6), true
		isLine, isMarks = false, true
	case f.both && !f.own.plain && x == &f.sim:
		isMarks = false
	case f.both && !f.own.plain:
		isLine = false
		if sides, ok := outlines[marks.Shape]; ok {
			marks.Shape = outline(sides)
		}
	}
	return isLine, isMarks
}

// legend adds the entries of the worlds and of the paper; of both worlds the curves' own have
// colours only.
func (f *figure) legend() {
	if f.both {
		for i := range f.entries {
			if l, ok := f.entries[i].thumbs[0].(*plotter.Line); ok && f.own.plain {
				solid := *l
				solid.Dashes = nil
				f.entries[i].thumbs[0] = &solid
			}
		}
		line, dash := &plotter.Line{}, &plotter.Line{}
		line.Color, line.Width = worldColour, vg.Points(1.6)
		*dash = *line
		dash.Dashes = dashes[1]
		mark := &plotter.Scatter{}
		mark.Color, mark.Radius, mark.Shape = worldColour, vg.Points(3.2), markers[0]
		f.entries = append(f.entries, entry{simulatorName, []plot.Thumbnailer{line}})
		if f.own.plain {
			f.entries = append(f.entries, entry{labName, []plot.Thumbnailer{dash}})
		} else {
			f.entries = append(f.entries, entry{labName, []plot.Thumbnailer{mark}})
		}
	}
	if f.crossed {
		mark := &plotter.Scatter{}
		mark.Color, mark.Radius, mark.Shape = worldColour, vg.Points(4.6), cross{}
		f.entries = append(f.entries, entry{paperName, []plot.Thumbnailer{mark}})
	}
}

// limits sets the ranges of the axes.
func (f *figure) limits() {
	x, y := &f.pl.X, &f.pl.Y
	if words := f.own.words; words != nil {
		var nominal []plot.Tick
		for i, w := range words {
			nominal = append(nominal, plot.Tick{Value: float64(i), Label: w})
		}
		x.Tick.Marker = plot.ConstantTicks(nominal)
		x.Min, x.Max = -0.4, float64(len(words))-0.6
		tilt(x, words)
	} else if x.Min == x.Max { // a sweep of one value
		w := max(math.Abs(x.Min)/2, 1)
		x.Min, x.Max = x.Min-w, x.Max+w
	}
	if f.logX && x.Min == x.Max {
		x.Min, x.Max = x.Min/2, x.Max*2
	}
	if f.LogY {
		y.Min, y.Max = y.Min/1.2, y.Max*1.2
		return
	}
	y.Min = min(y.Min, 0)
	y.Max = max(y.Max, 0)
	if y.Max == y.Min {
		y.Max++
	}
	y.Max += (y.Max - y.Min) * 0.04
}

// mostWords is how much of an axis words may take side by side.
const mostWords = vg.Length(300)

// tilt slants the words of an axis that would run into each other.
func tilt(x *plot.Axis, words []string) {
	widest := vg.Length(0)
	for _, w := range words {
		widest = max(widest, x.Tick.Label.Width(w))
	}
	if (widest+vg.Points(4))*vg.Length(len(words)) <= mostWords {
		return
	}
	l := &x.Tick.Label
	l.Rotation, l.XAlign, l.YAlign = math.Pi/5, draw.XRight, draw.YTop
}

// entry is one of a plot's legend.
type entry struct {
	name   string
	thumbs []plot.Thumbnailer
}

// newPlot is a plot with the fonts and ticks of all.
func newPlot() *plot.Plot {
	pl := plot.New()
	pl.Title.TextStyle.Font = sans(12)
	pl.Title.Padding = vg.Points(8)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font = sans(12)
		a.Tick.Label.Font = sans(11)
		a.Tick.Marker = plot.TickerFunc(ticks)
		a.Padding = vg.Points(4)
	}
	return pl
}

// plainGrid are the lines behind a plot.
func plainGrid() *plotter.Grid {
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	return grid
}

// render draws a plot and below it, where no curve can be, its legend, in as many
// columns as the longest name allows.
func render(pl *plot.Plot, entries []entry) ([]byte, error) {
	const side, rowHeight = vg.Length(12), vg.Length(16)
	var legends []plot.Legend
	widest := vg.Length(0)
	for _, e := range entries {
		l := plot.NewLegend()
		l.TextStyle.Font = sans(11)
		l.ThumbnailWidth = vg.Points(30)
		l.Top, l.Left = true, true
		l.Add(e.name, e.thumbs...)
		widest = max(widest, l.ThumbnailWidth+l.TextStyle.Width(" "+e.name)+vg.Points(16))
		legends = append(legends, l)
	}
	width := max(plotWidth, widest+2*side)
	columns := max(1, min(len(legends), int((width-2*side)/widest)))
	rows := (len(legends) + columns - 1) / columns
	columns = (len(legends) + rows - 1) / rows // rows of equal length
	height := plotHeight + vg.Length(rows)*rowHeight
	canvas := vgsvg.New(width, height)
	c := draw.New(canvas)
	for i := range legends {
		left := side + vg.Length(i%columns)*widest
		top := plotHeight + vg.Length(i/columns)*rowHeight
		legends[i].Draw(draw.Crop(c, left, 0, 0, -top))
	}
	pl.Draw(draw.Crop(c, vg.Points(4), -vg.Points(14), height-plotHeight+vg.Points(4), -vg.Points(6)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return []byte(text.Lines(strings.ReplaceAll(b.String(), drawnFont, namedFont))), nil
}
