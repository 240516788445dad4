//go:build lint

package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
)

// TestWarningKinds checks that every warning in the tree has a kind, and that every kind is in the registry, so
// that docs/warnings.md and the tests of warnings are complete.
func TestWarningKinds(t *testing.T) {
	listed := map[string]int{}
	identifier := regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	for _, k := range app.WarningKinds(app.Registry()) {
		listed[k.ID]++
		if !identifier.MatchString(k.ID) || k.Condition == "" || strings.HasSuffix(k.Condition, ".") {
			t.Errorf("kind %q with condition %q: an identifier is words of letters and digits joined by hyphens, "+
				"a condition a sentence without its end", k.ID, k.Condition)
		}
	}
	declared := map[string]int{}
	tree := testkit.TrackedFiles(t, "..")
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if wrong := inspectWarning(name, n, declared); wrong != "" {
				t.Errorf("%v: %s", positions.Position(n.Pos()), wrong)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for id, n := range declared {
		if n > 1 {
			t.Errorf("%s is declared %d times", id, n)
		}
		if listed[id] != 1 {
			t.Errorf("%s is declared, and %d times in app.WarningKinds", id, listed[id])
		}
	}
	for id := range listed {
		if declared[id] == 0 {
			t.Errorf("%s is in app.WarningKinds, and not declared as a literal", id)
		}
	}
}

// inspectWarning counts declarations of kinds by identifier, and returns the fault of a node.
func inspectWarning(file string, n ast.Node, declared map[string]int) (wrong string) {
	switch x := n.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(x.Value); err == nil && x.Kind == token.STRING &&
			strings.HasPrefix(text, "warning:") && file != "internal/document/warning.go" {
			return "document.Warning.Print prints warnings"
		}
	case *ast.CompositeLit:
		var keys []string
		for _, e := range x.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if id, ok := kv.Key.(*ast.Ident); ok {
					keys = append(keys, id.Name)
				}
			}
		}
		switch typeName(x.Type) {
		case "Remark":
			if !slices.Contains(keys, "Kind") && !slices.Contains(keys, "Refused") {
				return "a remark without a kind; WarningKind.Remark makes one, scheme.Refuse an error"
			}
		case "Warning":
			if !slices.Contains(keys, "Kind") && len(x.Elts) > 0 {
				return "a warning without a kind"
			}
		case "WarningKind":
			return countKind(x, declared)
		}
	}
	return ""
}

// countKind counts a literal of a kind by its identifier.
func countKind(x *ast.CompositeLit, declared map[string]int) (wrong string) {
	for _, e := range x.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return "a kind's fields are named"
		}
		if id, ok := kv.Key.(*ast.Ident); ok && id.Name == "ID" {
			text, ok := kv.Value.(*ast.BasicLit)
			if !ok {
				return "a kind's identifier is a literal"
			}
			name, _ := strconv.Unquote(text.Value)
			declared[name]++
			return ""
		}
	}
	return "a kind without an identifier"
}

// typeName returns the last part of a type's name.
func typeName(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.SelectorExpr:
		return x.Sel.Name
	}
	return ""
}
