package draw

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// bars draws those of a series, from 0 or where the axis begins.
func (a *area) bars(m *figure.Mark) {
	by, wide := shift(a.slots, m.Series)
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
		left, right := a.left+a.x.at(x+by-wide*0.46), a.left+a.x.at(x+by+wide*0.46)
		p, q := a.top+a.y.at(base), a.top+a.y.at(y)
		a.filled(left, min(p, q), right, max(p, q), m.Series, false)
	})
}

// filled draws a rectangle as the series' bars are: with its hatch and an edge.
func (p *pen) filled(left, top, right, bottom vg.Length, series int, sample bool) {
	c := colourOf(series)
	r := p.rectangle(left, top, right, bottom)
	h := hatches[max(series, 0)%figure.MostSeries]
	if h.solid {
		p.SetColor(c)
		if series >= figure.MostSeries/2 { // the second that is filled wholly
			p.SetColor(fade(c, 0.55))
		}
		p.Fill(r.Path())
	} else {
		p.SetColor(fade(c, 0.16))
		p.Fill(r.Path())
		scaled := vg.Length(h.gap) * p.text / 11.5
		if sample { // as dense as it takes to be seen
			scaled = min(scaled, (bottom-top)/2.6)
		}
		for _, angle := range h.angles {
			p.hatch(r, angle*math.Pi/180, scaled, c)
		}
	}
	p.SetLineStyle(draw.LineStyle{Color: c, Width: p.lineWidth() * 0.6})
	p.Stroke(r.Path())
}

// hatch fills a rectangle with lines in a direction. They go through the same places everywhere, so that bars beside
// each other look alike.
func (p *pen) hatch(r vg.Rectangle, angle float64, gap vg.Length, c color.Color) {
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

// boxes draws quartiles and median, with whiskers.
func (a *area) boxes(m *figure.Mark) {
	by, wide := shift(a.slots, m.Series)
	line := draw.LineStyle{Color: colourOf(m.Series), Width: a.lineWidth() * 0.75}
	for i, b := range m.Boxes {
		if a.y.log && b.Q1 <= 0 {
			b.Q1 = a.y.low
		}
		x := m.X[i] + by
		left, right := a.left+a.x.at(x-wide*0.4), a.left+a.x.at(x+wide*0.4)
		middle := (left + right) / 2
		y := func(v float64) vg.Length { return a.top + a.y.at(min(max(v, a.y.low), a.y.high)) }
		for _, w := range [][2]float64{{b.Low, b.Q1}, {b.Q3, b.High}} {
			a.StrokeLines(line, []vg.Point{a.at(middle, y(w[0])), a.at(middle, y(w[1]))})
		}
		for _, end := range []float64{b.Low, b.High} {
			quarter := (right - left) / 4
			a.StrokeLines(line, []vg.Point{a.at(middle-quarter, y(end)), a.at(middle+quarter, y(end))})
		}
		a.filled(left, y(b.Q3), right, y(b.Q1), m.Series, false)
		thick := line
		thick.Width, thick.Color = a.lineWidth()*1.3, ink
		a.StrokeLines(thick, []vg.Point{a.at(left, y(b.Median)), a.at(right, y(b.Median))})
	}
}

// rectangles draws a histogram.
func (a *area) rectangles(m *figure.Mark) {
	for i := range len(m.X) - 1 {
		if !(m.Y[i] > a.y.low) {
			continue
		}
		left, right := a.left+a.x.at(m.X[i]), a.left+a.x.at(m.X[i+1])
		r := a.rectangle(left, a.top+a.y.at(min(m.Y[i], a.y.high)), right, a.top+a.y.at(a.y.low))
		a.SetColor(colourOf(m.Series))
		a.Fill(r.Path())
		a.SetLineStyle(draw.LineStyle{Color: paper, Width: a.lineWidth() * 0.7})
		a.Stroke(r.Path())
	}
}
