//go:build system

package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestLaTeXCompiles checks that a real LaTeX compiles the tables, where one is installed.
func TestLaTeXCompiles(t *testing.T) {
	program, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("pdflatex is not installed (Debian: texlive-latex-recommended); " +
			"TestMarkdown_EscapesHostileTexts checks what is escaped")
	}
	o := tableOutcome(t, judged)
	for _, r := range o.Runs {
		r.Point[0].Text = "[" + r.Point[0].Text + hostileDocument
	}
	o.Claims = outcome(t).Claims
	o.Claims[0].Says = hostileDocument
	options := &TableOptions{}
	dir := t.TempDir()
	body := ""
	for _, x := range []string{"a", "b"} {
		y := o
		if x == "b" {
			y = labOutcome(t)
		}
		tex, err := options.LaTeX(y)
		if err != nil {
			t.Fatal(err)
		}
		body += "\\input{" + x + "}\n"
		if err := os.WriteFile(filepath.Join(dir, x+".tex"), []byte(tex), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	main := "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n" + body + "\\end{document}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.tex"), []byte(main), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-interaction=nonstopmode", "-halt-on-error", "main")
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out[max(0, len(out)-3000):])
	}
}
