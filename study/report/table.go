package report

import (
	"slices"
	"strconv"
	"unicode/utf8"

	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// PointSummary is one point of the sweep: the measures of its runs with mean and 95 % interval over the seeds.
type PointSummary struct {
	Point  []measure.Coordinate
	N      int // number of runs
	Values []Value
	Runs   []*results.Run
}

// Value is one number of a point: a measure, or one of its groups.
type Value struct {
	Measure, Group, Unit string
	Mean, HalfInterval   float64 // HalfInterval is half of the 95 % interval; NaN for one run
}

// SummarizePoints combines the runs of each point, in the order of the points' first runs. The first run of a point
// defines its values; other runs must have the same ones in the same order.
func SummarizePoints(runs []*results.Run) []PointSummary {
	var out []PointSummary
	index := map[string]int{}
	samples := map[string][][]float64{}
	for _, r := range runs {
		name := measure.PointName(r.Point)
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name] = i
			s := PointSummary{Point: r.Point}
			for _, m := range r.AllMeasures() {
				if m.Groups == nil {
					s.Values = append(s.Values, Value{Measure: m.Name, Unit: m.Unit})
				}
				for _, g := range m.Groups {
					s.Values = append(s.Values, Value{Measure: m.Name, Group: g.Group, Unit: m.Unit})
				}
			}
			out = append(out, s)
			samples[name] = make([][]float64, len(s.Values))
		}
		out[i].N++
		out[i].Runs = append(out[i].Runs, r)
		k := 0
		add := func(v float64) {
			if k < len(samples[name]) {
				samples[name][k] = append(samples[name][k], v)
			}
			k++
		}
		for _, m := range r.AllMeasures() {
			if m.Groups == nil {
				add(m.Value)
			}
			for _, g := range m.Groups {
				add(g.Value)
			}
		}
	}
	for i := range out {
		s := samples[measure.PointName(out[i].Point)]
		for k := range out[i].Values {
			out[i].Values[k].Mean, out[i].Values[k].HalfInterval = claim.MeanInterval(s[k])
		}
	}
	return out
}

// column is one column of a table.
type column struct {
	head        []string // header lines: measure, group, unit
	cells       []cell
	leftAligned bool
	value       Value // value of a measure that it shows

	countsRuns bool // its cells count runs
	lab, sim   int  // first point's runs in lab and simulator, if these differ; 0: equal

	unaligned bool   // its cells are of several measures and are only right-aligned
	title     string // above the header and the following gap
	minWidth  int    // minimum width
}

// printCells returns the cells as aligned texts: decimal points below each other, signs at the end.
func (c *column) printCells() []string {
	a := newAlignment(c.cells)
	signs := slices.ContainsFunc(c.cells, func(x cell) bool { return x.sign() != "" })
	out := make([]string, len(c.cells))
	for i := range c.cells {
		if out[i] = c.cells[i].String(); !c.unaligned {
			out[i] = a.alignCell(&c.cells[i])
		}
		if sign := c.cells[i].sign(); signs && (c.cells[i].text == "" || sign != "") {
			out[i] += padText(sign, 1, true)
		}
	}
	return out
}

// width returns the width of the column in runes.
func (c *column) width() int {
	w := c.minWidth
	for _, s := range append(slices.Clone(c.head), c.printCells()...) {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// dropIntervals removes the intervals from the column's cells.
func (c *column) dropIntervals() {
	for i := range c.cells {
		c.cells[i].half = ""
	}
}

// bracketUnit returns a unit in brackets; "" for no unit.
func bracketUnit(unit string) string {
	if unit == "" {
		return ""
	}
	return "[" + unit + "]"
}

// keyColumns returns a column for each sweep key, and one for the number of runs at the end; nil without points.
func keyColumns(points []PointSummary) (keys []column) {
	if len(points) == 0 {
		return nil
	}
	var names []string
	for k, c := range points[0].Point {
		col := column{head: []string{"", "", c.Key}, leftAligned: true}
		for _, p := range points {
			col.cells = append(col.cells, textCell(p.Point[k].Text))
		}
		keys, names = append(keys, col), append(names, c.Key)
	}
	n := column{head: []string{"", "", runsColumn(names)}, countsRuns: true}
	for _, p := range points {
		n.cells = append(n.cells, textCell(strconv.Itoa(p.N)))
	}
	return append(keys, n)
}

// isOmitted reports whether tables omit a value with the largest magnitude highest over all points: empty groups of a
// sparse measure would fill them.
func isOmitted(s *experiment.Spec, v Value, highest float64) bool {
	return highest == 0 && v.Group != "all" && s.Kind(v.Measure).Sparse
}

// listQuantities returns the measures and groups that any point has, in the order of first occurrence. A value that
// only later points have follows the value before it there.
func listQuantities(points []PointSummary) (out []Value) {
	for _, p := range points {
		at := len(out)
		for _, v := range p.Values {
			if x := slices.IndexFunc(out, func(o Value) bool { return o.Measure == v.Measure && o.Group == v.Group }); x >= 0 {
				at = x + 1
				continue
			}
			out = slices.Insert(out, min(at, len(out)), v)
			at++
		}
	}
	return out
}
