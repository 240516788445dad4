package report

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
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

// Size of a plot.
const (
	plotWidth  = 7.4 * vg.Inch
	plotHeight = 4.4 * vg.Inch
)

// line is one curve.
type line struct {
	name    string
	x       []float64
	y, half []float64
}

// Title is a plot's heading, also its file's name.
func Title(p experiment.Plot) string { return p.Y + " over " + p.X }

// SVG draws one plot: y over the sweep key x, with 95 % intervals over the seeds,
// one curve a combination of the keys in Lines. The bytes depend on the numbers
// only.
func SVG(p experiment.Plot, points []PointSummary) ([]byte, error) {
	lines, xs, unit, xUnit, n := curves(p, points)
	if len(lines) == 0 {
		return nil, fmt.Errorf("plot %s: no run has the measure %q", Title(p), p.Y)
	}
	most := 0.0
	for _, l := range lines {
		for _, y := range l.y {
			most = max(most, math.Abs(y))
		}
	}
	ySc, xSc := scaleFor(unit, most), scaleFor(xUnit, largest(xs))
	pl := plot.New()
	pl.X.Label.Text = axis(p.X, xSc.Unit)
	pl.Y.Label.Text = axis(strings.ReplaceAll(p.Y, "_", " "), ySc.Unit)
	pl.Title.Text = fmt.Sprintf("%s; mean, 95 %% interval, n = %s", Title(p), n)
	pl.Title.TextStyle.Font.Size = vg.Points(12)
	pl.Title.Padding = vg.Points(8)
	for _, a := range []*plot.Axis{&pl.X, &pl.Y} {
		a.Label.TextStyle.Font.Size = vg.Points(12)
		a.Tick.Label.Font.Size = vg.Points(11)
		a.Padding = vg.Points(4)
	}
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = color.Gray{225}, color.Gray{225}
	pl.Add(grid)
	legend := plot.NewLegend()
	legend.TextStyle.Font.Size = vg.Points(11)
	legend.ThumbnailWidth = vg.Points(30)
	legend.Padding = vg.Points(3)
	for i, l := range lines {
		var data struct {
			plotter.XYs
			plotter.YErrors
		}
		for k := range l.x {
			if math.IsNaN(l.y[k]) {
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
		bars, err := plotter.NewYErrorBars(data)
		if err != nil {
			return nil, err
		}
		bars.Color, bars.CapWidth = c, vg.Points(6)
		pl.Add(bars, curve, marks)
		legend.Add(l.name, curve, marks)
	}
	pl.Y.Min = min(pl.Y.Min, 0)
	pl.Y.Max += (pl.Y.Max - pl.Y.Min) * 0.04
	if pl.Y.Max == pl.Y.Min {
		pl.Y.Max++
	}
	canvas := vgsvg.New(plotWidth, plotHeight)
	c := draw.New(canvas)
	// the legend stands to the right of the plot, where no curve can be
	legend.Top, legend.Left = true, true
	r := legend.Rectangle(c)
	width := r.Max.X - r.Min.X
	legend.Draw(draw.Crop(c, plotWidth-width-vg.Points(10), -vg.Points(4), 0, -vg.Points(40)))
	pl.Draw(draw.Crop(c, vg.Points(4), -width-vg.Points(22), vg.Points(4), -vg.Points(6)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
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

// curves collects a plot's curves in the order of the points. A measure with
// several groups that the plot does not tell apart is shown by its first group (a
// queue's mean).
func curves(p experiment.Plot, points []PointSummary) (lines []line, xs []float64, unit, xUnit, n string) {
	index := map[string]int{}
	low, high := math.MaxInt, 0
	byGroup := false
	for _, l := range p.Lines {
		byGroup = byGroup || l == "traffic"
	}
	for i, s := range points {
		low, high = min(low, s.N), max(high, s.N)
		x, name := float64(i), ""
		for _, c := range s.Point {
			if c.Key == p.X {
				if c.IsNum {
					x = c.Value
				}
				xUnit = unitOf(c.Text)
			}
		}
		xs = append(xs, x)
		for _, key := range p.Lines {
			for _, c := range s.Point {
				if c.Key == key {
					name += " " + c.Text
				}
			}
		}
		first := true
		for _, v := range s.Values {
			if v.Measure != p.Y || !byGroup && !first {
				continue
			}
			first = false
			unit = v.Unit
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
				k = len(lines)
				index[full] = k
				lines = append(lines, line{name: full})
			}
			lines[k].x = append(lines[k].x, x)
			lines[k].y = append(lines[k].y, v.Mean)
			lines[k].half = append(lines[k].half, v.Half)
		}
	}
	n = fmt.Sprint(low)
	if high != low {
		n = fmt.Sprintf("%d … %d", low, high)
	}
	return lines, xs, unit, xUnit, n
}

// unitOf says which quantity a sweep value is.
func unitOf(text string) string {
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
