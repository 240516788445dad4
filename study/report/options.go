package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/experiment"
	"weir/study/measure"
)

// TableOptions selects the width, colours, columns and order of a report. The zero value uses the experiment's file,
// otherwise all columns, in lines of DefaultWidth.
type TableOptions struct {
	Width   int      // of a line, in columns; 0: DefaultWidth
	Color   bool     // use terminal colours; other texts are then escaped
	Columns []string // measures, or measures with a group (goodput.client0); * matches any characters; nil: all
	Sort    []string // sweep keys or such names; with :desc in descending order
}

// optionError is an error in Columns or Sort: a word without a unique meaning.
type optionError struct {
	Option, Word string
	Several      bool // the word matches several values, but one is needed
	Allowed      []string
}

func (e *optionError) Error() string {
	text := fmt.Sprintf("--%s: %q matches no column of the results", e.Option, e.Word)
	if e.Several {
		text = fmt.Sprintf("--%s: %q matches several columns, but sorting needs exactly one", e.Option, e.Word)
	} else if near := document.FindNearest(e.Word, e.Allowed); near != "" {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text + "; allowed: " + document.JoinChoices(e.Allowed)
}

// Check returns an error if Columns or Sort name something that runs of the experiment do not have.
func (l *TableOptions) Check(s *experiment.Spec) error {
	var values []Value
	var keys []string
	for _, m := range s.Measures() {
		if m.Groups == nil {
			values = append(values, Value{Measure: m.Name})
		}
		for _, g := range m.Groups {
			values = append(values, Value{Measure: m.Name, Group: g.Group})
		}
	}
	for _, d := range s.Sweep() {
		keys = append(keys, d.Key)
	}
	return l.checkNames(keys, values)
}

// checkNames returns an error for a name in Columns or Sort without a matching key or value, or with several matches in
// Sort. The error is an optionError.
func (l *TableOptions) checkNames(keys []string, values []Value) error {
	allowed := valueNames(values)
	for _, word := range l.Columns {
		if !slices.ContainsFunc(values, func(v Value) bool { return experiment.MatchesValue(word, v.Measure, v.Group) }) {
			return &optionError{"columns", word, false, allowed}
		}
	}
	for _, word := range l.Sort {
		name := strings.TrimSuffix(word, experiment.Descending)
		if n := countNamed(values, name); n != 1 && !slices.Contains(keys, name) {
			if n > 1 {
				allowed = nil
				for _, v := range values {
					if experiment.MatchesValue(name, v.Measure, v.Group) {
						allowed = append(allowed, v.Measure+"."+v.Group)
					}
				}
				return &optionError{"sort", name, true, allowed}
			}
			return &optionError{"sort", name, false, append(slices.Clone(keys), allowed...)}
		}
	}
	return nil
}

// valueNames returns the names that select values: measures, and measure.group for values with a group.
func valueNames(values []Value) (out []string) {
	for _, v := range values {
		if !slices.Contains(out, v.Measure) {
			out = append(out, v.Measure)
		}
	}
	for _, v := range values {
		if v.Group != "" {
			out = append(out, v.Measure+"."+v.Group)
		}
	}
	return out
}

// countNamed returns the number of values that a name matches.
func countNamed(values []Value, name string) (n int) {
	for _, v := range values {
		if experiment.MatchesValue(name, v.Measure, v.Group) {
			n++
		}
	}
	return n
}

// showsValue reports whether the options select a value.
func (l *TableOptions) showsValue(v Value) bool {
	return len(l.Columns) == 0 || slices.ContainsFunc(l.Columns, func(word string) bool {
		return experiment.MatchesValue(word, v.Measure, v.Group)
	})
}

// selectColumns keeps the selected columns of a results table in the order of Columns, and sorts its rows. points are
// the rows' points; it does not sort a grid with another number of rows.
func (l *TableOptions) selectColumns(g *grid, points []PointSummary) {
	if len(l.Columns) > 0 {
		place := func(c column) int {
			return slices.IndexFunc(l.Columns, func(word string) bool {
				return experiment.MatchesValue(word, c.value.Measure,
					c.value.Group)
			})
		}
		g.values = slices.DeleteFunc(g.values, func(c column) bool { return place(c) < 0 })
		slices.SortStableFunc(g.values, func(a, b column) int { return place(a) - place(b) })
	}
	if len(l.Sort) == 0 || g.rows != len(points) {
		return
	}
	order := make([]int, g.rows)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		for _, word := range l.Sort {
			if c := comparePoints(word, &points[i], &points[j]); c != 0 {
				return c
			}
		}
		return 0
	})
	for _, columns := range [][]column{g.keys, g.values} {
		for i := range columns {
			cells := make([]cell, g.rows)
			for to, from := range order {
				cells[to] = columns[i].cells[from]
			}
			columns[i].cells = cells
		}
	}
}

// comparePoints orders two points by a sweep key, numerically if possible, or by a value. Undefined values come last in
// both directions. word may end with experiment.Descending. The result is negative if p comes first.
func comparePoints(word string, p, q *PointSummary) int {
	name, down := strings.CutSuffix(word, experiment.Descending)
	turn := 1
	if down {
		turn = -1
	}
	if k := slices.IndexFunc(p.Point, func(c measure.Coordinate) bool { return c.Key == name }); k >= 0 {
		a, b := p.Point[k], q.Point[k]
		if a.IsNum && b.IsNum {
			return turn * cmp.Compare(a.Value, b.Value)
		}
		return turn * cmp.Compare(a.Text, b.Text)
	}
	value := func(p *PointSummary) float64 {
		for _, v := range p.Values {
			if experiment.MatchesValue(name, v.Measure, v.Group) {
				return v.Mean
			}
		}
		return math.NaN()
	}
	a, b := value(p), value(q)
	switch {
	case math.IsNaN(a) && math.IsNaN(b):
		return 0
	case math.IsNaN(a):
		return 1
	case math.IsNaN(b):
		return -1
	}
	return turn * cmp.Compare(a, b)
}

// resolve returns the options with columns and order of the experiment's file in place of missing ones. It omits the
// file's names without results, because runs have failed or are missing.
func (l *TableOptions) resolve(s *experiment.Spec, values []Value) *TableOptions {
	out, file := *l, s.Listing()
	none := func(word string) bool {
		return countNamed(values, strings.TrimSuffix(word, experiment.Descending)) == 0
	}
	if len(out.Columns) == 0 {
		out.Columns = slices.DeleteFunc(file.Columns, none)
	}
	if len(out.Sort) == 0 {
		out.Sort = slices.DeleteFunc(file.Sort, func(word string) bool {
			return none(word) && !slices.ContainsFunc(s.Sweep(), func(d measure.Dimension) bool {
				return d.Key == strings.TrimSuffix(word, experiment.Descending)
			})
		})
	}
	return &out
}

// newSheet returns an empty sheet with the options' width, or DefaultWidth, and colours.
func (l *TableOptions) newSheet() *sheet {
	s := &sheet{width: l.Width, color: l.Color}
	if s.width <= 0 {
		s.width = DefaultWidth
	}
	return s
}
