package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CONTRIBUTING's own scheme is a module that builds and runs, and the page shows it as it is.
func TestOwnScheme(t *testing.T) {
	text, err := os.ReadFile("../../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("../../examples/ownscheme/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "<!-- own scheme: begin -->\n")
	shown, _, ok := strings.Cut(shown, "<!-- own scheme: end -->")
	var lines []string
	for _, l := range strings.Split(strings.TrimRight(string(code), "\n"), "\n") {
		lines = append(lines, strings.TrimRight("    "+strings.ReplaceAll(l, "\t", "    "), " "))
	}
	if !ok || shown != strings.Join(lines, "\n")+"\n" {
		t.Error("CONTRIBUTING.md shows another program than examples/ownscheme/main.go")
	}
	binary := filepath.Join(t.TempDir(), "ownscheme")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", binary, ".")
	build.Dir = "../../examples/ownscheme"
	build.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := exec.Command(binary, "run", "early.yaml", "--check", "--out", t.TempDir())
	run.Dir = build.Dir
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "holds      short") {
		t.Errorf("%v\n%s", err, out)
	}
	list := exec.Command(binary, "list", "schemes")
	if out, err := list.CombinedOutput(); err != nil || !strings.Contains(string(out), "early") ||
		!strings.Contains(string(out), "abc") {
		t.Errorf("%v\n%s", err, out)
	}
}
