package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// TestAliasesNameFieldsCatches checks that an alias whose comment lacks a field of its struct is found. go doc
// shows only the comment of an alias, so the comment must name the fields.
func TestAliasesNameFieldsCatches(t *testing.T) {
	got := aliases(t, fstest.MapFS{"a/a.go": {Data: []byte("package a\ntype S struct{ One, two int; Three int }\n" +
		"type P[K any] struct{ Key K }\n")},
		"b/b.go": {Data: []byte("package b\nimport c \"" + module + "/a\"\n// Full has One and Three.\ntype Full = c.S\n" +
			"// Part has One.\ntype Part = c.S\n// None has nothing.\ntype None = c.P[int]\ntype own = c.S\n")}})
	if strings.Join(got, "\n") != "b.Part, an alias of "+module+"/a.S, does not name the field Three\n"+
		"b.None, an alias of "+module+"/a.P, does not name the field Key" {
		t.Errorf("%q", got)
	}
}

// aliases returns the aliases of a tree whose comments lack a field of their struct.
func aliases(t *testing.T, tree fs.FS) (lacking []string) {
	t.Helper()
	type alias struct{ in, name, to, comment string }
	var found []alias
	fields := map[string][]string{} // by path and name of the struct
	err := fs.WalkDir(tree, ".", func(name string, e fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case e.IsDir() && (base == "testdata" || strings.HasPrefix(base, ".") && base != "."):
			return fs.SkipDir
		case e.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		imports := map[string]string{}
		for _, i := range f.Imports {
			to, _ := strconv.Unquote(i.Path.Value)
			as := path.Base(to)
			if i.Name != nil {
				as = i.Name.Name
			}
			imports[as] = to
		}
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				x := s.(*ast.TypeSpec)
				if st, ok := x.Type.(*ast.StructType); ok {
					fields[module+"/"+path.Dir(name)+"."+x.Name.Name] = exported(st)
				}
				if to := target(x, imports); to != "" {
					found = append(found, alias{path.Dir(name), x.Name.Name, to, g.Doc.Text() + x.Doc.Text()})
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		for _, field := range fields[a.to] {
			if !strings.Contains(a.comment, field) {
				lacking = append(lacking, a.in+"."+a.name+", an alias of "+a.to+", does not name the field "+field)
			}
		}
	}
	return lacking
}

// exported returns the names of a struct's exported fields.
func exported(s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// target returns the type that an exported alias of another package's type names, or "" if the declaration is no
// such alias.
func target(x *ast.TypeSpec, imports map[string]string) string {
	if !x.Assign.IsValid() || !x.Name.IsExported() {
		return ""
	}
	t := x.Type
	switch g := t.(type) {
	case *ast.IndexExpr:
		t = g.X
	case *ast.IndexListExpr:
		t = g.X
	}
	s, ok := t.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	in, ok := s.X.(*ast.Ident)
	if !ok {
		return ""
	}
	return imports[in.Name] + "." + s.Sel.Name
}
