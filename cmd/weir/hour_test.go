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
	said := follow(t, dir, hour)
	for command, want := range map[string][]string{
		"./weir list":            {"p4abc/fig5 "},
		"./weir run p4abc/fig5":  {"holds      fig5.abc.fair", "report.html\n"},
		"./weir check mine.yaml": {"mine is valid: 30 runs"},
		"./weir run mine.yaml":   {"BBR against CUBIC\n", "holds      mine.cubic-lives", "report.html\n"},
		"./weir diff p4abc/fig5 mine.yaml": {"A  p4abc/fig5, 30 runs\nB  mine, 30 runs\n",
			"traffic.client0.cc: cubic → bbr\n", "scheme=without n=16\n"},
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
	checkPages(t, dir)
}

// follow does what the hour says in a folder, and returns what its commands have printed.
func follow(t *testing.T, dir, hour string) (said map[string]string) {
	mine := filepath.Join(dir, "mine.yaml")
	said = map[string]string{} // by command
	at := -1                   // in mine.yaml, where a line was taken out just before
	for _, line := range strings.Split(hour, "\n") {
		command, ok := strings.CutPrefix(line, "    ")
		switch {
		case !ok:
		case command[0] == '-' || command[0] == '+':
			at = edit(t, mine, command, at)
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
	return said
}

// edit takes a line out of a file (-) or puts one (+) where one was taken out just before, else
// at its end. It returns where one was taken out, or −1.
func edit(t *testing.T, file, change string, at int) int {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text, line := string(data), change[1:]+"\n"
	switch {
	case change[0] == '-':
		if strings.Count(text, line) != 1 {
			t.Fatalf("%s does not have this line once: %s", filepath.Base(file), line)
		}
		at = strings.Index(text, line)
		text = strings.Replace(text, line, "", 1)
	case at >= 0:
		text = text[:at] + line + text[at:]
		at = -1
	default:
		text += line
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return at
}

// checkPages checks that runs have left reports, and that the README's picture is what one has drawn.
func checkPages(t *testing.T, dir string) {
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
	shown, err := os.ReadFile("../../docs/fig5.svg")
	if err != nil {
		t.Fatal(err)
	}
	if string(made) != string(shown) {
		t.Error("docs/fig5.svg is not what weir run p4abc/fig5 draws; copy its plots/1-goodput-over-n.svg there")
	}
}
