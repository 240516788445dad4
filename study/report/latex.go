package report

import (
	"fmt"
	"strings"
	"unicode"

	"weir/internal/text"
	"weir/study/results"
)

// latexWidth is the maximum number of characters of a table's line in LaTeX. Further columns follow in a table below.
const latexWidth = 110

// LaTeX returns the report as tables for \input: claims, results, and tables by flow size. They need the package
// booktabs. An error is about an option that names a missing value.
func (l *TableOptions) LaTeX(o *results.Outcome) (string, error) {
	w := newWorlds(o)
	l = l.resolve(o.Spec, w.quantities)
	if err := w.checkOptions(l, o); err != nil {
		return "", err
	}
	var b strings.Builder
	comment := func(words string) { b.WriteString("% " + text.EscapeLine(words) + "\n") }
	comment(o.Spec.Title())
	comment(factsLine(o, len(w.own)))
	if cut := cutShort(o); cut != "" {
		comment(cut)
	}
	for _, line := range summaryLines(o) {
		comment(line)
	}
	if o.Command != "" {
		comment(o.Command)
	}
	comment("Tables for \\input; the preamble needs \\usepackage{booktabs}.")
	label := "tab:" + safeFileName(o.Name)
	writeLatexClaims(&b, o, w.lab, label)
	g, same := w.resultGrid(l)
	caption := []string{o.Spec.Title()}
	if len(same) > 0 {
		caption = append(caption, "At all points: "+strings.Join(same, ", "))
	}
	if line := agreementLine(o); line != "" {
		caption = append(caption, line)
	}
	caption = append(caption, "Mean ± half of the 95 % interval over the seeds")
	if legend := markLegend(g.values, w.conditions, "bold:", "underlined:"); legend != "" {
		caption = append(caption, legend)
	}
	caption = append(caption, DescribeOmitted(o.Spec)...)
	if empty := w.notDefined(l); empty != "" {
		caption = append(caption, empty)
	}
	for _, s := range paperSources(o, w) {
		caption = append(caption, "From the paper: "+s)
	}
	for _, line := range l.Explanations(o.Spec) {
		comment(line)
	}
	writeLatexTable(&b, g.forDocument(), caption, label+"-results")
	for i, t := range w.sizeGrids(l) {
		caption := []string{o.Spec.Title() + ": " + t.title}
		if legend := markLegend(t.values, w.conditions, "bold:", "underlined:"); legend != "" {
			caption = append(caption, legend)
		}
		writeLatexTable(&b, &t.grid, caption, fmt.Sprintf("%s-size-%d", label, i+1))
	}
	return b.String(), nil
}

// writeLatexClaims writes a table of the claims with their verdicts; no table without claims. lab adds a column for the
// simulator.
func writeLatexClaims(b *strings.Builder, o *results.Outcome, lab bool, label string) {
	if len(o.Claims) == 0 {
		return
	}
	form, head := "lp{0.6\\linewidth}r", "verdict & claim of the paper & runs"
	if lab {
		form, head = "llp{0.55\\linewidth}r", "simulator & lab & claim of the paper & runs in the lab"
	}
	beginLatexTable(b, []string{o.Spec.Title() + ": " + verdictCounts(o.Claims)}, label+"-claims")
	b.WriteString("\\begin{tabular}{" + form + "}\n\\toprule\n" + head + " \\\\\n\\midrule\n")
	for _, c := range pairClaims(o) {
		if lab {
			sim := undefinedText
			if c.Sim != nil {
				sim = string(c.Sim.Verdict)
			}
			b.WriteString(escapeLaTeX(sim) + " & ")
		}
		fmt.Fprintf(b, "%s & %s & %d \\\\\n", escapeLaTeX(string(c.Verdict)), escapeLaTeX(c.Says), c.N)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
}

// beginLatexTable begins a table with caption and label. It modifies caption.
func beginLatexTable(b *strings.Builder, caption []string, label string) {
	for i := range caption {
		caption[i] = escapeLaTeX(strings.TrimSuffix(capitalize(caption[i]), "."))
	}
	b.WriteString("\n\\begin{table}\n\\centering\n\\caption{" + strings.Join(caption, ". ") +
		".}\n\\label{" + label + "}\n")
}

// capitalize returns s with its first letter in upper case.
func capitalize(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// writeLatexTable writes a table. Columns beyond latexWidth follow below, with the keys repeated. It modifies caption.
func writeLatexTable(b *strings.Builder, g *grid, caption []string, label string) {
	if len(g.keys)+len(g.values) == 0 {
		return
	}
	beginLatexTable(b, caption, label)
	values := g.values
	for i, n := range g.splitColumns(latexWidth) {
		if i > 0 {
			b.WriteString("\n\\medskip\n")
		}
		writeLatexTabular(b, g, append(append([]column{}, g.keys...), values[:n]...))
		values = values[n:]
	}
	b.WriteString("\\end{table}\n")
}

// writeLatexTabular writes the tabular environment of some columns of g, which defines rows and groups.
func writeLatexTabular(b *strings.Builder, g *grid, columns []column) {
	form := ""
	for i := range columns {
		if columns[i].leftAligned {
			form += "l"
		} else {
			form += "r"
		}
	}
	b.WriteString("\\begin{tabular}{" + form + "}\n\\toprule\n")
	row := func(text func(c *column) string) {
		var cells []string
		for i := range columns {
			cells = append(cells, text(&columns[i]))
		}
		b.WriteString(strings.Join(cells, " & ") + " \\\\\n")
	}
	for line := range columns[0].head {
		empty := true
		for i := range columns {
			empty = empty && columns[i].head[line] == ""
		}
		if !empty {
			row(func(c *column) string { return escapeLaTeX(c.head[line]) })
		}
	}
	b.WriteString("\\midrule\n")
	for r := range g.rows {
		if r > 0 && g.startsGroup != nil && g.startsGroup(r) {
			b.WriteString("\\addlinespace\n")
		}
		row(func(c *column) string { return formatLatexCell(&c.cells[r]) })
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}

// formatLatexCell returns a number in math mode, or an escaped text.
func formatLatexCell(c *cell) string {
	if c.mean == "" {
		return escapeLaTeX(c.text)
	}
	mean := formatLatexNumber(c.mean)
	switch c.mark {
	case bestMark:
		mean = "\\mathbf{" + mean + "}"
	case tiedMark:
		mean = "\\underline{" + mean + "}"
	}
	if c.partial != "" {
		mean += "^\\dagger"
	}
	if c.half != "" {
		mean += " \\pm " + formatLatexNumber(c.half)
	}
	return "$" + mean + "$"
}

// formatLatexNumber converts an exponent to a power of ten: 1e-05 becomes 1 \times 10^{-5}. Other numbers stay
// unchanged.
func formatLatexNumber(s string) string {
	digits, power, ok := strings.Cut(s, "e")
	if !ok {
		return s
	}
	sign := ""
	if strings.HasPrefix(power, "-") {
		sign = "-"
	}
	return digits + " \\times 10^{" + sign + strings.TrimLeft(power, "+-0") + "}"
}

// latexEscapes maps characters that LaTeX interprets, joins, or has only in math mode.
var latexEscapes = map[rune]string{'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '#': `\#`, '$': `\$`, '%': `\%`,
	'&': `\&`,
	'_': `\_`, '~': `\textasciitilde{}`, '^': `\textasciicircum{}`, '<': `\textless{}`, '>': `\textgreater{}`,
	'|': `\textbar{}`, '"': `''`, '`': "{`}", '[': "{[}", ']': "{]}", '*': "{*}",
	'–': "--", '—': "---", '…': `\ldots{}`, '§': `\S{}`, '°': `$^\circ$`, '±': `$\pm$`, '·': `$\cdot$`, '×': `$\times$`,
	'÷': `$\div$`, '−': `$-$`, '≤': `$\leq$`, '≥': `$\geq$`, '≠': `$\neq$`, '≈': `$\approx$`, '→': `$\rightarrow$`,
	'←': `$\leftarrow$`, '∞': `$\infty$`, '√': `$\surd$`, '²': `$^2$`, '³': `$^3$`, '¹': `$^1$`, '½': `$\frac{1}{2}$`,
	'µ': `$\mu$`, 'α': `$\alpha$`, 'β': `$\beta$`, 'γ': `$\gamma$`, 'δ': `$\delta$`, 'ε': `$\varepsilon$`, 'η': `$\eta$`,
	'θ': `$\theta$`, 'κ': `$\kappa$`, 'λ': `$\lambda$`, 'μ': `$\mu$`, 'π': `$\pi$`, 'ρ': `$\rho$`, 'σ': `$\sigma$`,
	'τ': `$\tau$`, 'φ': `$\varphi$`, 'ω': `$\omega$`, 'Δ': `$\Delta$`, 'Σ': `$\Sigma$`, 'Ω': `$\Omega$`, 'Φ': `$\Phi$`,
	'“': "``", '”': "''", '‘': "`", '’': "'", '\u00a0': "~", '′': `$'$`,
	'†': `$^\dagger$`}

// escapeLaTeX escapes a text. It keeps letters of Latin alphabets and replaces other characters that a plain document's
// fonts lack by their code, such as [U+4E00].
func escapeLaTeX(s string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range text.EscapeLine(s) {
		if r == '-' && before == '-' {
			b.WriteString("{}") // LaTeX would join two to a dash
		}
		before = r
		switch x, ok := latexEscapes[r]; {
		case ok:
			b.WriteString(x)
		case r < 0x7f || unicode.IsLetter(r) && r < 0x180:
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "{[}U+%04X{]}", r)
		}
	}
	return b.String()
}
