package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weir/internal/text"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
)

// Results prints the table of all points, within 80 columns: what does not fit
// beside comes below, with the sweep's keys again.
func Results(s *experiment.Spec, points []PointSummary) string {
	w := &worlds{spec: s, own: points, all: quantities(points)}
	w.prepare()
	look := &TableOptions{}
	out := look.newSheet()
	w.results(out, look)
	return out.b.String()
}

// results prints what all points have in common, the table, and what its signs are.
func (w *worlds) results(s *sheet, l *TableOptions) {
	g, same := w.grid(l)
	if len(same) > 0 && len(w.own) > 0 {
		where := "at all points: "
		if len(w.own) == 1 {
			where = "at the only point: "
		}
		s.note(where+strings.Join(same, ", "), plain)
		s.line()
	}
	w.print(s, g)
	if legend := legendOf(g.values, w.conditions, bestSign, tiedSign); legend != "" {
		s.note(legend, faint)
	}
	for _, line := range l.Explained(w.spec) {
		s.note(line, faint)
	}
	for _, line := range Without(w.spec) {
		s.note(line, plain)
	}
	if empty := w.notDefined(l); empty != "" {
		s.note(empty, faint)
	}
}

// notDefined names values that have no column and would be shown; "" if there are none.
func (w *worlds) notDefined(l *TableOptions) string {
	var names []string
	for _, v := range w.empty {
		if l.showsValue(v) {
			names = append(names, strings.TrimSpace(strings.ReplaceAll(v.Measure, "_", " ")+" "+v.Group))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "not defined at any point: " + strings.Join(names, ", ")
}

// ofVerdict is how a verdict looks.
var ofVerdict = map[claim.Verdict]style{claim.Holds: good, claim.Fails: bad, claim.Undecided: unsure}

// verdictsOf counts claims: "5 claims: 4 hold, 1 fails".
func verdictsOf(claims []claim.Claim) string {
	var counts []string
	for _, v := range Verdicts(claims) {
		counts = append(counts, v.String())
	}
	return text.Count(len(claims), "claim") + ": " + strings.Join(counts, ", ")
}

// Counted is the number of claims with a verdict, at least one.
type Counted struct {
	Verdict claim.Verdict
	N       int
}

// Verdicts counts claims by their verdicts.
func Verdicts(claims []claim.Claim) (counts []Counted) {
	for _, v := range []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided} {
		x := Counted{Verdict: v}
		for i := range claims {
			if claims[i].Verdict == v {
				x.N++
			}
		}
		if x.N > 0 {
			counts = append(counts, x)
		}
	}
	return counts
}

// String returns the number with the verdict as a verb: "1 holds", "3 hold", "2 undecided".
func (c Counted) String() string {
	word := string(c.Verdict)
	switch c.Verdict {
	case claim.Holds:
		word = text.Verb(c.N, "hold")
	case claim.Fails:
		word = text.Verb(c.N, "fail")
	}
	return strconv.Itoa(c.N) + " " + word
}

// Claims prints each claim with its verdict first.
func Claims(claims []claim.Claim) string {
	s := (&TableOptions{}).newSheet()
	printClaims(s, claims)
	return s.b.String()
}

// besideVerdict is the room that the word of a verdict takes, where lines are not narrow.
const (
	besideVerdict = "           "
	narrow        = 50
)

func printClaims(s *sheet, claims []claim.Claim) {
	indent, room := besideVerdict, len(besideVerdict)
	if s.width < narrow { // there is no room beside a word
		indent, room = "  ", 0
	}
	for _, c := range claims {
		first := pad(string(c.Verdict), room, true)
		if room == 0 {
			first += " "
		}
		s.say(first, ofVerdict[c.Verdict], fmt.Sprintf("%s (%s)", c.ID, text.Count(c.N, "run")), indent)
		s.say(indent, plain, c.Says, indent)
		if c.Measured != "" {
			s.say(indent, plain, "→ "+c.Measured, indent)
		}
	}
}

// printBoth prints each claim with the verdicts of simulator and lab.
func printBoth(s *sheet, claims []claimPair) {
	const indent = "                      "
	if len(claims) > 0 {
		s.line(bit{pad(simulatorName, len(besideVerdict), true) + labName, faint})
	}
	for _, c := range claims {
		sim, as := undefinedText, plain
		runs := text.Count(c.N, "run")
		if c.Sim != nil {
			if sim, as = string(c.Sim.Verdict), ofVerdict[c.Sim.Verdict]; c.Sim.N != c.N {
				runs = fmt.Sprintf("%s in the simulator, %d in the lab", text.Count(c.Sim.N, "run"), c.N)
			}
		}
		lines := strings.Split(Hang(indent, fmt.Sprintf("%s (%s)", c.ID, runs), indent, s.width), "\n")
		s.line(bit{pad(sim, len(besideVerdict), true), as},
			bit{pad(string(c.Verdict), len(besideVerdict), true), ofVerdict[c.Verdict]},
			bit{strings.TrimPrefix(lines[0], indent), plain})
		for _, l := range lines[1:] {
			s.line(bit{l, plain})
		}
		s.say(indent, plain, c.Says, indent)
		if c.Sim != nil && c.Sim.Measured != "" {
			s.say(indent, plain, "simulator → "+c.Sim.Measured, indent)
		}
		if c.Measured != "" {
			s.say(indent, plain, "lab → "+c.Measured, indent)
		}
	}
}

// Text is all that the terminal shows of an outcome: a summary with the claims and their verdicts, of the lab how it
// agrees with the simulator; tables; what the machine did, and how the runs ended. No line is wider than Width.
func Text(o *results.Outcome) string {
	text, _ := (&TableOptions{}).Text(o) // nothing is chosen that is not there
	return text
}

// Text is that of the look's width and colours, with the columns that it asks for.
func (l *TableOptions) Text(o *results.Outcome) (string, error) {
	w := worldsOf(o)
	l = l.resolve(o.Spec, w.all)
	if err := w.check(l, o); err != nil {
		return "", err
	}
	s := l.newSheet()
	w.summary(s, o)
	s.line()
	w.results(s, l)
	w.printSizes(s, l)
	for _, text := range describeSeeds(o) {
		s.line()
		s.note(text, plain)
	}
	for i, text := range sources(o, w) {
		if i == 0 {
			s.line()
		}
		s.note("paper: "+text, plain)
	}
	if facts := machineFacts(o); facts != nil {
		s.line()
		machineText(s, o, facts)
	}
	s.line()
	for _, line := range programs(o) {
		s.note(line, plain)
	}
	writeStatus(s, o)
	return s.b.String(), nil
}

// check reports what the look asks for and the outcome does not have.
func (w *worlds) check(l *TableOptions, o *results.Outcome) error {
	var keys []string
	for _, d := range o.Spec.Sweep() {
		keys = append(keys, d.Key)
	}
	return l.check(keys, w.all)
}

// summary is what one wants to know first: what was run, whether all of it came to its end, and the claims.
func (w *worlds) summary(s *sheet, o *results.Outcome) {
	s.note(o.Spec.Title(), strong)
	s.note(facts(o, len(w.own)), plain)
	if cut := cutShort(o); cut != "" {
		s.note(cut+"; see the last lines", bad)
	}
	if line := agreementLine(o); line != "" {
		s.line()
		s.note(line, ofVerdict[results.Agree(o.Agreements()).Verdict])
		for _, text := range outside(o, w) {
			s.note("not inside: "+text, plain)
		}
	}
	if len(o.Claims) == 0 {
		return
	}
	s.line()
	if w.lab {
		s.note("in the lab "+verdictsOf(o.Claims), strong)
		printBoth(s, pairClaims(o))
		return
	}
	s.note(verdictsOf(o.Claims), strong)
	printClaims(s, o.Claims)
}

// cutShort says that not all runs came to their end; "" if they did.
func cutShort(o *results.Outcome) string {
	stuck := 0
	for _, r := range o.Runs {
		if r.End.Stuck() {
			stuck++
		}
	}
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{len(o.Failed), "failed"}, {o.Missing, "missing"}, {stuck, "stuck"}} {
		if x.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", x.n, x.what))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "not all runs came to their end: " + strings.Join(parts, ", ")
}

// printSizes prints the tables by flow size of what is chosen.
func (w *worlds) printSizes(s *sheet, l *TableOptions) {
	for _, t := range w.sizeGrids(l) {
		s.line()
		s.line(bit{t.title, strong})
		t.fitting(s.width).print(s)
		if legend := legendOf(t.values, w.conditions, bestSign, tiedSign); legend != "" {
			s.note(legend, faint)
		}
	}
}

// sizes prints the tables by flow size, within 80 columns.
func sizes(s *experiment.Spec, points []PointSummary) string {
	w := &worlds{spec: s, own: points, all: quantities(points)}
	w.prepare()
	look := &TableOptions{}
	out := look.newSheet()
	w.printSizes(out, look)
	return out.b.String()
}

// varying are the keys of points, in their order, that are not the same at all.
func varying(points []PointSummary) (keys []int) {
	if len(points) == 0 {
		return nil
	}
	for k, c := range points[0].Point {
		if slices.ContainsFunc(points, func(p PointSummary) bool { return p.Point[k].Text != c.Text }) {
			keys = append(keys, k)
		}
	}
	return keys
}

// pointOf names a point by the keys that vary.
func pointOf(p []measure.Coordinate, keys []int) (out []string) {
	for _, k := range keys {
		out = append(out, p[k].Text)
	}
	return out
}
