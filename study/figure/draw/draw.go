package draw

import (
	"math"

	words "gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// pen draws on a canvas with an upward y axis. Its methods take positions from the top left.
type pen struct {
	draw.Canvas
	*sheet
}

// canvasPoint converts a position from the top left to canvas coordinates.
func (p *pen) canvasPoint(x, y vg.Length) vg.Point { return vg.Point{X: x, Y: p.height - y} }

// rectangle converts a rectangle with edges from the top left to canvas coordinates.
func (p *pen) rectangle(left, top, right, bottom vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: p.canvasPoint(left, bottom), Max: p.canvasPoint(right, top)}
}

// drawLabel draws text in ink at (x, y) with the given alignment; turn rotates it in radians, counterclockwise. An
// empty text draws no label.
func (p *pen) drawLabel(text string, x, y, size vg.Length, alongX draw.XAlignment, alongY draw.YAlignment,
	turn float64) {
	if text == "" {
		return
	}
	style := textStyle(size)
	style.Color, style.XAlign, style.YAlign, style.Rotation = ink, alongX, alongY, turn
	p.writeText(style, p.canvasPoint(x, y), text)
}

// anchorer is a canvas that keeps the alignment of texts drawn in another font.
type anchorer interface{ anchorTexts(at draw.XAlignment) }

// writeText draws text at a point. The style's alignment relates the text to the point.
func (p *pen) writeText(style words.Style, point vg.Point, text string) {
	if c, ok := p.Canvas.Canvas.(anchorer); ok {
		c.anchorTexts(style.XAlign)
	}
	p.FillText(style, point, text)
}

// markerRadius returns the radius of markers.
func (p *pen) markerRadius() vg.Length { return p.em(0.27) }

// lineWidth returns the width of a series' line.
func (p *pen) lineWidth() vg.Length { return p.em(0.135) }

// drawAll draws the whole sheet: background, title, note, panels, axis labels and legend.
func (p *pen) drawAll() {
	p.SetColor(paper)
	p.Fill(p.rectangle(0, 0, p.width, p.height).Path())
	y := p.em(0.35)
	for _, line := range p.title {
		p.drawLabel(line, p.width/2, y+p.em(0.65), p.textSize, draw.XCenter, draw.YCenter, 0)
		y += p.em(1.3)
	}
	for _, line := range p.note {
		p.drawLabel(line, p.width/2, y+p.smallSize*0.65, p.smallSize, draw.XCenter, draw.YCenter, 0)
		y += p.smallSize * 1.3
	}
	for i := range p.Panels {
		p.drawPanel(i)
	}
	panels := p.panel.Max.X + vg.Length(p.across-1)*(p.panel.Size().X+p.gapX)
	below := p.panel.Max.Y + vg.Length(p.down-1)*(p.panel.Size().Y+p.gapY)
	for i, l := range p.xLabel {
		half := p.widthOf(l, p.textSize) / 2 // centred below the panels, but within the figure
		x := min(max((p.panel.Min.X+panels)/2, half+p.em(0.3)), p.width-half-p.em(0.3))
		p.drawLabel(l, x, below+p.bottom-p.em(0.55+1.35*float64(len(p.xLabel)-1-i)), p.textSize, draw.XCenter, draw.YCenter,
			0)
	}
	for i, l := range p.yLabel {
		p.drawLabel(l, p.em(0.95+1.3*float64(i)), (p.panel.Min.Y+below)/2, p.textSize, draw.XCenter, draw.YCenter, math.Pi/2)
	}
	if p.ColourAxis != nil {
		p.drawBar(panels+p.em(0.9), p.panel.Min.Y, below)
	}
	p.drawLegend()
}

// panelCorner returns the upper left corner of panel i, from the top left of the figure.
func (p *pen) panelCorner(i int) (left, top vg.Length) {
	size := p.panel.Size()
	return p.panel.Min.X + vg.Length(i%p.across)*(size.X+p.gapX), p.panel.Min.Y + vg.Length(i/p.across)*(size.Y+p.gapY)
}

// drawPanel draws panel i: grid lines, title, heat map or rows, marks and axes.
func (p *pen) drawPanel(i int) {
	left, top := p.panelCorner(i)
	size := p.panel.Size()
	right, bottom := left+size.X, top+size.Y
	thin := draw.LineStyle{Color: gridColour, Width: p.em(0.05)}
	panel := &p.Panels[i]
	if panel.Heat == nil && panel.Rows == nil {
		for _, t := range p.xTicks {
			if p.Figure.X.Words == nil {
				x := left + p.x.position(t.value)
				p.StrokeLines(thin, []vg.Point{p.canvasPoint(x, top), p.canvasPoint(x, bottom)})
			}
		}
		for _, t := range p.yTicks {
			y := top + p.y.position(t.value)
			p.StrokeLines(thin, []vg.Point{p.canvasPoint(left, y), p.canvasPoint(right, y)})
		}
	}
	for n, line := range p.headings[i] {
		up := vg.Length(len(p.headings[i])-1-n) * p.smallSize * 1.1
		p.drawLabel(line, left, top-p.em(0.6)-up, p.smallSize, draw.XLeft, draw.YCenter, 0)
	}
	if panel.Heat != nil {
		p.drawHeat(panel.Heat, left, top)
	}
	if panel.Rows != nil {
		p.drawRows(panel.Rows, left, top)
	}
	a := &area{pen: p, left: left, top: top, slots: slotsOf(panel)}
	a.Canvas = draw.Canvas{Canvas: p.Canvas.Canvas, Rectangle: p.rectangle(left, top, right, bottom)}
	for _, layer := range []func(*figure.Mark){a.drawUnder, a.drawOver} {
		for k := range panel.Marks {
			layer(&panel.Marks[k])
		}
	}
	p.drawAxes(i, left, top, right, bottom)
}

// drawAxes draws the two axis lines of panel i and their ticks. Only panels at the left and bottom edge of the grid get
// tick labels. The other arguments are the panel's edges.
func (p *pen) drawAxes(i int, left, top, right, bottom vg.Length) {
	line := draw.LineStyle{Color: frame, Width: p.em(0.07)}
	long := p.em(0.3)
	p.StrokeLines(line, []vg.Point{p.canvasPoint(left, top), p.canvasPoint(left, bottom), p.canvasPoint(right, bottom)})
	last := i+p.across >= len(p.Panels)
	for k, t := range p.xTicks {
		x := left + p.x.position(t.value)
		p.StrokeLines(line, []vg.Point{p.canvasPoint(x, bottom), p.canvasPoint(x, bottom+long)})
		switch y := bottom + long + p.em(0.15); {
		case !last || t.label == "":
		case p.wordTilt == math.Pi/2:
			p.drawLabel(t.label, x, y, p.smallSize, draw.XRight, draw.YCenter, p.wordTilt)
		case p.wordTilt > 0:
			p.drawLabel(t.label, x+p.smallSize*0.3, y, p.smallSize, draw.XRight, draw.YTop, p.wordTilt)
		case p.brokenWords != nil:
			for n, part := range p.brokenWords[k] {
				p.drawLabel(part, x, y+(0.55+1.15*vg.Length(n))*p.smallSize, p.smallSize, draw.XCenter, draw.YCenter, 0)
			}
		default:
			p.drawLabel(t.label, x, y+0.55*p.smallSize, p.smallSize, draw.XCenter, draw.YCenter, 0)
		}
	}
	for _, t := range p.yTicks {
		y := top + p.y.position(t.value)
		p.StrokeLines(line, []vg.Point{p.canvasPoint(left, y), p.canvasPoint(left-long, y)})
		if r := p.Panels[i].Rows; r != nil && t.label != "" {
			t.label = rowName(r, int(t.value), len(p.Figure.Y.Words))
		}
		if i%p.across == 0 {
			p.drawLabel(t.label, left-long-p.em(0.2), y, p.smallSize, draw.XRight, draw.YCenter, 0)
		}
	}
}

// area is a panel while its marks are drawn.
type area struct {
	*pen
	Canvas    draw.Canvas // clipped to the panel
	left, top vg.Length
	slots     []int
}

// valuePoint returns the canvas point of a value of the series, within the series' slot.
func (a *area) valuePoint(m *figure.Mark, x, y float64) vg.Point {
	by, _ := slotOffset(a.slots, m.Series)
	return a.canvasPoint(a.left+a.x.position(x+by), a.top+a.y.position(y))
}

// isShown reports whether the point (x, y) is within the axes; with words on the x axis, any x is.
func (a *area) isShown(x, y float64) bool {
	return !(a.x.log && x <= 0) && !(a.y.log && y <= 0) && a.y.contains(y) && (a.Figure.X.Words != nil || a.x.contains(x))
}

// drawUnder draws the lower layer of a mark: bars, boxes, histograms or bands.
func (a *area) drawUnder(m *figure.Mark) {
	switch {
	case m.Form == figure.Bars:
		a.drawBars(m)
	case m.Form == figure.Boxes:
		a.drawBoxes(m)
	case m.Form == figure.Area:
		a.drawHistogram(m)
	case m.Band && m.Low != nil:
		a.drawBand(m)
	}
}

// drawOver draws the upper layer of a mark: lines, intervals and markers.
func (a *area) drawOver(m *figure.Mark) {
	if m.Form == figure.Boxes || m.Form == figure.Area {
		return
	}
	if m.Form == figure.Line || m.Form == figure.Steps {
		a.drawLine(m)
	}
	if m.Low != nil && !m.Band {
		a.drawIntervals(m)
	}
	shape, full := seriesMarker(m.Series)
	full = full && m.Form != figure.Hollow
	mark := func(x, y float64) {
		if !a.isShown(x, y) {
			return
		}
		if at := a.valuePoint(m, x, y); m.Form == figure.Crosses {
			a.drawCross(seriesColour(m.Series), at, a.markerRadius()*1.15)
		} else {
			a.drawMarker(shape, full, seriesColour(m.Series), at, a.markerRadius())
		}
	}
	switch {
	case m.Form == figure.Bars:
	case m.SparseMarkers || m.Form == figure.Steps:
		if a.needsMarkers(m) {
			for _, i := range sparseMarkers(m, &a.x) {
				mark(m.X[i], m.Y[i])
			}
		}
	case m.Light && m.Form == figure.Line:
	default:
		eachValue(m, func(x, _, y, _ float64) { mark(x, y) })
	}
}

// needsMarkers reports whether a plain line such as m gets markers: if the figure has more series than dash patterns,
// or several series and m has another dash than its series.
func (p *pen) needsMarkers(m *figure.Mark) bool {
	n := map[int]bool{}
	for i := range p.Panels {
		for k := range p.Panels[i].Marks {
			n[p.Panels[i].Marks[k].Series] = true
		}
	}
	return len(n) > len(dashPatterns) || len(n) > 1 && m.Dash != figure.BySeries
}

// sparseMarkers returns indices of up to six values for markers along a line, spread over the axis s. The line's X must
// ascend. The offset differs between neighbouring series.
func sparseMarkers(m *figure.Mark, s *scale) (out []int) {
	const each = 6
	wide := s.to - s.from
	next := 0
	for i := range m.X {
		if s.log && m.X[i] <= 0 || math.IsNaN(m.Y[i]) {
			continue
		}
		at := float64(s.position(m.X[i]) / wide * each)
		want := float64(next) + float64(max(m.Series, 0)%5)/5 + 0.08
		if at >= want && at <= each {
			out = append(out, i)
			next = int(at) + 1
		}
	}
	return out
}

// lineStyle returns the colour, width and dashes of the mark's line. Dash replaces the series' pattern.
func (p *pen) lineStyle(m *figure.Mark) draw.LineStyle {
	style := draw.LineStyle{Color: seriesColour(m.Series), Width: p.lineWidth()}
	if m.SparseMarkers || m.Form == figure.Steps || m.Light {
		style.Width *= 0.8
	}
	pattern := dashPattern(m.Series)
	switch m.Dash {
	case figure.Solid:
		pattern = nil
	case figure.Broken:
		pattern = dashPatterns[1]
	}
	for _, x := range pattern {
		style.Dashes = append(style.Dashes, vg.Length(x)*p.lineWidth())
	}
	return style
}

// drawLine draws a line, or steps for the form Steps, clipped to the panel. It connects the values on both sides of an
// undefined one. A single value has no line.
func (a *area) drawLine(m *figure.Mark) {
	var all []vg.Point
	eachValue(m, func(x, _, y, _ float64) {
		if a.x.log && x <= 0 || a.y.log && y <= 0 {
			return
		}
		at := a.valuePoint(m, x, y)
		if n := len(all); n > 0 && m.Form == figure.Steps {
			all = append(all, vg.Point{X: at.X, Y: all[n-1].Y})
		}
		all = append(all, at)
	})
	if len(all) > 1 {
		a.StrokeLines(a.lineStyle(m), a.Canvas.ClipLinesXY(all)...)
	}
}

// clipInterval clips an interval to the y axis's range. It moves a lower end that a logarithmic axis cannot show to the
// start of the axis.
func (a *area) clipInterval(low, high float64) (float64, float64) {
	return max(low, a.y.low), min(high, a.y.high)
}

// drawIntervals draws error bars of the values within the axes. An end that the axis cuts off has no cap.
func (a *area) drawIntervals(m *figure.Mark) {
	style := draw.LineStyle{Color: seriesColour(m.Series), Width: a.lineWidth() * 0.65}
	half := a.em(0.24)
	if m.Form == figure.Bars {
		style.Color, half = ink, a.em(0.2)
	}
	eachValue(m, func(x, low, y, high float64) {
		if low == high || !a.isShown(x, y) {
			return
		}
		from, to := a.clipInterval(low, high)
		down, up := a.valuePoint(m, x, from), a.valuePoint(m, x, to)
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

// drawBand draws the intervals as a filled area.
func (a *area) drawBand(m *figure.Mark) {
	var up, down []vg.Point
	eachValue(m, func(x, low, y, high float64) {
		if a.x.log && x <= 0 || a.y.log && y <= 0 {
			return
		}
		low, high = a.clipInterval(low, high)
		up, down = append(up, a.valuePoint(m, x, high)), append(down, a.valuePoint(m, x, low))
	})
	for i := len(down) - 1; i >= 0; i-- {
		up = append(up, down[i])
	}
	if len(up) > 3 {
		a.FillPolygon(withOpacity(seriesColour(m.Series), 0.2), a.Canvas.ClipPolygonXY(up))
	}
}
