package draw

import (
	"image/color"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"weir/study/figure"
)

// stateColours are the colours of row states. Their lightness differs by 19 or more of 100 (CIE 1976), so that they
// are distinguishable in grey and for colour-blind readers.
var stateColours = [figure.MaxStates]color.RGBA{{0xe9, 0xed, 0xf2, 0xff}, {0x12, 0x35, 0x5b, 0xff},
	{0xf2, 0xa5, 0x41, 0xff}, {0x8a, 0x6b, 0xb8, 0xff}}

// minSpanWidth is the width of the narrowest span that is drawn on its own. Narrower spans are merged.
const minSpanWidth vg.Length = 0.4

// hasRows reports whether the panels have rows.
func hasRows(f *figure.Figure) bool { return len(f.Panels) > 0 && f.Panels[0].Rows != nil }

// nameRows sets the words of the Y axis of panels with rows, from the bottom: the longest name of each row over all
// panels.
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

// rowName returns the name of the row at a place of the axis; "" if the panel has no row there. Places count from the
// bottom, rows from the top; places is their number.
func rowName(r *figure.Rows, place, places int) string {
	if i := places - 1 - place; i < len(r.Names) {
		return r.Names[i]
	}
	return ""
}

// minSpanLength returns the length of the shortest span that is drawn on its own, in units of the X axis.
func (s *sheet) minSpanLength() float64 { return (s.x.high - s.x.low) * float64(minSpanWidth/s.width) }

// hasNarrowSpans reports whether any span is so short that spans of its row are merged.
func (s *sheet) hasNarrowSpans() bool {
	minLength := s.minSpanLength()
	for i := range s.Panels {
		if r := s.Panels[i].Rows; r != nil {
			for _, x := range r.Spans {
				if from, to := max(x.From, s.x.low), min(x.To, s.x.high); to > from && to-from < minLength {
					return true
				}
			}
		}
	}
	return false
}

// drawRows fills the spans of all rows with the colours of their states. (left, top) is the panel's corner.
func (p *pen) drawRows(r *figure.Rows, left, top vg.Length) {
	places := len(p.Figure.Y.Words)
	for start := 0; start < len(r.Spans); {
		end := start
		for end < len(r.Spans) && r.Spans[end].Row == r.Spans[start].Row {
			end++
		}
		place := float64(places - 1 - r.Spans[start].Row)
		up, down := top+p.y.position(place+0.4), top+p.y.position(place-0.4)
		for _, x := range p.visibleSpans(r.Spans[start:end]) {
			p.SetColor(stateColours[x.State])
			p.Fill(p.rectangle(left+p.x.position(x.From), up, left+p.x.position(x.To), down).Path())
		}
		start = end
	}
}

// visibleSpans returns the spans of one row clipped to the axis; row is in order of time. If some are too narrow, it
// divides the row into cells, and each cell shows the state that fills most of it.
func (s *sheet) visibleSpans(row []figure.Span) (out []figure.Span) {
	minLength, narrow := s.minSpanLength(), false
	for _, x := range row {
		if x.From, x.To = max(x.From, s.x.low), min(x.To, s.x.high); x.To > x.From {
			out = append(out, x)
			narrow = narrow || x.To-x.From < minLength
		}
	}
	if !narrow {
		return out
	}
	row, out = out, nil
	next := 0
	for from := s.x.low; from < s.x.high; from += minLength {
		to := from + minLength
		var done [figure.MaxStates]float64
		whole := 0.0
		for ; next < len(row); next++ {
			x := &row[next]
			if x.From >= to {
				break
			}
			done[x.State] += min(x.To, to) - max(x.From, from)
			whole += min(x.To, to) - max(x.From, from)
			if x.To > to {
				break
			}
		}
		if whole < minLength/2 {
			continue
		}
		mainState := 0
		for i, v := range done {
			if v > done[mainState] {
				mainState = i
			}
		}
		if n := len(out) - 1; n >= 0 && out[n].State == mainState && out[n].To >= from-minLength/4 {
			out[n].To = to
		} else {
			out = append(out, figure.Span{Row: row[0].Row, State: mainState, From: from, To: to})
		}
	}
	return out
}

// drawBlock draws the legend's sample of a row state, an index of stateColours.
func (p *pen) drawBlock(left, top, right, bottom vg.Length, state int) {
	r := p.rectangle(left, top, right, bottom)
	p.SetColor(stateColours[state])
	p.Fill(r.Path())
	p.SetLineStyle(draw.LineStyle{Color: frame, Width: p.em(0.04)})
	p.Stroke(r.Path())
}
