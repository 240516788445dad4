package report

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/text"
	"weir/study/results"
)

// mostBeside is how many columns of values a table of a document has before it is turned, if it is the shorter so.
const mostBeside = 8

// forPage is the grid as a document has it: rows of values where there are many of few points.
func (g *grid) forPage() *grid {
	if len(g.values) > mostBeside && g.rows < len(g.values) && g.rows > 0 {
		return g.turned()
	}
	return g
}

// Markdown is the report as a document with tables of GitHub's Markdown.
func (l *TableOptions) Markdown(o *results.Outcome) (string, error) {
	w := worldsOf(o)
	l = l.resolve(o.Spec, w.all)
	if err := w.check(l, o); err != nil {
		return "", err
	}
	var b strings.Builder
	paragraph := func(words string) { b.WriteString(inMarkdown(words) + "\n\n") }
	list := func(items []string) {
		for _, x := range items {
			b.WriteString("- " + inMarkdown(x) + "\n")
		}
		if len(items) > 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString("## " + inMarkdown(o.Spec.Title()) + "\n\n")
	paragraph(facts(o, len(w.own)))
	if cut := cutShort(o); cut != "" {
		b.WriteString("**" + inMarkdown(cut) + "**\n\n")
	}
	if line := agreementLine(o); line != "" {
		paragraph(line)
		list(outside(o, w))
	}
	markdownClaims(&b, o, w.lab)
	g, same := w.grid(l)
	if len(same) > 0 {
		paragraph("At all points: " + strings.Join(same, ", ") + ".")
	}
	markdownTable(&b, g.forPage())
	markdownLegend(&b, legendOf(g.values, w.conditions, "bold:", "italic:"))
	list(l.Explained(o.Spec))
	list(Without(o.Spec))
	if empty := w.notDefined(l); empty != "" {
		paragraph(empty + ".")
	}
	for _, t := range w.sizeGrids(l) {
		b.WriteString("### " + inMarkdown(t.title) + "\n\n")
		page := t.page()
		markdownTable(&b, &page.grid)
		markdownLegend(&b, legendOf(t.values, w.conditions, "bold:", "italic:"))
	}
	for _, words := range describeSeeds(o) {
		paragraph(words)
	}
	for _, words := range sources(o, w) {
		paragraph("paper: " + words)
	}
	list(machineFacts(o))
	list(programs(o))
	list(summaryLines(o))
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

// markdownClaims writes the claims with their verdicts.
func markdownClaims(b *strings.Builder, o *results.Outcome, lab bool) {
	if len(o.Claims) == 0 {
		return
	}
	b.WriteString("**" + inMarkdown(verdictsOf(o.Claims)) + "**\n\n")
	head, rule, runs := "| verdict ", "|:--", "runs"
	if lab {
		head, rule, runs = "| simulator | lab ", "|:--|:--", "runs (simulator, lab)"
	}
	b.WriteString(head + "| claim | " + runs + " | it says | what decides it |\n" + rule + "|:--|--:|:--|:--|\n")
	for _, c := range pairClaims(o) {
		verdict, n := string(c.Verdict), strconv.Itoa(c.N)
		if lab && c.Sim != nil {
			verdict, n = string(c.Sim.Verdict)+" | "+verdict, fmt.Sprintf("%d, %d", c.Sim.N, c.N)
		} else if lab {
			verdict, n = undefinedText+" | "+verdict, undefinedText+", "+n
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", verdict, inMarkdown(c.ID), n, inMarkdown(c.Says),
			inMarkdown(c.Measured))
	}
	b.WriteString("\n")
}

// markdownTable writes a table, whose heads are one line.
func markdownTable(b *strings.Builder, g *grid) {
	columns := append(append([]column{}, g.keys...), g.values...)
	if len(columns) == 0 {
		return
	}
	head, rule := "|", "|"
	for i := range columns {
		var words []string
		for _, h := range columns[i].head {
			if h != "" {
				words = append(words, inMarkdown(h))
			}
		}
		head += " " + strings.Join(words, " ") + " |"
		if columns[i].left {
			rule += ":--|"
		} else {
			rule += "--:|"
		}
	}
	b.WriteString(head + "\n" + rule + "\n")
	for r := range g.rows {
		b.WriteString("|")
		for i := range columns {
			c := &columns[i].cells[r]
			x := inMarkdown(c.String())
			switch c.mark {
			case bestMark:
				x = "**" + x + "**"
			case tiedMark:
				x = "*" + x + "*"
			}
			if c.partial != "" {
				x += partialSign
			}
			b.WriteString(" " + x + " |")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n")
}

func markdownLegend(b *strings.Builder, legend string) {
	if legend != "" {
		b.WriteString(inMarkdown(legend) + ".\n\n")
	}
}

var markdownSpecial = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "#", `\#`, "&", "&amp;", "~", `\~`, "$", `\$`, "!", `\!`)

// inMarkdown is a text in one line, of which nothing is markup.
func inMarkdown(s string) string {
	s = markdownSpecial.Replace(text.Shown(strings.Join(strings.Fields(s), " ")))
	switch { // at the beginning of a line these would make a list
	case strings.HasPrefix(s, "- "), strings.HasPrefix(s, "+ "), strings.HasPrefix(s, "--"), strings.HasPrefix(s, "=="):
		return `\` + s
	}
	return s
}
