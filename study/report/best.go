package report

import (
	"math"
	"slices"
	"strings"

	"weir/study/experiment"
	"weir/study/measure"
)

// comparedPoints are the points that are compared with each other, by their index: those that have the same network,
// load and times. Sets of one point are left out.
func comparedPoints(s *experiment.Spec, points []PointSummary) (sets [][]int, conditions []string) {
	conditions = s.Conditions()
	at := map[string]int{}
	for i, p := range points {
		var key strings.Builder
		for _, c := range p.Point {
			if slices.Contains(conditions, c.Key) {
				key.WriteString(c.Key + "\n" + c.Text + "\n")
			}
		}
		k, there := at[key.String()]
		if !there {
			k = len(sets)
			at[key.String()], sets = k, append(sets, nil)
		}
		sets[k] = append(sets[k], i)
	}
	return slices.DeleteFunc(sets, func(set []int) bool { return len(set) < 2 }), conditions
}

// estimate is a mean with half of its interval.
type estimate struct{ mean, half float64 }

// apart reports whether two values differ by more than their intervals.
func (a estimate) apart(b estimate) bool { return math.Abs(a.mean-b.mean) > math.Hypot(a.half, b.half) }

// marks says of values that are compared which are the best. Without intervals, as of one run, nothing is known of
// that; neither is anything marked where no value differs from the best by more than the intervals.
func marks(of []estimate, better measure.Better) []mark {
	out := make([]mark, len(of))
	best, defined := -1, 0
	for i, v := range of {
		switch {
		case math.IsNaN(v.mean):
			continue
		case math.IsNaN(v.half) || math.IsInf(v.half, 0):
			return out
		}
		if defined++; best < 0 || better == measure.Higher && v.mean > of[best].mean ||
			better == measure.Lower && v.mean < of[best].mean {
			best = i
		}
	}
	if best < 0 || better == measure.Neither {
		return out
	}
	var tied []int
	for i, v := range of {
		if !math.IsNaN(v.mean) && !v.apart(of[best]) {
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

// markParts notes which of a column's cells are of fewer things than they were to be, at these points.
func markParts(s *experiment.Spec, v Value, cells []cell, points []PointSummary) {
	parts, ok := s.Parts(v.Measure)
	if !ok {
		return
	}
	for i := range cells {
		of, to := v, v
		of.Measure, to.Measure = parts[0], parts[1]
		a, b := find(points[i].Values, of), find(points[i].Values, to)
		if known(a) && known(b) && a.Mean < b.Mean && cells[i].mean != "" {
			cells[i].partial = parts[0]
		}
	}
}

// markColumn marks the best of a column's cells, which have these values; nil is none. What is partial is not compared.
func markColumn(cells []cell, values []*Value, better measure.Better, sets [][]int) {
	for _, set := range sets {
		of := make([]estimate, len(set))
		for k, i := range set {
			if of[k] = (estimate{math.NaN(), math.NaN()}); values[i] != nil && cells[i].partial == "" {
				of[k] = estimate{values[i].Mean, values[i].Half}
			}
		}
		for k, m := range marks(of, better) {
			cells[set[k]].mark = m
		}
	}
}

// Signs of marks beside a number.
const (
	bestSign = "*"
	tiedSign = "~"
)

func (m mark) sign() string {
	switch m {
	case bestMark:
		return bestSign
	case tiedMark:
		return tiedSign
	}
	return ""
}

// legend says what marks are; "" if nothing is marked. The signs are as the form has them.
func legendOf(columns []column, conditions []string, best, tied string) string {
	var seen [3]bool
	partial := ""
	for i := range columns {
		for k := range columns[i].cells {
			x := &columns[i].cells[k]
			if seen[x.mark] = true; x.partial != "" {
				partial = partialSign + " of fewer than there were to be (" + x.partial + ")"
			}
		}
	}
	var words []string
	if seen[bestMark] {
		words = append(words, best+" the best")
	}
	if seen[tiedMark] {
		words = append(words, tied+" as good as the best, as far as the 95 % intervals tell")
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
