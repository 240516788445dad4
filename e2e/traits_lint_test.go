//go:build lint

package e2e

import (
	"bytes"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTraitsAreRead checks that every field of a Traits struct has a comment, and that code outside its package reads
// it: directly, or through functions of the package that others use.
func TestTraitsAreRead(t *testing.T) {
	l := loadTraitUsers(t)
	structs := 0
	for _, x := range l.sources {
		if x.pkg.Scope().Lookup("Traits") == nil || !strings.HasPrefix(x.pkg.Path(), "weir/core/") {
			continue
		}
		structs++
		read := l.readOutside(x)
		for field, documented := range x.traitFields() {
			name := x.pkg.Path() + ".Traits." + field
			if !documented {
				t.Errorf("%s has no comment", name)
			}
			if !read[field] {
				t.Errorf("%s is read by no other package", name)
			}
		}
	}
	if structs < 5 {
		t.Errorf("%d Traits structs", structs)
	}
}

// TestTraitsAreReadCatches checks functions that read a field, with and without a use by others.
func TestTraitsAreReadCatches(t *testing.T) {
	l := &traitUsers{fset: token.NewFileSet()}
	l.importer = sourceImporter{l}
	const text = "package x\ntype Traits struct {\n// A is.\nA, B int\nC, D int // not above\n}\n" +
		"func (t Traits) Both() int { return t.inner() }\nfunc (t Traits) inner() int { return t.B }\n" +
		"func (t Traits) Unused() int { return t.D }\nfunc set(t *Traits) { t.C = 1 }\n"
	for name, text := range map[string]string{"weir/core/x": text,
		"weir/y": "package y\nimport \"weir/core/x\"\nfunc f(t x.Traits) int { t.C = 2; return t.A + t.Both() }\n"} {
		f, err := parser.ParseFile(l.fset, name+".go", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		l.parsed = append(l.parsed, parsedPackage{name, []*ast.File{f}})
	}
	slices.SortFunc(l.parsed, func(a, b parsedPackage) int { return strings.Compare(a.path, b.path) })
	l.check(t)
	x := l.sources[0]
	fields, read := x.traitFields(), l.readOutside(x)
	for field, want := range map[string][2]bool{"A": {true, true}, "B": {true, true}, "C": {false, false},
		"D": {false, false}} {
		if got := [2]bool{fields[field], read[field]}; got != want {
			t.Errorf("%s: comment and reader %v, want %v", field, got, want)
		}
	}
}

// traitUsers are the packages that use traits, type-checked from their sources.
type traitUsers struct {
	fset     *token.FileSet
	importer types.Importer
	parsed   []parsedPackage
	sources  []traitUser
}

type parsedPackage struct {
	path  string
	files []*ast.File
}

type traitUser struct {
	pkg   *types.Package
	info  *types.Info
	files []*ast.File
}

// sourceImporter imports the packages that were checked before.
type sourceImporter struct{ of *traitUsers }

func (i sourceImporter) Import(path string) (*types.Package, error) {
	for _, x := range i.of.sources {
		if x.pkg.Path() == path {
			return x.pkg, nil
		}
	}
	return nil, os.ErrNotExist
}

// loadTraitUsers type-checks all packages of this module with traits. The packages that they import come from the
// compiler.
func loadTraitUsers(t *testing.T) *traitUsers {
	t.Helper()
	c := exec.Command("go", "list", "-export", "-deps", "-f",
		`{{.ImportPath}}|{{.Export}}|{{if .Module}}{{if .Module.Main}}{{.Dir}}|{{join .GoFiles " "}}{{end}}{{end}}`, "./...")
	c.Dir, c.Stderr = "..", os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	l := &traitUsers{fset: token.NewFileSet()}
	exports := map[string]string{}
	for line := range strings.Lines(string(out)) {
		p := strings.Split(strings.TrimSpace(line), "|")
		if exports[p[0]] = p[1]; len(p) < 4 {
			continue
		}
		var files []*ast.File
		uses := false
		for _, name := range strings.Fields(p[3]) {
			src, err := os.ReadFile(filepath.Join(p[2], name))
			if err != nil {
				t.Fatal(err)
			}
			f, err := parser.ParseFile(l.fset, filepath.Join(p[2], name), src, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			uses = uses || bytes.Contains(src, []byte("raits"))
			files = append(files, f)
		}
		if uses {
			l.parsed = append(l.parsed, parsedPackage{p[0], files})
		}
	}
	l.importer = importer.ForCompiler(l.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})
	l.check(t)
	return l
}

// check type-checks the parsed packages.
func (l *traitUsers) check(t *testing.T) {
	t.Helper()
	for _, p := range l.parsed {
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
		c := types.Config{Importer: l.importer}
		pkg, err := c.Check(p.path, l.fset, p.files, info)
		if err != nil {
			t.Fatal(err)
		}
		l.sources = append(l.sources, traitUser{pkg, info, p.files})
	}
}

// traitFields returns the fields of the package's Traits, and whether each has a comment.
func (x *traitUser) traitFields() map[string]bool {
	fields := map[string]bool{}
	for _, f := range x.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.Name == "Traits" {
				for _, field := range s.Type.(*ast.StructType).Fields.List {
					for _, name := range field.Names {
						fields[name.Name] = field.Doc != nil
					}
				}
			}
			return true
		})
	}
	return fields
}

// readOutside returns the fields of a package's Traits that other packages read, also through functions of the package.
func (l *traitUsers) readOutside(x traitUser) map[string]bool {
	path := x.pkg.Path()
	read, used := map[string]bool{}, map[string]bool{}
	for _, y := range l.sources {
		if y.pkg.Path() != path {
			for _, f := range y.files {
				y.uses(f, path, read, used)
			}
		}
	}
	type body struct{ read, used map[string]bool }
	bodies := map[string]body{}
	for _, f := range x.files {
		for _, d := range f.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
				b := body{map[string]bool{}, map[string]bool{}}
				x.uses(f.Body, path, b.read, b.used)
				bodies[f.Name.Name] = b
			}
		}
	}
	for grows := true; grows; {
		grows = false
		for name, b := range bodies {
			if !used[name] {
				continue
			}
			delete(bodies, name)
			grows = true
			for field := range b.read {
				read[field] = true
			}
			for other := range b.used {
				used[other] = true
			}
		}
	}
	return read
}

// uses adds the fields of the Traits of a package that a node reads, and the package's functions and methods in it.
func (x *traitUser) uses(n ast.Node, path string, read, used map[string]bool) {
	written := map[ast.Expr]bool{}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				written[e] = true
			}
		case *ast.SelectorExpr:
			if s := x.info.Selections[n]; s != nil && s.Kind() == types.FieldVal && !written[n] && isTraits(s.Recv(), path) {
				read[n.Sel.Name] = true
			}
		case *ast.Ident:
			if f, ok := x.info.Uses[n].(*types.Func); ok && f.Pkg() != nil && f.Pkg().Path() == path {
				used[n.Name] = true
			}
		}
		return true
	})
}

// isTraits reports whether a type is the Traits of a package, or a pointer to it.
func isTraits(t types.Type, path string) bool {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	n, ok := t.(*types.Named)
	return ok && n.Obj().Name() == "Traits" && n.Obj().Pkg().Path() == path
}
