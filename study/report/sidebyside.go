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

// Names of what stands side by side.
const (
	simulatorName = "simulator"
	labName       = "lab"
	paperName     = "paper"
)

// worlds are an outcome's points in each world that there are results of, and the
// paper's numbers. The lists have the same points in the same order: a point without
// results has N = 0 and values that are NaN.
type worlds struct {
	spec  *experiment.Spec
	own   []PointSummary // of the outcome itself
	sim   []PointSummary // of the lab: the simulator's; nil if there are none
	paper []PointSummary // nil if the paper gives none of the values
	more  []reference    // other columns of given values
	lab   bool           // own is the lab's
	// chosen: the data chose how many seeds own has
	chosen bool
	all    []Value // what is measured, without values
	agree  map[string]results.Agreement

	scales     *scales
	sets       [][]int  // points of own that are compared
	conditions []string // keys in which these do not differ
	empty      []Value  // that no point has: they have no column
}

func valueName(point []measure.Coordinate, name, group string) string {
	return measure.PointName(point) + "\n" + name + "\n" + group
}

// worldsOf puts the outcome's points side by side.
func worldsOf(o *results.Outcome) *worlds {
	w := &worlds{spec: o.Spec, own: Summarise(o.Runs), lab: o.World == experiment.Lab, chosen: o.Chosen != nil,
		agree: map[string]results.Agreement{}}
	if w.lab && o.Counterpart != nil && len(o.Counterpart.Runs) > 0 {
		w.sim = Summarise(o.Counterpart.Runs)
		for _, p := range w.sim { // those that the lab has not got to
			if !slices.ContainsFunc(w.own, func(q PointSummary) bool {
				return measure.PointName(q.Point) == measure.PointName(p.Point)
			}) {
				w.own = append(w.own, PointSummary{Point: p.Point})
			}
		}
		for _, a := range o.Agreements() {
			w.agree[valueName(a.Point, a.Measure, a.Group)] = a
		}
	}
	w.all = quantities(append(append([]PointSummary{}, w.own...), w.sim...))
	at := map[string]*PointSummary{}
	for i := range w.sim {
		at[measure.PointName(w.sim[i].Point)] = &w.sim[i]
	}
	var sim []PointSummary
	for i := range w.own {
		p := &w.own[i]
		if p.N == 0 {
			p.Values = w.undefined()
		}
		s := PointSummary{Point: p.Point, Values: w.undefined()}
		if x := at[measure.PointName(p.Point)]; x != nil {
			s = *x
		}
		sim = append(sim, s)
	}
	if w.sim != nil {
		w.sim = sim
	}
	w.prepare()
	for i, column := range o.Spec.PaperColumns() {
		points, given := w.referencePoints(column)
		switch {
		case !given:
		case i == 0:
			w.paper = points
		default:
			w.more = append(w.more, reference{column, points})
		}
	}
	return w
}

// prepare chooses units, and which points are compared.
func (w *worlds) prepare() {
	w.scales = newScales(w.spec).seeAll(w.own).seeAll(w.sim)
	for _, p := range [][]PointSummary{w.own, w.sim} {
		w.scales.seeSizes(p)
	}
	w.sets, w.conditions = comparedPoints(w.spec, w.own)
}

// undefined are all values, none of them defined.
func (w *worlds) undefined() (out []Value) {
	for _, v := range w.all {
		v.Mean, v.Half = math.NaN(), math.NaN()
		out = append(out, v)
	}
	return out
}

// only are the worlds' points that a plot shows.
func (w *worlds) only(means func([]measure.Coordinate) bool) *worlds {
	out := &worlds{spec: w.spec, lab: w.lab, chosen: w.chosen}
	for _, x := range []struct {
		from []PointSummary
		to   *[]PointSummary
	}{{w.own, &out.own}, {w.sim, &out.sim}, {w.paper, &out.paper}} {
		for _, p := range x.from {
			if means(p.Point) {
				*x.to = append(*x.to, p)
			}
		}
	}
	return out
}

// columns are those of the results table: the outcome's own, each followed by the paper's
// numbers; for the lab four a value: simulator, lab, paper and difference.
func (w *worlds) columns() (keys, values []column) {
	if keys = keyColumns(w.own); len(keys) == 0 {
		return nil, nil
	}
	if w.sim != nil {
		w.countBoth(&keys[len(keys)-1])
	}
	w.empty = nil
	for _, v := range w.all {
		values = append(values, w.columnsOf(v)...)
	}
	return keys, values
}

// countBoth shows the runs of both worlds in the column of runs if their numbers differ.
func (w *worlds) countBoth(n *column) {
	for i := range w.own {
		if w.own[i].N != w.sim[i].N {
			n.head[1], n.head[2] = n.head[2], "lab/sim"
			n.lab, n.sim = w.own[0].N, w.sim[0].N
			break
		}
	}
	for i := range n.cells {
		if n.head[2] == "lab/sim" {
			n.cells[i] = word(fmt.Sprintf("%d/%d", w.own[i].N, w.sim[i].N))
		}
	}
}

// columnsOf are the columns of one value. A count that is 0 everywhere has none, nor has a value that is defined
// nowhere, which is noted.
func (w *worlds) columnsOf(v Value) (out []column) {
	most, defined := 0.0, false
	of := func(points []PointSummary) (found []*Value) {
		for i := range points {
			x := find(points[i].Values, v)
			if found = append(found, x); known(x) {
				most, defined = max(most, math.Abs(x.Mean)), true
			}
		}
		return found
	}
	sim, own, paper := of(w.sim), of(w.own), of(w.paper)
	if absent(w.spec, v, most) && len(w.own) > 0 {
		return nil
	}
	title := strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ") + " " + v.Group)
	difference, judged := w.difference(v)
	if !defined && !judged && len(w.own) > 0 {
		w.empty = append(w.empty, v)
		return nil
	}
	sc := w.scales.scale(v.Measure, v.Unit)
	unit := inBrackets(sc.Unit)
	if over := w.spec.Over(v.Measure); over != "" {
		unit = "over " + over
	}
	add := func(of []*Value, points []PointSummary, head ...string) {
		paper := points == nil
		c := column{head: append(head, unit), of: v}
		for _, x := range of {
			switch {
			case !known(x):
				c.cells = append(c.cells, word(undefinedText))
			case paper: // with no more digits than the paper has
				c.cells = append(c.cells, cell{mean: strconv.FormatFloat(x.Mean*sc.Factor, 'g', 4, 64)})
			default:
				c.cells = append(c.cells, number(x.Mean*sc.Factor, x.Half*sc.Factor))
			}
		}
		if !paper {
			markParts(w.spec, v, c.cells, points)
			markColumn(c.cells, of, w.spec.Better(v.Measure, v.Group), w.sets)
		}
		out = append(out, c)
	}
	m := strings.ReplaceAll(v.Measure, "_", " ")
	hasPaper := slices.ContainsFunc(paper, known)
	if !w.lab {
		add(own, w.own, m, v.Group)
		if hasPaper {
			add(paper, nil, m, strings.TrimSpace(v.Group+" "+paperName))
		}
		for _, r := range w.more {
			if of := of(r.points); slices.ContainsFunc(of, known) {
				add(of, nil, m, strings.TrimSpace(v.Group+" "+r.name))
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
		difference.head, difference.of = []string{title, "lab − sim", unit}, v
		out = append(out, difference)
	}
	return out
}

// known reports whether a point has a value.
func known(x *Value) bool { return x != nil && !math.IsNaN(x.Mean) && !math.IsInf(x.Mean, 0) }

// difference is the column that says how far the lab is from the simulator; judged is false if no
// point says it.
func (w *worlds) difference(v Value) (c column, judged bool) {
	for i := range w.own {
		a, ok := w.agree[valueName(w.own[i].Point, v.Measure, v.Group)]
		x := word(undefinedText)
		switch {
		case !ok:
		case a.Unmeasured:
			judged, x = true, word(unmeasured(&a))
		case a.Judged:
			judged, x = true, word(apart(a))
			x.outside = a.Verdict == claim.Fails
		}
		c.cells = append(c.cells, x)
	}
	return c, judged
}

// within says where a difference is.
var within = map[claim.Verdict]string{claim.Holds: "inside", claim.Fails: "outside", claim.Undecided: "undecided"}

// apart says how far the lab is from the simulator.
func apart(a results.Agreement) string {
	word := within[a.Verdict]
	switch {
	case a.Sim == a.Lab:
		return "0 % " + word
	case a.Sim == 0, math.Abs(a.Lab/a.Sim-1) >= 10: // a share says nothing
		sign := ""
		if a.Lab > a.Sim {
			sign = "+"
		}
		return sign + measure.Quantity(a.Lab-a.Sim, a.Unit) + " " + word
	}
	return fmt.Sprintf("%+.1f %% %s", 100*(a.Lab/a.Sim-1), word)
}

// grid is the results table, without keys that are the same everywhere: same says what they are. The columns of one
// value of the lab stay together below its name; where they are too wide, intervals are left out.
func (w *worlds) grid(l *TableOptions) (g *grid, same []string) {
	keys, values := w.columns()
	g = &grid{keys: keys, values: values, rows: len(w.own)}
	l.choose(g, w.own)
	if len(l.Sort) == 0 {
		g.apart = func(row int) bool { // another value of the first key
			p := w.own[row].Point
			return len(p) > 1 && p[0].Text != w.own[row-1].Point[0].Text
		}
	}
	return g, g.constant()
}

// print prints the results table.
func (w *worlds) print(s *sheet, g *grid) {
	if !w.lab {
		g.fitting(s.width).print(s)
		return
	}
	for i := range g.keys { // runs of both
		g.keys[i].head = []string{"", strings.TrimSpace(g.keys[i].head[1] + " " + g.keys[i].head[2])}
	}
	room := s.width - g.keysWidth()
	clusters := clustersOf(g.values, room)
	for first := true; first || len(clusters) > 0; first = false {
		if !first {
			s.line()
		}
		n, used := 0, 0
		for n < len(clusters) && (n == 0 || used+clusters[n].width() <= room) {
			used += clusters[n].width() + 2
			n++
		}
		part := slices.Clone(g.keys)
		for k := range clusters[:n] {
			part = append(part, clusters[k].beside()...)
		}
		g.part(s, part)
		clusters = clusters[n:]
	}
}

// cluster are the columns of one value.
type cluster struct {
	title   string
	columns []column
}

// columnsWidth is the width without the title.
func (c *cluster) columnsWidth() int {
	n := -2
	for i := range c.columns {
		n += c.columns[i].width() + 2
	}
	return n
}

func (c *cluster) width() int { return max(c.columnsWidth(), utf8.RuneCountInString(c.title)) }

// beside are the columns with the title above the first of them, or across them all.
func (c *cluster) beside() (out []column) {
	rest, fill := []rune(c.title), c.width()-c.columnsWidth()
	for i, x := range c.columns {
		w := x.width() + fill // of the first, if the title is wider than all
		x.least = w
		if fill = 0; i < len(c.columns)-1 {
			w += 2 // the title goes on in the gap
		}
		n := min(w, len(rest))
		x.head, x.title = []string{"", x.head[0]}, string(rest[:n])
		rest = rest[n:]
		out = append(out, x)
	}
	return out
}

// clustersOf puts the columns of one value together, without intervals where they are too wide.
func clustersOf(values []column, room int) (clusters []cluster) {
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
				c.columns[k].short()
			}
		}
	}
	return clusters
}

// sizes are the tables by flow size, of the lab with the simulator's points beside.
func (w *worlds) sizes() []PointSummary {
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

// agreementLine says whether simulator and lab agree; "" for an outcome of the simulator.
func agreementLine(o *results.Outcome) string {
	if o.World != experiment.Lab {
		return ""
	}
	all := o.Agreements()
	agreed := results.Agree(all)
	if agreed.Points == 0 {
		return "simulator and lab are not compared: no point has a " +
			strings.Join(o.Spec.Judged(), ", or a ") + " in both"
	}
	open := ""
	if n := agreed.Points - agreed.Inside - agreed.Apart; n > 0 {
		open = fmt.Sprintf(", %d undecided", n)
	}
	return fmt.Sprintf("simulator and lab agree in %d of %d points%s (%s): %s", agreed.Inside, agreed.Points, open,
		agreementRule(o.Spec, all), agreed.Verdict)
}

// agreementRule says in words how near judged values have to be: of each measure, if there are
// several.
func agreementRule(s *experiment.Spec, all []results.Agreement) string {
	var names, rules []string
	for _, a := range all {
		if !a.Judged || slices.Contains(names, a.Measure) {
			continue
		}
		kind := s.Kind(a.Measure)
		near := kind.Nearness(a.Unit, a.Group)
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
	return strings.Join(rules, ", ") + "; one in ten may be outside"
}

// unmeasured says why a value is not judged.
func unmeasured(a *results.Agreement) string {
	if _, of := measure.PercentileOf(a.Group); of {
		return "too few samples"
	}
	return "–"
}

// describeVerdict returns why a value is undecided, or that a value outside rests on one seed in each world; "" for
// other verdicts.
func describeVerdict(a *results.Agreement, factor float64) string {
	switch {
	case a.Verdict == claim.Fails && math.IsNaN(a.Interval):
		return ", one seed in each world"
	case a.Verdict != claim.Undecided:
		return ""
	case a.Upset:
		return ": undecided, for the machine can have changed it"
	}
	return fmt.Sprintf(", ±%s: undecided, for the seeds are too few",
		strconv.FormatFloat(a.Interval*factor, 'g', intervalDigits, 64))
}

// outside lists the values that do not agree, or of which that is not known.
func outside(o *results.Outcome, w *worlds) (out []string) {
	for _, a := range o.Agreements() {
		if a.Judged && a.Verdict != claim.Holds {
			sc := w.scales.scale(a.Measure, a.Unit)
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", measure.PointName(a.Point), a.Measure, a.Group))+
				fmt.Sprintf(": %s %s in the simulator, %s in the lab%s", plainNumber(a.Sim*sc.Factor), sc.Unit,
					plainNumber(a.Lab*sc.Factor), describeVerdict(&a, sc.Factor)))
		}
	}
	return out
}

// claimPair is a claim with the verdicts of both worlds.
type claimPair struct {
	claim.Claim
	Sim *claim.Claim // nil: the simulator's verdict is not there
}

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
