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

// PointSummary is one point of the sweep: its runs' measures with mean and 95 %
// interval over the seeds.
type PointSummary struct {
	Point  []measure.Coordinate
	N      int // runs
	Values []Value
	Runs   []*results.Run
}

// Value is one number of a point: a measure, or one group of it.
type Value struct {
	Measure, Group, Unit string
	Mean, Half           float64 // Half is NaN for one run
}

// Summarise joins the runs of each point, in the order of the runs.
func Summarise(runs []*results.Run) []PointSummary {
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
			for _, m := range r.Listed() {
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
		for _, m := range r.Listed() {
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
			out[i].Values[k].Mean, out[i].Values[k].Half = claim.MeanInterval(s[k])
		}
	}
	return out
}

// column is one column of a table.
type column struct {
	head  []string // lines: measure, group, unit
	cells []cell
	left  bool
	of    Value // what it shows, if it is a measure's

	ofRuns   bool // its cells are numbers of runs
	lab, sim int  // of such a column, where lab and simulator differ: the runs of the first point; 0: they do not

	loose bool   // its cells are of several measures: they end below each other, but for that are as they are
	title string // above its head, also above the gap behind it
	least int    // width
}

// printed are the cells as they stand below each other: points below points, signs behind.
func (c *column) printed() []string {
	a := alignmentOf(c.cells)
	signs := slices.ContainsFunc(c.cells, func(x cell) bool { return x.sign() != "" })
	out := make([]string, len(c.cells))
	for i := range c.cells {
		if out[i] = c.cells[i].String(); !c.loose {
			out[i] = a.aligned(&c.cells[i])
		}
		if sign := c.cells[i].sign(); signs && (c.cells[i].text == "" || sign != "") {
			out[i] += pad(sign, 1, true)
		}
	}
	return out
}

func (c *column) width() int {
	w := c.least
	for _, s := range append(slices.Clone(c.head), c.printed()...) {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// short leaves the intervals out.
func (c *column) short() {
	for i := range c.cells {
		c.cells[i].half = ""
	}
}

// inBrackets is a unit as a head has it.
func inBrackets(unit string) string {
	if unit == "" {
		return ""
	}
	return "[" + unit + "]"
}

// keyColumns are the sweep's keys, and how many runs a point has.
func keyColumns(points []PointSummary) (keys []column) {
	if len(points) == 0 {
		return nil
	}
	var names []string
	for k, c := range points[0].Point {
		col := column{head: []string{"", "", c.Key}, left: true}
		for _, p := range points {
			col.cells = append(col.cells, word(p.Point[k].Text))
		}
		keys, names = append(keys, col), append(names, c.Key)
	}
	n := column{head: []string{"", "", runsColumn(names)}, ofRuns: true}
	for _, p := range points {
		n.cells = append(n.cells, word(strconv.Itoa(p.N)))
	}
	return append(keys, n)
}

// absent reports whether tables leave out a value whose largest is most: groups of a sparse
// measure of which there is nothing would fill them.
func absent(s *experiment.Spec, v Value, most float64) bool {
	return most == 0 && v.Group != "all" && s.Kind(v.Measure).Sparse
}

// quantities are the measures and groups that any point has, in the order of the first
// point that has them.
func quantities(points []PointSummary) (out []Value) {
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
