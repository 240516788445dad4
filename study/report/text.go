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

// FormatResults returns the table of all points of a simulator's outcome within 80 columns. Further columns follow
// below, with the sweep's keys repeated.
func FormatResults(s *experiment.Spec, points []PointSummary) string {
	w := &worlds{spec: s, own: points, quantities: listQuantities(points)}
	w.setUnits()
	look := &TableOptions{}
	out := look.newSheet()
	w.printResults(out, look)
	return out.b.String()
}

// printResults prints to s the common values of all points, the table, and the explanation of its signs.
func (w *worlds) printResults(s *sheet, l *TableOptions) {
	g, same := w.resultGrid(l)
	if len(same) > 0 && len(w.own) > 0 {
		where := "at all points: "
		if len(w.own) == 1 {
			where = "at the only point: "
		}
		s.writeNote(where+strings.Join(same, ", "), plain)
		s.writeLine()
	}
	w.printGrid(s, g)
	if legend := markLegend(g.values, w.conditions, bestSign, tiedSign); legend != "" {
		s.writeNote(legend, faint)
	}
	for _, line := range l.Explanations(w.spec) {
		s.writeNote(line, faint)
	}
	for _, line := range DescribeOmitted(w.spec) {
		s.writeNote(line, plain)
	}
	if empty := w.notDefined(l); empty != "" {
		s.writeNote(empty, faint)
	}
}

// notDefined names the selected values without a column, after the columns were computed; "" without any.
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
	return "undefined at all points: " + strings.Join(names, ", ")
}

// verdictStyles are the styles of verdicts.
var verdictStyles = map[claim.Verdict]style{claim.Holds: good, claim.Fails: bad, claim.Undecided: unsure}

// verdictCounts counts claims by verdict: "5 claims: 4 hold, 1 fails".
func verdictCounts(claims []claim.Claim) string {
	var counts []string
	for _, v := range CountVerdicts(claims) {
		counts = append(counts, v.String())
	}
	return text.Count(len(claims), "claim") + ": " + strings.Join(counts, ", ")
}

// VerdictCount is the number of claims with a verdict, at least one.
type VerdictCount struct {
	Verdict claim.Verdict
	N       int
}

// CountVerdicts counts claims by their verdicts, in the order holds, fails, undecided.
func CountVerdicts(claims []claim.Claim) (counts []VerdictCount) {
	for _, v := range []claim.Verdict{claim.Holds, claim.Fails, claim.Undecided} {
		x := VerdictCount{Verdict: v}
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
func (c VerdictCount) String() string {
	word := string(c.Verdict)
	switch c.Verdict {
	case claim.Holds:
		word = text.Verb(c.N, "hold")
	case claim.Fails:
		word = text.Verb(c.N, "fail")
	}
	return strconv.Itoa(c.N) + " " + word
}

// FormatClaims returns each claim with its verdict first, in lines of DefaultWidth.
func FormatClaims(claims []claim.Claim) string {
	s := (&TableOptions{}).newSheet()
	printClaims(s, claims)
	return s.b.String()
}

// verdictIndent is as wide as a verdict. Lines narrower than narrowWidth have no such indent.
const (
	verdictIndent = "           "
	narrowWidth   = 50
)

// printClaims prints claims with their verdicts, statements and deciding values.
func printClaims(s *sheet, claims []claim.Claim) {
	indent, room := verdictIndent, len(verdictIndent)
	if s.width < narrowWidth { // too narrow for a column of verdicts
		indent, room = "  ", 0
	}
	for _, c := range claims {
		first := padText(string(c.Verdict), room, true)
		if room == 0 {
			first += " "
		}
		s.writeHanging(first, verdictStyles[c.Verdict], fmt.Sprintf("%s (%s)", c.ID, text.Count(c.N, "run")), indent)
		s.writeHanging(indent, plain, c.Says, indent)
		if c.Measured != "" {
			s.writeHanging(indent, plain, "→ "+c.Measured, indent)
		}
	}
}

// printClaimPairs prints each claim with the verdicts of simulator and lab.
func printClaimPairs(s *sheet, claims []claimPair) {
	const indent = "                      "
	if len(claims) > 0 {
		s.writeLine(textPiece{padText(simulatorName, len(verdictIndent), true) + labName, faint})
	}
	for _, c := range claims {
		sim, as := undefinedText, plain
		runs := text.Count(c.N, "run")
		if c.Sim != nil {
			if sim, as = string(c.Sim.Verdict), verdictStyles[c.Sim.Verdict]; c.Sim.N != c.N {
				runs = fmt.Sprintf("%s in the simulator, %d in the lab", text.Count(c.Sim.N, "run"), c.N)
			}
		}
		lines := strings.Split(WrapHanging(indent, fmt.Sprintf("%s (%s)", c.ID, runs), indent, s.width), "\n")
		s.writeLine(textPiece{padText(sim, len(verdictIndent), true), as},
			textPiece{padText(string(c.Verdict), len(verdictIndent), true), verdictStyles[c.Verdict]},
			textPiece{strings.TrimPrefix(lines[0], indent), plain})
		for _, l := range lines[1:] {
			s.writeLine(textPiece{l, plain})
		}
		s.writeHanging(indent, plain, c.Says, indent)
		if c.Sim != nil && c.Sim.Measured != "" {
			s.writeHanging(indent, plain, "simulator → "+c.Sim.Measured, indent)
		}
		if c.Measured != "" {
			s.writeHanging(indent, plain, "lab → "+c.Measured, indent)
		}
	}
}

// FormatText returns the terminal's report of an outcome: a summary with the claims, for the lab its agreement with the
// simulator; tables; the machine's influence, and how the runs ended. No line is wider than DefaultWidth, except for
// words that are longer.
func FormatText(o *results.Outcome) string {
	text, _ := (&TableOptions{}).Text(o) // no option can be wrong
	return text
}

// Text returns the report with the options' width, colours and columns. The text is not escaped without colours. It
// returns an error if an option names a missing value.
func (l *TableOptions) Text(o *results.Outcome) (string, error) {
	w := newWorlds(o)
	l = l.resolve(o.Spec, w.quantities)
	if err := w.checkOptions(l, o); err != nil {
		return "", err
	}
	s := l.newSheet()
	w.printSummary(s, o)
	s.writeLine()
	w.printResults(s, l)
	w.printSizes(s, l)
	for _, text := range describeSeeds(o) {
		s.writeLine()
		s.writeNote(text, plain)
	}
	for i, text := range paperSources(o, w) {
		if i == 0 {
			s.writeLine()
		}
		s.writeNote("paper: "+text, plain)
	}
	if facts := machineFacts(o); facts != nil {
		s.writeLine()
		printMachine(s, o, facts)
	}
	s.writeLine()
	for _, line := range programLines(o) {
		s.writeNote(line, plain)
	}
	writeStatus(s, o)
	return s.b.String(), nil
}

// checkOptions returns an error if the options name something that the outcome does not have.
func (w *worlds) checkOptions(l *TableOptions, o *results.Outcome) error {
	var keys []string
	for _, d := range o.Spec.Sweep() {
		keys = append(keys, d.Key)
	}
	return l.checkNames(keys, w.quantities)
}

// printSummary prints what was run, whether all runs ended normally, the agreement and the claims.
func (w *worlds) printSummary(s *sheet, o *results.Outcome) {
	s.writeNote(o.Spec.Title(), strong)
	s.writeNote(factsLine(o, len(w.own)), plain)
	if cut := cutShort(o); cut != "" {
		s.writeNote(cut+"; see the last lines", bad)
	}
	if line := agreementLine(o); line != "" {
		s.writeLine()
		s.writeNote(line, verdictStyles[results.CountAgreements(o.Agreements()).Verdict])
		for _, text := range outsideLines(o, w) {
			s.writeNote("outside: "+text, plain)
		}
	}
	if len(o.Claims) == 0 {
		return
	}
	s.writeLine()
	if w.lab {
		s.writeNote("in the lab "+verdictCounts(o.Claims), strong)
		printClaimPairs(s, pairClaims(o))
		return
	}
	s.writeNote(verdictCounts(o.Claims), strong)
	printClaims(s, o.Claims)
}

// cutShort describes failed, missing and stuck runs; "" without any. A run can be both finished and stuck.
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
	return "not all runs are complete: " + strings.Join(parts, ", ")
}

// printSizes prints the selected tables by flow size.
func (w *worlds) printSizes(s *sheet, l *TableOptions) {
	for _, t := range w.sizeGrids(l) {
		s.writeLine()
		s.writeLine(textPiece{t.title, strong})
		t.fitWidth(s.width).printParts(s)
		if legend := markLegend(t.values, w.conditions, bestSign, tiedSign); legend != "" {
			s.writeNote(legend, faint)
		}
	}
}

// formatSizes returns the tables by flow size within 80 columns.
func formatSizes(s *experiment.Spec, points []PointSummary) string {
	w := &worlds{spec: s, own: points, quantities: listQuantities(points)}
	w.setUnits()
	look := &TableOptions{}
	out := look.newSheet()
	w.printSizes(out, look)
	return out.b.String()
}

// varyingKeys returns the indices of the point's keys with more than one value over points.
func varyingKeys(points []PointSummary) (keys []int) {
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

// pointTexts returns the point's values of some keys, given by their indices.
func pointTexts(p []measure.Coordinate, keys []int) (out []string) {
	for _, k := range keys {
		out = append(out, p[k].Text)
	}
	return out
}
