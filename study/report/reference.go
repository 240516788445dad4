package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/plan"
	"weir/study/results"
)

// reference is a column of given values in addition to the paper's.
type reference struct {
	name   string
	points []PointSummary
}

// referencePoints returns the own points with the values of a column of given values, others undefined; any is false if
// the column lacks all of them.
func (w *worlds) referencePoints(column string) (points []PointSummary, any bool) {
	for i := range w.own {
		q := PointSummary{Point: w.own[i].Point, Values: w.undefinedValues()}
		for k := range q.Values {
			v := &q.Values[k]
			if x, ok := w.spec.ColumnValue(column, q.Point, v.Measure, v.Group); ok {
				v.Mean, any = x.Value, true
			}
		}
		points = append(points, q)
	}
	return points, any
}

// paperSources returns the places in the paper of the numbers at shown points, a line for each source; nil without
// shown numbers.
func paperSources(o *results.Outcome, w *worlds) (out []string) {
	if w.paper == nil && w.otherColumns == nil {
		return nil
	}
	for _, v := range o.Spec.PaperValues() {
		name := strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
		if v.Column != experiment.PaperColumn {
			name += " (" + v.Column + ")"
		}
		shown := slices.ContainsFunc(w.own, func(p PointSummary) bool { return v.Matches(p.Point) })
		if !shown {
			continue
		}
		if n := len(out); n > 0 && strings.HasSuffix(out[n-1], ": "+v.Source) {
			before, _ := strings.CutSuffix(out[n-1], ": "+v.Source)
			if !strings.HasSuffix(", "+before, ", "+name) {
				before += ", " + name
			}
			out[n-1] = before + ": " + v.Source
			continue
		}
		out = append(out, name+": "+v.Source)
	}
	return out
}

// FormatPaperValues lists the paper's numbers in an experiment; "" without any. It has a paragraph for each number with
// its points, in lines of DefaultWidth.
func FormatPaperValues(s *experiment.Spec) string {
	var b strings.Builder
	for _, v := range s.PaperValues() {
		sc := scaleFor(v.Unit, math.Abs(v.Value))
		where := ""
		for _, r := range plan.ListRuns(s) {
			if r.Seed == s.Seed() && v.Matches(r.Point) && len(r.Point) > 0 {
				where += "; " + measure.PointName(r.Point)
			}
		}
		name := v.Name()
		if v.Column != experiment.PaperColumn {
			name += ", " + v.Column
		}
		text := fmt.Sprintf("%s = %s (%s)", name, strings.TrimSpace(strconv.FormatFloat(v.Value*sc.Factor, 'g', 6, 64)+
			" "+sc.Unit), v.Source)
		if where != "" {
			text += ": " + where[2:]
		}
		b.WriteString(WrapText(text, DefaultWidth, "    ") + "\n")
	}
	return b.String()
}
