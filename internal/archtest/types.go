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
	"strings"
)

// Limits of a type.
const (
	maxMethods = 40
	maxFields  = 20 // of a struct; see countFields
)

// TypeException is a type that may have more methods or fields than others. Its counts are exact, so that each change
// of the type changes its exception. A count of 0 stands for the limit of all types.
type TypeException struct {
	Type    string // core/transport/rdma.Sender
	Methods int
	Fields  int
	Why     string
}

// declaredType is what the files of a package declare of a type.
type declaredType struct {
	at      token.Position
	fields  int
	methods map[string]bool
	params  bool // it has a method Params: each field is an option of an experiment
}

// CheckTypes checks the number of methods and fields of all types below fsys, without tests. The fields of a
// configuration, a type with a method Params, are not counted: an option is a field. Exceptions have to be needed and
// exact.
func CheckTypes(fsys fs.FS, exceptions []TypeException) (found []Violation, err error) {
	types := map[string]*declaredType{}
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
		return addTypes(types, name, string(src))
	})
	if err != nil {
		return nil, err
	}
	limits := map[string]TypeException{}
	for _, e := range exceptions {
		if e.Why == "" {
			found = append(found, Violation{Msg: fmt.Sprintf("%s has no reason", e.Type)})
		}
		limits[e.Type] = e
	}
	for _, name := range slices.Sorted(maps.Keys(types)) {
		t, e := types[name], limits[name]
		delete(limits, name)
		if t.params {
			t.fields = 0
		}
		found = append(found, overLimit(t.at, name, "methods", len(t.methods), maxMethods, e.Methods)...)
		found = append(found, overLimit(t.at, name, "fields", t.fields, maxFields, e.Fields)...)
	}
	for _, name := range slices.Sorted(maps.Keys(limits)) {
		found = append(found, Violation{Msg: fmt.Sprintf("%s is no type", name)})
	}
	return found, nil
}

// overLimit compares a count with the limit of all types, or with an exception's count, 0 without one. An exception has
// to be above the limit and exact. In messages, name is the type and what is "methods" or "fields".
func overLimit(at token.Position, name, what string, count, limit, exception int) []Violation {
	switch {
	case exception == 0 && count > limit:
		return []Violation{{at, fmt.Sprintf("%s has %d %s; at most %d", name, count, what, limit)}}
	case exception > 0 && count <= limit:
		return []Violation{{at, fmt.Sprintf("%s has %d %s and needs no exception", name, count, what)}}
	case exception > 0 && count != exception:
		return []Violation{{at, fmt.Sprintf("%s has %d %s; its exception has %d", name, count, what, exception)}}
	}
	return nil
}

// addTypes adds the types and methods that the file src declares. Its key of a type is folder.Type.
func addTypes(types map[string]*declaredType, name, src string) error {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	declared := func(typeName string) *declaredType {
		key := path.Dir(name) + "." + typeName
		if types[key] == nil {
			types[key] = &declaredType{methods: map[string]bool{}}
		}
		return types[key]
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if receiver, method, ok := strings.Cut(functionName(d), "."); ok {
				t := declared(receiver)
				t.methods[method] = true
				t.params = t.params || method == "Params"
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					x := declared(t.Name.Name)
					x.at, x.fields = fset.Position(t.Pos()), countFields(t.Type)
				}
			}
		}
	}
	return nil
}

// countFields returns the number of fields of a struct, 0 for another type. An embedded type is one field. The fields
// of an anonymous struct count as well, also in a list, an array, a map or behind a pointer.
func countFields(t ast.Expr) (n int) {
	s, ok := t.(*ast.StructType)
	if !ok {
		return 0
	}
	for _, f := range s.Fields.List {
		n += max(len(f.Names), 1)
		ast.Inspect(f.Type, func(x ast.Node) bool {
			inner, ok := x.(*ast.StructType)
			if ok {
				n += countFields(inner)
			}
			return !ok
		})
	}
	return n
}
