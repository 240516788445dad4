package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckReexports checks that no package below fsys, the root of module, gives a second name to a declaration of another
// package of the module: by an alias (type X = other.Y), by a variable (var X = other.Y), or by a constant with the
// same name but for the case of letters (const X = other.X). A constant with another name is allowed: it is a value of
// its own, such as a period of one second. An alias of a generic type with its arguments is allowed. Tests are not
// checked.
//
// The map allowed has the reasons of exceptions, by folder and name: core/x.Name. An exception that allows no
// declaration is a violation.
func CheckReexports(fsys fs.FS, module string, allowed map[string]string) (found []Violation, err error) {
	used := map[string]bool{}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
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
		for _, r := range reexportsOf(f, module) {
			switch full := folder + "." + r.name.Name; {
			case allowed[full] != "":
				used[full] = true
			default:
				found = append(found, Violation{fset.Position(r.name.Pos()),
					fmt.Sprintf("%s is a second name of %s; use that one", full, r.original)})
			}
		}
		return nil
	})
	for _, name := range slices.Sorted(maps.Keys(allowed)) {
		if !used[name] {
			found = append(found, Violation{Msg: name + " needs no exception: it re-exports no declaration"})
		}
	}
	return found, err
}

// reexport is a declaration that is a second name of another package's.
type reexport struct {
	name     *ast.Ident
	original string // core/packet.PortID
}

// reexportsOf returns the re-exports among the package-level declarations of a file, in their order.
func reexportsOf(f *ast.File, module string) (all []reexport) {
	imports := map[string]string{} // folders, by the name in the file
	for _, i := range f.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		folder, own := strings.CutPrefix(p, module+"/")
		if !own {
			continue
		}
		name := path.Base(folder)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = folder
	}
	add := func(name *ast.Ident, value ast.Expr, sameName bool) {
		s, ok := value.(*ast.SelectorExpr)
		if !ok || sameName && !strings.EqualFold(s.Sel.Name, name.Name) {
			return
		}
		if pkg, ok := s.X.(*ast.Ident); ok && imports[pkg.Name] != "" {
			all = append(all, reexport{name, imports[pkg.Name] + "." + s.Sel.Name})
		}
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Assign.IsValid() {
					add(s.Name, s.Type, false)
				}
			case *ast.ValueSpec:
				for i, name := range s.Names {
					if i < len(s.Values) {
						add(name, s.Values[i], g.Tok == token.CONST)
					}
				}
			}
		}
	}
	return all
}
