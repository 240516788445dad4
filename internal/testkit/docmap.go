// Package testkit has helpers that tests of several packages share.
package testkit

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`\b(Test|Fuzz|Example|Benchmark)[A-Z]\w*`)

// CheckDocTests checks that all tests named in the package's doc.go, and in the page that docs/papers has for a paper's
// package, exist in this folder or in one of the others. The two must name at least minTests tests.
func CheckDocTests(t *testing.T, minTests int, others ...string) {
	t.Helper()
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if filepath.Base(filepath.Dir(folder)) == "papers" {
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "papers", filepath.Base(folder)+".md"))
		if err != nil {
			t.Fatal(err)
		}
		doc = append(doc, page...)
	}
	there := map[string]bool{}
	files, _ := filepath.Glob("[^._]*_test.go")
	for _, folder := range others {
		more, _ := filepath.Glob(filepath.Join(folder, "[^._]*_test.go"))
		files = append(files, more...)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				there[fn.Name.Name] = true
			}
		}
	}
	names := testName.FindAllString(string(doc), -1)
	for _, n := range names {
		if !there[n] {
			t.Errorf("the documentation names %s, which does not exist", n)
		}
	}
	if len(names) < minTests {
		t.Errorf("the documentation names %d tests (%s), at least %d were expected", len(names), strings.Join(names, ", "),
			minTests)
	}
}
