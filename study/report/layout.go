package report

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// grid is a laid-out table: key columns, which every part repeats, value columns and row groups.
type grid struct {
	keys, values []column
	rows         int
	startsGroup  func(row int) bool // reports whether a group starts at the row; nil: no groups
}

// takeConstantKeys removes the key columns that are equal in all rows and describes them: "arrivals = 10ms", "3 runs".
// Without rows it removes no column.
func (g *grid) takeConstantKeys() (same []string) {
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

// transpose returns the grid with a row for each value and a column for each row. Many measures of few points are more
// readable this way. Groups of rows are lost.
func (g *grid) transpose() *grid {
	name, unit := column{leftAligned: true}, column{leftAligned: true}
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
		name.cells = append(name.cells, textCell(strings.TrimSpace(strings.Join(v.head[:last], " "))))
		unit.cells = append(unit.cells, textCell(v.head[last]))
	}
	t.keys = []column{name, unit}
	for r := range g.rows {
		c := column{unaligned: true}
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

// keysWidth returns the width of the key columns with the space after each.
func (g *grid) keysWidth() (n int) {
	for i := range g.keys {
		n += g.keys[i].width() + 2
	}
	return n
}

// splitColumns returns the number of value columns that each part has within the width, in runes. A part has at least
// one, even if it is too wide. Without value columns there is one part without any.
func (g *grid) splitColumns(width int) (counts []int) {
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

// fitWidth returns the grid, or the transposed one if it needs fewer parts within the width.
func (g *grid) fitWidth(width int) *grid {
	if n := len(g.splitColumns(width)); n > 1 && g.rows > 0 {
		if t := g.transpose(); len(t.splitColumns(width)) < n {
			return t
		}
	}
	return g
}

// printParts prints the grid within the sheet's width. Further columns follow below, with the keys repeated.
func (g *grid) printParts(s *sheet) {
	values := g.values
	for i, n := range g.splitColumns(s.width) {
		if i > 0 {
			s.writeLine()
		}
		g.printColumns(s, append(slices.Clone(g.keys), values[:n]...))
		values = values[n:]
	}
}

// printColumns prints columns as one table with the grid's rows. It does not check the width.
func (g *grid) printColumns(s *sheet, columns []column) {
	if len(columns) == 0 {
		return
	}
	widths, cells := make([]int, len(columns)), make([][]string, len(columns))
	for i := range columns {
		widths[i], cells[i] = columns[i].width(), columns[i].printCells()
	}
	if slices.ContainsFunc(columns, func(c column) bool { return c.title != "" }) {
		var row []textPiece
		for i := range columns {
			row = append(row, textPiece{padText(columns[i].title, widths[i]+2, true), faint})
		}
		s.writeLine(row...)
	}
	for line := range columns[0].head {
		var row []textPiece
		for i := range columns {
			row = append(row, textPiece{padText(columns[i].head[line], widths[i], columns[i].leftAligned) + "  ", faint})
		}
		if slices.ContainsFunc(row, func(x textPiece) bool { return strings.TrimSpace(x.text) != "" }) {
			s.writeLine(row...)
		}
	}
	for r := range g.rows {
		if r > 0 && g.startsGroup != nil && g.startsGroup(r) {
			s.writeLine()
		}
		s.writeLine(rowPieces(columns, widths, cells, r)...)
	}
}

// rowPieces returns the pieces of row r. widths and cells are by column, cells as printCells returns them.
func rowPieces(columns []column, widths []int, cells [][]string, r int) (row []textPiece) {
	for i := range columns {
		text, as := cells[i][r], plain
		switch columns[i].cells[r].mark {
		case bestMark:
			as = good
		case tiedMark:
			as = strong
		}
		fill := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(text))
		if columns[i].leftAligned {
			row = append(row, textPiece{text, as}, textPiece{fill + "  ", plain})
		} else {
			row = append(row, textPiece{fill, plain}, textPiece{text, as}, textPiece{"  ", plain})
		}
	}
	return row
}
