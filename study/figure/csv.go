package figure

import (
	"bytes"
	"encoding/csv"
	"math"
	"strconv"

	"weir/internal/text"
)

// csvHeader lists the columns of a figure's numbers; values are in the units of the axes. place is the word at x on
// an axis of words. A box fills low, q1, median, q3 and high. For a heat map, series and row identify the row and y
// is the value. For a span of a row, x and high are its ends, place is the row's name and series the state.
var csvHeader = []string{"panel", "series", "shown_as", "place", "x", "y", "low", "high", "q1", "median", "q3", "row"}

// formNames are the forms' names in the shown_as column.
var formNames = [...]string{Line: "line", Steps: "steps", Points: "points", Hollow: "points", Crosses: "crosses",
	Bars: "bars", Boxes: "boxes", Area: "area", StateBlocks: "span"}

// String returns the name of a form in a figure's numbers.
func (f Form) String() string { return formNames[f] }

// SeriesName returns the name of the mark's series in the numbers and scripts; "" for the ink style or a series
// without a name.
func (f *Figure) SeriesName(m *Mark) string {
	if m.Series < 0 || f.Names[m.Series] == "" {
		return ""
	}
	return f.Names[m.Series]
}

// CSV returns all numbers of the figure as CSV with the columns of csvHeader. Undefined values are empty cells. It has
// a header line. The figure must be valid.
func (f *Figure) CSV() ([]byte, error) {
	f = f.Sanitized()
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write(csvHeader)
	number := func(v float64) string {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	place := func(x float64) string {
		if i := int(x); f.X.Words != nil && float64(i) == x && i >= 0 && i < len(f.X.Words) {
			return text.EscapeCell(f.X.Words[i])
		}
		return ""
	}
	for i := range f.Panels {
		p := &f.Panels[i]
		for k := range p.Marks {
			m := &p.Marks[k]
			for n := range m.X {
				row := []string{text.EscapeCell(p.Title), text.EscapeCell(f.SeriesName(m)), m.Form.String(), place(m.X[n]),
					number(m.X[n]),
					number(m.Y[n]), "", "", "", "", "", ""}
				switch {
				case m.Form == Boxes:
					x := m.Boxes[n]
					copy(row[6:], []string{number(x.Low), number(x.High), number(x.Q1), number(x.Median), number(x.Q3)})
				case m.Low != nil:
					row[6], row[7] = number(m.Low[n]), number(m.High[n])
				}
				w.Write(row)
			}
		}
		if r := p.Rows; r != nil {
			for _, x := range r.Spans {
				w.Write([]string{text.EscapeCell(p.Title), text.EscapeCell(f.States[x.State]), StateBlocks.String(),
					text.EscapeCell(r.Names[x.Row]),
					number(x.From), "", number(x.From), number(x.To), "", "", "", strconv.Itoa(x.Row)})
			}
		}
		if h := p.Heat; h != nil {
			for n, v := range h.Values {
				x := float64(n % h.Columns)
				if h.Edges != nil {
					x = h.Edges[n%h.Columns]
				}
				row := func(shown string, v float64) {
					w.Write([]string{text.EscapeCell(p.Title), text.EscapeCell(f.Y.Words[n/h.Columns]), shown, place(x), number(x),
						number(v), "",
						"", "", "", "", strconv.Itoa(n / h.Columns)})
				}
				row("heat", v)
				if h.Reference != nil && !math.IsNaN(h.Reference[n]) {
					row(Crosses.String(), h.Reference[n])
				}
			}
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}
