package report

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"weir/internal/text"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// diffOutcomes compares two outcomes in lines of the default width.
func diffOutcomes(a, b *results.Outcome) (shown string, common int) {
	return (&TableOptions{}).CompareOutcomes(a, b)
}

// valueChange is a value with different numbers in two outcomes.
type valueChange struct {
	point, label string
	a, b, change string
	within       bool // the change is within the intervals
}

// CompareOutcomes compares two outcomes: differing parameters, points that only one has, and for common points each
// differing value with its change and 95 % interval. Equal values are only counted. Equal means the same mean and
// interval. shown is the text. common is the number of values that both have.
func (l *TableOptions) CompareOutcomes(a, b *results.Outcome) (shown string, common int) {
	out := l.newSheet()
	for _, x := range []struct {
		name    string
		outcome *results.Outcome
	}{{"A  ", a}, {"B  ", b}} {
		out.writeHanging(x.name, strong, describeOutcome(x.outcome), "   ")
	}
	if lines := diffParameters(a.Spec.Parameters(), b.Spec.Parameters()); len(lines) > 0 {
		out.writeLine()
		out.writeLine(textPiece{"parameters", strong})
		for _, l := range lines {
			out.writeHanging("  ", plain, l, "      ")
		}
	}
	rows, only, same := findChanges(a, b)
	out.printChanges(rows)
	if n := len(only) - maxOnly; n > 0 {
		only = append(only[:maxOnly:maxOnly], "and "+text.Count(n, "more point")+" that only one has")
	}
	if len(only) > 0 {
		out.writeLine()
		for _, o := range only {
			out.writeHanging("", plain, o, "    ")
		}
	}
	out.writeLine()
	out.writeHanging("", plain, describeCounts(len(rows), same), "")
	return out.b.String(), len(rows) + same
}

// findChanges returns the differing values in the order of A's points, a line for each point that only one outcome
// has, and the number of equal values.
func findChanges(a, b *results.Outcome) (rows []valueChange, only []string, same int) {
	pa, pb := SummarizePoints(a.Runs), SummarizePoints(b.Runs)
	other := map[string]*PointSummary{}
	for i := range pb {
		other[measure.PointName(pb[i].Point)] = &pb[i]
	}
	units := newScales(a.Spec).addPoints(pa).addPoints(pb)
	for i := range pa {
		name := measure.PointName(pa[i].Point)
		q := other[name]
		if q == nil {
			only = append(only, "only in A: "+name)
			continue
		}
		delete(other, name)
		for _, v := range pa[i].Values {
			w := findValue(q.Values, v)
			switch {
			case w == nil:
			case isEqual(v, *w):
				same++
			default:
				rows = append(rows, newChange(name, v, *w, units.chooseScale(v.Measure, v.Unit)))
			}
		}
	}
	for i := range pb {
		if name := measure.PointName(pb[i].Point); other[name] != nil {
			only = append(only, "only in B: "+name)
		}
	}
	return rows, only, same
}

// isEqual reports whether two values agree exactly.
func isEqual(v, w Value) bool {
	return math.IsNaN(v.Mean) && math.IsNaN(w.Mean) || v.Mean == w.Mean && (v.HalfInterval == w.HalfInterval ||
		math.IsNaN(v.HalfInterval) &&
			math.IsNaN(w.HalfInterval))
}

// newChange describes how a value changes from v to w in the units of sc. The relative change is undefined if v is 0 or
// a value is undefined.
func newChange(point string, v, w Value, sc Scale) valueChange {
	c := valueChange{point: point, a: formatValue(v, sc), b: formatValue(w, sc), change: undefinedText}
	if v.Mean != 0 && !math.IsNaN(v.Mean) && !math.IsNaN(w.Mean) {
		c.change = fmt.Sprintf("%+.1f %%", 100*(w.Mean/v.Mean-1))
		half := math.Hypot(v.HalfInterval, w.HalfInterval)
		c.within = !math.IsNaN(half) && math.Abs(w.Mean-v.Mean) <= half
	}
	c.label = strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
	if sc.Unit != "" {
		c.label += " [" + sc.Unit + "]"
	}
	return c
}

// printChanges prints differing values point by point in common columns. If the lines would be too wide, the numbers
// follow below the names.
func (s *sheet) printChanges(rows []valueChange) {
	const inIntervals = "within the intervals"
	var label, a, b, change int
	for i := range rows {
		r := &rows[i]
		label, a = max(label, utf8.RuneCountInString(r.label)), max(a, utf8.RuneCountInString(r.a))
		b = max(b, utf8.RuneCountInString(r.b))
		n := utf8.RuneCountInString(r.change)
		if r.within {
			n += 2 + len(inIntervals)
		}
		change = max(change, n)
	}
	below := 2+label+2+a+3+b+2+change > s.width
	for i, r := range rows {
		if i == 0 || r.point != rows[i-1].point {
			if s.writeLine(); r.point != "" {
				s.writeHanging("", plain, r.point, "    ")
			}
		}
		numbers := []textPiece{{padText(r.a, a, false) + " → " + padText(r.b, b, true) + "  " + r.change, plain}}
		if r.within {
			numbers = append(numbers, textPiece{"  " + inIntervals, faint})
		}
		if below {
			s.writeHanging("  ", plain, r.label, "    ")
			numbers[0].text = r.a + " → " + r.b + "  " + r.change
			s.writeLine(append([]textPiece{{"      ", plain}}, numbers...)...)
			continue
		}
		s.writeLine(append([]textPiece{{"  " + padText(r.label, label, true) + "  ", plain}}, numbers...)...)
	}
}

// formatValue formats a value with its interval in the units of sc, without the unit.
func formatValue(v Value, sc Scale) string {
	return FormatCell(v.Mean*sc.Factor, v.HalfInterval*sc.Factor)
}

// describeCounts describes the number of values that differ and of those that agree.
func describeCounts(differ, same int) string {
	if differ+same == 0 {
		return "A and B have no value in common: no point of both has a value of the same measure"
	}
	return fmt.Sprintf("%s %s, %d %s the same", text.Count(differ, "value"), text.Verb(differ, "differ"), same,
		text.Verb(same, "are"))
}

// maxOnly limits the listed points that only one outcome has.
const maxOnly = 20

// describeOutcome returns the name, number of runs and world of an outcome.
func describeOutcome(o *results.Outcome) string {
	text := o.Name + ", " + text.Count(len(o.Runs), "run")
	if o.World == experiment.Lab {
		text += " in the lab"
	}
	if o.Chosen != nil {
		text += "; " + o.Chosen.String()
	}
	return text
}

// findValue returns the value with the measure and group of v; nil if values lacks it.
func findValue(values []Value, v Value) *Value {
	for i := range values {
		if values[i].Measure == v.Measure && values[i].Group == v.Group {
			return &values[i]
		}
	}
	return nil
}

// diffParameters lists the differing parameters in A's order, then those that only B has.
func diffParameters(a, b []experiment.Parameter) (lines []string) {
	values := map[string]string{}
	for _, p := range b {
		values[p.Path] = p.Value
	}
	inA := map[string]bool{}
	for _, p := range a {
		inA[p.Path] = true
		if v, there := values[p.Path]; !there {
			lines = append(lines, fmt.Sprintf("%s: %s → absent", p.Path, p.Value))
		} else if v != p.Value {
			lines = append(lines, fmt.Sprintf("%s: %s → %s", p.Path, p.Value, v))
		}
	}
	for _, p := range b {
		if !inA[p.Path] {
			lines = append(lines, fmt.Sprintf("%s: absent → %s", p.Path, p.Value))
		}
	}
	return lines
}
