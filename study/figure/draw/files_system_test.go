//go:build system

package draw

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/study/figure"
)

// TestPDFTools checks that a PDF embeds its fonts, none of Type 3, and its words can be found.
func TestPDFTools(t *testing.T) {
	for _, tool := range []string{"pdffonts", "pdfinfo", "pdftotext"} {
		testkit.RequireProgram(t, tool, "poppler-utils")
	}
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			f.Title = "queue ≤ 5 µs → α"
			f.Size = figure.PrintSize(89 * mm)
			data, err := f.Render("pdf")
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "f.pdf")
			if err := os.WriteFile(file, data, 0o666); err != nil {
				t.Fatal(err)
			}
			run := func(tool string, args ...string) string {
				out, err := exec.Command(tool, args...).CombinedOutput()
				if err != nil {
					t.Fatalf("%s: %v: %s", tool, err, out)
				}
				return string(out)
			}
			fonts := strings.Split(strings.TrimSpace(run("pdffonts", file)), "\n")
			if len(fonts) < 3 {
				t.Fatalf("no font: %v", fonts)
			}
			for _, l := range fonts[2:] {
				if !regexp.MustCompile(`TrueType +\S+ +yes `).MatchString(l) || strings.Contains(l, "Type 3") {
					t.Errorf("a font: %s", l)
				}
			}
			if info := run("pdfinfo", file); !regexp.MustCompile(`Page size: +252\.28\d* x`).MatchString(info) {
				t.Errorf("its size is %s", info)
			}
			if text := run("pdftotext", file, "-"); !strings.Contains(text, "≤ 5 µs → α") {
				t.Errorf("its text is %s", text)
			}
		})
	}
}

// TestScriptsDraw checks that gnuplot and matplotlib draw a figure's numbers, each by its exported script.
func TestScriptsDraw(t *testing.T) {
	python := "/usr/bin/python3"          // Debian's, which has Debian's packages
	t.Setenv("MPLCONFIGDIR", t.TempDir()) // matplotlib's cache: the home folder may be read-only
	hasPython := exec.Command(python, "-c", "import matplotlib").Run() == nil
	_, err := exec.LookPath("gnuplot")
	if err != nil && !hasPython {
		testkit.SkipMissing(t, "gnuplot or matplotlib", "gnuplot-nox python3-matplotlib")
	}
	for name, f := range samples() {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, data := range exportedFiles(t, f) {
				if err := os.WriteFile(filepath.Join(dir, file), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			run := func(made string, args ...string) {
				c := exec.Command(args[0], args[1:]...)
				c.Dir = dir
				if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
					t.Fatalf("%v: %v: %s", args, err, out)
				}
				if info, err := os.Stat(filepath.Join(dir, made)); err != nil || info.Size() < 2000 {
					t.Errorf("%v has left nothing: %v", args, err)
				}
			}
			if _, err := exec.LookPath("gnuplot"); err == nil {
				run("g.svg", "gnuplot", "f.gp")
			}
			if hasPython {
				run("f-matplotlib.pdf", python, "f.py")
			}
		})
	}
}
