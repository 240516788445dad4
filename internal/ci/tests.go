package main

import (
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// pureStage is the stage of tests without a build tag, which `go test ./...` runs.
const pureStage = "go"

// taggedStages are the stages with a build tag of the same name.
var taggedStages = []string{"lint", "system", "lab", "slow"}

// test is one test function of the module.
type test struct {
	folder string // of the package, relative to the module
	name   string
	stage  string
}

// String returns the test's line in testListFile.
func (t test) String() string { return t.folder + " " + t.name + " " + t.stage }

// findTests returns the tests, fuzz targets and examples of the given source files, sorted by folder and
// name. Files in testdata, in hidden folders and in nested modules are left out. A file with tests must belong to one
// stage.
func findTests(root string, files []string) ([]test, error) {
	var tests []test
	err := visitTestFiles(root, files, func(name string, src []byte) error {
		found, err := testsOf(name, src)
		tests = append(tests, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(tests, func(a, b test) int {
		return strings.Compare(a.folder+" "+a.name, b.folder+" "+b.name)
	})
	return tests, nil
}

// testsOf returns the tests of the file src. The name is its path in the module.
func testsOf(name string, src []byte) ([]test, error) {
	file, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if ok && f.Recv == nil && isTest(f.Name.Name) {
			names = append(names, f.Name.Name)
		}
	}
	for _, e := range doc.Examples(file) {
		if e.Output != "" || e.EmptyOutput {
			names = append(names, strings.TrimSuffix("Example"+e.Name, "_"))
		}
	}
	if len(names) == 0 {
		return nil, nil
	}
	stages := stagesOf(file)
	if len(stages) > 1 {
		return nil, fmt.Errorf("%s: has tests of several stages: %s; put each into a file of its own", name,
			strings.Join(stages, ", "))
	}
	stage := pureStage
	if len(stages) == 1 {
		stage = stages[0]
	}
	tests := make([]test, len(names))
	for i, n := range names {
		tests[i] = test{path.Dir(name), n, stage}
	}
	return tests, nil
}

// isTest reports whether go test runs a function of this name.
func isTest(name string) bool {
	return name != "TestMain" && (isTestName(name, "Test") || isTestName(name, "Fuzz"))
}

// isTestName reports whether go test runs a function of this name as a test of the kind that a prefix has: Test or
// Fuzz.
func isTestName(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	first, _ := utf8.DecodeRuneInString(rest)
	return ok && (rest == "" || !unicode.IsLower(first))
}

// stagesOf returns the stages that a file's build constraints name, each once. A file without one has no stages.
func stagesOf(file *ast.File) (stages []string) {
	for _, group := range file.Comments {
		if group.Pos() >= file.Package {
			break
		}
		for _, c := range group.List {
			expr, err := constraint.Parse(c.Text)
			if err != nil {
				continue
			}
			for _, tag := range tagsOf(expr) {
				if slices.Contains(taggedStages, tag) && !slices.Contains(stages, tag) {
					stages = append(stages, tag)
				}
			}
		}
	}
	return stages
}

// tagsOf returns the tags of a build constraint.
func tagsOf(x constraint.Expr) []string {
	switch x := x.(type) {
	case *constraint.TagExpr:
		return []string{x.Tag}
	case *constraint.NotExpr:
		return tagsOf(x.X)
	case *constraint.AndExpr:
		return append(tagsOf(x.X), tagsOf(x.Y)...)
	case *constraint.OrExpr:
		return append(tagsOf(x.X), tagsOf(x.Y)...)
	}
	return nil
}

// goFiles returns the module's own Go files among all files: not those in testdata, in folders that the go
// command ignores, or in nested modules.
func goFiles(files []string) (own []string) {
	var modules []string // folders of nested modules
	for _, name := range files {
		if dir, base := path.Split(name); base == "go.mod" && dir != "" {
			modules = append(modules, dir)
		}
	}
	for _, name := range files {
		ignored := path.Ext(name) != ".go" ||
			slices.ContainsFunc(modules, func(m string) bool { return strings.HasPrefix(name, m) })
		for _, part := range strings.Split(name, "/") {
			ignored = ignored || part == "testdata" || part[0] == '.' || part[0] == '_'
		}
		if !ignored {
			own = append(own, name)
		}
	}
	return own
}
