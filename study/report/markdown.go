package report

import (
	"fmt"
	"strconv"
	"strings"

	"weir/internal/text"
	"weir/study/results"
)

// maxColumns is the number of value columns beyond which a document's table is transposed if that is shorter.
const maxColumns = 8

// forDocument returns the grid for a document: transposed if it has more than maxColumns values and fewer points than
// values.
func (g *grid) forDocument() *grid {
	if len(g.values) > maxColumns && g.rows < len(g.values) && g.rows > 0 {
		return g.transpose()
	}
	return g
}

// Markdown returns the report as a document with tables in GitHub's Markdown. An error is about an option that names a
// missing value.
func (l *TableOptions) Markdown(o *results.Outcome) (string, error) {
	w := newWorlds(o)
	l = l.resolve(o.Spec, w.quantities)
	if err := w.checkOptions(l, o); err != nil {
		return "", err
	}
	var b strings.Builder
	paragraph := func(words string) { b.WriteString(escapeMarkdown(words) + "\n\n") }
	list := func(items []string) {
		for _, x := range items {
			b.WriteString("- " + escapeMarkdown(x) + "\n")
		}
		if len(items) > 0 {
			b.WriteString("\n")
		}
	}
	b.WriteString("## " + escapeMarkdown(o.Spec.Title()) + "\n\n")
	paragraph(factsLine(o, len(w.own)))
	if cut := cutShort(o); cut != "" {
		b.WriteString("**" + escapeMarkdown(cut) + "**\n\n")
	}
	if line := agreementLine(o); line != "" {
		paragraph(line)
		list(outsideLines(o, w))
	}
	writeMarkdownClaims(&b, o, w.lab)
	g, same := w.resultGrid(l)
	if len(same) > 0 {
		paragraph("At all points: " + strings.Join(same, ", ") + ".")
	}
	writeMarkdownTable(&b, g.forDocument())
	writeMarkdownLegend(&b, markLegend(g.values, w.conditions, "bold:", "italic:"))
	list(l.Explanations(o.Spec))
	list(DescribeOmitted(o.Spec))
	if empty := w.notDefined(l); empty != "" {
		paragraph(empty + ".")
	}
	for _, t := range w.sizeGrids(l) {
		b.WriteString("### " + escapeMarkdown(t.title) + "\n\n")
		page := t.withPageHeads()
		writeMarkdownTable(&b, &page.grid)
		writeMarkdownLegend(&b, markLegend(t.values, w.conditions, "bold:", "italic:"))
	}
	for _, words := range describeSeeds(o) {
		paragraph(words)
	}
	for _, words := range paperSources(o, w) {
		paragraph("paper: " + words)
	}
	list(machineFacts(o))
	list(programLines(o))
	list(summaryLines(o))
	return strings.TrimRight(b.String(), "\n") + "\n", nil
}

// writeMarkdownClaims writes the claims with their verdicts.
func writeMarkdownClaims(b *strings.Builder, o *results.Outcome, lab bool) {
	if len(o.Claims) == 0 {
		return
	}
	b.WriteString("**" + escapeMarkdown(verdictCounts(o.Claims)) + "**\n\n")
	head, rule, runs := "| verdict ", "|:--", "runs"
	if lab {
		head, rule, runs = "| simulator | lab ", "|:--|:--", "runs (simulator, lab)"
	}
	b.WriteString(head + "| claim | " + runs + " | statement | deciding point |\n" + rule + "|:--|--:|:--|:--|\n")
	for _, c := range pairClaims(o) {
		verdict, n := string(c.Verdict), strconv.Itoa(c.N)
		if lab && c.Sim != nil {
			verdict, n = string(c.Sim.Verdict)+" | "+verdict, fmt.Sprintf("%d, %d", c.Sim.N, c.N)
		} else if lab {
			verdict, n = undefinedText+" | "+verdict, undefinedText+", "+n
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s |\n", verdict, escapeMarkdown(c.ID), n, escapeMarkdown(c.Says),
			escapeMarkdown(c.Measured))
	}
	b.WriteString("\n")
}

// writeMarkdownTable writes a table with the header in one line.
func writeMarkdownTable(b *strings.Builder, g *grid) {
	columns := append(append([]column{}, g.keys...), g.values...)
	if len(columns) == 0 {
		return
	}
	head, rule := "|", "|"
	for i := range columns {
		var words []string
		for _, h := range columns[i].head {
			if h != "" {
				words = append(words, escapeMarkdown(h))
			}
		}
		head += " " + strings.Join(words, " ") + " |"
		if columns[i].leftAligned {
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
			x := escapeMarkdown(c.String())
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

// writeMarkdownLegend writes a legend as a paragraph; no paragraph for "".
func writeMarkdownLegend(b *strings.Builder, legend string) {
	if legend != "" {
		b.WriteString(escapeMarkdown(legend) + ".\n\n")
	}
}

var markdownEscaper = strings.NewReplacer(`\`, `\\`, "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"<", "&lt;", ">", "&gt;", "[", `\[`, "]", `\]`, "#", `\#`, "&", "&amp;", "~", `\~`, "$", `\$`, "!", `\!`)

// escapeMarkdown returns a text in one line with Markdown escaped.
func escapeMarkdown(s string) string {
	s = markdownEscaper.Replace(text.EscapeLine(strings.Join(strings.Fields(s), " ")))
	switch { // at the beginning of a line these would make a list
	case strings.HasPrefix(s, "- "), strings.HasPrefix(s, "+ "), strings.HasPrefix(s, "--"), strings.HasPrefix(s, "=="):
		return `\` + s
	}
	return s
}
