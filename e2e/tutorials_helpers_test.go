//go:build slow || system

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const tutorials = "../docs/tutorials"

// step is a part of a tutorial: a file to write, commands, or their output.
type step struct {
	file string // "": commands
	text string
	want []string // lines that are in what the commands print, in this order
}

var fenced = regexp.MustCompile("(?s)(?:<!-- (file|output)(?:: (\\S+))? -->\n)?```([a-z]+)\n(.*?)```\n")

// steps reads a tutorial. Every block is used.
func steps(t *testing.T, page string) (all []step) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tutorials, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fenced.FindAllStringSubmatch(string(data), -1) {
		switch {
		case m[1] == "file" && m[2] != "":
			all = append(all, step{file: m[2], text: m[4]})
		case m[1] == "output" && len(all) > 0 && all[len(all)-1].file == "":
			all[len(all)-1].want = strings.Split(strings.TrimSuffix(m[4], "\n"), "\n")
		case m[1] == "" && m[3] == "sh":
			all = append(all, step{text: m[4]})
		default:
			t.Errorf("%s has a block that is neither a file, commands nor their output:\n%s", page, m[0])
		}
	}
	return all
}

// firstHour is the tutorial that TestFirstHour runs: it starts in a clone, and builds Weir itself.
const firstHour = "first-hour.md"

// pages returns the tutorials that start from an empty folder, and checks that the folder's README lists all.
func pages(t *testing.T) (names []string) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(tutorials, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(tutorials, "[^._]*.md"))
	for _, f := range files {
		if name := filepath.Base(f); name != "README.md" {
			if name != firstHour {
				names = append(names, name)
			}
			if !strings.Contains(string(index), "("+name+")") {
				t.Errorf("the list of tutorials lacks %s", name)
			}
		}
	}
	if len(names) < 4 {
		t.Fatalf("there are only %v", names)
	}
	return names
}

// root returns the folder of the clone.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// emptyFolder makes an empty folder next to a clone of Weir.
func emptyFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(root(t), filepath.Join(dir, "weir")); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.Mkdir(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	return mine
}

// carryOut runs a tutorial's steps in a folder; instead replaces words of its commands. The clone is named by its own
// path, not by the link next to the folder: go build then finds the packages of the clone in its cache.
func carryOut(t *testing.T, dir string, all []step, instead *strings.Replacer) {
	t.Helper()
	for _, s := range all {
		if s.file != "" {
			path := filepath.Join(dir, s.file)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(s.text), 0o666); err != nil {
				t.Fatal(err)
			}
			continue
		}
		text := strings.ReplaceAll(s.text, "weir=../weir", "weir="+root(t))
		cmd := exec.Command("sh", "-ec", instead.Replace(text))
		cmd.Dir = dir
		cmd.Env = sharedBuilds()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s%v\n%s", s.text, err, out)
		}
		for line := range strings.Lines(string(out)) {
			if strings.HasPrefix(line, "warning: ") && !slices.ContainsFunc(s.want, func(want string) bool {
				return strings.Contains(line, want)
			}) {
				t.Errorf("%sprints a warning that the page does not show: %s", s.text, line)
			}
		}
		rest := string(out)
		for _, want := range s.want {
			_, after, found := strings.Cut(rest, want)
			if !found {
				t.Fatalf("%sdoes not print %q\n%s", s.text, want, out)
			}
			rest = after
		}
	}
}

// plotted holds a tutorial against its last sentence: that there are these plots.
func plotted(t *testing.T, dir, page string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(tutorials, page))
	if err != nil {
		t.Fatal(err)
	}
	want := 0
	for word, n := range map[string]int{"Both plots are there": 2, "Two plots are there": 2, "Three plots are there": 3} {
		if strings.Contains(string(data), word) {
			want = n
		}
	}
	plots, _ := filepath.Glob(filepath.Join(dir, "results", "*", "plots", "*.svg"))
	if want == 0 || len(plots) != want {
		t.Errorf("%d plots are promised, and there are %v", want, plots)
	}
	for _, p := range plots {
		if data, err := os.ReadFile(p); err != nil || !bytes.Contains(data, []byte("<path")) {
			t.Errorf("%s has no curve: %v", p, err)
		}
	}
}
