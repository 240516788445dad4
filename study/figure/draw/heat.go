package draw

import (
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// heatColours are the colours of heat maps from small to large values. Their lightness falls evenly, so that they are
// readable in grey and for colour-blind readers.
var heatColours = []color.RGBA{{0xf7, 0xf4, 0xd4, 0xff}, {0xf4, 0xd0, 0x7a, 0xff}, {0xe8, 0xa0, 0x4b, 0xff},
	{0xd4, 0x6c, 0x46, 0xff}, {0xa8, 0x3f, 0x59, 0xff}, {0x6f, 0x22, 0x6b, 0xff}, {0x2d, 0x12, 0x50, 0xff}}

// heatColour returns the colour at a share (0 … 1) of the range; other shares are clamped.
func heatColour(share float64) color.RGBA {
	share = min(max(share, 0), 1) * float64(len(heatColours)-1)
	i := min(int(share), len(heatColours)-2)
	part := share - float64(i)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a) + part*(float64(b)-float64(a)))) }
	a, b := heatColours[i], heatColours[i+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}

// luminance returns the relative luminance of a colour, 0 … 1 (WCAG).
func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

// barScale returns the value range of the heat map's colours, with positions 0 … 1. The figure needs a colour axis.
func (s *sheet) barScale() scale {
	all := newSpan()
	for i := range s.Panels {
		if h := s.Panels[i].Heat; h != nil {
			for _, v := range slices.Concat(h.Values, h.Reference) {
				if !math.IsNaN(v) && !(s.ColourAxis.Log && v <= 0) {
					all.include(v, v, v)
				}
			}
		}
	}
	low, high := axis{s.ColourAxis}.chooseRange(all, 0)
	return scale{low: low, high: high, log: s.ColourAxis.Log, from: 0, to: 1}
}

// drawHeat fills the cells and writes their values where they fit. (left, top) is the panel's corner.
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
			x0, x1 := left+p.x.position(max(edge(column), p.x.low)), left+p.x.position(min(edge(column+1), p.x.high))
			y0, y1 := top+p.y.position(float64(row)+0.5), top+p.y.position(float64(row)-0.5)
			if x1 <= x0 {
				continue
			}
			p.drawCell(h, &s, row*h.Columns+column, p.rectangle(x0, y0, x1, y1))
		}
	}
}

// drawCell fills cell i in rectangle r, in canvas coordinates, and writes its value and below it the reference value,
// if they fit. A reference value that does not fit becomes a corner in its colour. A cell without a value is hatched.
func (p *pen) drawCell(h *figure.Heat, s *scale, i int, r vg.Rectangle) {
	paper := math.NaN()
	if h.Reference != nil {
		paper = h.Reference[i]
	}
	colour := func(v float64) color.RGBA {
		if s.log && v <= 0 {
			return heatColour(0)
		}
		return heatColour(float64(s.position(v)))
	}
	v, on := h.Values[i], color.Color(ink)
	if math.IsNaN(v) {
		p.hatchRectangle(r, math.Pi/4, p.em(0.4), gridColour)
	} else {
		c := colour(v)
		p.SetColor(c)
		p.Fill(r.Path())
		if h.Edges == nil { // hide the seams between rectangles in viewers
			p.SetLineStyle(draw.LineStyle{Color: c, Width: 0.3})
			p.Stroke(r.Path())
		}
		on = inkOn(c)
	}
	size, middle := r.Size(), vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	write := func(text string, at vg.Point) bool {
		if text == "" || p.widthOf(text, p.smallSize)+p.em(0.3) >= size.X || p.smallSize*1.1 >= size.Y {
			return false
		}
		style := textStyle(p.smallSize)
		style.Color, style.XAlign, style.YAlign = on, draw.XCenter, draw.YCenter
		p.writeText(style, at, text)
		return true
	}
	valueText := ""
	if !math.IsNaN(v) {
		valueText = h.Label(v)
	}
	if math.IsNaN(paper) {
		write(valueText, middle)
		return
	}
	// Write the reference value with a cross below the value. If it does not fit, fill a corner with its colour and the
	// cross.
	half := p.smallSize * 0.62
	paperText, sign := h.Label(paper), p.em(0.9)
	if p.widthOf(paperText, p.smallSize)+sign+p.em(0.3) < size.X && size.Y > 4*half {
		write(valueText, vg.Point{X: middle.X, Y: middle.Y + half})
		at := vg.Point{X: middle.X + sign/2, Y: middle.Y - half}
		write(paperText, at)
		p.drawStrokes(on, vg.Point{X: at.X - p.widthOf(paperText, p.smallSize)/2 - sign*0.6, Y: at.Y}, p.markerRadius()*0.8,
			0.5)
		return
	}
	write(valueText, middle)
	side := min(p.markerRadius()*2.6, size.X/2, size.Y/2)
	corner := vg.Rectangle{Min: vg.Point{X: r.Max.X - side, Y: r.Max.Y - side}, Max: r.Max}
	c := colour(paper)
	p.SetColor(c)
	p.Fill(corner.Path())
	p.SetLineStyle(draw.LineStyle{Color: on, Width: p.em(0.05)})
	p.Stroke(corner.Path())
	p.drawStrokes(inkOn(c), vg.Point{X: r.Max.X - side/2, Y: r.Max.Y - side/2}, side*0.3, 0.5)
}

// inkOn returns the text colour that is readable on a heat colour.
func inkOn(c color.RGBA) color.Color {
	if luminance(c) > 0.18 {
		return color.RGBA{0x10, 0x10, 0x11, 0xff} // not grey: a page's style sheet replaces greys
	}
	return color.RGBA{0xfe, 0xfe, 0xfd, 0xff}
}

// drawBar draws the colour bar with its ticks and label, from left and between top and bottom.
func (p *pen) drawBar(left, top, bottom vg.Length) {
	s := p.barScale()
	right := left + p.em(0.9)
	const steps = 64
	high := (bottom - top) / steps
	for k := range steps {
		p.SetColor(heatColour((float64(k) + 0.5) / steps))
		y := bottom - vg.Length(k)*high
		p.Fill(p.rectangle(left, y-high-0.2, right, y).Path())
	}
	s.from, s.to = bottom, top
	line := draw.LineStyle{Color: frame, Width: p.em(0.06)}
	for _, t := range p.barTicks(&s) {
		y := s.position(t.value)
		p.StrokeLines(line, []vg.Point{p.canvasPoint(right, y), p.canvasPoint(right+p.em(0.2), y)})
		p.drawLabel(t.label, right+p.em(0.35), y, p.smallSize, draw.XLeft, draw.YCenter, 0)
	}
	n := len(p.barLabel)
	for i, l := range p.barLabel {
		x := left - p.em(0.9) + p.barSpace - p.em(0.6+1.3*float64(n-1-i))
		p.drawLabel(l, x, (top+bottom)/2, p.textSize, draw.XCenter, draw.YCenter, math.Pi/2)
	}
}

// barTicks returns the ticks of the colour bar for a scale with drawing positions.
func (s *sheet) barTicks(bar *scale) []tick {
	return axis{s.ColourAxis}.chooseTicks(bar, labelRule{s.smallSize * 0.4, func(string) vg.Length { return s.smallSize }})
}

// barWidth returns the width of the colour bar next to panels of the given height: bar, ticks and label. It sets
// barLabel.
func (s *sheet) barWidth(high vg.Length) vg.Length {
	bar := s.barScale()
	bar.from, bar.to = high, 0
	widest := vg.Length(0)
	for _, t := range s.barTicks(&bar) {
		widest = max(widest, s.widthOf(t.label, s.smallSize))
	}
	s.barLabel = s.wrapUpright(s.ColourAxis.Label, high)
	return s.em(0.9+0.9+0.35) + widest + s.em(0.35+1.3*float64(len(s.barLabel)))
}
