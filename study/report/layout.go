package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// grid is a table that is laid out: keys that stand in every part, values, and rows before which something begins.
type grid struct {
	keys, values []column
	rows         int
	apart        func(row int) bool // nil: nowhere
}

// constant takes the keys out that are the same in all rows, and returns what they are: "arrivals = 10ms", "3 runs".
func (g *grid) constant() (same []string) {
	if g.rows == 0 {
		return nil
	}
	g.keys = slices.DeleteFunc(slices.Clone(g.keys), func(k column) bool {
		for i := range k.cells {
			if k.cells[i].String() != k.cells[0].String() {
				return false
			}
		}
		same = append(same, k.sameValue())
		return true
	})
	return same
}

// turned is the grid with a row for each value and a column for each row: many measures of few points are read better
// so.
func (g *grid) turned() *grid {
	name, unit := column{left: true}, column{left: true}
	for i := range g.keys {
		h := g.keys[i].head
		name.head, unit.head = append(name.head, h[len(h)-1]), append(unit.head, "")
	}
	if len(name.head) == 0 {
		name.head, unit.head = []string{""}, []string{""}
	}
	t := &grid{rows: len(g.values)}
	for i := range g.values {
		v := &g.values[i]
		last := len(v.head) - 1
		name.cells = append(name.cells, word(strings.TrimSpace(strings.Join(v.head[:last], " "))))
		unit.cells = append(unit.cells, word(v.head[last]))
	}
	t.keys = []column{name, unit}
	for r := range g.rows {
		c := column{loose: true}
		for i := range g.keys {
			c.head = append(c.head, g.keys[i].cells[r].String())
		}
		if len(c.head) == 0 {
			c.head = []string{""}
		}
		for i := range g.values {
			c.cells = append(c.cells, g.values[i].cells[r])
		}
		t.values = append(t.values, c)
	}
	return t
}

// keysWidth is that of the keys with the space behind each.
func (g *grid) keysWidth() (n int) {
	for i := range g.keys {
		n += g.keys[i].width() + 2
	}
	return n
}

// parts are how many of the values stand beside each other, part by part, within a width.
func (g *grid) parts(width int) (counts []int) {
	at, used := 0, 0
	for i := range g.values {
		w := g.values[i].width() + 2
		if i > at && used+w-2 > width-g.keysWidth() {
			counts, at, used = append(counts, i-at), i, 0
		}
		used += w
	}
	if at < len(g.values) || len(counts) == 0 {
		counts = append(counts, len(g.values)-at)
	}
	return counts
}

// fitting is the grid, or the turned one where that takes fewer parts.
func (g *grid) fitting(width int) *grid {
	if n := len(g.parts(width)); n > 1 && g.rows > 0 {
		if t := g.turned(); len(t.parts(width)) < n {
			return t
		}
	}
	return g
}

// print prints the grid within the sheet's width: what does not fit beside comes below, with the keys again.
func (g *grid) print(s *sheet) {
	values := g.values
	for i, n := range g.parts(s.width) {
		if i > 0 {
			s.line()
		}
		g.part(s, append(slices.Clone(g.keys), values[:n]...))
		values = values[n:]
	}
}

// part prints columns beside each other.
func (g *grid) part(s *sheet, columns []column) {
	if len(columns) == 0 {
		return
	}
	widths, cells := make([]int, len(columns)), make([][]string, len(columns))
	for i := range columns {
		widths[i], cells[i] = columns[i].width(), columns[i].printed()
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.title != "" }) {
		var row []bit
		for i := range columns {
			row = append(row, bit{pad(columns[i].title, widths[i]+2, true), faint})
		}
		s.line(row...)
	}
	for line := range columns[0].head {
		var row []bit
		for i := range columns {
			row = append(row, bit{pad(columns[i].head[line], widths[i], columns[i].left) + "  ", faint})
		}
		if slices.ContainsFunc(row, func(x bit) bool { return strings.TrimSpace(x.text) != "" }) {
			s.line(row...)
		}
	}
	for r := range g.rows {
		if r > 0 && g.apart != nil && g.apart(r) {
			s.line()
		}
		s.line(cellSpans(columns, widths, cells, r)...)
	}
}

// cellSpans are a row's pieces.
func cellSpans(columns []column, widths []int, cells [][]string, r int) (row []bit) {
	for i := range columns {
		text, as := cells[i][r], plain
		switch columns[i].cells[r].mark {
		case bestMark:
			as = good
		case tiedMark:
			as = strong
		}
		fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if columns[i].left {
			row = append(row, bit{text, as}, bit{fill + "  ", plain})
		} else {
			row = append(row, bit{fill, plain}, bit{text, as}, bit{"  ", plain})
		}
	}
	return row
}
