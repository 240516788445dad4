package draw

import (
	"math"

	words "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// pen draws on a canvas, whose y axis goes up, with places from the top.
type pen struct {
	draw.Canvas
	*sheet
}

func (p *pen) at(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.height - y} }

func (p *pen) rectangle(left, top, right, bottom vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: p.at(left, bottom), Max: p.at(right, top)}
}

// label writes a text.
func (p *pen) label(text string, x, y, size vg.Length, alongX draw.XAlignment, alongY draw.YAlignment, turn float64) {
	if text == "" {
		return
	}
	style := styleOf(size)
	style.Color, style.XAlign, style.YAlign, style.Rotation = ink, alongX, alongY, turn
	p.write(style, p.at(x, y), text)
}

// anchorer is a canvas whose texts keep their alignment in another font.
type anchorer interface{ anchorTexts(at draw.XAlignment) }

// write writes a text of a style. Its place is where the style aligns it.
func (p *pen) write(style words.Style, at vg.Point, text string) {
	if c, ok := p.Canvas.Canvas.(anchorer); ok {
		c.anchorTexts(style.XAlign)
	}
	p.FillText(style, at, text)
}

func (p *pen) radius() vg.Length    { return p.em(0.27) }
func (p *pen) lineWidth() vg.Length { return p.em(0.135) }

// draw draws all.
func (p *pen) draw() {
	p.SetColor(paper)
	p.Fill(p.rectangle(0, 0, p.width, p.height).Path())
	y := p.em(0.35)
	for _, line := range p.title {
		p.label(line, p.width/2, y+p.em(0.65), p.text, draw.XCenter, draw.YCenter, 0)
		y += p.em(1.3)
	}
	for _, line := range p.note {
		p.label(line, p.width/2, y+p.small*0.65, p.small, draw.XCenter, draw.YCenter, 0)
		y += p.small * 1.3
	}
	for i := range p.Panels {
		p.drawPanel(i)
	}
	panels := p.panel.Max.X + vg.Length(p.across-1)*(p.panel.Size().X+p.gapX)
	below := p.panel.Max.Y + vg.Length(p.down-1)*(p.panel.Size().Y+p.gapY)
	for i, l := range p.xLabel {
		half := p.wide(l, p.text) / 2 // in the middle of the panels, but within the figure
		x := min(max((p.panel.Min.X+panels)/2, half+p.em(0.3)), p.width-half-p.em(0.3))
		p.label(l, x, below+p.bottom-p.em(0.55+1.35*float64(len(p.xLabel)-1-i)), p.text, draw.XCenter, draw.YCenter, 0)
	}
	for i, l := range p.yLabel {
		p.label(l, p.em(0.95+1.3*float64(i)), (p.panel.Min.Y+below)/2, p.text, draw.XCenter, draw.YCenter, math.Pi/2)
	}
	if p.Bar != nil {
		p.drawBar(panels+p.em(0.9), p.panel.Min.Y, below)
	}
	p.drawLegend()
}

// place is a panel's upper left corner.
func (p *pen) place(i int) (left, top vg.Length) {
	size := p.panel.Size()
	return p.panel.Min.X + vg.Length(i%p.across)*(size.X+p.gapX), p.panel.Min.Y + vg.Length(i/p.across)*(size.Y+p.gapY)
}

// drawPanel draws one panel with its axes.
func (p *pen) drawPanel(i int) {
	left, top := p.place(i)
	size := p.panel.Size()
	right, bottom := left+size.X, top+size.Y
	thin := draw.LineStyle{Color: lines, Width: p.em(0.05)}
	of := &p.Panels[i]
	if of.Heat == nil && of.Rows == nil {
		for _, t := range p.xTicks {
			if p.Figure.X.Words == nil {
				x := left + p.x.at(t.value)
				p.StrokeLines(thin, []vg.Point{p.at(x, top), p.at(x, bottom)})
			}
		}
		for _, t := range p.yTicks {
			y := top + p.y.at(t.value)
			p.StrokeLines(thin, []vg.Point{p.at(left, y), p.at(right, y)})
		}
	}
	for n, line := range p.headings[i] {
		up := vg.Length(len(p.headings[i])-1-n) * p.small * 1.1
		p.label(line, left, top-p.em(0.6)-up, p.small, draw.XLeft, draw.YCenter, 0)
	}
	if of.Heat != nil {
		p.drawHeat(of.Heat, left, top)
	}
	if of.Rows != nil {
		p.drawRows(of.Rows, left, top)
	}
	a := &area{pen: p, left: left, top: top, slots: slotsOf(of)}
	a.Canvas = draw.Canvas{Canvas: p.Canvas.Canvas, Rectangle: p.rectangle(left, top, right, bottom)}
	for _, layer := range []func(*figure.Mark){a.under, a.over} {
		for k := range of.Marks {
			layer(&of.Marks[k])
		}
	}
	p.axes(i, left, top, right, bottom)
}

// axes draws the lines at two sides of a panel, with ticks; labels only where no other panel has them.
func (p *pen) axes(i int, left, top, right, bottom vg.Length) {
	line := draw.LineStyle{Color: frame, Width: p.em(0.07)}
	long := p.em(0.3)
	p.StrokeLines(line, []vg.Point{p.at(left, top), p.at(left, bottom), p.at(right, bottom)})
	last := i+p.across >= len(p.Panels)
	for k, t := range p.xTicks {
		x := left + p.x.at(t.value)
		p.StrokeLines(line, []vg.Point{p.at(x, bottom), p.at(x, bottom+long)})
		switch y := bottom + long + p.em(0.15); {
		case !last || t.label == "":
		case p.tilt == math.Pi/2:
			p.label(t.label, x, y, p.small, draw.XRight, draw.YCenter, p.tilt)
		case p.tilt > 0:
			p.label(t.label, x+p.small*0.3, y, p.small, draw.XRight, draw.YTop, p.tilt)
		case p.broken != nil:
			for n, part := range p.broken[k] {
				p.label(part, x, y+(0.55+1.15*vg.Length(n))*p.small, p.small, draw.XCenter, draw.YCenter, 0)
			}
		default:
			p.label(t.label, x, y+0.55*p.small, p.small, draw.XCenter, draw.YCenter, 0)
		}
	}
	for _, t := range p.yTicks {
		y := top + p.y.at(t.value)
		p.StrokeLines(line, []vg.Point{p.at(left, y), p.at(left-long, y)})
		if r := p.Panels[i].Rows; r != nil && t.label != "" {
			t.label = rowName(r, int(t.value), len(p.Figure.Y.Words))
		}
		if i%p.across == 0 {
			p.label(t.label, left-long-p.em(0.2), y, p.small, draw.XRight, draw.YCenter, 0)
		}
	}
}

// area is a panel while its marks are drawn.
type area struct {
	*pen
	Canvas    draw.Canvas // that of the panel alone
	left, top vg.Length
	slots     []int
}

// point is where a value of a series stands.
func (a *area) point(m *figure.Mark, x, y float64) vg.Point {
	by, _ := shift(a.slots, m.Series)
	return a.at(a.left+a.x.at(x+by), a.top+a.y.at(y))
}

// shown reports whether the axes have a value.
func (a *area) shown(x, y float64) bool {
	return !(a.x.log && x <= 0) && !(a.y.log && y <= 0) && a.y.inside(y) && (a.Figure.X.Words != nil || a.x.inside(x))
}

// under draws what lies below: bands, bars, boxes.
func (a *area) under(m *figure.Mark) {
	switch {
	case m.Form == figure.Bars:
		a.bars(m)
	case m.Form == figure.Boxes:
		a.boxes(m)
	case m.Form == figure.Area:
		a.rectangles(m)
	case m.Band && m.Low != nil:
		a.band(m)
	}
}

// over draws lines, intervals and markers.
func (a *area) over(m *figure.Mark) {
	if m.Form == figure.Boxes || m.Form == figure.Area {
		return
	}
	if m.Form == figure.Line || m.Form == figure.Steps {
		a.line(m)
	}
	if m.Low != nil && !m.Band {
		a.intervals(m)
	}
	shape, full := markerOf(m.Series)
	full = full && m.Form != figure.Hollow
	mark := func(x, y float64) {
		if !a.shown(x, y) {
			return
		}
		if at := a.point(m, x, y); m.Form == figure.Crosses {
			a.cross(colourOf(m.Series), at, a.radius()*1.15)
		} else {
			a.marker(shape, full, colourOf(m.Series), at, a.radius())
		}
	}
	switch {
	case m.Form == figure.Bars:
	case m.Plain || m.Form == figure.Steps:
		if a.marked(m) {
			for _, i := range sparse(m, &a.x) {
				mark(m.X[i], m.Y[i])
			}
		}
	case m.Thin && m.Form == figure.Line:
	default:
		eachValue(m, func(x, _, y, _ float64) { mark(x, y) })
	}
}

// marked reports whether lines without markers at all values have some: from the fifth on, dashes repeat.
func (p *pen) marked(m *figure.Mark) bool {
	n := map[int]bool{}
	for i := range p.Panels {
		for k := range p.Panels[i].Marks {
			n[p.Panels[i].Marks[k].Series] = true
		}
	}
	return len(n) > len(patterns) || len(n) > 1 && m.Dash != figure.BySeries
}

// sparse are values for markers along a line: six, at other places for every series.
func sparse(m *figure.Mark, s *scale) (out []int) {
	const each = 6
	wide := s.to - s.from
	next := 0
	for i := range m.X {
		if s.log && m.X[i] <= 0 || math.IsNaN(m.Y[i]) {
			continue
		}
		at := float64(s.at(m.X[i]) / wide * each)
		want := float64(next) + float64(max(m.Series, 0)%5)/5 + 0.08
		if at >= want && at <= each {
			out = append(out, i)
			next = int(at) + 1
		}
	}
	return out
}

// lineStyle is how a series' line looks.
func (p *pen) lineStyle(m *figure.Mark) draw.LineStyle {
	style := draw.LineStyle{Color: colourOf(m.Series), Width: p.lineWidth()}
	if m.Plain || m.Form == figure.Steps || m.Thin {
		style.Width *= 0.8
	}
	pattern := dashOf(m.Series)
	switch m.Dash {
	case figure.Solid:
		pattern = nil
	case figure.Broken:
		pattern = patterns[1]
	}
	for _, x := range pattern {
		style.Dashes = append(style.Dashes, vg.Length(x)*p.lineWidth())
	}
	return style
}

// line draws a line, or stairs.
func (a *area) line(m *figure.Mark) {
	var all []vg.Point
	eachValue(m, func(x, _, y, _ float64) {
		if a.x.log && x <= 0 || a.y.log && y <= 0 {
			return
		}
		at := a.point(m, x, y)
		if n := len(all); n > 0 && m.Form == figure.Steps {
			all = append(all, vg.Point{X: at.X, Y: all[n-1].Y})
		}
		all = append(all, at)
	})
	if len(all) > 1 {
		a.StrokeLines(a.lineStyle(m), a.Canvas.ClipLinesXY(all)...)
	}
}

// ends are those of a value's interval within the axes; a lower end that a logarithmic axis cannot have is its
// beginning.
func (a *area) ends(low, high float64) (float64, float64) {
	return max(low, a.y.low), min(high, a.y.high)
}

// intervals draws error bars.
func (a *area) intervals(m *figure.Mark) {
	style := draw.LineStyle{Color: colourOf(m.Series), Width: a.lineWidth() * 0.65}
	half := a.em(0.24)
	if m.Form == figure.Bars {
		style.Color, half = ink, a.em(0.2)
	}
	eachValue(m, func(x, low, y, high float64) {
		if low == high || !a.shown(x, y) {
			return
		}
		from, to := a.ends(low, high)
		down, up := a.point(m, x, from), a.point(m, x, to)
		a.StrokeLines(style, []vg.Point{down, up})
		for _, end := range []struct {
			at    vg.Point
			whole bool
		}{{down, from == low}, {up, to == high}} {
			if end.whole { // not cut off by the axis
				a.StrokeLines(style, []vg.Point{{X: end.at.X - half, Y: end.at.Y}, {X: end.at.X + half, Y: end.at.Y}})
			}
		}
	})
}

// band draws intervals as an area.
func (a *area) band(m *figure.Mark) {
	var up, down []vg.Point
	eachValue(m, func(x, low, y, high float64) {
		if a.x.log && x <= 0 || a.y.log && y <= 0 {
			return
		}
		low, high = a.ends(low, high)
		up, down = append(up, a.point(m, x, high)), append(down, a.point(m, x, low))
	})
	for i := len(down) - 1; i >= 0; i-- {
		up = append(up, down[i])
	}
	if len(up) > 3 {
		a.FillPolygon(fade(colourOf(m.Series), 0.2), a.Canvas.ClipPolygonXY(up))
	}
}
