package report

import (
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestDocuments_MatchGoldenFiles checks that documents have the terminal's content: a summary with the claims first,
// the table, marks, and notes of omissions.
func TestDocuments_MatchGoldenFiles(t *testing.T) {
	o := outcome(t)
	o.Spec = paperSpec(t, "")
	options := &TableOptions{}
	doc, err := options.Markdown(o)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "report.md", doc)
	tex, err := options.LaTeX(o)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "report.tex", tex)
	lab := labOutcome(t)
	if doc, err = options.Markdown(lab); err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, "lab.md", doc)
	if tex, err = options.LaTeX(lab); err != nil {
		t.Fatal(err)
	}
	sound(t, tex)
}

// hostileDocument has names that would act in Markdown, LaTeX and on a terminal.
const hostileDocument = "\\input{/etc/passwd} %$#_{}~^&<b>|`x`*y*[z](u)!\x1b]0;x\a\u202e--\"日本µ≤\n\n# no"

// TestMarkdown_EscapesHostileTexts checks that foreign texts are no markup: pipes do not make columns, and no character
// is a command.
func TestMarkdown_EscapesHostileTexts(t *testing.T) {
	o := tableOutcome(t, judged)
	for _, r := range o.Runs {
		r.Point[0].Text = "[" + r.Point[0].Text + hostileDocument
		r.End.Reason += hostileDocument
	}
	o.Claims = outcome(t).Claims
	o.Claims[0].Says, o.Claims[1].ID, o.Claims[2].Measured, o.Command = hostileDocument, hostileDocument, hostileDocument,
		hostileDocument
	options := &TableOptions{}
	doc, err := options.Markdown(o)
	if err != nil {
		t.Fatal(err)
	}
	bars := regexp.MustCompile(`(^|[^\\])\|`)
	columns := 0
	for _, l := range strings.Split(doc, "\n") {
		if !strings.HasPrefix(l, "|") {
			columns = 0
			continue
		}
		n := len(bars.FindAllString(l, -1))
		if columns == 0 {
			columns = n
		}
		if n != columns {
			t.Errorf("%d of %d columns: %s", n, columns, l)
		}
	}
	for _, bad := range []string{"<b>", "\x1b", "\u202e", "\n# no", " `x`", "](u)"} {
		if strings.Contains(strings.ReplaceAll(doc, `\](u)`, ""), bad) {
			t.Errorf("the document has %q", bad)
		}
	}
	tex, err := options.LaTeX(o)
	if err != nil {
		t.Fatal(err)
	}
	sound(t, tex)
	for _, bad := range []string{`\input{/`, "\x1b", "\u202e", "日"} {
		if strings.Contains(withoutComments(tex), bad) {
			t.Errorf("the tables have %q", bad)
		}
	}
	if !strings.Contains(tex, `\textbackslash{}input\{/etc/passwd\} \%\$\#\_\{\}\textasciitilde{}\textasciicircum{}\&`) ||
		!strings.Contains(tex, `{[}U+65E5{]}`) || !strings.Contains(tex, `-{}-`) {
		t.Error(tex)
	}
}

func withoutComments(tex string) string {
	return regexp.MustCompile(`(?m)^%.*$`).ReplaceAllString(tex, "")
}

// sound checks what a compiler would: braces and environments are closed, a row has as many cells as its table has
// columns, and only such commands occur as LaTeX and booktabs have.
func sound(t *testing.T, tex string) {
	t.Helper()
	tex = withoutComments(tex)
	depth := 0
	plainBraces := strings.NewReplacer(`\\`, "", `\{`, "", `\}`, "")
	for _, r := range plainBraces.Replace(tex) {
		if r == '{' {
			depth++
		} else if r == '}' {
			depth--
		}
		if depth < 0 {
			t.Fatal("a brace is closed that is not open")
		}
	}
	if depth != 0 {
		t.Errorf("%d braces are open", depth)
	}
	known := strings.Fields(`begin end centering caption label toprule midrule bottomrule addlinespace medskip
		textbackslash
		textasciitilde textasciicircum textless textgreater textbar mathbf underline pm times linewidth leq mu rightarrow
		ldots S`)
	for _, m := range regexp.MustCompile(`\\([a-zA-Z]+)`).FindAllStringSubmatch(tex, -1) {
		found := false
		for _, k := range known {
			found = found || k == m[1]
		}
		if !found {
			t.Errorf("it has the command \\%s", m[1])
		}
	}
	columns := 0
	for _, l := range strings.Split(tex, "\n") {
		if m := regexp.MustCompile(`^\\begin\{tabular\}\{(.*)\}$`).FindStringSubmatch(l); m != nil {
			columns = len(regexp.MustCompile(`p\{[^}]*\}|[lr]`).FindAllString(m[1], -1))
		}
		if strings.HasSuffix(l, ` \\`) {
			n := len(regexp.MustCompile(`(^|[^\\])&`).FindAllString(l, -1)) + 1
			if n != columns {
				t.Errorf("%d cells of %d: %s", n, columns, l)
			}
			if regexp.MustCompile(`^[\[*]`).MatchString(l) {
				t.Errorf("the row would be an option of the one before: %s", l)
			}
		}
	}
	if strings.Count(tex, `\begin{table}`) != strings.Count(tex, `\end{table}`) {
		t.Error("a table is open")
	}
}
