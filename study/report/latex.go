package report

import (
	"fmt"
	"strings"
	"unicode"

	"weir/internal/text"
	"weir/study/results"
)

// lineOfText is how many characters a table has beside each other in LaTeX: what does not fit is a table below.
const lineOfText = 110

// LaTeX is the report as tables to be read in by \input: claims, results, and tables by flow size. They need the
// package booktabs, and no other.
func (l *TableOptions) LaTeX(o *results.Outcome) (string, error) {
	w := worldsOf(o)
	l = l.resolve(o.Spec, w.all)
	if err := w.check(l, o); err != nil {
		return "", err
	}
	var b strings.Builder
	comment := func(words string) { b.WriteString("% " + text.Shown(words) + "\n") }
	comment(o.Spec.Title())
	comment(facts(o, len(w.own)))
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
	label := "tab:" + fileName(o.Name)
	latexClaims(&b, o, w.lab, label)
	g, same := w.grid(l)
	caption := []string{o.Spec.Title()}
	if len(same) > 0 {
		caption = append(caption, "At all points: "+strings.Join(same, ", "))
	}
	if line := agreementLine(o); line != "" {
		caption = append(caption, line)
	}
	caption = append(caption, "Mean ± half of the 95 % interval over the seeds")
	if legend := legendOf(g.values, w.conditions, "bold:", "underlined:"); legend != "" {
		caption = append(caption, legend)
	}
	caption = append(caption, Without(o.Spec)...)
	if empty := w.notDefined(l); empty != "" {
		caption = append(caption, empty)
	}
	for _, s := range sources(o, w) {
		caption = append(caption, "Of the paper, "+s)
	}
	for _, line := range l.Explained(o.Spec) {
		comment(line)
	}
	latexTable(&b, g.forPage(), caption, label+"-results")
	for i, t := range w.sizeGrids(l) {
		caption := []string{o.Spec.Title() + ": " + t.title}
		if legend := legendOf(t.values, w.conditions, "bold:", "underlined:"); legend != "" {
			caption = append(caption, legend)
		}
		latexTable(&b, &t.grid, caption, fmt.Sprintf("%s-size-%d", label, i+1))
	}
	return b.String(), nil
}

// latexClaims writes a table of the claims with their verdicts.
func latexClaims(b *strings.Builder, o *results.Outcome, lab bool, label string) {
	if len(o.Claims) == 0 {
		return
	}
	form, head := "lp{0.6\\linewidth}r", "verdict & the paper says & runs"
	if lab {
		form, head = "llp{0.55\\linewidth}r", "simulator & lab & the paper says & runs in the lab"
	}
	latexBegin(b, []string{o.Spec.Title() + ": " + verdictsOf(o.Claims)}, label+"-claims")
	b.WriteString("\\begin{tabular}{" + form + "}\n\\toprule\n" + head + " \\\\\n\\midrule\n")
	for _, c := range pairClaims(o) {
		if lab {
			sim := undefinedText
			if c.Sim != nil {
				sim = string(c.Sim.Verdict)
			}
			b.WriteString(inLaTeX(sim) + " & ")
		}
		fmt.Fprintf(b, "%s & %s & %d \\\\\n", inLaTeX(string(c.Verdict)), inLaTeX(c.Says), c.N)
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n\\end{table}\n")
}

func latexBegin(b *strings.Builder, caption []string, label string) {
	for i := range caption {
		caption[i] = inLaTeX(strings.TrimSuffix(upper(caption[i]), "."))
	}
	b.WriteString("\n\\begin{table}\n\\centering\n\\caption{" + strings.Join(caption, ". ") +
		".}\n\\label{" + label + "}\n")
}

// upper is a sentence, which begins with a capital.
func upper(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// latexTable writes a table; what does not fit beside comes below, with the keys again.
func latexTable(b *strings.Builder, g *grid, caption []string, label string) {
	if len(g.keys)+len(g.values) == 0 {
		return
	}
	latexBegin(b, caption, label)
	values := g.values
	for i, n := range g.parts(lineOfText) {
		if i > 0 {
			b.WriteString("\n\\medskip\n")
		}
		latexPart(b, g, append(append([]column{}, g.keys...), values[:n]...))
		values = values[n:]
	}
	b.WriteString("\\end{table}\n")
}

func latexPart(b *strings.Builder, g *grid, columns []column) {
	form := ""
	for i := range columns {
		if columns[i].left {
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
			row(func(c *column) string { return inLaTeX(c.head[line]) })
		}
	}
	b.WriteString("\\midrule\n")
	for r := range g.rows {
		if r > 0 && g.apart != nil && g.apart(r) {
			b.WriteString("\\addlinespace\n")
		}
		row(func(c *column) string { return latexCell(&c.cells[r]) })
	}
	b.WriteString("\\bottomrule\n\\end{tabular}\n")
}

// latexCell is a number in mathematics, or a text.
func latexCell(c *cell) string {
	if c.mean == "" {
		return inLaTeX(c.text)
	}
	mean := latexNumber(c.mean)
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
		mean += " \\pm " + latexNumber(c.half)
	}
	return "$" + mean + "$"
}

// latexNumber writes powers of ten as such.
func latexNumber(s string) string {
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

// latexOf has what stands for characters that LaTeX takes for commands, joins, or has in mathematics only.
var latexOf = map[rune]string{'\\': `\textbackslash{}`, '{': `\{`, '}': `\}`, '#': `\#`, '$': `\$`, '%': `\%`,
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

// inLaTeX is a text of which nothing is a command. Letters of Latin alphabets stay; a character that the fonts of a
// plain document do not have is named by its code.
func inLaTeX(s string) string {
	var b strings.Builder
	before := rune(0)
	for _, r := range text.Shown(s) {
		if r == '-' && before == '-' {
			b.WriteString("{}") // two would be joined to a dash
		}
		before = r
		switch x, ok := latexOf[r]; {
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
