package hostile

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

var promised = regexp.MustCompile("`([a-z0-9/]+)\\.((?:Test|Fuzz)\\w+)`")

// Every row of docs/promises.md names tests, all of which are in the tree.
func TestDocsPromises(t *testing.T) {
	const top = "../../.."
	page, err := os.ReadFile(filepath.Join(top, "docs", "promises.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for n, line := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| promise ") {
			continue
		}
		rows++
		named := promised.FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("line %d names no test", n+1)
		}
		for _, x := range named {
			if !exists(t, filepath.Join(top, x[1]), x[2]) {
				t.Errorf("line %d: there is no %s in %s", n+1, x[2], x[1])
			}
		}
	}
	if rows < 20 {
		t.Errorf("there are %d promises", rows)
	}
}

// exists reports whether a folder has a test.
func exists(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
				return true
			}
		}
	}
	return false
}
