//go:build lint

package dataplane

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestConstructorsReadTheSite checks that no function with a Site reads rates or limits of live ports. During a reload
// those are still the old ones; Site.PortRate and Site.PortLimit, which take a port, return those that will hold.
func TestConstructorsReadTheSite(t *testing.T) {
	tree, set := testkit.TrackedFiles(t, "../.."), token.NewFileSet()
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(set, name, data, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && takesSite(file.Name.Name, f) {
				ast.Inspect(f, func(n ast.Node) bool {
					if c, ok := n.(*ast.CallExpr); ok && len(c.Args) == 0 {
						if s, ok := c.Fun.(*ast.SelectorExpr); ok && (s.Sel.Name == "Rate" || s.Sel.Name == "Limit") {
							t.Errorf("%v: %s() of a live port; site.%[2]s(port) holds after a reload", set.Position(c.Pos()), s.Sel.Name)
						}
					}
					return true
				})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// takesSite reports whether a function of a package has a parameter of type *dataplane.Site.
func takesSite(pkg string, f *ast.FuncDecl) bool {
	for _, p := range f.Type.Params.List {
		if star, ok := p.Type.(*ast.StarExpr); ok {
			switch x := star.X.(type) {
			case *ast.Ident:
				return x.Name == "Site" && pkg == "dataplane"
			case *ast.SelectorExpr:
				if from, ok := x.X.(*ast.Ident); ok && from.Name == "dataplane" && x.Sel.Name == "Site" {
					return true
				}
			}
		}
	}
	return false
}
