package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckExamples checks that each public package below fsys has an Example, from which its user can
// begin. It exempts commands, internal packages, and packages for tests, which import testing and
// are shown by the tests that use them. Folders that are modules of their own are skipped.
func CheckExamples(fsys fs.FS) (found []Violation, err error) {
	type pkg struct {
		at            token.Position // of the package clause
		public, shown bool
	}
	packages := map[string]*pkg{}
	var order []string
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "internal" ||
			exists(fsys, path.Join(name, "go.mod"))):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		r := packages[folder]
		if r == nil {
			r = &pkg{public: true}
			packages[folder], order = r, append(order, folder)
		}
		switch {
		case strings.HasSuffix(name, "_test.go"):
			r.shown = r.shown || slices.ContainsFunc(f.Decls, isExample)
		case f.Name.Name == "main" || slices.ContainsFunc(f.Imports, importsTesting):
			r.public = false
		case !r.at.IsValid():
			r.at = fset.Position(f.Package)
		}
		return nil
	})
	for _, folder := range order {
		if r := packages[folder]; r.public && !r.shown && r.at.IsValid() {
			found = append(found, Violation{r.at, "package " + folder + " has no Example"})
		}
	}
	return found, err
}

// isExample reports whether a declaration is an Example of a package or of one of its names.
func isExample(d ast.Decl) bool {
	fn, ok := d.(*ast.FuncDecl)
	return ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Example")
}

// importsTesting reports whether an import is package testing.
func importsTesting(i *ast.ImportSpec) bool {
	p, _ := strconv.Unquote(i.Path.Value)
	return p == "testing"
}
