//go:build lint

package faultinject

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"weir/internal/testkit"
)

const guardLoop = "e2e/costbounds/loop/main_amd64.go" // prints a count, for a test

// printers are the files that may use functions that bypass the escaping of text: the process's own outputs, and
// tables that do not escape their cells.
var printers = map[string][]string{
	"os.Stdout": {"app/internal/cli/cli.go", "internal/command/main.go", "internal/testkit/labtest/labtest_linux.go",
		guardLoop},
	"os.Stderr": {"app/internal/cli/cli.go", "internal/command/main.go", "internal/testkit/labtest/labtest_linux.go",
		guardLoop,
		"cmd/release/main.go"}, // of this repository's own files
	"csv.NewWriter": {"study/results/csv.go", "study/figure/csv.go"}, // by text.EscapeCell
	"fmt.Print":     nil, "fmt.Printf": nil, "fmt.Println": {"cmd/release/main.go"},
}

// TestPrograms_PrintThroughOnePlace checks that only the files in printers use functions that bypass the escaping
// of text.
func TestPrograms_PrintThroughOnePlace(t *testing.T) {
	tree := testkit.TrackedFiles(t, "../..")
	files := 0
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, "internal/ci/") { // it prints what this repository's own tests print
			return err
		}
		files++
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			room, ok := x.X.(*ast.Ident)
			if !ok {
				return true
			}
			what := room.Name + "." + x.Sel.Name
			allowed, guarded := printers[what]
			for _, file := range allowed {
				guarded = guarded && file != name
			}
			if guarded {
				t.Errorf("%s uses %s, past what shows text", name, what)
			}
			return true
		})
		return err
	})
	if err != nil || files < 300 {
		t.Errorf("%d files: %v", files, err)
	}
}
