//go:build system

package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/await"
)

// TestFirstHour walks the first hour as it is printed: its commands in a folder, with its change to an experiment.
func TestFirstHour(t *testing.T) {
	dir := t.TempDir()
	walk := steps(t, firstHour)
	if len(walk) < 6 || !strings.HasPrefix(walk[0].text, "go build ./cmd/weir\n") {
		t.Fatalf("the first of %d blocks does not build Weir", len(walk))
	}
	link := "ln -s " + await.RequireProgram(t, "cmd/weir") + " weir\n"
	carryOut(t, dir, walk, strings.NewReplacer("go build ./cmd/weir\n", link))
	output := func(args ...string) string {
		c := exec.Command("./weir", args...)
		c.Dir = dir
		out, err := c.Output()
		if err != nil {
			t.Fatalf("weir %v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	again := regexp.MustCompile(`(?m)^30 runs reused from earlier.*\n`)
	ran, reported := output("run", "mine.yaml"), output("report", "mine.yaml")
	if !again.MatchString(ran) || again.ReplaceAllString(ran, "") != reported {
		t.Errorf("weir report prints\n%s\nand the run\n%s", reported, ran)
	}
	checkPages(t, dir)
}

// checkPages checks that runs have left reports, and that the README's picture is the plot of one of them.
func checkPages(t *testing.T, dir string) {
	t.Helper()
	pages, _ := filepath.Glob(filepath.Join(dir, "results", "*", "report.html"))
	if len(pages) != 2 {
		t.Errorf("reports: %v", pages)
	}
	plots, _ := filepath.Glob(filepath.Join(dir, "results/p4abc-fig5-*/plots/1-goodput-over-n.svg"))
	if len(plots) != 1 {
		t.Fatalf("the run has left %d plots of goodput over n", len(plots))
	}
	made, err := os.ReadFile(plots[0])
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../docs/fig5.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(made) != string(shown) {
		t.Error("docs/fig5.svg is not what weir run p4abc/fig5 draws; copy its plots/1-goodput-over-n.svg there")
	}
}

// TestFirstHourPatch checks that patch accepts the first hour's change, too, and gives the same file as git apply.
func TestFirstHourPatch(t *testing.T) {
	change := changeOfFirstHour(t)
	var made []string
	for _, command := range []string{"git apply", "patch -p1"} {
		words := strings.Fields(command)
		testkit.RequireProgram(t, words[0], words[0])
		dir := t.TempDir()
		file := filepath.Join(dir, "mine.yaml")
		if err := os.WriteFile(file, copyOfFig5(t), 0o666); err != nil {
			t.Fatal(err)
		}
		c := exec.Command(words[0], words[1:]...)
		c.Dir, c.Stdin = dir, strings.NewReader(change)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, string(data))
	}
	if made[0] != made[1] || made[0] != patched(t, string(copyOfFig5(t)), change) {
		t.Errorf("git apply makes\n%s\nand patch\n%s", made[0], made[1])
	}
}
