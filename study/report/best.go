package report

import (
	"math"
	"slices"
	"strings"

	"weir/study/experiment"
	"weir/study/measure"
)

// comparableSets returns the sets of points, by index, that are compared with each other: points with the same
// network, load and times. It omits sets of one point. conditions are the sweep keys that separate the sets.
func comparableSets(s *experiment.Spec, points []PointSummary) (sets [][]int, conditions []string) {
	conditions = s.Conditions()
	setIndex := map[string]int{}
	for i, p := range points {
		var key strings.Builder
		for _, c := range p.Point {
			if slices.Contains(conditions, c.Key) {
				key.WriteString(c.Key + "\n" + c.Text + "\n")
			}
		}
		k, there := setIndex[key.String()]
		if !there {
			k = len(sets)
			setIndex[key.String()], sets = k, append(sets, nil)
		}
		sets[k] = append(sets[k], i)
	}
	return slices.DeleteFunc(sets, func(set []int) bool { return len(set) < 2 }), conditions
}

// estimate is a mean with half of its 95 % interval.
type estimate struct{ mean, half float64 }

// differs reports whether two values differ by more than their intervals.
func (a estimate) differs(b estimate) bool {
	return math.Abs(a.mean-b.mean) > math.Hypot(a.half, b.half)
}

// markBest returns, by value, a mark for the best of the compared values and for those that do not differ from it. No
// value is marked if better is Neither, if one of them has no interval, as with a single run, or if all values are
// within the intervals of the best. Undefined values are ignored.
func markBest(values []estimate, better measure.Better) []mark {
	out := make([]mark, len(values))
	best, defined := -1, 0
	for i, v := range values {
		switch {
		case math.IsNaN(v.mean):
			continue
		case math.IsNaN(v.half) || math.IsInf(v.half, 0):
			return out
		}
		if defined++; best < 0 || better == measure.Higher && v.mean > values[best].mean ||
			better == measure.Lower && v.mean < values[best].mean {
			best = i
		}
	}
	if best < 0 || better == measure.Neither {
		return out
	}
	var tied []int
	for i, v := range values {
		if !math.IsNaN(v.mean) && !v.differs(values[best]) {
			tied = append(tied, i)
		}
	}
	if len(tied) == defined {
		return out
	}
	for _, i := range tied {
		out[i] = tiedMark
	}
	if len(tied) == 1 {
		out[best] = bestMark
	}
	return out
}

// markPartial marks the cells of a column that count fewer things than they should, such as means over fewer iterations
// than requested. points are the rows' points.
func markPartial(s *experiment.Spec, v Value, cells []cell, points []PointSummary) {
	parts, ok := s.Parts(v.Measure)
	if !ok {
		return
	}
	for i := range cells {
		value, to := v, v
		value.Measure, to.Measure = parts[0], parts[1]
		a, b := findValue(points[i].Values, value), findValue(points[i].Values, to)
		if isDefined(a) && isDefined(b) && a.Mean < b.Mean && cells[i].mean != "" {
			cells[i].partial = parts[0]
		}
	}
}

// markColumn marks the best cells of a column within each set. sets have indices of cells. values has the cells'
// values; nil: not defined. Partial cells are not compared.
func markColumn(cells []cell, values []*Value, better measure.Better, sets [][]int) {
	for _, set := range sets {
		estimates := make([]estimate, len(set))
		for k, i := range set {
			if estimates[k] = (estimate{math.NaN(), math.NaN()}); values[i] != nil && cells[i].partial == "" {
				estimates[k] = estimate{values[i].Mean, values[i].HalfInterval}
			}
		}
		for k, m := range markBest(estimates, better) {
			cells[set[k]].mark = m
		}
	}
}

// Signs of marks next to a number.
const (
	bestSign = "*"
	tiedSign = "~"
)

// sign returns the sign of the mark; "" for unmarked.
func (m mark) sign() string {
	switch m {
	case bestMark:
		return bestSign
	case tiedMark:
		return tiedSign
	}
	return ""
}

// markLegend explains the marks that occur; "" without marks. best and tied are the signs in the output format.
func markLegend(columns []column, conditions []string, best, tied string) string {
	var found [3]bool
	partial := ""
	for i := range columns {
		for k := range columns[i].cells {
			x := &columns[i].cells[k]
			if found[x.mark] = true; x.partial != "" {
				partial = partialSign + " from fewer samples than required (" + x.partial + ")"
			}
		}
	}
	var words []string
	if found[bestMark] {
		words = append(words, best+" the best")
	}
	if found[tiedMark] {
		words = append(words, tied+" not distinguishable from the best by the 95 % intervals")
	}
	if len(words) == 0 {
		return partial
	}
	if partial != "" {
		partial = "; " + partial
	}
	among := "of all points"
	if len(conditions) > 0 {
		among = "of points with the same " + strings.Join(conditions, " and ")
	}
	return strings.Join(words, ", ") + ", " + among + partial
}
