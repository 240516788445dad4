package report

import (
	"fmt"
	"math"
	"strings"

	"weir/study/measure"
	"weir/study/results"
	"weir/study/spec"
)

// Diff compares two outcomes: what differs in their specs, points that only one has,
// and for the others each value of both, with the change and its 95 % interval
// (Welch). Values that agree exactly are only counted.
func Diff(a, b *results.Outcome) string {
	var out strings.Builder
	fmt.Fprintf(&out, "A  %s\nB  %s\n", describe(a), describe(b))
	if lines := parameterDiff(a.Spec.Parameters(), b.Spec.Parameters()); len(lines) > 0 {
		fmt.Fprintf(&out, "\nparameters\n%s", strings.Join(lines, ""))
	}
	pa, pb := Summarise(a.Runs), Summarise(b.Runs)
	other := map[string]*PointSummary{}
	for i := range pb {
		other[measure.PointName(pb[i].Point)] = &pb[i]
	}
	var only []string
	same, differ := 0, 0
	for i := range pa {
		name := measure.PointName(pa[i].Point)
		q := other[name]
		if q == nil {
			only = append(only, "only in A: "+name)
			continue
		}
		delete(other, name)
		first := true
		for _, v := range pa[i].Values {
			w := find(q.Values, v)
			if w == nil {
				continue
			}
			if math.IsNaN(v.Mean) && math.IsNaN(w.Mean) || v.Mean == w.Mean && (v.Half == w.Half || math.IsNaN(v.Half) &&
				math.IsNaN(w.Half)) {
				same++
				continue
			}
			differ++
			if first {
				if first = false; name != "" {
					fmt.Fprintf(&out, "\n%s\n", name)
				} else {
					out.WriteString("\n")
				}
			}
			most := 0.0
			for _, x := range []float64{v.Mean, w.Mean} {
				if !math.IsNaN(x) {
					most = max(most, math.Abs(x))
				}
			}
			sc := scaleFor(v.Unit, most)
			d := decimalsFor(most * sc.Factor)
			change := "–"
			if v.Mean != 0 && !math.IsNaN(v.Mean) && !math.IsNaN(w.Mean) {
				change = fmt.Sprintf("%+.1f %%", 100*(w.Mean/v.Mean-1))
				if half := math.Hypot(v.Half, w.Half); !math.IsNaN(half) && math.Abs(w.Mean-v.Mean) <= half {
					change += "  within the intervals"
				}
			}
			label := strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
			if sc.Unit != "" {
				label += " [" + sc.Unit + "]"
			}
			fmt.Fprintf(&out, "  %-30s %18s → %s  %s\n", label, Cell(v.Mean*sc.Factor, v.Half*sc.Factor, d),
				Cell(w.Mean*sc.Factor, w.Half*sc.Factor, d), change)
		}
	}
	for i := range pb {
		if name := measure.PointName(pb[i].Point); other[name] != nil {
			only = append(only, "only in B: "+name)
		}
	}
	if len(only) > 0 {
		fmt.Fprintf(&out, "\n%s\n", strings.Join(only, "\n"))
	}
	fmt.Fprintf(&out, "\n%d values differ, %d are the same\n", differ, same)
	return out.String()
}

func describe(o *results.Outcome) string {
	text := fmt.Sprintf("%s, %d runs", o.Name, len(o.Runs))
	if o.World == spec.Lab {
		text += " in the lab"
	}
	if o.Chosen != nil {
		text = Wrap(text+"; "+o.Chosen.String(), Width-3, "   ")
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
func parameterDiff(a, b []spec.Parameter) (lines []string) {
	of := map[string]string{}
	for _, p := range b {
		of[p.Path] = p.Value
	}
	seen := map[string]bool{}
	for _, p := range a {
		seen[p.Path] = true
		if v, there := of[p.Path]; !there {
			lines = append(lines, fmt.Sprintf("  %s: %s → not there\n", p.Path, p.Value))
		} else if v != p.Value {
			lines = append(lines, fmt.Sprintf("  %s: %s → %s\n", p.Path, p.Value, v))
		}
	}
	for _, p := range b {
		if !seen[p.Path] {
			lines = append(lines, fmt.Sprintf("  %s: not there → %s\n", p.Path, p.Value))
		}
	}
	return lines
}
