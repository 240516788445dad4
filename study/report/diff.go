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

// diff compares two outcomes, as wide as a terminal of which nothing is known.
func diff(a, b *results.Outcome) (shown string, common int) { return (&TableOptions{}).Diff(a, b) }

// changed is a value of which two outcomes have different numbers.
type changed struct {
	point, label string
	a, b, change string
	within       bool // the intervals
}

// Diff compares two outcomes: what differs in their specs, points that only one has,
// and for the others each value of both, with the change and its 95 % interval
// (Welch). Values that agree exactly are only counted. common is how many values both have: of none there is nothing
// to compare.
func (l *TableOptions) Diff(a, b *results.Outcome) (shown string, common int) {
	out := l.newSheet()
	for _, x := range []struct {
		name string
		of   *results.Outcome
	}{{"A  ", a}, {"B  ", b}} {
		out.say(x.name, strong, describe(x.of), "   ")
	}
	if lines := parameterDiff(a.Spec.Parameters(), b.Spec.Parameters()); len(lines) > 0 {
		out.line()
		out.line(bit{"parameters", strong})
		for _, l := range lines {
			out.say("  ", plain, l, "      ")
		}
	}
	rows, only, same := changes(a, b)
	out.changes(rows)
	if n := len(only) - mostOnly; n > 0 {
		only = append(only[:mostOnly:mostOnly], "and "+text.Count(n, "more point")+" that only one has")
	}
	if len(only) > 0 {
		out.line()
		for _, o := range only {
			out.say("", plain, o, "    ")
		}
	}
	out.line()
	out.say("", plain, counted(len(rows), same), "")
	return out.b.String(), len(rows) + same
}

// changes are the values that differ, in the order of A's points; the points that only one has; and how many values are
// the same.
func changes(a, b *results.Outcome) (rows []changed, only []string, same int) {
	pa, pb := Summarise(a.Runs), Summarise(b.Runs)
	other := map[string]*PointSummary{}
	for i := range pb {
		other[measure.PointName(pb[i].Point)] = &pb[i]
	}
	units := newScales(a.Spec).seeAll(pa).seeAll(pb)
	for i := range pa {
		name := measure.PointName(pa[i].Point)
		q := other[name]
		if q == nil {
			only = append(only, "only in A: "+name)
			continue
		}
		delete(other, name)
		for _, v := range pa[i].Values {
			w := find(q.Values, v)
			switch {
			case w == nil:
			case alike(v, *w):
				same++
			default:
				rows = append(rows, changeOf(name, v, *w, units.scale(v.Measure, v.Unit)))
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

// alike reports whether two values agree exactly.
func alike(v, w Value) bool {
	return math.IsNaN(v.Mean) && math.IsNaN(w.Mean) || v.Mean == w.Mean && (v.Half == w.Half || math.IsNaN(v.Half) &&
		math.IsNaN(w.Half))
}

// changeOf is how a value differs.
func changeOf(point string, v, w Value, sc Scale) changed {
	c := changed{point: point, a: shown(v, sc), b: shown(w, sc), change: undefinedText}
	if v.Mean != 0 && !math.IsNaN(v.Mean) && !math.IsNaN(w.Mean) {
		c.change = fmt.Sprintf("%+.1f %%", 100*(w.Mean/v.Mean-1))
		half := math.Hypot(v.Half, w.Half)
		c.within = !math.IsNaN(half) && math.Abs(w.Mean-v.Mean) <= half
	}
	c.label = strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
	if sc.Unit != "" {
		c.label += " [" + sc.Unit + "]"
	}
	return c
}

// changes prints values that differ, point by point, with columns that are the same for all. Where a line is too narrow
// for all of them, the numbers stand below the name.
func (s *sheet) changes(rows []changed) {
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
			if s.line(); r.point != "" {
				s.say("", plain, r.point, "    ")
			}
		}
		numbers := []bit{{pad(r.a, a, false) + " → " + pad(r.b, b, true) + "  " + r.change, plain}}
		if r.within {
			numbers = append(numbers, bit{"  " + inIntervals, faint})
		}
		if below {
			s.say("  ", plain, r.label, "    ")
			numbers[0].text = r.a + " → " + r.b + "  " + r.change
			s.line(append([]bit{{"      ", plain}}, numbers...)...)
			continue
		}
		s.line(append([]bit{{"  " + pad(r.label, label, true) + "  ", plain}}, numbers...)...)
	}
}

// shown is a value with its interval.
func shown(v Value, sc Scale) string {
	return Cell(v.Mean*sc.Factor, v.Half*sc.Factor)
}

// counted says how many values there are to compare.
func counted(differ, same int) string {
	if differ+same == 0 {
		return "A and B have nothing in common: no point of both has a value of the same measure"
	}
	return fmt.Sprintf("%s %s, %d %s the same", text.Count(differ, "value"), text.Verb(differ, "differ"), same,
		text.Verb(same, "are"))
}

// mostOnly is how many points are listed that only one outcome has.
const mostOnly = 20

func describe(o *results.Outcome) string {
	text := o.Name + ", " + text.Count(len(o.Runs), "run")
	if o.World == experiment.Lab {
		text += " in the lab"
	}
	if o.Chosen != nil {
		text += "; " + o.Chosen.String()
	}
	return text
}

func find(values []Value, v Value) *Value {
	for i := range values {
		if values[i].Measure == v.Measure && values[i].Group == v.Group {
			return &values[i]
		}
	}
	return nil
}

// parameterDiff lists parameters that differ, in A's order, then those of B alone.
func parameterDiff(a, b []experiment.Parameter) (lines []string) {
	of := map[string]string{}
	for _, p := range b {
		of[p.Path] = p.Value
	}
	seen := map[string]bool{}
	for _, p := range a {
		seen[p.Path] = true
		if v, there := of[p.Path]; !there {
			lines = append(lines, fmt.Sprintf("%s: %s → not there", p.Path, p.Value))
		} else if v != p.Value {
			lines = append(lines, fmt.Sprintf("%s: %s → %s", p.Path, p.Value, v))
		}
	}
	for _, p := range b {
		if !seen[p.Path] {
			lines = append(lines, fmt.Sprintf("%s: not there → %s", p.Path, p.Value))
		}
	}
	return lines
}
