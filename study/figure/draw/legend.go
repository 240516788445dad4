package draw

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// legend is the layout of the legend.
type legend struct {
	place         figure.LegendPosition
	cells         []legendCell
	width, height vg.Length
}

// legendCell is a legend entry at its position within the legend.
type legendCell struct {
	figure.LegendEntry
	mark  *figure.Mark // the mark to draw; nil: draw the entry's own form
	lines []string
	x, y  vg.Length
}

// isCorner reports whether a place is a corner of a panel.
func isCorner(p figure.LegendPosition) bool {
	return slices.Contains([]figure.LegendPosition{figure.TopLeft, figure.TopRight, figure.BottomLeft, figure.BottomRight},
		p)
}

// swatchWidth returns the width of the samples.
func (s *sheet) swatchWidth() vg.Length { return s.em(2.4) }

// legendEntries returns the drawn series with a name in their order, followed by row states and extra entries.
func (s *sheet) legendEntries() (out []legendCell) {
	for i, name := range s.Names {
		var found *figure.Mark
		for p := range s.Panels {
			for k := range s.Panels[p].Marks {
				m := &s.Panels[p].Marks[k]
				some := false
				eachValue(m, func(_, _, _, _ float64) { some = true })
				if m.Series == i && some && m.Form != figure.Crosses && (found == nil || found.Form == figure.Hollow) {
					found = m
				}
			}
		}
		if found != nil && name != "" {
			out = append(out, legendCell{LegendEntry: figure.LegendEntry{Name: name, Series: i, Form: found.Form}, mark: found})
		}
	}
	for i, name := range s.States {
		out = append(out, legendCell{LegendEntry: figure.LegendEntry{Name: name, Series: i, Form: figure.StateBlocks}})
	}
	for _, e := range s.ExtraEntries {
		out = append(out, legendCell{LegendEntry: e})
	}
	return out
}

// layoutLegend lays out the entries for a place, and returns the layout. A legend without entries gets the place
// NoLegend.
func (s *sheet) layoutLegend(place figure.LegendPosition) *legend {
	k := &legend{place: place, cells: s.legendEntries()}
	if place == figure.NoLegend || len(k.cells) == 0 {
		k.place, k.cells = figure.NoLegend, nil
		return k
	}
	room := s.width - s.em(1)
	switch place {
	case figure.Right:
		room = s.width * 0.4
	case figure.Below, figure.Above:
	default:
		room = s.width * 0.6
	}
	widest := vg.Length(0)
	for i := range k.cells {
		k.cells[i].lines = s.wrapText(k.cells[i].Name, room-s.swatchWidth()-s.em(0.5), s.textSize)
		for _, l := range k.cells[i].lines {
			widest = max(widest, s.swatchWidth()+s.em(0.5)+s.widthOf(l, s.textSize))
		}
	}
	columns := 1
	if place == figure.Below || place == figure.Above {
		columns = max(1, min(len(k.cells), int((room+s.em(1.2))/(widest+s.em(1.2)))))
		rows := (len(k.cells) + columns - 1) / columns
		columns = (len(k.cells) + rows - 1) / rows // rows of equal length
	}
	for i := 0; i < len(k.cells); i += columns {
		maxLines := 0
		for c := i; c < min(i+columns, len(k.cells)); c++ {
			k.cells[c].x, k.cells[c].y = vg.Length(c-i)*(widest+s.em(1.2)), k.height
			maxLines = max(maxLines, len(k.cells[c].lines))
		}
		k.height += vg.Length(maxLines) * s.em(1.35)
	}
	k.width = vg.Length(columns)*(widest+s.em(1.2)) - s.em(1.2)
	return k
}

// drawLegend draws the legend at its place; in a corner on a pale background.
func (p *pen) drawLegend() {
	s := p.sheet
	k := s.key
	x, y := s.panel.Min.X, s.height-k.height-s.em(0.3)
	if x+k.width > s.width-s.em(0.4) {
		x = max(s.em(0.4), (s.width-k.width)/2)
	}
	place := k.place
	inset := s.em(0.6)
	switch place {
	case figure.NoLegend:
		return
	case figure.Above:
		y = s.em(0.35) + vg.Length(len(s.title))*s.em(1.3) + vg.Length(len(s.note))*s.smallSize*1.3 + s.em(0.5)
	case figure.Right:
		x, y = s.width-k.width-s.em(0.4), s.panel.Min.Y
	case figure.TopLeft:
		x, y = s.panel.Min.X+inset, s.panel.Min.Y+inset
	case figure.TopRight:
		x, y = s.panel.Max.X-k.width-inset, s.panel.Min.Y+inset
	case figure.BottomLeft:
		x, y = s.panel.Min.X+inset, s.panel.Max.Y-k.height-inset
	case figure.BottomRight:
		x, y = s.panel.Max.X-k.width-inset, s.panel.Max.Y-k.height-inset
	}
	if isCorner(place) {
		p.SetColor(withOpacity(paper, 0.85))
		p.Fill(p.rectangle(x-inset/2, y-inset/2, x+k.width+inset/2, y+k.height+inset/2).Path())
	}
	for i := range k.cells {
		c := &k.cells[i]
		p.drawSample(c, x+c.x, y+c.y)
		for n, line := range c.lines {
			middle := y + c.y + s.em(0.65) + vg.Length(n)*s.em(1.35)
			p.drawLabel(line, x+c.x+s.swatchWidth()+s.em(0.5), middle, s.textSize, draw.XLeft, draw.YCenter, 0)
		}
	}
}

// emptiestCorner returns a corner of the first panel in which the legend covers no value; Below if there is no such
// corner. The legend's size must be known.
func (s *sheet) emptiestCorner() figure.LegendPosition {
	corners := []figure.LegendPosition{figure.TopRight, figure.TopLeft, figure.BottomRight, figure.BottomLeft}
	taken := make([]bool, len(corners))
	size := s.panel.Size()
	w, h := s.key.width+s.em(1.2), s.key.height+s.em(1.2)
	slots := slotsOf(&s.Panels[0])
	for k := range s.Panels[0].Marks {
		m := &s.Panels[0].Marks[k]
		by, wide := slotOffset(slots, m.Series)
		if m.Form != figure.Bars && m.Form != figure.Boxes {
			wide = 0
		}
		take := func(left, top, right, bottom vg.Length) {
			for i, c := range corners {
				acrossLeft, acrossTop := c == figure.TopLeft || c == figure.BottomLeft, c == figure.TopLeft || c == figure.TopRight
				taken[i] = taken[i] || (acrossLeft && left < w || !acrossLeft && right > size.X-w) &&
					(acrossTop && top < h || !acrossTop && bottom > size.Y-h)
			}
		}
		var last *vg.Point // previous point of a line
		eachValue(m, func(x, low, y, high float64) {
			if s.x.log && x <= 0 || s.y.log && (y <= 0 || low <= 0) {
				return
			}
			left, right := s.x.position(x+by-wide/2)-s.em(0.4), s.x.position(x+by+wide/2)+s.em(0.4)
			top, bottom := s.y.position(high)-s.em(0.4), s.y.position(low)+s.em(0.4)
			if m.Form == figure.Bars || m.Form == figure.Area {
				bottom = size.Y
			}
			take(left, top, right, bottom)
			now := vg.Point{X: s.x.position(x), Y: s.y.position(y)}
			if last != nil && (m.Form == figure.Line || m.Form == figure.Steps) {
				const parts = 12
				for k := range parts {
					part := vg.Length(k) / parts
					at := vg.Point{X: last.X + (now.X-last.X)*part, Y: last.Y + (now.Y-last.Y)*part}
					take(at.X-s.em(0.3), at.Y-s.em(0.3), at.X+s.em(0.3), at.Y+s.em(0.3))
				}
			}
			last = &now
		})
	}
	if i := slices.Index(taken, false); i >= 0 && w < size.X && h < size.Y {
		return corners[i]
	}
	return figure.Below
}

// drawSample draws the legend's sample of entry c with the upper left corner (x, y).
func (p *pen) drawSample(c *legendCell, x, y vg.Length) {
	s := p.sheet
	right, middle := x+s.swatchWidth(), y+s.em(0.65)
	colour := seriesColour(c.Series)
	switch c.Form {
	case figure.StateBlocks:
		p.drawBlock(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series)
		return
	case figure.Bars, figure.Boxes, figure.Area:
		p.fillBar(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series, true)
		return
	case figure.Crosses:
		p.drawCross(colour, p.canvasPoint((x+right)/2, middle), p.markerRadius())
		return
	case figure.Hollow:
		shape, _ := seriesMarker(c.Series)
		p.drawMarker(shape, false, colour, p.canvasPoint((x+right)/2, middle), p.markerRadius())
		return
	case figure.Line, figure.Steps:
		m := c.mark
		if m == nil {
			m = &figure.Mark{Series: c.Series, Dash: c.Dash, Form: c.Form, SparseMarkers: true}
		}
		style := p.lineStyle(m)
		if c.Dash == figure.BySeries && m.Dash != figure.BySeries && c.mark != nil {
			style.Dashes = nil // the dash marks a world, not the series
		}
		p.StrokeLines(style, []vg.Point{p.canvasPoint(x, middle), p.canvasPoint(right, middle)})
		if c.mark == nil || m.SparseMarkers && !p.needsMarkers(m) || m.Form == figure.Steps && !p.needsMarkers(m) {
			return
		}
	}
	shape, full := seriesMarker(c.Series)
	p.drawMarker(shape, full, colour, p.canvasPoint((x+right)/2, middle), p.markerRadius())
}
