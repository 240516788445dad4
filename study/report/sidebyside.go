package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// Names of worlds in tables and plots.
const (
	simulatorName = "simulator"
	labName       = "lab"
	paperName     = "paper"
)

// worlds holds the points of an outcome in each world with results, and the paper's numbers. The lists have the same
// points in the same order. A point without results has N = 0 and NaN values.
type worlds struct {
	spec         *experiment.Spec
	own          []PointSummary // the outcome's own
	sim          []PointSummary // the simulator's, for an outcome of the lab; nil without them
	paper        []PointSummary // nil without values of the paper
	otherColumns []reference    // columns of given values in addition to the paper's
	lab          bool           // own is the lab's
	// chosen reports whether the data chose the number of own's seeds.
	chosen     bool
	quantities []Value // all measures and groups, without values
	agreements map[string]results.Agreement

	scales     *unitScales
	sets       [][]int  // sets of own's points that are compared
	conditions []string // sweep keys that are equal within a set
	empty      []Value  // values without a column because no point has them
}

// valueName returns a key for a value of a point, to look it up in a map.
func valueName(point []measure.Coordinate, name, group string) string {
	return measure.PointName(point) + "\n" + name + "\n" + group
}

// newWorlds puts the outcome's points of all worlds into the same order, and prepares units and comparisons. A point
// that only one world has gets undefined values in the other.
func newWorlds(o *results.Outcome) *worlds {
	w := &worlds{spec: o.Spec, own: SummarizePoints(o.Runs), lab: o.World == experiment.Lab, chosen: o.Chosen != nil,
		agreements: map[string]results.Agreement{}}
	if w.lab && o.Counterpart != nil && len(o.Counterpart.Runs) > 0 {
		w.sim = SummarizePoints(o.Counterpart.Runs)
		for _, p := range w.sim { // points that the lab does not have yet
			if !slices.ContainsFunc(w.own, func(q PointSummary) bool {
				return measure.PointName(q.Point) == measure.PointName(p.Point)
			}) {
				w.own = append(w.own, PointSummary{Point: p.Point})
			}
		}
		for _, a := range o.Agreements() {
			w.agreements[valueName(a.Point, a.Measure, a.Group)] = a
		}
	}
	w.quantities = listQuantities(append(append([]PointSummary{}, w.own...), w.sim...))
	at := map[string]*PointSummary{}
	for i := range w.sim {
		at[measure.PointName(w.sim[i].Point)] = &w.sim[i]
	}
	var sim []PointSummary
	for i := range w.own {
		p := &w.own[i]
		if p.N == 0 {
			p.Values = w.undefinedValues()
		}
		s := PointSummary{Point: p.Point, Values: w.undefinedValues()}
		if x := at[measure.PointName(p.Point)]; x != nil {
			s = *x
		}
		sim = append(sim, s)
	}
	if w.sim != nil {
		w.sim = sim
	}
	w.setUnits()
	for i, column := range o.Spec.PaperColumns() {
		points, given := w.referencePoints(column)
		switch {
		case !given:
		case i == 0:
			w.paper = points
		default:
			w.otherColumns = append(w.otherColumns, reference{column, points})
		}
	}
	return w
}

// setUnits chooses the units and the sets of compared points.
func (w *worlds) setUnits() {
	w.scales = newScales(w.spec).addPoints(w.own).addPoints(w.sim)
	for _, p := range [][]PointSummary{w.own, w.sim} {
		w.scales.addSizes(p)
	}
	w.sets, w.conditions = comparableSets(w.spec, w.own)
}

// undefinedValues returns all values as undefined.
func (w *worlds) undefinedValues() (out []Value) {
	for _, v := range w.quantities {
		v.Mean, v.HalfInterval = math.NaN(), math.NaN()
		out = append(out, v)
	}
	return out
}

// selectPoints returns the worlds with only the points for which matches returns true, without units and comparisons.
func (w *worlds) selectPoints(matches func([]measure.Coordinate) bool) *worlds {
	out := &worlds{spec: w.spec, lab: w.lab, chosen: w.chosen}
	for _, x := range []struct {
		from []PointSummary
		to   *[]PointSummary
	}{{w.own, &out.own}, {w.sim, &out.sim}, {w.paper, &out.paper}} {
		for _, p := range x.from {
			if matches(p.Point) {
				*x.to = append(*x.to, p)
			}
		}
	}
	return out
}

// resultColumns returns the columns of the results table: each of the outcome's values, followed by the paper's. For
// the lab there are four for each value: simulator, lab, paper and difference. It sets w.empty, and returns nil without
// points.
func (w *worlds) resultColumns() (keys, values []column) {
	if keys = keyColumns(w.own); len(keys) == 0 {
		return nil, nil
	}
	if w.sim != nil {
		w.showBothCounts(&keys[len(keys)-1])
	}
	w.empty = nil
	for _, v := range w.quantities {
		values = append(values, w.valueColumns(v)...)
	}
	return keys, values
}

// showBothCounts shows the runs of both worlds in the column of runs if their numbers differ. n is the column of runs,
// which it changes.
func (w *worlds) showBothCounts(n *column) {
	for i := range w.own {
		if w.own[i].N != w.sim[i].N {
			n.head[1], n.head[2] = n.head[2], "lab/sim"
			n.lab, n.sim = w.own[0].N, w.sim[0].N
			break
		}
	}
	for i := range n.cells {
		if n.head[2] == "lab/sim" {
			n.cells[i] = textCell(fmt.Sprintf("%d/%d", w.own[i].N, w.sim[i].N))
		}
	}
}

// valueColumns returns the columns of one value. It returns nil for a sparse count that is 0 everywhere, and for a
// value that is defined nowhere, which it adds to empty.
func (w *worlds) valueColumns(v Value) (out []column) {
	highest, defined := 0.0, false
	lookup := func(points []PointSummary) (found []*Value) {
		for i := range points {
			x := findValue(points[i].Values, v)
			if found = append(found, x); isDefined(x) {
				highest, defined = max(highest, math.Abs(x.Mean)), true
			}
		}
		return found
	}
	sim, own, paper := lookup(w.sim), lookup(w.own), lookup(w.paper)
	if isOmitted(w.spec, v, highest) && len(w.own) > 0 {
		return nil
	}
	title := strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
	difference, judged := w.differenceColumn(v)
	if !defined && !judged && len(w.own) > 0 {
		w.empty = append(w.empty, v)
		return nil
	}
	sc := w.scales.chooseScale(v.Measure, v.Unit)
	unit := bracketUnit(sc.Unit)
	if over := w.spec.RatioReference(v.Measure); over != "" {
		unit = "over " + over
	}
	add := func(values []*Value, points []PointSummary, head ...string) {
		paper := points == nil
		c := column{head: append(head, unit), value: v}
		for _, x := range values {
			switch {
			case !isDefined(x):
				c.cells = append(c.cells, textCell(undefinedText))
			case paper: // no more digits than the paper has
				c.cells = append(c.cells, cell{mean: strconv.FormatFloat(x.Mean*sc.Factor, 'g', 4, 64)})
			default:
				c.cells = append(c.cells, numberCell(x.Mean*sc.Factor, x.HalfInterval*sc.Factor))
			}
		}
		if !paper {
			markPartial(w.spec, v, c.cells, points)
			markColumn(c.cells, values, w.spec.Better(v.Measure, v.Group), w.sets)
		}
		out = append(out, c)
	}
	m := strings.ReplaceAll(v.Measure, "_", " ")
	hasPaper := slices.ContainsFunc(paper, isDefined)
	if !w.lab {
		add(own, w.own, m, v.Group)
		if hasPaper {
			add(paper, nil, m, strings.TrimSpace(v.Group+" "+paperName))
		}
		for _, r := range w.otherColumns {
			if values := lookup(r.points); slices.ContainsFunc(values, isDefined) {
				add(values, nil, m, strings.TrimSpace(v.Group+" "+r.name))
			}
		}
		return out
	}
	if w.sim != nil {
		add(sim, w.sim, title, simulatorName)
	}
	add(own, w.own, title, labName)
	if hasPaper {
		add(paper, nil, title, paperName)
	}
	if judged {
		difference.head, difference.value = []string{title, "lab − sim", unit}, v
		out = append(out, difference)
	}
	return out
}

// isDefined reports whether a point has a finite value.
func isDefined(x *Value) bool { return x != nil && !math.IsNaN(x.Mean) && !math.IsInf(x.Mean, 0) }

// differenceColumn returns the cells of the column with the difference of the lab from the simulator, without a head;
// judged is false if no point is compared.
func (w *worlds) differenceColumn(v Value) (c column, judged bool) {
	for i := range w.own {
		a, ok := w.agreements[valueName(w.own[i].Point, v.Measure, v.Group)]
		x := textCell(undefinedText)
		switch {
		case !ok:
		case a.Unmeasured:
			judged, x = true, textCell(unmeasuredText(&a))
		case a.Judged:
			judged, x = true, textCell(differenceText(a))
			x.outside = a.Verdict == claim.Fails
		}
		c.cells = append(c.cells, x)
	}
	return c, judged
}

// verdictWords describes the difference of a value by its verdict.
var verdictWords = map[claim.Verdict]string{claim.Holds: "inside", claim.Fails: "outside", claim.Undecided: "undecided"}

// differenceText describes the difference of the lab from the simulator with its verdict: "+3.1 % inside".
func differenceText(a results.Agreement) string {
	word := verdictWords[a.Verdict]
	switch {
	case a.Sim == a.Lab:
		return "0 % " + word
	case a.Sim == 0, math.Abs(a.Lab/a.Sim-1) >= 10: // a ratio would be meaningless
		sign := ""
		if a.Lab > a.Sim {
			sign = "+"
		}
		return sign + measure.FormatQuantity(a.Lab-a.Sim, a.Unit) + " " + word
	}
	return fmt.Sprintf("%+.1f %% %s", 100*(a.Lab/a.Sim-1), word)
}

// resultGrid returns the results table without keys that are equal in all rows, and a description of those. l selects
// and sorts its columns. It sets w.empty.
func (w *worlds) resultGrid(l *TableOptions) (g *grid, same []string) {
	keys, values := w.resultColumns()
	g = &grid{keys: keys, values: values, rows: len(w.own)}
	l.selectColumns(g, w.own)
	if len(l.Sort) == 0 {
		g.startsGroup = func(row int) bool { // the first key changes
			p := w.own[row].Point
			return len(p) > 1 && p[0].Text != w.own[row-1].Point[0].Text
		}
	}
	return g, g.takeConstantKeys()
}

// printGrid prints the results table. The lab's columns of one value stay together below its name. If they are too
// wide, intervals are left out. It changes the heads of the lab's keys.
func (w *worlds) printGrid(s *sheet, g *grid) {
	if !w.lab {
		g.fitWidth(s.width).printParts(s)
		return
	}
	for i := range g.keys { // runs of both worlds
		g.keys[i].head = []string{"", strings.TrimSpace(g.keys[i].head[1] + " " + g.keys[i].head[2])}
	}
	room := s.width - g.keysWidth()
	clusters := clusterColumns(g.values, room)
	for first := true; first || len(clusters) > 0; first = false {
		if !first {
			s.writeLine()
		}
		n, used := 0, 0
		for n < len(clusters) && (n == 0 || used+clusters[n].width() <= room) {
			used += clusters[n].width() + 2
			n++
		}
		part := slices.Clone(g.keys)
		for k := range clusters[:n] {
			part = append(part, clusters[k].withTitle()...)
		}
		g.printColumns(s, part)
		clusters = clusters[n:]
	}
}

// cluster holds the columns of one value.
type cluster struct {
	title   string
	columns []column
}

// columnsWidth returns the width of the columns in runes, with the space between them and without the title.
func (c *cluster) columnsWidth() int {
	n := -2
	for i := range c.columns {
		n += c.columns[i].width() + 2
	}
	return n
}

// width returns the width of the cluster in runes: of its columns or its title, whichever is wider.
func (c *cluster) width() int { return max(c.columnsWidth(), utf8.RuneCountInString(c.title)) }

// withTitle returns the columns with the title above the first of them, continued above the others.
func (c *cluster) withTitle() (out []column) {
	rest, fill := []rune(c.title), c.width()-c.columnsWidth()
	for i, x := range c.columns {
		w := x.width() + fill // the first column is wider if the title needs more space than all columns
		x.minWidth = w
		if fill = 0; i < len(c.columns)-1 {
			w += 2 // the title continues in the gap
		}
		n := min(w, len(rest))
		x.head, x.title = []string{"", x.head[0]}, string(rest[:n])
		rest = rest[n:]
		out = append(out, x)
	}
	return out
}

// clusterColumns groups consecutive columns of one value. Groups that are wider than room lose their intervals, also in
// the cells of values.
func clusterColumns(values []column, room int) (clusters []cluster) {
	for i, v := range values {
		if i == 0 || v.head[0] != values[i-1].head[0] || v.head[2] != values[i-1].head[2] {
			clusters = append(clusters, cluster{title: strings.TrimSpace(v.head[0] + " " + v.head[2])})
		}
		last := &clusters[len(clusters)-1]
		v.head = []string{v.head[1]}
		last.columns = append(last.columns, v)
	}
	for i := range clusters {
		if c := &clusters[i]; c.width() > room {
			for k := range c.columns {
				c.columns[k].dropIntervals()
			}
		}
	}
	return clusters
}

// sizePoints returns the points for tables by flow size; for the lab, the simulator's point precedes each.
func (w *worlds) sizePoints() []PointSummary {
	if w.sim == nil {
		return w.own
	}
	var out []PointSummary
	for i := range w.own {
		for _, x := range []struct {
			p    PointSummary
			name string
		}{{w.sim[i], simulatorName}, {w.own[i], labName}} {
			x.p.Point = append([]measure.Coordinate{{Key: "world", Text: x.name}}, x.p.Point...)
			out = append(out, x.p)
		}
	}
	return out
}

// agreementLine describes whether simulator and lab agree; "" for an outcome of the simulator. It includes the
// tolerance.
func agreementLine(o *results.Outcome) string {
	if o.World != experiment.Lab {
		return ""
	}
	all := o.Agreements()
	agreed := results.CountAgreements(all)
	if agreed.Points == 0 {
		return "simulator and lab are not compared: no point has the measure " +
			strings.Join(o.Spec.Judged(), " or ") + " in both"
	}
	open := ""
	if n := agreed.Points - agreed.Inside - agreed.Apart; n > 0 {
		open = fmt.Sprintf(", %d undecided", n)
	}
	return fmt.Sprintf("simulator and lab agree in %d of %d points%s (%s): %s", agreed.Inside, agreed.Points, open,
		agreementRule(o.Spec, all), agreed.Verdict)
}

// agreementRule describes the tolerance of judged values, for each measure if there are several.
func agreementRule(s *experiment.Spec, agreements []results.Agreement) string {
	var names, rules []string
	for _, a := range agreements {
		if !a.Judged || slices.Contains(names, a.Measure) {
			continue
		}
		kind := s.Kind(a.Measure)
		near := kind.ToleranceFor(a.Unit, a.Group)
		sc := scaleFor(a.Unit, near.Difference)
		names = append(names, a.Measure)
		rules = append(rules, strings.TrimSpace(fmt.Sprintf("within %g %% or %g %s", 100*near.Share,
			near.Difference*sc.Factor, sc.Unit)))
	}
	if len(rules) > 1 {
		for i := range rules {
			rules[i] = names[i] + " " + rules[i]
		}
	}
	return strings.Join(rules, ", ") + "; up to one in ten may differ"
}

// unmeasuredText describes why a value is not judged.
func unmeasuredText(a *results.Agreement) string {
	if _, isPercentile := measure.PercentileOf(a.Group); isPercentile {
		return "too few samples"
	}
	return "–"
}

// describeVerdict describes why a value is undecided, or that a value outside depends on one seed in each world; "" for
// other verdicts. factor converts the interval to the shown unit.
func describeVerdict(a *results.Agreement, factor float64) string {
	switch {
	case a.Verdict == claim.Fails && math.IsNaN(a.Interval):
		return ", one seed in each world"
	case a.Verdict != claim.Undecided:
		return ""
	case a.Upset:
		return ": undecided, because the machine may have affected it"
	}
	return fmt.Sprintf(", ±%s: undecided, because there are too few seeds",
		strconv.FormatFloat(a.Interval*factor, 'g', intervalDigits, 64))
}

// outsideLines lists the judged values that do not agree or are undecided, a line for each.
func outsideLines(o *results.Outcome, w *worlds) (out []string) {
	for _, a := range o.Agreements() {
		if a.Judged && a.Verdict != claim.Holds {
			sc := w.scales.chooseScale(a.Measure, a.Unit)
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", measure.PointName(a.Point), a.Measure, a.Group))+
				fmt.Sprintf(": %s %s in the simulator, %s in the lab%s", formatPlain(a.Sim*sc.Factor), sc.Unit,
					formatPlain(a.Lab*sc.Factor), describeVerdict(&a, sc.Factor)))
		}
	}
	return out
}

// claimPair is a claim with the verdicts of both worlds.
type claimPair struct {
	claim.Claim
	Sim *claim.Claim // nil: the simulator's verdict is missing
}

// pairClaims returns the outcome's claims with the simulator's verdicts on the claims of the same ID.
func pairClaims(o *results.Outcome) (out []claimPair) {
	for _, c := range o.Claims {
		x := claimPair{Claim: c}
		if o.Counterpart != nil {
			if i := slices.IndexFunc(o.Counterpart.Claims, func(s claim.Claim) bool { return s.ID == c.ID }); i >= 0 {
				x.Sim = &o.Counterpart.Claims[i]
			}
		}
		out = append(out, x)
	}
	return out
}
