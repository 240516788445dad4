package draw

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// drawBars draws the bars of a series, cut off at the ends of the axis. They start at 0, or at the axis's end nearest
// to 0. On a logarithmic axis, values up to 0 have no bar.
func (a *area) drawBars(m *figure.Mark) {
	by, wide := slotOffset(a.slots, m.Series)
	base := 0.0
	if a.y.log || a.y.low > 0 {
		base = a.y.low
	} else if a.y.high < 0 {
		base = a.y.high
	}
	eachValue(m, func(x, _, y, _ float64) {
		if a.y.log && y <= 0 {
			return
		}
		y = min(max(y, a.y.low), a.y.high)
		left, right := a.left+a.x.position(x+by-wide*0.46), a.left+a.x.position(x+by+wide*0.46)
		p, q := a.top+a.y.position(base), a.top+a.y.position(y)
		a.fillBar(left, min(p, q), right, max(p, q), m.Series, false)
	})
}

// fillBar draws a rectangle in the style of a series' bars: hatch and edge. The edges are from the top left. sample
// selects the denser hatch of the legend.
func (p *pen) fillBar(left, top, right, bottom vg.Length, series int, sample bool) {
	c := seriesColour(series)
	r := p.rectangle(left, top, right, bottom)
	h := hatches[max(series, 0)%figure.MaxSeries]
	if h.solid {
		p.SetColor(c)
		if series >= figure.MaxSeries/2 { // the second style with a solid fill
			p.SetColor(withOpacity(c, 0.55))
		}
		p.Fill(r.Path())
	} else {
		p.SetColor(withOpacity(c, 0.16))
		p.Fill(r.Path())
		scaled := vg.Length(h.gap) * p.textSize / 11.5
		if sample { // dense enough to be visible
			scaled = min(scaled, (bottom-top)/2.6)
		}
		for _, angle := range h.angles {
			p.hatchRectangle(r, angle*math.Pi/180, scaled, c)
		}
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: p.lineWidth() * 0.6})
	p.Stroke(r.Path())
}

// hatchRectangle fills r, in canvas coordinates, with parallel lines at the angle in radians and the given gap, which
// must be above 0. Lines have fixed positions on the page, so that neighbouring bars look alike.
func (p *pen) hatchRectangle(r vg.Rectangle, angle float64, gap vg.Length, c color.Color) {
	sin, cos := vg.Length(math.Sin(angle)), vg.Length(math.Cos(angle))
	low, high := vg.Length(math.Inf(1)), vg.Length(math.Inf(-1))
	for _, q := range []vg.Point{r.Min, r.Max, {X: r.Min.X, Y: r.Max.Y}, {X: r.Max.X, Y: r.Min.Y}} {
		d := q.Y*cos - q.X*sin
		low, high = min(low, d), max(high, d)
	}
	var path vg.Path
	for d := vg.Length(math.Ceil(float64(low/gap))) * gap; d < high; d += gap {
		// the line's points are d·(−sin, cos) + t·(cos, sin)
		from, to := vg.Length(math.Inf(-1)), vg.Length(math.Inf(1))
		for _, side := range []struct{ at, along, low, high vg.Length }{{-d * sin, cos, r.Min.X, r.Max.X},
			{d * cos, sin, r.Min.Y, r.Max.Y}} {
			if math.Abs(float64(side.along)) < 1e-9 {
				if side.at < side.low || side.at > side.high {
					from, to = 1, 0
				}
				continue
			}
			t1, t2 := (side.low-side.at)/side.along, (side.high-side.at)/side.along
			from, to = max(from, min(t1, t2)), min(to, max(t1, t2))
		}
		if from < to {
			path.Move(vg.Point{X: -d*sin + from*cos, Y: d*cos + from*sin})
			path.Line(vg.Point{X: -d*sin + to*cos, Y: d*cos + to*sin})
		}
	}
	if len(path) > 0 {
		p.SetLineStyle(draw.LineStyle{Color: c, Width: p.lineWidth() * 0.5})
		p.Stroke(path)
	}
}

// drawBoxes draws quartile boxes with medians and whiskers. Values outside of the axis are moved to its ends.
func (a *area) drawBoxes(m *figure.Mark) {
	by, wide := slotOffset(a.slots, m.Series)
	line := draw.LineStyle{Color: seriesColour(m.Series), Width: a.lineWidth() * 0.75}
	for i, b := range m.Boxes {
		if a.y.log && b.Q1 <= 0 {
			b.Q1 = a.y.low
		}
		x := m.X[i] + by
		left, right := a.left+a.x.position(x-wide*0.4), a.left+a.x.position(x+wide*0.4)
		middle := (left + right) / 2
		y := func(v float64) vg.Length { return a.top + a.y.position(min(max(v, a.y.low), a.y.high)) }
		for _, w := range [][2]float64{{b.Low, b.Q1}, {b.Q3, b.High}} {
			a.StrokeLines(line, []vg.Point{a.canvasPoint(middle, y(w[0])), a.canvasPoint(middle, y(w[1]))})
		}
		for _, end := range []float64{b.Low, b.High} {
			quarter := (right - left) / 4
			a.StrokeLines(line, []vg.Point{a.canvasPoint(middle-quarter, y(end)), a.canvasPoint(middle+quarter, y(end))})
		}
		a.fillBar(left, y(b.Q3), right, y(b.Q1), m.Series, false)
		thick := line
		thick.Width, thick.Color = a.lineWidth()*1.3, ink
		a.StrokeLines(thick, []vg.Point{a.canvasPoint(left, y(b.Median)), a.canvasPoint(right, y(b.Median))})
	}
}

// drawHistogram draws a filled rectangle from each X to the next, from the axis up to Y. The last X has no rectangle.
func (a *area) drawHistogram(m *figure.Mark) {
	for i := range len(m.X) - 1 {
		if !(m.Y[i] > a.y.low) {
			continue
		}
		left, right := a.left+a.x.position(m.X[i]), a.left+a.x.position(m.X[i+1])
		r := a.rectangle(left, a.top+a.y.position(min(m.Y[i], a.y.high)), right, a.top+a.y.position(a.y.low))
		a.SetColor(seriesColour(m.Series))
		a.Fill(r.Path())
		a.SetLineStyle(draw.LineStyle{Color: paper, Width: a.lineWidth() * 0.7})
		a.Stroke(r.Path())
	}
}
