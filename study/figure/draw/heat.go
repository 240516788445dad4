package draw

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// warmth are the colours of heat maps, from small to large: their lightness falls evenly, so that they can be read
// in grey and by the colour-blind.
var warmth = []color.RGBA{{0xf7, 0xf4, 0xd4, 0xff}, {0xf4, 0xd0, 0x7a, 0xff}, {0xe8, 0xa0, 0x4b, 0xff},
	{0xd4, 0x6c, 0x46, 0xff}, {0xa8, 0x3f, 0x59, 0xff}, {0x6f, 0x22, 0x6b, 0xff}, {0x2d, 0x12, 0x50, 0xff}}

// heatOf is the colour of a value's share of the range.
func heatOf(share float64) color.RGBA {
	share = min(max(share, 0), 1) * float64(len(warmth)-1)
	i := min(int(share), len(warmth)-2)
	part := share - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	a, b := warmth[i], warmth[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// light is a colour's relative luminance.
func light(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// barScale is the range of a heat map's colours.
func (s *sheet) barScale() scale {
	all := newSpan()
	for i := range s.Panels {
		if h := s.Panels[i].Heat; h != nil {
			for _, v := range slices.Concat(h.Values, h.Paper) {
				if !math.IsNaN(v) && !(s.Bar.Log && v <= 0) {
					all.add(v, v, v)
				}
			}
		}
	}
	low, high := axis{s.Bar}.bounds(all, 0)
	return scale{low: low, high: high, log: s.Bar.Log, from: 0, to: 1}
}

// drawHeat fills the cells, and writes their values into them where there is room.
func (p *pen) drawHeat(h *figure.Heat, left, top vg.Length) {
	s := p.barScale()
	edge := func(k int) float64 {
		if h.Edges != nil {
			return h.Edges[k]
		}
		return float64(k) - 0.5
	}
	for row := range h.Rows {
		for column := range h.Columns {
			x0, x1 := left+p.x.at(max(edge(column), p.x.low)), left+p.x.at(min(edge(column+1), p.x.high))
			y0, y1 := top+p.y.at(float64(row)+0.5), top+p.y.at(float64(row)-0.5)
			if x1 <= x0 {
				continue
			}
			p.cell(h, &s, row*h.Columns+column, p.rectangle(x0, y0, x1, y1))
		}
	}
}

// cell fills one, with its value and the paper's below it.
func (p *pen) cell(h *figure.Heat, s *scale, i int, r vg.Rectangle) {
	paper := math.NaN()
	if h.Paper != nil {
		paper = h.Paper[i]
	}
	colour := func(v float64) color.RGBA {
		if s.log && v <= 0 {
			return heatOf(0)
		}
		return heatOf(float64(s.at(v)))
	}
	v, on := h.Values[i], color.Color(ink)
	if math.IsNaN(v) {
		p.hatch(r, math.Pi/4, p.em(0.4), lines)
	} else {
		c := colour(v)
		p.SetColor(c)
		p.Fill(r.Path())
		if h.Edges == nil { // hide the seams that viewers leave between rectangles
			p.SetLineStyle(draw.LineStyle{Color: c, Width: 0.3})
			p.Stroke(r.Path())
		}
		on = onHeat(c)
	}
	size, middle := r.Size(), vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	write := func(text string, at vg.Point) bool {
		if text == "" || p.wide(text, p.small)+p.em(0.3) >= size.X || p.small*1.1 >= size.Y {
			return false
		}
		style := styleOf(p.small)
		style.Color, style.XAlign, style.YAlign = on, draw.XCenter, draw.YCenter
		p.write(style, at, text)
		return true
	}
	own := ""
	if !math.IsNaN(v) {
		own = h.Label(v)
	}
	if math.IsNaN(paper) {
		write(own, middle)
		return
	}
	// below the value the paper's, with a cross in front; where it has no room, a corner of its colour with the cross
	half := p.small * 0.62
	text, sign := h.Label(paper), p.em(0.9)
	if p.wide(text, p.small)+sign+p.em(0.3) < size.X && size.Y > 4*half {
		write(own, vg.Point{X: middle.X, Y: middle.Y + half})
		at := vg.Point{X: middle.X + sign/2, Y: middle.Y - half}
		write(text, at)
		p.strokes(on, vg.Point{X: at.X - p.wide(text, p.small)/2 - sign*0.6, Y: at.Y}, p.radius()*0.8, 0.5)
		return
	}
	write(own, middle)
	side := min(p.radius()*2.6, size.X/2, size.Y/2)
	corner := vg.Rectangle{Min: vg.Point{X: r.Max.X - side, Y: r.Max.Y - side}, Max: r.Max}
	c := colour(paper)
	p.SetColor(c)
	p.Fill(corner.Path())
	p.SetLineStyle(draw.LineStyle{Color: on, Width: p.em(0.05)})
	p.Stroke(corner.Path())
	p.strokes(onHeat(c), vg.Point{X: r.Max.X - side/2, Y: r.Max.Y - side/2}, side*0.3, 0.5)
}

// onHeat is the ink that can be read on a colour.
func onHeat(c color.RGBA) color.Color {
	if light(c) > 0.18 {
		return color.RGBA{0x10, 0x10, 0x11, 0xff} // no grey: a page leaves it as it is
	}
	return color.RGBA{0xfe, 0xfe, 0xfd, 0xff}
}

// drawBar draws the colours with their values.
func (p *pen) drawBar(left, top, bottom vg.Length) {
	s := p.barScale()
	right := left + p.em(0.9)
	const steps = 64
	high := (bottom - top) / steps
	for k := range steps {
		p.SetColor(heatOf((float64(k) + 0.5) / steps))
		y := bottom - vg.Length(k)*high
		p.Fill(p.rectangle(left, y-high-0.2, right, y).Path())
	}
	s.from, s.to = bottom, top
	line := draw.LineStyle{Color: frame, Width: p.em(0.06)}
	for _, t := range p.barTicks(&s) {
		y := s.at(t.value)
		p.StrokeLines(line, []vg.Point{p.at(right, y), p.at(right+p.em(0.2), y)})
		p.label(t.label, right+p.em(0.35), y, p.small, draw.XLeft, draw.YCenter, 0)
	}
	n := len(p.barLabel)
	for i, l := range p.barLabel {
		x := left - p.em(0.9) + p.barWide - p.em(0.6+1.3*float64(n-1-i))
		p.label(l, x, (top+bottom)/2, p.text, draw.XCenter, draw.YCenter, math.Pi/2)
	}
}

// barTicks are those of the colours, whose scale has its places.
func (s *sheet) barTicks(of *scale) []tick {
	return axis{s.Bar}.ticks(of, rule{s.small * 0.4, func(string) vg.Length { return s.small }})
}

// barWidth is what the colours take beside the panels of a height: the bar, its ticks, its label.
func (s *sheet) barWidth(high vg.Length) vg.Length {
	of := s.barScale()
	of.from, of.to = high, 0
	most := vg.Length(0)
	for _, t := range s.barTicks(&of) {
		most = max(most, s.wide(t.label, s.small))
	}
	s.barLabel = s.sideways(s.Bar.Label, high)
	return s.em(0.9+0.9+0.35) + most + s.em(0.35+1.3*float64(len(s.barLabel)))
}
