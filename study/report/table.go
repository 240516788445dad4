package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/study/claim"
	"weir/study/measure"
	"weir/study/results"
	"weir/study/spec"
)

// Width is that of a terminal: no line of a table is longer.
const Width = 80

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

// Scale is the unit in which a column or axis is shown.
type Scale struct {
	Unit   string // as people write it: Mb/s
	Factor float64
}

// scaleFor chooses the unit of a quantity whose largest value is most.
func scaleFor(unit string, most float64) Scale {
	prefixed := func(steps []Scale) Scale {
		if most == 0 { // nothing, or nothing defined: no prefix
			for _, s := range steps {
				if s.Factor == 1 {
					return s
				}
			}
		}
		for _, s := range steps {
			if most >= 1/s.Factor {
				return s
			}
		}
		return steps[len(steps)-1]
	}
	switch unit {
	case "bps":
		return prefixed([]Scale{{"Gb/s", 1e-9}, {"Mb/s", 1e-6}, {"kb/s", 1e-3}, {"b/s", 1}})
	case "pps":
		return prefixed([]Scale{{"Mpps", 1e-6}, {"kpps", 1e-3}, {"pps", 1}})
	case "s":
		return prefixed([]Scale{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}})
	case "bytes":
		return prefixed([]Scale{{"GB", 1e-9}, {"MB", 1e-6}, {"kB", 1e-3}, {"bytes", 1}})
	case "":
		return Scale{"", 1}
	}
	return Scale{unit, 1}
}

// decimalsFor is how many decimals show the largest value of a column with three
// or four digits.
func decimalsFor(most float64) int {
	switch {
	case most >= 1000 || most == 0:
		return 0
	case most >= 100:
		return 1
	case most >= 1:
		return 2
	}
	return min(2-int(math.Floor(math.Log10(most))), 7)
}

// Cell prints a mean with its 95 % interval, both with so many decimals. A value
// that is not defined is a dash, an exact zero is 0. A mean too small for the
// decimals has two digits of its own; an interval too small for them is said to be
// below.
func Cell(mean, half float64, decimals int) string {
	if math.IsNaN(mean) || math.IsInf(mean, 0) {
		return "–"
	}
	last := math.Pow(10, -float64(decimals))
	format, digits := byte('f'), decimals
	if mean != 0 && math.Abs(mean) < last {
		format, digits, last = 'g', 2, 0
	}
	fixed := func(v float64) string {
		if v == 0 {
			return "0"
		}
		return strconv.FormatFloat(v, format, digits, 64)
	}
	switch {
	case math.IsNaN(half) || math.IsInf(half, 0):
		return fixed(mean)
	case half > 0 && half < last/2:
		return fixed(mean) + " ± <" + fixed(last)
	}
	return fixed(mean) + " ± " + fixed(half)
}

// column is one column of a results table.
type column struct {
	head  []string // lines
	cells []string
	left  bool
}

func (c *column) width() int {
	w := 0
	for _, s := range append(append([]string{}, c.head...), c.cells...) {
		w = max(w, utf8.RuneCountInString(s))
	}
	return w
}

// columnsOf makes the columns of the results table: sweep keys, then values with
// their intervals, then n.
func columnsOf(s *spec.Spec, points []PointSummary) (keys, values []column) {
	if len(points) == 0 {
		return nil, nil
	}
	for k, c := range points[0].Point {
		col := column{head: []string{"", "", c.Key}, left: true}
		for _, p := range points {
			col.cells = append(col.cells, p.Point[k].Text)
		}
		keys = append(keys, col)
	}
	n := column{head: []string{"", "", "n"}}
	for _, c := range points[0].Point {
		if c.Key == "n" { // the name is taken
			n.head[2] = "runs"
		}
	}
	for _, p := range points {
		n.cells = append(n.cells, strconv.Itoa(p.N))
	}
	keys = append(keys, n)
	for _, v := range quantities(points) {
		most := 0.0
		found := make([]*Value, len(points))
		for i := range points {
			if found[i] = find(points[i].Values, v); found[i] != nil && !math.IsNaN(found[i].Mean) {
				most = max(most, math.Abs(found[i].Mean))
			}
		}
		if absent(s, v, most) {
			continue
		}
		sc := scaleFor(v.Unit, most)
		decimals := decimalsFor(most * sc.Factor)
		unit := sc.Unit
		if unit != "" {
			unit = "[" + unit + "]"
		}
		if over := s.Over(v.Measure); over != "" {
			unit = "over " + over
		}
		col := column{head: []string{strings.ReplaceAll(v.Measure, "_", " "), v.Group, unit}}
		for _, x := range found {
			cell := "–"
			if x != nil {
				cell = Cell(x.Mean*sc.Factor, x.Half*sc.Factor, decimals)
			}
			col.cells = append(col.cells, cell)
		}
		values = append(values, col)
	}
	return keys, values
}

// absent reports whether tables leave out a value whose largest is most: groups of a sparse
// measure of which there is nothing would fill them.
func absent(s *spec.Spec, v Value, most float64) bool {
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

// Results prints the table of all points, within 80 columns: what does not fit
// beside comes below, with the sweep's keys again.
func Results(s *spec.Spec, points []PointSummary) string {
	keys, values := columnsOf(s, points)
	apart := func(row int) bool {
		p := points[row].Point
		return len(p) > 1 && p[0].Text != points[row-1].Point[0].Text
	}
	return blocks(keys, values, len(points), apart)
}

// blocks prints columns within 80, the keys again in every block. apart says before
// which rows an empty line is due.
func blocks(keys, values []column, rows int, apart func(row int) bool) string {
	var b strings.Builder
	for len(values) > 0 || len(keys) > 0 {
		block := append([]column{}, keys...)
		width := 0
		for i := range block {
			width += block[i].width() + 2
		}
		for len(values) > 0 && (len(block) == len(keys) || width+values[0].width() <= Width) {
			width += values[0].width() + 2
			block = append(block, values[0])
			values = values[1:]
		}
		for line := range 3 {
			var row []string
			for i := range block {
				row = append(row, pad(block[i].head[line], block[i].width(), block[i].left))
			}
			if text := strings.TrimRight(strings.Join(row, "  "), " "); text != "" {
				b.WriteString(text + "\n")
			}
		}
		for r := range rows {
			if r > 0 && apart != nil && apart(r) {
				b.WriteString("\n")
			}
			var row []string
			for i := range block {
				row = append(row, pad(block[i].cells[r], block[i].width(), block[i].left))
			}
			b.WriteString(strings.TrimRight(strings.Join(row, "  "), " ") + "\n")
		}
		if len(values) == 0 {
			break
		}
		b.WriteString("\n")
	}
	return b.String()
}

func pad(s string, width int, left bool) string {
	fill := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if left {
		return s + fill
	}
	return fill + s
}

// Wrap breaks text into lines of at most width columns, each after the first
// indented.
func Wrap(text string, width int, indent string) string {
	var lines []string
	line := ""
	for _, w := range strings.Fields(text) {
		room := width
		if len(lines) > 0 {
			room -= utf8.RuneCountInString(indent)
		}
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(w) > room {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	lines = append(lines, line)
	return strings.Join(lines, "\n"+indent)
}

// Claims prints each claim with its verdict first.
func Claims(claims []claim.Claim) string {
	var b strings.Builder
	for _, c := range claims {
		fmt.Fprintf(&b, "%-9s  %s (n = %d)\n", c.Verdict, c.ID, c.N)
		b.WriteString("           " + Wrap(c.Says, Width-11, "           ") + "\n")
		if c.Measured != "" {
			b.WriteString("           " + Wrap("→ "+c.Measured, Width-11, "           ") + "\n")
		}
	}
	return b.String()
}

// Ends says how the runs ended, and lists what is unfinished or failed. Whether runs are new or were there
// before makes no difference: the same results give the same text.
func Ends(o *results.Outcome) string {
	var b strings.Builder
	count := map[string]int{}
	var order []string
	for _, r := range o.Runs {
		if count[r.End.Reason] == 0 {
			order = append(order, r.End.Reason)
		}
		count[r.End.Reason]++
	}
	var parts []string
	for _, r := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[r], r))
	}
	fmt.Fprintf(&b, "%d runs: %s", len(o.Runs), strings.Join(parts, ", "))
	if len(parts) == 0 {
		b.WriteString("none finished")
	}
	b.WriteString("\n")
	for _, r := range o.Runs {
		if n := len(r.End.Ports); n > 0 {
			ports := strings.Join(r.End.Ports[:min(n, 10)], ", ")
			if n > 10 {
				ports += fmt.Sprintf(" and %d more", n-10)
			}
			b.WriteString(Wrap(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, ports), Width, "    ") + "\n")
		}
	}
	for _, r := range o.Runs {
		if r.End.Violation != "" {
			b.WriteString(Wrap(fmt.Sprintf("%s: %s seed %d, at %g s: %s", r.End.Reason, measure.PointName(r.Point), r.Seed,
				r.End.TimeS, r.End.Violation), Width, "    ") + "\n")
		}
	}
	listed := 0
	for _, r := range o.Runs {
		for _, u := range r.Unfinished {
			if listed++; listed <= 20 {
				line := fmt.Sprintf("unfinished: %s seed %d: flow %d (%s) %s → %s, %d of %d bytes", measure.PointName(r.Point),
					r.Seed, u.Flow, u.Traffic, u.Src, u.Dst, u.DoneBytes, u.SizeBytes)
				if u.WaitsFor != "" {
					line += "; it waited for " + u.WaitsFor
				}
				b.WriteString(Wrap(line, Width, "    ") + "\n")
			}
		}
	}
	if listed > 20 {
		fmt.Fprintf(&b, "… and %d more unfinished flows, in runs.json\n", listed-20)
	}
	for _, f := range o.Failed {
		fmt.Fprintf(&b, "failed: %s seed %d: %v\n", measure.PointName(f.Point), f.Seed, f.Err)
	}
	if o.Missing > 0 {
		fmt.Fprintf(&b, "%d runs are missing; the same command goes on with them\n", o.Missing)
	}
	return b.String()
}
