package figure

import (
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// legend is what series are called.
type legend struct {
	place         Place
	cells         []cell
	width, height vg.Length
}

// cell is one of a legend's entries, at its place in it.
type cell struct {
	Entry
	mark  *Mark // as which it is drawn; nil: by the entry
	lines []string
	x, y  vg.Length
}

// inside reports whether a place is a corner of a panel.
func (p Place) inside() bool {
	return slices.Contains([]Place{TopLeft, TopRight, BottomLeft, BottomRight}, p)
}

// swatch is how wide samples are.
func (s *sheet) swatch() vg.Length { return s.em(2.4) }

// entries are the series that are drawn, in their order, and what is added to them.
func (s *sheet) entries() (out []cell) {
	for i, name := range s.Names {
		var found *Mark
		for p := range s.Panels {
			for k := range s.Panels[p].Marks {
				m := &s.Panels[p].Marks[k]
				some := false
				m.values(func(_, _, _, _ float64) { some = true })
				if m.Series == i && some && m.Form != Crosses && (found == nil || found.Form == Hollow) {
					found = m
				}
			}
		}
		if found != nil && name != "" {
			out = append(out, cell{Entry: Entry{Name: name, Series: i, Form: found.Form}, mark: found})
		}
	}
	for i, name := range s.Does {
		out = append(out, cell{Entry: Entry{Name: name, Series: i, Form: Blocks}})
	}
	for _, e := range s.Extra {
		out = append(out, cell{Entry: e})
	}
	return out
}

// legend lays the entries out.
func (s *sheet) legend(place Place) *legend {
	k := &legend{place: place, cells: s.entries()}
	if place == NoLegend || len(k.cells) == 0 {
		k.place, k.cells = NoLegend, nil
		return k
	}
	room := s.width - s.em(1)
	switch place {
	case Right:
		room = s.width * 0.4
	case Below, Above:
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
	if place == Below || place == Above {
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
	case NoLegend:
		return
	case Above:
		y = s.em(0.35) + vg.Length(len(s.title))*s.em(1.3) + vg.Length(len(s.note))*s.small*1.3 + s.em(0.5)
	case Right:
		x, y = s.width-k.width-s.em(0.4), s.panel.Min.Y
	case TopLeft:
		x, y = s.panel.Min.X+inset, s.panel.Min.Y+inset
	case TopRight:
		x, y = s.panel.Max.X-k.width-inset, s.panel.Min.Y+inset
	case BottomLeft:
		x, y = s.panel.Min.X+inset, s.panel.Max.Y-k.height-inset
	case BottomRight:
		x, y = s.panel.Max.X-k.width-inset, s.panel.Max.Y-k.height-inset
	}
	if place.inside() {
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
func (s *sheet) emptiest() Place {
	corners := []Place{TopRight, TopLeft, BottomRight, BottomLeft}
	taken := make([]bool, len(corners))
	size := s.panel.Size()
	w, h := s.key.width+s.em(1.2), s.key.height+s.em(1.2)
	slots := s.Panels[0].slots()
	for k := range s.Panels[0].Marks {
		m := &s.Panels[0].Marks[k]
		by, wide := shift(slots, m.Series)
		if m.Form != Bars && m.Form != Boxes {
			wide = 0
		}
		take := func(left, top, right, bottom vg.Length) {
			for i, c := range corners {
				acrossLeft, acrossTop := c == TopLeft || c == BottomLeft, c == TopLeft || c == TopRight
				taken[i] = taken[i] || (acrossLeft && left < w || !acrossLeft && right > size.X-w) &&
					(acrossTop && top < h || !acrossTop && bottom > size.Y-h)
			}
		}
		var last *vg.Point // of a line, which goes from point to point
		m.values(func(x, low, y, high float64) {
			if s.x.log && x <= 0 || s.y.log && (y <= 0 || low <= 0) {
				return
			}
			left, right := s.x.at(x+by-wide/2)-s.em(0.4), s.x.at(x+by+wide/2)+s.em(0.4)
			top, bottom := s.y.at(high)-s.em(0.4), s.y.at(low)+s.em(0.4)
			if m.Form == Bars || m.Form == Area {
				bottom = size.Y
			}
			take(left, top, right, bottom)
			now := vg.Point{X: s.x.at(x), Y: s.y.at(y)}
			if last != nil && (m.Form == Line || m.Form == Steps) {
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
	return Below
}

// sample draws how a series looks.
func (p *pen) sample(c *cell, x, y vg.Length) {
	s := p.sheet
	right, middle := x+s.swatch(), y+s.em(0.65)
	colour := colourOf(c.Series)
	switch c.Form {
	case Blocks:
		p.block(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series)
		return
	case Bars, Boxes, Area:
		p.filled(x+s.em(0.7), middle-s.em(0.4), right-s.em(0.3), middle+s.em(0.4), c.Series, true)
		return
	case Crosses:
		p.cross(colour, p.at((x+right)/2, middle), p.radius())
		return
	case Hollow:
		shape, _ := markerOf(c.Series)
		p.marker(shape, false, colour, p.at((x+right)/2, middle), p.radius())
		return
	case Line, Steps:
		m := c.mark
		if m == nil {
			m = &Mark{Series: c.Series, Dash: c.Dash, Form: c.Form, Plain: true}
		}
		style := p.lineStyle(m)
		if c.Dash == BySeries && m.Dash != BySeries && c.mark != nil {
			style.Dashes = nil // a dash is the world's
		}
		p.StrokeLines(style, []vg.Point{p.at(x, middle), p.at(right, middle)})
		if c.mark == nil || m.Plain && !p.marked(m) || m.Form == Steps && !p.marked(m) {
			return
		}
	}
	shape, full := markerOf(c.Series)
	p.marker(shape, full, colour, p.at((x+right)/2, middle), p.radius())
}
