package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// README's first hour, done as it is written: its commands in a folder of their own,
// and its changes to the file that they make.
func TestFirstHour(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, hour, _ := strings.Cut(string(readme), "<!-- first hour: begin -->\n")
	hour, _, ok := strings.Cut(hour, "<!-- first hour: end -->")
	if !ok {
		t.Fatal("README has no first hour")
	}
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine.yaml")
	said := map[string]string{} // by command
	at := -1                    // in mine.yaml, where a line was taken out just before
	for _, line := range strings.Split(hour, "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		switch {
		case !ok:
		case command[0] == '-' || command[0] == '+':
			data, err := os.ReadFile(mine)
			if err != nil {
				t.Fatal(err)
			}
			text, changed := string(data), command[1:]+"\n"
			switch {
			case command[0] == '-':
				if strings.Count(text, changed) != 1 {
					t.Fatalf("mine.yaml does not have this line once: %s", changed)
				}
				at = strings.Index(text, changed)
				text = strings.Replace(text, changed, "", 1)
			case at >= 0:
				text = text[:at] + changed + text[at:]
				at = -1
			default:
				text += changed
			}
			if err := os.WriteFile(mine, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		case command == "go build ./cmd/weir":
			if err := os.Symlink(build(t), filepath.Join(dir, "weir")); err != nil {
				t.Fatal(err)
			}
		default:
			c := exec.Command("sh", "-c", command)
			c.Dir = dir
			out, err := c.CombinedOutput()
			if err != nil {
				t.Fatalf("%s: %v\n%s", command, err, out)
			}
			said[command] = string(out)
		}
	}
	for command, want := range map[string][]string{
		"./weir list":            {"p4abc/fig5 "},
		"./weir run p4abc/fig5":  {"holds      fig5.abc.fair", "report.html\n"},
		"./weir check mine.yaml": {"mine is valid: 30 runs"},
		"./weir run mine.yaml":   {"BBR against CUBIC\n", "holds      mine.cubic-lives", "report.html\n"},
		"./weir diff p4abc/fig5 mine.yaml": {"A  p4abc/fig5, 30 runs\nB  mine, 30 runs\n",
			"traffic.client0.cc: not there → bbr\n", "scheme=without n=16\n"},
	} {
		t.Run(command, func(t *testing.T) {
			for _, w := range want {
				if !strings.Contains(said[command], w) {
					t.Errorf("%s does not say %q:\n%s", command, w, said[command])
				}
			}
		})
	}
	if said["./weir report mine.yaml"] != said["./weir run mine.yaml"] {
		t.Errorf("the report says something else than the run:\n%s", said["./weir report mine.yaml"])
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "results", "*", "report.html"))
	if len(pages) != 2 {
		t.Errorf("reports: %v", pages)
	}
	// The README's picture is the plot that the first hour's run has made.
	plots, _ := filepath.Glob(filepath.Join(dir, "results/p4abc-fig5-*/plots/1-goodput-over-n.svg"))
	if len(plots) != 1 {
		t.Fatalf("the run has left %d plots of goodput over n", len(plots))
	}
	made, err := os.ReadFile(plots[0])
	if err != nil {
		t.Fatal(err)
	}
	shown, err := os.ReadFile("../../docs/fig5.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(made) != string(shown) {
		t.Error("docs/fig5.svg is not what weir run p4abc/fig5 draws; copy its plots/1-goodput-over-n.svg there")
	}
}
