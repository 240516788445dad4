package faultinject

import (
	"cmp"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// promised matches a test that the page names, with its stage in brackets.
var promised = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`(?: \\(([a-z]+)\\))?")

// stages are the build tags of tests that go test ./... does not run.
var stages = []string{"lint", "system", "lab", "slow"}

// TestDocsPromises checks that every row of docs/promises.md names tests, that the tree has them, and that the page
// has the stage of each: empty for go test ./..., else the build tag of its file. With -update the stages are
// rewritten.
func TestDocsPromises(t *testing.T) {
	const top = "../.."
	file := filepath.Join(top, "docs", "promises.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, tests := 0, map[string]map[string][]string{} // by folder and name
	var b strings.Builder
	for line := range strings.Lines(string(page)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise ") {
			b.WriteString(line)
			continue
		}
		rows++
		if !promised.MatchString(line) {
			t.Errorf("this row names no test: %s", line)
		}
		b.WriteString(promised.ReplaceAllStringFunc(line, func(named string) string {
			x := promised.FindStringSubmatch(named)
			folder := filepath.Join(top, x[1])
			if tests[folder] == nil {
				tests[folder] = stagesOf(t, folder)
			}
			in := tests[folder][x[2]]
			name := "`" + x[1] + "." + x[2] + "`"
			switch {
			case len(in) == 0:
				t.Errorf("there is no %s in %s", x[2], x[1])
				return named
			case slices.Contains(in, x[3]):
				return named
			case in[0] == "":
				t.Logf("%s runs under go test ./..., and the page has (%s)", name, x[3])
				return name
			}
			t.Logf("%s is of stage %s: write %s (%s)", name, in[0], name, in[0])
			return name + " (" + in[0] + ")"
		}))
	}
	if rows < 20 {
		t.Errorf("there are %d promises", rows)
	}
	testkit.GoldenFile(t, file, b.String())
}

// stagesOf returns the stages of the tests of a folder, one for each file that has a test of the name: "" for
// go test ./....
func stagesOf(t *testing.T, folder string) map[string][]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "[^._]*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				all[fn.Name.Name] = append(all[fn.Name.Name], stageOf(t, f))
			}
		}
	}
	return all
}

// stageOf returns the stage of a file: the plain term of its line //go:build that is one.
func stageOf(t *testing.T, f *ast.File) string {
	t.Helper()
	for _, group := range f.Comments {
		for _, c := range group.List {
			if c.Pos() > f.Package || !constraint.IsGoBuild(c.Text) {
				continue
			}
			x, err := constraint.Parse(c.Text)
			if err != nil {
				t.Fatal(err)
			}
			return plainStage(x)
		}
	}
	return ""
}

// plainStage returns the stage that all files of a constraint are of, or "".
func plainStage(x constraint.Expr) string {
	switch x := x.(type) {
	case *constraint.TagExpr:
		if slices.Contains(stages, x.Tag) {
			return x.Tag
		}
	case *constraint.AndExpr:
		return cmp.Or(plainStage(x.X), plainStage(x.Y))
	}
	return ""
}

// TestStageOf checks the stage of a //go:build line.
func TestStageOf(t *testing.T) {
	for line, want := range map[string]string{
		"":                           "",
		"//go:build lint":            "lint",
		"//go:build lab":             "lab",
		"//go:build system && linux": "system",
		"//go:build slow":            "slow",
		"//go:build linux":           "",
		"//go:build !darwin":         "",
		"//go:build lab && !race":    "lab",
		"//go:build !race":           "",
		"//go:build !slow":           "",
		"//go:build slow && (amd64)": "slow",
	} {
		t.Run(line, func(t *testing.T) {
			f, err := parser.ParseFile(token.NewFileSet(), "x_test.go", line+"\n\npackage x\n", parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if got := stageOf(t, f); got != want {
				t.Errorf("%q, not %q", got, want)
			}
		})
	}
}
