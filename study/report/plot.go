package report

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/experiment"
	"weir/study/measure"
)

// palette tells lines apart also for the colour-blind (Okabe, Ito 2008); dashes
// and markers do so in print.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x44, 0x44, 0x44, 0xff},
}

var (
	dashes = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3),
		vg.Points(2), vg.Points(3)}}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{},
		draw.RingGlyph{}, draw.BoxGlyph{}}
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

// line is one curve.
type line struct {
	name    string
	x       []float64
	y, half []float64 // half is nil where there are no intervals
}

// Title is a plot's heading.
func Title(p experiment.Plot) string {
	words := func(s string) string { return strings.ReplaceAll(s, "_", " ") }
	if p.Kind == experiment.CDF {
		return "distribution of " + words(p.X)
	}
	return words(p.Y) + " over " + words(p.X)
}

// SVG draws one plot, one curve a combination of the keys in Lines and of any other
// key that the sweep varies: y over the sweep key x, or by flow size, with 95 %
// intervals over the seeds; a series of each point's first run; or distributions of
// all runs of a point together. The bytes depend on the numbers only. It is nil if no
// value is defined.
func SVG(p experiment.Plot, points []PointSummary) ([]byte, error) {
	return (&worlds{own: points}).svg(p)
}

// svg draws a plot of all worlds in one picture: of the lab the simulator as a line and
// the lab as markers, of what has no markers as dashes; over a sweep key the paper's
// numbers as crosses. A curve has its colour in every world.
func (all *worlds) svg(p experiment.Plot) ([]byte, error) {
	w := all.only(p.Means)
	d := collect(p, w.own)
	both := w.sim != nil
	var sim, paper drawing
	if both {
		sim = collect(p, w.sim)
	}
	if w.paper != nil && p.Kind == experiment.OverSweep {
		paper = collect(p, w.paper)
	}
	if len(d.lines) == 0 && len(sim.lines) > 0 { // the lab has nothing of it
		d = sim.shell()
	}
	switch {
	case len(d.lines) > 0 || len(sim.lines) > 0:
	case len(w.own) > 0 && p.Kind == experiment.OverSweep && !measured(p.Y, w.own):
		return nil, fmt.Errorf("plot %s: no run has the measure", Title(p))
	default: // no value of it is defined, as of percentiles with too few samples
		return nil, nil
	}
	if both {
		d.bothNotes(&sim)
	}
	most := 0.0
	for _, x := range []*drawing{&d, &sim, &paper} {
		for _, l := range x.lines {
			for i, y := range l.y {
				h := 0.0
				if l.half != nil && !math.IsNaN(l.half[i]) {
					h = l.half[i]
				}
				if !math.IsNaN(y) {
					most = max(most, math.Abs(y)+h)
				}
			}
		}
	}
	ySc, xSc := scaleFor(d.unit, most), scaleFor(d.xUnit, max(largest(d.xs), largest(sim.xs)))
	if p.LogX && p.Kind != experiment.OverSweep {
		xSc = Scale{d.xUnit, 1}
	}
	if p.LogY {
		ySc = Scale{baseUnit(d.unit), 1}
	}
	pl := newPlot()
	pl.X.Label.Text = axis(strings.ReplaceAll(d.xName, "_", " "), xSc.Unit)
	pl.Y.Label.Text = axis(strings.ReplaceAll(d.yName, "_", " "), ySc.Unit)
	pl.Title.Text = Title(p) + d.note
	if only := p.Only(); len(only) > 0 {
		pl.Title.Text += "\n" + strings.Join(only, " ")
	}
	logX := p.LogX && d.words == nil
	if logX {
		pl.X.Scale, pl.X.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	if p.LogY {
		pl.Y.Scale, pl.Y.Tick.Marker = plot.LogScale{}, plot.TickerFunc(logTicks)
	}
	pl.Add(plainGrid())
	var entries []entry
	number := map[string]int{} // of a curve's colour
	numberOf := func(name string) int {
		if _, ok := number[name]; !ok {
			number[name] = len(number)
			entries = append(entries, entry{name: name})
		}
		return number[name]
	}
	for _, x := range []*drawing{&d, &sim} { // the own world's first
		for _, l := range x.lines {
			numberOf(l.name)
		}
	}
	crossed := false
	for _, x := range []*drawing{&sim, &d, &paper} { // what is drawn later lies above
		for _, l := range x.lines {
			if _, ok := number[l.name]; !ok {
				continue // of a curve that is not shown
			}
			i := number[l.name]
			var data struct {
				plotter.XYs
				plotter.YErrors
			}
			for k := range l.x {
				x, y := l.x[k]*xSc.Factor, l.y[k]*ySc.Factor
				if math.IsNaN(y) || math.IsInf(y, 0) || logX && x <= 0 || p.LogY && y <= 0 {
					continue
				}
				h := 0.0
				if l.half != nil && !math.IsNaN(l.half[k]) {
					h = l.half[k] * ySc.Factor
				}
				low := h
				if p.LogY && y-h <= 0 { // down to the axis
					low = y * 0.9
				}
				data.XYs = append(data.XYs, plotter.XY{X: x, Y: y})
				data.YErrors = append(data.YErrors, struct{ Low, High float64 }{low, h})
			}
			if len(data.XYs) == 0 {
				continue
			}
			curve, marks, err := plotter.NewLinePoints(data.XYs)
			if err != nil {
				return nil, err
			}
			c := palette[i%len(palette)]
			curve.Color, curve.Width, curve.Dashes = c, vg.Points(1.8), dashes[i%len(dashes)]
			marks.Color, marks.Radius, marks.Shape = c, vg.Points(3.2), markers[i%len(markers)]
			if d.plain {
				if curve.Width = vg.Points(1.4); d.steps {
					curve.StepStyle = plotter.PostStep
				}
				if both {
					curve.Dashes = nil
					if x == &d {
						curve.Dashes = dashes[1]
					}
				}
			}
			isLine, isMarks := true, !d.plain
			switch {
			case x == &paper:
				marks.Shape, marks.Radius, crossed = cross{}, vg.Points(4.6), true
				isLine, isMarks = false, true
			case both && !d.plain && x == &sim:
				isMarks = false
			case both && !d.plain:
				isLine = false
				if sides, ok := outlines[marks.Shape]; ok {
					marks.Shape = outline(sides)
				}
			}
			var thumbs []plot.Thumbnailer
			if isLine {
				pl.Add(curve)
				thumbs = append(thumbs, curve)
			}
			if isMarks {
				pl.Add(marks)
				thumbs = append(thumbs, marks)
			}
			if l.half != nil && x.most > 1 && x != &paper {
				bars, err := plotter.NewYErrorBars(data)
				if err != nil {
					return nil, err
				}
				bars.Color, bars.Width, bars.CapWidth = c, vg.Points(1.2), vg.Points(6)
				if x == &sim {
					bars.Width, bars.CapWidth = vg.Points(0.8), vg.Points(3)
				}
				pl.Add(bars)
			}
			if x != &paper && (!d.plain || len(entries[i].thumbs) == 0) {
				entries[i].thumbs = append(entries[i].thumbs, thumbs...)
			}
		}
	}
	entries = slices.DeleteFunc(entries, func(e entry) bool { return len(e.thumbs) == 0 })
	if len(entries) == 0 {
		return nil, nil // nothing of it is defined
	}
	if both {
		for i := range entries { // colours only: worlds have entries of their own
			if l, ok := entries[i].thumbs[0].(*plotter.Line); ok && d.plain {
				solid := *l
				solid.Dashes = nil
				entries[i].thumbs[0] = &solid
			}
		}
		line, dash := &plotter.Line{}, &plotter.Line{}
		line.Color, line.Width = worldColour, vg.Points(1.6)
		*dash = *line
		dash.Dashes = dashes[1]
		mark := &plotter.Scatter{}
		mark.Color, mark.Radius, mark.Shape = worldColour, vg.Points(3.2), markers[0]
		entries = append(entries, entry{simulatorName, []plot.Thumbnailer{line}})
		if d.plain {
			entries = append(entries, entry{labName, []plot.Thumbnailer{dash}})
		} else {
			entries = append(entries, entry{labName, []plot.Thumbnailer{mark}})
		}
	}
	if crossed {
		mark := &plotter.Scatter{}
		mark.Color, mark.Radius, mark.Shape = worldColour, vg.Points(4.6), cross{}
		entries = append(entries, entry{paperName, []plot.Thumbnailer{mark}})
	}
	if d.words != nil {
		var nominal []plot.Tick
		for i, w := range d.words {
			nominal = append(nominal, plot.Tick{Value: float64(i), Label: w})
		}
		pl.X.Tick.Marker = plot.ConstantTicks(nominal)
		pl.X.Min, pl.X.Max = -0.4, float64(len(d.words))-0.6
	} else if pl.X.Min == pl.X.Max { // a sweep of one value
		w := max(math.Abs(pl.X.Min)/2, 1)
		pl.X.Min, pl.X.Max = pl.X.Min-w, pl.X.Max+w
	}
	if logX && pl.X.Min == pl.X.Max {
		pl.X.Min, pl.X.Max = pl.X.Min/2, pl.X.Max*2
	}
	if p.LogY {
		pl.Y.Min, pl.Y.Max = pl.Y.Min/1.2, pl.Y.Max*1.2
	} else {
		pl.Y.Min = min(pl.Y.Min, 0)
		pl.Y.Max = max(pl.Y.Max, 0)
		if pl.Y.Max == pl.Y.Min {
			pl.Y.Max++
		}
		pl.Y.Max += (pl.Y.Max - pl.Y.Min) * 0.04
	}
	return render(pl, entries)
}

// worldColour is the ink of legends of worlds. It is not quite black, which an SVG
// leaves out where it fills, so that the page could not replace it.
var worldColour = color.Gray{1}

// cross is the paper's marker: thicker than gonum's, for it lies above others.
type cross struct{}

func (cross) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: g.Color, Width: vg.Points(1.6)})
	r := g.Radius * math.Sqrt2 / 2
	for _, y := range []vg.Length{r, -r} {
		var path vg.Path
		path.Move(vg.Point{X: at.X - r, Y: at.Y - y})
		path.Line(vg.Point{X: at.X + r, Y: at.Y + y})
		c.Stroke(path)
	}
}

// outline is a marker that is not filled, of so many sides (0: a ring): thicker than
// gonum's, for no line joins the lab's.
type outline int

var outlines = map[draw.GlyphDrawer]int{draw.SquareGlyph{}: 4, draw.TriangleGlyph{}: 3, draw.RingGlyph{}: 0}

func (sides outline) DrawGlyph(c *draw.Canvas, g draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: g.Color, Width: vg.Points(1.4)})
	var path vg.Path
	if sides == 0 {
		path.Move(vg.Point{X: at.X + g.Radius, Y: at.Y})
		path.Arc(at, g.Radius, 0, 2*math.Pi)
	}
	for k := range int(sides) {
		turn := math.Pi/2 + math.Pi/float64(sides)*float64(1-sides%2) + 2*math.Pi*float64(k)/float64(sides)
		p := vg.Point{X: at.X + g.Radius*vg.Length(math.Cos(turn)), Y: at.Y + g.Radius*vg.Length(math.Sin(turn))}
		if k == 0 {
			path.Move(p)
		} else {
			path.Line(p)
		}
	}
	path.Close()
	c.Stroke(path)
}

// shell is a drawing without its lines.
func (d *drawing) shell() drawing {
	out := *d
	out.lines = nil
	return out
}

// bothNotes says of how many runs the worlds' curves are.
func (d *drawing) bothNotes(sim *drawing) {
	if d.note == sim.note || d.plain {
		return
	}
	d.note = "; n = " + d.n + " in the lab, " + sim.n + " simulated"
	if max(d.most, sim.most) > 1 {
		d.note = "; mean and 95 % interval, n = " + d.n + " in the lab, " + sim.n + " simulated"
	}
}

// measured tells whether a run has the measure, defined or not.
func measured(name string, points []PointSummary) bool {
	for _, s := range points {
		for _, r := range s.Runs {
			for _, m := range r.Measures {
				if m.Name == name {
					return true
				}
			}
		}
	}
	return false
}

// ticks marks an axis with four to eight round numbers.
func ticks(low, high float64) []plot.Tick {
	span := high - low
	if !(span > 0) || math.IsInf(span, 0) {
		return []plot.Tick{{Value: low, Label: strconv.FormatFloat(low, 'g', 4, 64)}}
	}
	exponent := math.Floor(math.Log10(span / 7))
	step := math.Pow(10, exponent)
	for _, m := range []float64{1, 2, 5, 10} {
		if span/(step*m) <= 7 {
			step *= m
			break
		}
	}
	decimals := int(max(0, -math.Floor(math.Log10(step*1.0001))))
	var out []plot.Tick
	for k := math.Ceil(low/step - 1e-9); k*step <= high+step*1e-9; k++ {
		v := float64(k*step) + 0 // not -0
		label := strconv.FormatFloat(v, 'f', decimals, 64)
		if a := math.Abs(v); a >= 1e6 || decimals > 5 && a > 0 {
			label = strconv.FormatFloat(v, 'g', 4, 64)
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	return out
}

func axis(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " [" + unit + "]"
}

// largest is the largest magnitude of those that are defined.
func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

// baseUnit is how people write a unit without a prefix.
func baseUnit(unit string) string {
	if unit == "bps" {
		return "b/s"
	}
	return unit
}

// logTicks marks a logarithmic axis: powers of ten and, if there are few, 2 and 5
// between them.
func logTicks(low, high float64) (out []plot.Tick) {
	decades := math.Log10(high / low)
	steps := []float64{1}
	switch {
	case decades < 1.3:
		steps = []float64{1, 2, 3, 5, 7}
	case decades < 4:
		steps = []float64{1, 2, 5}
	}
	every := max(1, int(math.Ceil(decades/8)))
	for e := int(math.Floor(math.Log10(low))); e <= int(math.Ceil(math.Log10(high))); e++ {
		for _, m := range steps {
			if v := m * math.Pow(10, float64(e)); v >= low*0.999 && v <= high*1.001 {
				label := ""
				if e%every == 0 {
					label = strings.ReplaceAll(measure.SI(v), " ", "")
				}
				out = append(out, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return out
}

// drawing is what a plot shows.
type drawing struct {
	lines        []line
	index        map[string]int
	xs           []float64
	words        []string // of an x without numbers, at 0, 1, 2, …
	xName, yName string
	unit, xUnit  string
	n, note      string // note is behind the title: n, and what of it is shown
	most         int    // runs a point
	plain, steps bool   // without markers; as stairs
}

// mostLines is how many curves a plot of series or distributions shows.
const mostLines = 24

// lineOf finds the curve of that name, or begins it.
func (d *drawing) lineOf(name string) *line {
	k, ok := d.index[name]
	if !ok {
		k = len(d.lines)
		d.index[name] = k
		d.lines = append(d.lines, line{name: name})
	}
	return &d.lines[k]
}

// collect makes a plot's curves in the order of the points.
func collect(p experiment.Plot, points []PointSummary) drawing {
	d := drawing{index: map[string]int{}, xName: p.X, yName: p.Y}
	if len(points) == 0 {
		return d
	}
	low := math.MaxInt
	texts, varied := map[string]string{}, map[string]bool{} // of each key its first value; those that have others
	for _, s := range points {
		if s.N > 0 { // 0: of another world only
			low, d.most = min(low, s.N), max(d.most, s.N)
		}
		for _, c := range s.Point {
			if first, ok := texts[c.Key]; ok && first != c.Text {
				varied[c.Key] = true
			} else if !ok {
				texts[c.Key] = c.Text
			}
		}
	}
	n := strconv.Itoa(min(low, d.most))
	if d.most > low {
		n = fmt.Sprintf("%d … %d", low, d.most)
	}
	d.n = n
	if d.note = ", n = " + n; d.most > 1 {
		d.note = "; mean and 95 % interval, n = " + n
	}
	// name is a curve's, without the group
	name := func(s *PointSummary) string {
		out := ""
		for _, key := range p.Lines {
			for _, c := range s.Point {
				if c.Key == key {
					out += " " + c.Text
				}
			}
		}
		for _, c := range s.Point {
			if c.Key != p.X && varied[c.Key] && !slices.Contains(p.Lines, c.Key) { // else a curve would go back
				out += " " + c.Key + "=" + c.Text
			}
		}
		return out
	}
	switch p.Kind {
	case experiment.OverTime:
		d.overTime(p, points, name)
	case experiment.OverSize:
		d.overSize(p, points, name)
	case experiment.CDF:
		d.cumulative(p, points, name)
	default:
		d.overSweep(p, points, name)
	}
	if left := len(d.lines) - mostLines; left > 0 && d.plain {
		d.lines = d.lines[:mostLines]
		d.note += fmt.Sprintf("; %d more are not shown", left)
	}
	return d
}

// overSweep has a measure over a sweep key. A measure with several groups that the
// plot does not tell apart is shown by its first group (a queue's mean).
func (d *drawing) overSweep(p experiment.Plot, points []PointSummary, name func(*PointSummary) string) {
	byGroup, numbers := slices.Contains(p.Lines, "traffic"), true
	for _, s := range points {
		for _, c := range s.Point {
			numbers = numbers && (c.IsNum || c.Key != p.X)
		}
	}
	place := map[string]int{} // of a word on the x axis
	for i := range points {
		s := &points[i]
		x := 0.0
		for _, c := range s.Point {
			switch {
			case c.Key != p.X:
			case numbers:
				x, d.xUnit = c.Value, unitOf(c.Text)
			default:
				if _, ok := place[c.Text]; !ok {
					place[c.Text] = len(d.words)
					d.words = append(d.words, c.Text)
				}
				x = float64(place[c.Text])
			}
		}
		d.xs = append(d.xs, x)
		first := true
		for _, v := range s.Values {
			if v.Measure != p.Y || !byGroup && !first {
				continue
			}
			first = false
			d.unit = v.Unit
			full := name(s)
			if v.Group != "" {
				full += " " + v.Group
			}
			if full = strings.TrimSpace(full); full == "" {
				full = p.Y
			}
			l := d.lineOf(full)
			l.x, l.y, l.half = append(l.x, x), append(l.y, v.Mean), append(l.half, v.Half)
		}
	}
}

// overTime has a series of each point's first run.
func (d *drawing) overTime(p experiment.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.plain, d.xUnit = true, "s"
	seeds := map[uint64]bool{}
	for i := range points {
		s := &points[i]
		if len(s.Runs) == 0 {
			continue
		}
		r := s.Runs[0]
		seeds[r.Seed] = true
		d.note = fmt.Sprintf("; one run, seed %d", r.Seed)
		if s.N > 1 {
			d.note = fmt.Sprintf("; seed %d, n = 1 of %d", r.Seed, s.N)
		}
		for k := range r.Series {
			x := &r.Series[k]
			if x.Name != p.Y {
				continue
			}
			d.unit = x.Unit
			full := strings.TrimSpace(name(s) + " " + x.Group)
			if full == "" {
				full = p.Y
			}
			l := d.lineOf(full)
			for _, v := range thinned(x.Values) {
				t := x.Time(v.at)
				d.xs = append(d.xs, t)
				l.x, l.y = append(l.x, t), append(l.y, v.value)
			}
		}
	}
	if len(seeds) > 1 {
		d.note = "; the first seed of each point"
	}
}

// sampled is one value of a series with its number.
type sampled struct {
	at    int
	value float64
}

// mostShown is how many values of a series a curve shows: beyond that the smallest
// and the largest of every part.
const mostShown = 1200

func thinned(values []measure.Number) (out []sampled) {
	if len(values) <= mostShown {
		for i, v := range values {
			out = append(out, sampled{i, float64(v)})
		}
		return out
	}
	parts := mostShown / 2
	for part := range parts {
		from, to := part*len(values)/parts, (part+1)*len(values)/parts
		low, high := -1, -1
		for i := from; i < to; i++ {
			v := values[i]
			if math.IsNaN(float64(v)) {
				continue
			}
			if low < 0 || v < values[low] {
				low = i
			}
			if high < 0 || v > values[high] {
				high = i
			}
		}
		if low < 0 {
			continue
		}
		for _, i := range []int{min(low, high), max(low, high)} {
			if n := len(out); n == 0 || out[n-1].at != i {
				out = append(out, sampled{i, float64(values[i])})
			}
		}
	}
	return out
}

// overSize has a measure by flow size, at the largest size of each bin.
func (d *drawing) overSize(p experiment.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.xUnit = "bytes"
	for _, t := range SizeTables(points) {
		measure := t.Measure
		if t.Of != "mean" {
			measure += "_" + strings.ReplaceAll(t.Of, ".", "_")
		}
		if measure != p.Y {
			continue
		}
		d.unit = t.Unit
		for i := range points {
			l := d.lineOf(strings.TrimSpace(name(&points[i]) + " " + t.Traffic))
			for k, e := range t.Edges {
				d.xs = append(d.xs, float64(e))
				l.x, l.y, l.half = append(l.x, float64(e)), append(l.y, t.Mean[i][k]), append(l.half, t.Half[i][k])
			}
		}
	}
}

// cumulative has the share of all runs' values up to each value.
func (d *drawing) cumulative(p experiment.Plot, points []PointSummary, name func(*PointSummary) string) {
	d.plain, d.steps = true, true
	d.yName = "share of values"
	low, high := uint64(math.MaxUint64), uint64(0)
	for i := range points {
		s := &points[i]
		var groups []string
		pooled := map[string]map[float64]uint64{}
		for _, r := range s.Runs {
			for k := range r.Distributions {
				x := &r.Distributions[k]
				if x.Name != p.X || len(x.Values) == 0 {
					continue
				}
				d.xUnit = x.Unit
				if pooled[x.Group] == nil {
					groups = append(groups, x.Group)
					pooled[x.Group] = map[float64]uint64{}
				}
				for j, v := range x.Values {
					pooled[x.Group][v] += x.Counts[j]
				}
			}
		}
		for _, g := range groups {
			values := slices.Sorted(maps.Keys(pooled[g]))
			total := uint64(0)
			for _, v := range values {
				total += pooled[g][v]
			}
			low, high = min(low, total), max(high, total)
			l := d.lineOf(strings.TrimSpace(name(s) + " " + g))
			sum := uint64(0)
			l.x, l.y = append(l.x, values[0]), append(l.y, 0)
			for _, v := range values {
				sum += pooled[g][v]
				l.x, l.y = append(l.x, v), append(l.y, float64(sum)/float64(total))
			}
			d.xs = append(d.xs, values[0], values[len(values)-1])
		}
	}
	if d.note = fmt.Sprintf(", n = %d values", low); low != high {
		d.note = fmt.Sprintf(", n = %d … %d values", low, high)
	}
}

// unitOf says which quantity a sweep value is.
func unitOf(text string) string {
	if text == "" {
		return ""
	}
	switch {
	case strings.HasSuffix(text, "pps"):
		return "packets/s"
	case strings.HasSuffix(text, "bps"):
		return "bps"
	case strings.HasSuffix(text, "packets"), strings.HasSuffix(text, "packet"):
		return "packets"
	case strings.HasSuffix(text, "B"):
		return "bytes"
	case strings.HasSuffix(text, "s") && text[0] >= '0' && text[0] <= '9':
		return "s"
	}
	return ""
}
