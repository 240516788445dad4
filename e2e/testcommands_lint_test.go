//go:build lint

package e2e

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit"
)

var (
	// testCommand matches a command of a page that runs tests, in code within a line or on a separate line.
	testCommand = regexp.MustCompile("`((?:go test|\\.ci/[a-z]+)\\s[^`]*)`|(?m)^(?: {4})?((?:go test|\\.ci/[a-z]+) .*)$")
	benchmark   = regexp.MustCompile(`(?m)^func (Benchmark\w*)\(`)
	constrained = regexp.MustCompile(`(?m)^//go:build .*\b(lint|system|lab|slow)\b`)
)

// listedTest is a test or a benchmark of the tree, with its stage: "go" without a tag.
type listedTest struct{ folder, name, stage string }

// TestShownTestCommands checks that each command of a page that runs tests selects a test of the stage that its -tags
// name: of `go test ./x -run TestY`, TestY is in ./x and has no tag. Commands for the modules that tutorials make are
// left out.
func TestShownTestCommands(t *testing.T) {
	tree := testkit.TrackedFiles(t, "..")
	all := listedTests(t, tree)
	checked := 0
	err := fs.WalkDir(tree, ".", func(page string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(page) != ".md" || strings.Contains(page, "testdata/") {
			return err
		}
		text, err := fs.ReadFile(tree, page)
		if err != nil {
			return err
		}
		for _, m := range testCommand.FindAllStringSubmatch(string(text), -1) {
			words := strings.Fields(m[1] + m[2])
			if strings.HasPrefix(page, "docs/tutorials/") && slices.ContainsFunc(words, func(w string) bool {
				_, err := fs.Stat(tree, path.Clean(w))
				return strings.HasPrefix(w, "./") && err != nil
			}) {
				continue
			}
			checked++
			if problem := checkTestCommand(words, all); problem != "" {
				t.Errorf("%s: %s: %s", page, strings.Join(words, " "), problem)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 10 {
		t.Errorf("the pages have %d commands; at least 10 were expected", checked)
	}
}

// TestCheckTestCommand checks which commands are accepted.
func TestCheckTestCommand(t *testing.T) {
	all := []listedTest{{"a", "TestA", "go"}, {"a", "TestS", "system"}, {"a/b", "TestB", "go"}, {"a/b", "FuzzB", "go"},
		{"a", "BenchmarkS", "system"}, {"c", "TestL", "lint"}, {"d", "TestLab", "lab"}}
	for command, right := range map[string]bool{
		"go test ./...":                               true,
		"go test -update":                             true,
		"go test ./a":                                 true,
		"go test ./a/b -fuzz FuzzB":                   true,
		"go test ./a -run TestA -update":              true,
		"go test ./a -run TestB":                      false, // in another package
		"go test ./a -run TestS":                      false, // needs the tag
		"go test -tags system ./a -run TestS":         true,
		"go test -tags system ./a -run TestA":         false, // needs no tag
		"go test ./c":                                 false, // all tests need the tag
		"go test -tags lint ./c":                      true,
		"go test ./a -run xxx -bench S":               false,
		"go test -tags system ./a -run xxx -bench S":  true,
		"go test -tags system ./a -run xxx -bench No": false,
		"go test ./nowhere":                           false,
		".ci/lab -run TestLab":                        true,
		".ci/lab -run TestS":                          false,
		".ci/run":                                     true,
	} {
		t.Run(command, func(t *testing.T) {
			if problem := checkTestCommand(strings.Fields(command), all); (problem == "") != right {
				t.Errorf("%q", problem)
			}
		})
	}
}

// listedTests returns the tests of internal/testlist.txt, and the benchmarks of the tree.
func listedTests(t *testing.T, tree fs.FS) (all []listedTest) {
	t.Helper()
	list, err := fs.ReadFile(tree, "internal/testlist.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if words := strings.Fields(line); len(words) == 3 && words[0] != "#" {
			all = append(all, listedTest{words[0], words[1], words[2]})
		}
	}
	err = fs.WalkDir(tree, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		source, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		stage := "go"
		if m := constrained.FindSubmatch(source); m != nil {
			stage = string(m[1])
		}
		for _, m := range benchmark.FindAllSubmatch(source, -1) {
			all = append(all, listedTest{path.Dir(name), string(m[1]), stage})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// checkTestCommand describes a fault of a command that runs tests, or returns "".
func checkTestCommand(words []string, all []listedTest) string {
	stage, folders, pattern, kind := "go", []string(nil), "", "Test"
	if s, ok := strings.CutPrefix(words[0], ".ci/"); ok {
		stage = s
	}
	for i, w := range words {
		value := ""
		if i+1 < len(words) {
			value = strings.Trim(words[i+1], `'"`)
		}
		switch {
		case w == "-tags":
			stage = value
		case w == "-run" && pattern == "":
			pattern = value
		case w == "-bench", w == "-fuzz":
			pattern, kind = value, map[string]string{"-bench": "Benchmark", "-fuzz": "Fuzz"}[w]
		case strings.HasPrefix(w, "./"):
			folders = append(folders, path.Clean(w))
		}
	}
	if slices.Contains(folders, "...") || len(folders) == 0 && pattern == "" {
		return ""
	}
	pattern, _, _ = strings.Cut(pattern, "/") // subtests
	matcher, err := regexp.Compile(pattern)
	if err != nil {
		return err.Error()
	}
	selects := func(x listedTest, folder string) bool {
		ofKind := strings.HasPrefix(x.name, kind) || kind == "Test" && !strings.HasPrefix(x.name, "Benchmark")
		return ofKind && x.stage == stage && matcher.MatchString(x.name) && (folder == "" || folder == x.folder)
	}
	if len(folders) == 0 {
		folders = []string{""}
	}
	for _, f := range folders {
		if !slices.ContainsFunc(all, func(x listedTest) bool { return selects(x, f) }) {
			return "it runs no test of stage " + stage + " in ./" + f
		}
	}
	return ""
}
