package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"weir/experiment"
)

// palette tells lines apart also for the colour-blind (Okabe, Ito 2008); dashes
// and markers do so in print.
var palette = []color.RGBA{
	{0x00, 0x72, 0xb2, 0xff}, {0xd5, 0x5e, 0x00, 0xff}, {0x00, 0x9e, 0x73, 0xff}, {0xcc, 0x79, 0xa7, 0xff},
	{0xe6, 0x9f, 0x00, 0xff}, {0x56, 0xb4, 0xe9, 0xff}, {0x44, 0x44, 0x44, 0xff},
}

var (
	dashes  = [][]vg.Length{nil, {vg.Points(6), vg.Points(3)}, {vg.Points(2), vg.Points(2)}, {vg.Points(8), vg.Points(3), vg.Points(2), vg.Points(3)}}
	markers = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.PyramidGlyph{}, draw.RingGlyph{}, draw.BoxGlyph{}}
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
	y, half []float64
}

// Title is a plot's heading.
func Title(p experiment.Plot) string { return strings.ReplaceAll(p.Y, "_", " ") + " over " + p.X }

// SVG draws one plot: y over the sweep key x, with 95 % intervals over the seeds,
// one curve a combination of the keys in Lines and of any other key that the sweep
// varies. The bytes depend on the numbers only. It is nil if no value is defined.
func SVG(p experiment.Plot, points []PointSummary) ([]byte, error) {
	d := collect(p, points)
	if len(d.lines) == 0 {
		return nil, fmt.Errorf("plot %s: no run has the measure %q", Title(p), p.Y)
	}
	most := 0.0
	for _, l := range d.lines {
		for i, y := range l.y {
			if !math.IsNaN(y) {
				most = max(most, math.Abs(y))
			}
			if !math.IsNaN(l.half[i]) {
				most = max(most, math.Abs(y)+l.half[i])
			}
		}
	}
	ySc, xSc := scaleFor(d.unit, most), scaleFor(d.xUnit, largest(d.xs))
	pl := plot.New()
	pl.X.Label.Text = axis(p.X, xSc.Unit)
	pl.Y.Label.Text = axis(strings.ReplaceAll(p.Y, "_", " "), ySc.Unit)
	pl.Title.Text = Title(p) + ", n = " + d.n
	if d.most > 1 {
		pl.Title.Text = Title(p) + "; mean and 95 % interval, n = " + d.n
	}
	pl.Title.TextStyle.Font = sans(12)
	pl.Title.Padding = vg.Points(8)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font = sans(12)
		a.Tick.Label.Font = sans(11)
		a.Tick.Marker = plot.TickerFunc(ticks)
		a.Padding = vg.Points(4)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	pl.Add(grid)
	var entries []plot.Legend
	widest := vg.Length(0)
	for i, l := range d.lines {
		var data struct {
			plotter.XYs
			plotter.YErrors
		}
		for k := range l.x {
			if math.IsNaN(l.y[k]) || math.IsInf(l.y[k], 0) {
				continue
			}
			data.XYs = append(data.XYs, plotter.XY{X: l.x[k] * xSc.Factor, Y: l.y[k] * ySc.Factor})
			h := l.half[k] * ySc.Factor
			if math.IsNaN(h) {
				h = 0
			}
			data.YErrors = append(data.YErrors, struct{ Low, High float64 }{h, h})
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
		pl.Add(curve, marks)
		if d.most > 1 {
			bars, err := plotter.NewYErrorBars(data)
			if err != nil {
				return nil, err
			}
			bars.Color, bars.Width, bars.CapWidth = c, vg.Points(1.2), vg.Points(6)
			pl.Add(bars)
		}
		entry := plot.NewLegend()
		entry.TextStyle.Font = sans(11)
		entry.ThumbnailWidth = vg.Points(30)
		entry.Top, entry.Left = true, true
		entry.Add(l.name, curve, marks)
		widest = max(widest, entry.ThumbnailWidth+entry.TextStyle.Width(" "+l.name)+vg.Points(16))
		entries = append(entries, entry)
	}
	if len(entries) == 0 {
		return nil, nil // nothing of it is defined
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
	pl.Y.Min = min(pl.Y.Min, 0)
	pl.Y.Max = max(pl.Y.Max, 0)
	if pl.Y.Max == pl.Y.Min {
		pl.Y.Max++
	}
	pl.Y.Max += (pl.Y.Max - pl.Y.Min) * 0.04

	// the legend stands below the plot, where no curve can be, in as many columns as
	// the longest name allows
	const side, rowHeight = vg.Length(12), vg.Length(16)
	width := max(plotWidth, widest+2*side)
	columns := max(1, min(len(entries), int((width-2*side)/widest)))
	rows := (len(entries) + columns - 1) / columns
	columns = (len(entries) + rows - 1) / rows // rows of equal length
	height := plotHeight + vg.Length(rows)*rowHeight

	canvas := vgsvg.New(width, height)
	c := draw.New(canvas)
	for i := range entries {
		left := side + vg.Length(i%columns)*widest
		top := plotHeight + vg.Length(i/columns)*rowHeight
		entries[i].Draw(draw.Crop(c, left, 0, 0, -top))
	}
	pl.Draw(draw.Crop(c, vg.Points(4), -vg.Points(14), height-plotHeight+vg.Points(4), -vg.Points(6)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return bytes.ReplaceAll(b.Bytes(), []byte(drawnFont), []byte(namedFont)), nil
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

func largest(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// drawing is what a plot shows.
type drawing struct {
	lines       []line
	xs          []float64
	words       []string // of an x without numbers, at 0, 1, 2, …
	unit, xUnit string
	n           string // runs a point
	most        int    // of them
}

// collect makes a plot's curves in the order of the points. A measure with several
// groups that the plot does not tell apart is shown by its first group (a queue's
// mean).
func collect(p experiment.Plot, points []PointSummary) drawing {
	var d drawing
	index := map[string]int{}
	low := math.MaxInt
	byGroup := false
	for _, l := range p.Lines {
		byGroup = byGroup || l == "traffic"
	}
	numbers := true
	texts := map[string]string{} // of each key, its first value
	varied := map[string]bool{}
	for _, s := range points {
		for _, c := range s.Point {
			numbers = numbers && (c.IsNum || c.Key != p.X)
			if first, ok := texts[c.Key]; ok && first != c.Text {
				varied[c.Key] = true
			}
			if _, ok := texts[c.Key]; !ok {
				texts[c.Key] = c.Text
			}
		}
	}
	place := map[string]int{} // of a word on the x axis
	for _, s := range points {
		low, d.most = min(low, s.N), max(d.most, s.N)
		x, name := 0.0, ""
		for _, key := range p.Lines {
			for _, c := range s.Point {
				if c.Key == key {
					name += " " + c.Text
				}
			}
		}
		for _, c := range s.Point {
			switch {
			case c.Key == p.X && numbers:
				x, d.xUnit = c.Value, unitOf(c.Text)
			case c.Key == p.X:
				if _, ok := place[c.Text]; !ok {
					place[c.Text] = len(d.words)
					d.words = append(d.words, c.Text)
				}
				x = float64(place[c.Text])
			case varied[c.Key] && !slices.Contains(p.Lines, c.Key): // else a curve would go back
				name += " " + c.Key + "=" + c.Text
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
			full := name
			if v.Group != "" {
				full += " " + v.Group
			}
			full = strings.TrimSpace(full)
			if full == "" {
				full = p.Y
			}
			k, ok := index[full]
			if !ok {
				k = len(d.lines)
				index[full] = k
				d.lines = append(d.lines, line{name: full})
			}
			d.lines[k].x = append(d.lines[k].x, x)
			d.lines[k].y = append(d.lines[k].y, v.Mean)
			d.lines[k].half = append(d.lines[k].half, v.Half)
		}
	}
	d.n = strconv.Itoa(low)
	if d.most != low {
		d.n = fmt.Sprintf("%d … %d", low, d.most)
	}
	return d
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
