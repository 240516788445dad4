package draw

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// legend is what series are called.
type legend struct {
	place         figure.LegendPosition
	cells         []cell
	width, height vg.Length
}

// cell is one of a legend's entries, at its place in it.
type cell struct {
	figure.LegendEntry
	mark  *figure.Mark // as which it is drawn; nil: by the entry
	lines []string
	x, y  vg.Length
}

// isCorner reports whether a place is a corner of a panel.
func isCorner(p figure.LegendPosition) bool {
	return slices.Contains([]figure.LegendPosition{figure.TopLeft, figure.TopRight, figure.BottomLeft, figure.BottomRight},
		p)
}

// swatch is how wide samples are.
func (s *sheet) swatch() vg.Length { return s.em(2.4) }

// entries are the series that are drawn, in their order, and what is added to them.
func (s *sheet) entries() (out []cell) {
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
			out = append(out, cell{LegendEntry: figure.LegendEntry{Name: name, Series: i, Form: found.Form}, mark: found})
		}
	}
	for i, name := range s.Does {
		out = append(out, cell{LegendEntry: figure.LegendEntry{Name: name, Series: i, Form: figure.Blocks}})
	}
	for _, e := range s.Extra {
		out = append(out, cell{LegendEntry: e})
	}
	return out
}

// legend lays the entries out.
func (s *sheet) legend(place figure.LegendPosition) *legend {
	k := &legend{place: place, cells: s.entries()}
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
		k.cells[i].lines = s.wrap(k.cells[i].Name, room-s.swatch()-s.em(0.5), s.text)
		for _, l := range k.cells[i].lines {
			widest = max(widest, s.swatch()+s.em(0.5)+s.wide(l, s.text))
		}
	}
	columns := 1
	if place == figure.Below || place == figure.Above {
		columns = max(1, min(len(k.cells), int((room+s.em(1.2))/(widest+s.em(1.2)))))
		rows := (len(k.cells) + columns - 1) / columns
		columns = (len(k.cells) + rows - 1) / rows // rows of equal length
	}
	for i := 0; i < len(k.cells); i += columns {
		most := 0
		for c := i; c < min(i+columns, len(k.cells)); c++ {
			k.cells[c].x, k.cells[c].y = vg.Length(c-i)*(widest+s.em(1.2)), k.height
			most = max(most, len(k.cells[c].lines))
		}
		k.height += vg.Length(most) * s.em(1.35)
	}
	k.width = vg.Length(columns)*(widest+s.em(1.2)) - s.em(1.2)
	return k
}

// drawLegend draws it at its place.
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
		y = s.em(0.35) + vg.Length(len(s.title))*s.em(1.3) + vg.Length(len(s.note))*s.small*1.3 + s.em(0.5)
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
		p.SetColor(fade(paper, 0.85))
		p.Fill(p.rectangle(x-inset/2, y-inset/2, x+k.width+inset/2, y+k.height+inset/2).Path())
	}
	for i := range k.cells {
		c := &k.cells[i]
		p.sample(c, x+c.x, y+c.y)
		for n, line := range c.lines {
			middle := y + c.y + s.em(0.65) + vg.Length(n)*s.em(1.35)
			p.label(line, x+c.x+s.swatch()+s.em(0.5), middle, s.text, draw.XLeft, draw.YCenter, 0)
		}
	}
}

// emptiest is the corner of the first panel in which no value stands; Below if there is none.
func (s *sheet) emptiest() figure.LegendPosition {
	corners := []figure.LegendPosition{figure.TopRight, figure.TopLeft, figure.BottomRight, figure.BottomLeft}
	taken := make([]bool, len(corners))
	size := s.panel.Size()
	w, h := s.key.width+s.em(1.2), s.key.height+s.em(1.2)
	slots := slotsOf(&s.Panels[0])
	for k := range s.Panels[0].Marks {
		m := &s.Panels[0].Marks[k]
		by, wide := shift(slots, m.Series)
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
		var last *vg.Point // of a line, which goes from point to point
		eachValue(m, func(x, low, y, high float64) {
			if s.x.log && x <= 0 || s.y.log && (y <= 0 || low <= 0) {
				return
			}
			left, right := s.x.at(x+by-wide/2)-s.em(0.4), s.x.at(x+by+wide/2)+s.em(0.4)
			top, bottom := s.y.at(high)-s.em(0.4), s.y.at(low)+s.em(0.4)
			if m.Form == figure.Bars || m.Form == figure.Area {
				bottom = size.Y
			}
			take(left, top, right, bottom)
			now := vg.Point{X: s.x.at(x), Y: s.y.at(y)}
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

// sample draws how a series looks.
func (p *pen) sample(c *cell, x, y vg.Length) {
	s := p.sheet
	right, middle := x+s.swatch(), y+s.em(0.65)
	colour := colourOf(c.Series)
	switch c.Form {
	case figure.Blocks:
		p.block(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series)
		return
	case figure.Bars, figure.Boxes, figure.Area:
		p.filled(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series, true)
		return
	case figure.Crosses:
		p.cross(colour, p.at((x+right)/2, middle), p.radius())
		return
	case figure.Hollow:
		shape, _ := markerOf(c.Series)
		p.marker(shape, false, colour, p.at((x+right)/2, middle), p.radius())
		return
	case figure.Line, figure.Steps:
		m := c.mark
		if m == nil {
			m = &figure.Mark{Series: c.Series, Dash: c.Dash, Form: c.Form, Plain: true}
		}
		style := p.lineStyle(m)
		if c.Dash == figure.BySeries && m.Dash != figure.BySeries && c.mark != nil {
			style.Dashes = nil // a dash is the world's
		}
		p.StrokeLines(style, []vg.Point{p.at(x, middle), p.at(right, middle)})
		if c.mark == nil || m.Plain && !p.marked(m) || m.Form == figure.Steps && !p.marked(m) {
			return
		}
	}
	shape, full := markerOf(c.Series)
	p.marker(shape, full, colour, p.at((x+right)/2, middle), p.radius())
}
