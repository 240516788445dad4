package draw

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// blocks are the colours of what rows do. Their lightness differs by 19 or more of 100 (CIE 1976), so that they can be
// told apart in grey, and by the colour-blind.
var blocks = [figure.MostDone]color.RGBA{{0xe9, 0xed, 0xf2, 0xff}, {0x12, 0x35, 0x5b, 0xff}, {0xf2, 0xa5, 0x41, 0xff},
	{0x8a, 0x6b, 0xb8, 0xff}}

// narrowest is the width of a part of a row that is drawn as it is. Narrower ones are put together.
const narrowest vg.Length = 0.4

// hasRows reports whether the panels have rows.
func hasRows(f *figure.Figure) bool { return len(f.Panels) > 0 && f.Panels[0].Rows != nil }

// nameRows makes the axis of panels with rows: of each row the longest name, from below.
func nameRows(f *figure.Figure) {
	for i := range f.Panels {
		if r := f.Panels[i].Rows; r != nil {
			for len(f.Y.Words) < len(r.Names) {
				f.Y.Words = append(f.Y.Words, "")
			}
		}
	}
	for i := range f.Panels {
		if r := f.Panels[i].Rows; r != nil {
			for k, name := range r.Names {
				if at := &f.Y.Words[len(f.Y.Words)-1-k]; len(name) > len(*at) {
					*at = name
				}
			}
		}
	}
}

// rowName returns the name of the row at a place of the axis; "" if there is none.
func rowName(r *figure.Rows, place, places int) string {
	if i := places - 1 - place; i < len(r.Names) {
		return r.Names[i]
	}
	return ""
}

// cell is how long a part of a row is at the least that is drawn as it is.
func (s *sheet) cell() float64 { return (s.x.high - s.x.low) * float64(narrowest/s.width) }

// narrow reports whether parts of a row are put together.
func (s *sheet) narrow() bool {
	least := s.cell()
	for i := range s.Panels {
		if r := s.Panels[i].Rows; r != nil {
			for _, x := range r.Spans {
				if from, to := max(x.From, s.x.low), min(x.To, s.x.high); to > from && to-from < least {
					return true
				}
			}
		}
	}
	return false
}

// drawRows fills the parts of rows.
func (p *pen) drawRows(r *figure.Rows, left, top vg.Length) {
	places := len(p.Figure.Y.Words)
	for at := 0; at < len(r.Spans); {
		end := at
		for end < len(r.Spans) && r.Spans[end].Row == r.Spans[at].Row {
			end++
		}
		place := float64(places - 1 - r.Spans[at].Row)
		up, down := top+p.y.at(place+0.4), top+p.y.at(place-0.4)
		for _, x := range p.visible(r.Spans[at:end]) {
			p.SetColor(blocks[x.Does])
			p.Fill(p.rectangle(left+p.x.at(x.From), up, left+p.x.at(x.To), down).Path())
		}
		at = end
	}
}

// visible are the parts of a row as they can be seen: within the axis and, where some are too narrow, in cells, each of
// which shows what most of it is.
func (s *sheet) visible(row []figure.Span) (out []figure.Span) {
	least, narrow := s.cell(), false
	for _, x := range row {
		if x.From, x.To = max(x.From, s.x.low), min(x.To, s.x.high); x.To > x.From {
			out = append(out, x)
			narrow = narrow || x.To-x.From < least
		}
	}
	if !narrow {
		return out
	}
	row, out = out, nil
	at := 0
	for from := s.x.low; from < s.x.high; from += least {
		to := from + least
		var done [figure.MostDone]float64
		whole := 0.0
		for ; at < len(row); at++ {
			x := &row[at]
			if x.From >= to {
				break
			}
			done[x.Does] += min(x.To, to) - max(x.From, from)
			whole += min(x.To, to) - max(x.From, from)
			if x.To > to {
				break
			}
		}
		if whole < least/2 {
			continue
		}
		most := 0
		for i, v := range done {
			if v > done[most] {
				most = i
			}
		}
		if n := len(out) - 1; n >= 0 && out[n].Does == most && out[n].To >= from-least/4 {
			out[n].To = to
		} else {
			out = append(out, figure.Span{Row: row[0].Row, Does: most, From: from, To: to})
		}
	}
	return out
}

// block is how what rows do looks in the legend.
func (p *pen) block(left, top, right, bottom vg.Length, does int) {
	r := p.rectangle(left, top, right, bottom)
	p.SetColor(blocks[does])
	p.Fill(r.Path())
	p.SetLineStyle(draw.LineStyle{Color: frame, Width: p.em(0.04)})
	p.Stroke(r.Path())
}
