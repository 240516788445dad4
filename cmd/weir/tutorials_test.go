package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const tutorials = "../../docs/tutorials"

// step is a piece of a tutorial: a file that is written, commands, or what they have printed.
type step struct {
	file string // "": commands
	text string
	want []string // lines that are in what the commands print, in this order
}

var fenced = regexp.MustCompile("(?s)(?:<!-- (file|output)(?:: (\\S+))? -->\n)?```([a-z]+)\n(.*?)```\n")

// steps reads a tutorial. Whatever is in a block is used.
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

// firstHour is the tutorial that TestFirstHour walks: it starts in a clone, and builds Weir itself.
const firstHour = "first-hour.md"

// pages returns the tutorials that start from an empty folder, and checks that the folder's README lists all.
func pages(t *testing.T) (names []string) {
	t.Helper()
	index, err := os.ReadFile(filepath.Join(tutorials, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(tutorials, "*.md"))
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

// emptyFolder makes a folder that has a clone of Weir beside it, and is empty.
func emptyFolder(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(root, filepath.Join(dir, "weir")); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(dir, "mine")
	if err := os.Mkdir(mine, 0o777); err != nil {
		t.Fatal(err)
	}
	return mine
}

// carryOut does what a tutorial says in a folder; instead replaces words of its commands.
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
		cmd := exec.Command("sh", "-ec", instead.Replace(s.text))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath -buildvcs=false", "GOWORK=off")
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

var registered = regexp.MustCompile(`(?m)^\tr\.[A-Z].*$`)

// TestTutorials: each tutorial does what it says, with its files as they are printed, but for two differences, since
// linking is slow: one program has the additions of all, and is built once (with -tags slow each is built on its own).
func TestTutorials(t *testing.T) {
	dir := emptyFolder(t)
	var imports, lines, setup []string
	all := map[string][]step{}
	for _, page := range pages(t) {
		all[page] = steps(t, page)
		for i, s := range all[page] {
			switch {
			case i == 0:
				setup = append(setup, s.text)
			case s.file == "main.go":
				lines = append(lines, registered.FindString(s.text))
				imports = append(imports, regexp.MustCompile(`"example.org/mine/[a-z]+"`).FindString(s.text))
			case strings.HasSuffix(s.file, ".go"): // also what is written anew
				carryOut(t, dir, []step{s}, strings.NewReplacer())
			}
		}
	}
	if len(slices.Compact(setup)) != 1 || slices.Contains(lines, "") || slices.Contains(imports, "") {
		t.Fatalf("%q, %q, %q", setup, lines, imports)
	}
	program := fmt.Sprintf("package main\n\nimport (\n\t\"os\"\n\n\t%s\n\n\t\"weir/cmd/weir/cli\"\n)\n\nfunc main() {\n"+
		"\tr := cli.Registry()\n%s\n\tos.Exit(cli.Main(r))\n}\n", strings.Join(imports, "\n\t"), strings.Join(lines, "\n"))
	carryOut(t, dir, []step{{text: setup[0]}, {file: "main.go", text: program},
		{text: "go mod tidy\ngo build -o ../program .\ngo test ./...\n"}}, strings.NewReplacer())
	for page, steps := range all {
		t.Run(page, func(t *testing.T) {
			own := filepath.Join(t.TempDir(), "mine")
			for _, s := range steps[1:] {
				if s.file == "" && len(s.want) > 0 && strings.Contains(s.want[0], "it reads telemetry") {
					continue // of the first of two versions: TestCheckTraps, and with -tags slow here
				}
				carryOut(t, mkdir(t, own), []step{s}, strings.NewReplacer("go run .", filepath.Dir(dir)+"/program",
					"go mod tidy\n", "", "go test", "true"))
			}
			plotted(t, own, page)
		})
	}
}

func mkdir(t *testing.T, dir string) string {
	t.Helper()
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}
