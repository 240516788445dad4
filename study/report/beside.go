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
	spec  *spec.Spec
	own   []PointSummary // of the outcome itself
	sim   []PointSummary // of the lab: the simulator's; nil if there are none
	paper []PointSummary // nil if the paper gives none of the values
	more  []reference    // other columns of given values
	lab   bool           // own is the lab's
	// chosen: the data chose how many seeds own has
	chosen bool
	all    []Value // what is measured, without values
	agree  map[string]results.Agreement
}

func valueName(point []measure.Coordinate, name, group string) string {
	return measure.PointName(point) + "\n" + name + "\n" + group
}

// worldsOf puts the outcome's points side by side.
func worldsOf(o *results.Outcome) *worlds {
	w := &worlds{spec: o.Spec, own: Summarise(o.Runs), lab: o.World == spec.Lab, chosen: o.Chosen != nil,
		agree: map[string]results.Agreement{}}
	if w.lab && o.Beside != nil && len(o.Beside.Runs) > 0 {
		w.sim = Summarise(o.Beside.Runs)
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
	for i, column := range o.Spec.PaperColumns() {
		points, given := w.given(column)
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
	if !w.lab && w.paper == nil && w.more == nil {
		return columnsOf(w.spec, w.own)
	}
	keys, _ = columnsOf(w.spec, w.own)
	if len(keys) == 0 {
		return nil, nil
	}
	if w.sim != nil {
		w.countBoth(&keys[len(keys)-1])
	}
	for _, v := range w.all {
		values = append(values, w.columnsOf(v)...)
	}
	return keys, values
}

// countBoth shows the runs of both worlds in the column n if their numbers differ.
func (w *worlds) countBoth(n *column) {
	for i := range w.own {
		if w.own[i].N != w.sim[i].N {
			n.head[1], n.head[2] = "n", "lab/sim"
		}
	}
	for i := range n.cells {
		if n.head[1] != "" {
			n.cells[i] = fmt.Sprintf("%d/%d", w.own[i].N, w.sim[i].N)
		}
	}
}

// columnsOf are the columns of one value. A count that is 0 everywhere has none.
func (w *worlds) columnsOf(v Value) (out []column) {
	most := 0.0
	var sim, own, paper []*Value
	for _, side := range []struct {
		points []PointSummary
		to     *[]*Value
	}{{w.sim, &sim}, {w.own, &own}, {w.paper, &paper}} {
		for i := range side.points {
			x := find(side.points[i].Values, v)
			if *side.to = append(*side.to, x); x != nil && !math.IsNaN(x.Mean) {
				most = max(most, math.Abs(x.Mean))
			}
		}
	}
	if absent(w.spec, v, most) {
		return nil
	}
	sc := scaleFor(v.Unit, most)
	decimals := decimalsFor(most * sc.Factor)
	unit := sc.Unit
	if unit != "" {
		unit = "[" + unit + "]"
	}
	measured := func(x *Value) string { return Cell(x.Mean*sc.Factor, x.Half*sc.Factor, decimals) }
	given := func(x *Value) string { // with no more digits than the paper has
		if math.IsNaN(x.Mean) {
			return "–"
		}
		return strconv.FormatFloat(x.Mean*sc.Factor, 'g', 4, 64)
	}
	add := func(of []*Value, cell func(*Value) string, head ...string) {
		c := column{head: append(head, unit)}
		for _, x := range of {
			if x == nil {
				c.cells = append(c.cells, "–")
			} else {
				c.cells = append(c.cells, cell(x))
			}
		}
		out = append(out, c)
	}
	m := strings.ReplaceAll(v.Measure, "_", " ")
	known := func(x *Value) bool { return x != nil && !math.IsNaN(x.Mean) }
	hasPaper := slices.ContainsFunc(paper, known)
	if !w.lab {
		add(own, measured, m, v.Group)
		if hasPaper {
			add(paper, given, m, strings.TrimSpace(v.Group+" "+paperName))
		}
		for _, r := range w.more {
			var of []*Value
			for i := range r.points {
				of = append(of, find(r.points[i].Values, v))
			}
			if slices.ContainsFunc(of, known) {
				add(of, given, m, strings.TrimSpace(v.Group+" "+r.name))
			}
		}
		return out
	}
	title := strings.TrimSpace(m + " " + v.Group)
	if w.sim != nil {
		add(sim, measured, title, simulatorName)
	}
	add(own, measured, title, labName)
	if hasPaper {
		add(paper, given, title, paperName)
	}
	if difference, judged := w.difference(v); judged {
		difference.head = []string{title, "lab − sim", unit}
		out = append(out, difference)
	}
	return out
}

// difference is the column that says how far the lab is from the simulator; judged is false if no
// point says it.
func (w *worlds) difference(v Value) (c column, judged bool) {
	for i := range w.own {
		a, ok := w.agree[valueName(w.own[i].Point, v.Measure, v.Group)]
		cell := "–"
		switch {
		case !ok:
		case a.Unmeasured:
			judged, cell = true, unmeasured(&a)
		case a.Judged:
			judged, cell = true, apart(a)
		}
		c.cells = append(c.cells, cell)
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
		return fmt.Sprintf("%sb/s %s", strings.TrimSpace(measure.SI(a.Lab-a.Sim)), word)
	}
	return fmt.Sprintf("%+.1f %% %s", 100*(a.Lab/a.Sim-1), word)
}

// table prints the columns within 80. The columns of one value stay together below its name;
// where they are too wide, intervals are left out.
func (w *worlds) table() string {
	keys, values := w.columns()
	begins := func(row int) bool { // another value of the first key
		p := w.own[row].Point
		return len(p) > 1 && p[0].Text != w.own[row-1].Point[0].Text
	}
	if !w.lab {
		return blocks(keys, values, len(w.own), begins)
	}
	room := Width
	for i := range keys {
		if keys[i].head[1] != "" { // n of both
			keys[i].head[2] = keys[i].head[1] + " " + keys[i].head[2]
		}
		keys[i].head = []string{"", keys[i].head[2]}
		room -= keys[i].width() + 2
	}
	clusters := clustersOf(values, room)
	var b strings.Builder
	for first := true; first || len(clusters) > 0; first = false {
		if !first {
			b.WriteString("\n")
		}
		n, used := 0, 0
		for n < len(clusters) && (n == 0 || used+clusters[n].width() <= room) {
			used += clusters[n].width() + 2
			n++
		}
		b.WriteString(block(keys, clusters[:n], len(w.own), begins))
		clusters = clusters[n:]
	}
	return b.String()
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

// cells pads one row of the cluster. If the title is wider than the columns, the first one gets
// the rest.
func (c *cluster) cells(text func(*column) string) (out []string) {
	fill := c.width() - c.columnsWidth()
	for i := range c.columns {
		out = append(out, pad(text(&c.columns[i]), c.columns[i].width()+fill, false))
		fill = 0
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
		last.columns = append(last.columns, column{head: []string{v.head[1]}, cells: v.cells})
	}
	for i := range clusters {
		if c := &clusters[i]; c.width() > room {
			for k := range c.columns {
				for r, cell := range c.columns[k].cells {
					c.columns[k].cells[r], _, _ = strings.Cut(cell, " ± ")
				}
			}
		}
	}
	return clusters
}

// block prints the keys and some clusters beside them, with an empty line before rows that begin
// something.
func block(keys []column, clusters []cluster, rows int, begins func(row int) bool) string {
	var b strings.Builder
	line := func(parts []string) { b.WriteString(strings.TrimRight(strings.Join(parts, "  "), " ") + "\n") }
	var titles, heads []string
	for i := range keys {
		titles = append(titles, pad("", keys[i].width(), true))
		heads = append(heads, pad(keys[i].head[1], keys[i].width(), keys[i].left))
	}
	for k := range clusters {
		c := &clusters[k]
		titles = append(titles, pad(c.title, c.width(), true))
		heads = append(heads, c.cells(func(x *column) string { return x.head[0] })...)
	}
	line(titles)
	line(heads)
	for r := range rows {
		if r > 0 && begins(r) {
			b.WriteString("\n")
		}
		var row []string
		for i := range keys {
			row = append(row, pad(keys[i].cells[r], keys[i].width(), keys[i].left))
		}
		for k := range clusters {
			row = append(row, clusters[k].cells(func(x *column) string { return x.cells[r] })...)
		}
		line(row)
	}
	return b.String()
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
	if o.World != spec.Lab {
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
func agreementRule(s *spec.Spec, all []results.Agreement) string {
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

// undecided says why it is not known whether a value agrees; "" if it is known.
func undecided(a *results.Agreement, factor float64, decimals int) string {
	switch {
	case a.Verdict != claim.Undecided:
		return ""
	case a.Upset:
		return ": undecided, for the machine can have changed it by as much"
	}
	return fmt.Sprintf(", ±%s: undecided, for the seeds are too few", Cell(a.Interval*factor, math.NaN(), decimals))
}

// outside lists the values that do not agree, or of which that is not known.
func outside(o *results.Outcome) (out []string) {
	for _, a := range o.Agreements() {
		if a.Judged && a.Verdict != claim.Holds {
			most := max(math.Abs(a.Sim), math.Abs(a.Lab))
			sc := scaleFor(a.Unit, most)
			d := decimalsFor(most * sc.Factor)
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", measure.PointName(a.Point), a.Measure, a.Group))+
				fmt.Sprintf(": %s %s in the simulator, %s in the lab%s", Cell(a.Sim*sc.Factor, math.NaN(), d), sc.Unit,
					Cell(a.Lab*sc.Factor, math.NaN(), d), undecided(&a, sc.Factor, d)))
		}
	}
	return out
}

// claimBeside is a claim with the verdicts of both worlds.
type claimBeside struct {
	claim.Claim
	Sim *claim.Claim // nil: the simulator's verdict is not there
}

func claimsBeside(o *results.Outcome) (out []claimBeside) {
	for _, c := range o.Claims {
		x := claimBeside{Claim: c}
		if o.Beside != nil {
			if i := slices.IndexFunc(o.Beside.Claims, func(s claim.Claim) bool { return s.ID == c.ID }); i >= 0 {
				x.Sim = &o.Beside.Claims[i]
			}
		}
		out = append(out, x)
	}
	return out
}

// claimsText prints each claim with the verdicts of simulator and lab.
func claimsText(claims []claimBeside) string {
	const indent = "                      "
	var b strings.Builder
	if len(claims) > 0 {
		fmt.Fprintf(&b, "%s  %s\n", simulatorName, labName)
	}
	for _, c := range claims {
		sim := "–"
		n := strconv.Itoa(c.N)
		if c.Sim != nil {
			sim = string(c.Sim.Verdict)
			if c.Sim.N != c.N {
				n = fmt.Sprintf("%d, %d", c.Sim.N, c.N)
			}
		}
		fmt.Fprintf(&b, "%s  %-9s  %s\n", pad(sim, 9, true), c.Verdict, hang(fmt.Sprintf("%s (n = %s)", c.ID, n), indent))
		b.WriteString(indent + hang(c.Says, indent) + "\n")
		if c.Sim != nil && c.Sim.Measured != "" {
			b.WriteString(indent + hang("simulator → "+c.Sim.Measured, indent) + "\n")
		}
		if c.Measured != "" {
			b.WriteString(indent + hang("lab → "+c.Measured, indent) + "\n")
		}
	}
	return b.String()
}

// hang breaks text that begins behind an indent.
func hang(text, indent string) string {
	return strings.ReplaceAll(Wrap(text, Width-utf8.RuneCountInString(indent), ""), "\n", "\n"+indent)
}

// Text is all that the terminal shows of an outcome: tables, claims with their
// verdicts, of the lab how it agrees with the simulator and what the machine did, and
// how the runs ended. No line is wider than Width.
func Text(o *results.Outcome) string {
	w := worldsOf(o)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s%s", o.Spec.Title(), w.table(), Sizes(w.sizes()))
	for _, s := range Chosen(o) {
		fmt.Fprintf(&b, "\n%s\n", Wrap(s, Width, "    "))
	}
	for i, s := range sources(o, w) {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(Wrap("paper: "+s, Width, "    ") + "\n")
	}
	if line := agreementLine(o); line != "" {
		fmt.Fprintf(&b, "\n%s\n", Wrap(line, Width, "    "))
		for _, s := range outside(o) {
			b.WriteString(Wrap("not inside: "+s, Width, "    ") + "\n")
		}
	}
	switch {
	case len(o.Claims) == 0:
	case w.lab:
		fmt.Fprintf(&b, "\n%s", claimsText(claimsBeside(o)))
	default:
		fmt.Fprintf(&b, "\n%s", Claims(o.Claims))
	}
	if m := machineText(o); m != "" {
		fmt.Fprintf(&b, "\n%s", m)
	}
	b.WriteString("\n")
	for _, line := range programs(o) {
		b.WriteString(Wrap(line, Width, "    ") + "\n")
	}
	b.WriteString(Ends(o))
	return b.String()
}
