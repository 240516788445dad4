package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// optionalHead begins the head of the table of optional interfaces.
const optionalHead = "| optional interface"

// assertingLayers are the layers with code that asserts optional interfaces.
var assertingLayers = []string{"core", "study", "worlds"}

// codeSpan matches one code span of a table's cell.
var codeSpan = regexp.MustCompile("`([^`]+)`")

// checkOptional compares the table of optional interfaces in page with the tree. An interface is optional if it is
// exported, or has no name and one exported method, and if code of assertingLayers asserts it: by x.(I), or as a case
// of a type switch. Tests do not count. The first cell of a row has its interfaces as code spans: "cc.Multipath" is
// interface Multipath of package cc, and "tm.SetRate()" the interface with method SetRate that package tm asserts
// without a name. Without a table in page, checkOptional returns an error.
func checkOptional(fsys fs.FS, module, page string) (found []Violation, err error) {
	text, err := fs.ReadFile(fsys, page)
	if err != nil {
		return nil, err
	}
	asserted, err := optionalInterfaces(fsys, module)
	if err != nil {
		return nil, err
	}
	listed, inTable := map[string]bool{}, false
	for i, line := range strings.Split(string(text), "\n") {
		inTable = strings.HasPrefix(line, optionalHead) || inTable && strings.HasPrefix(line, "|")
		if !inTable || strings.HasPrefix(line, optionalHead) {
			continue
		}
		at := token.Position{Filename: page, Line: i + 1, Column: 1}
		for _, span := range codeSpan.FindAllStringSubmatch(strings.Split(line, "|")[1], -1) {
			name := span[1]
			switch _, ok := asserted[name]; {
			case listed[name]:
				found = append(found, Violation{at, name + " has two rows"})
			case !ok:
				found = append(found, Violation{at, fmt.Sprintf("%s is no interface that code of %s asserts", name,
					strings.Join(assertingLayers, ", "))})
			}
			listed[name] = true
		}
	}
	if len(listed) == 0 {
		return nil, fmt.Errorf("%s has no table of optional interfaces", page)
	}
	for _, name := range slices.Sorted(maps.Keys(asserted)) {
		if !listed[name] {
			found = append(found, Violation{asserted[name], fmt.Sprintf("%s is an optional interface without a row in %s",
				name, page)})
		}
	}
	return found, nil
}

// optionalInterfaces returns the optional interfaces below fsys by their names in the table, each with the first place
// that asserts it.
func optionalInterfaces(fsys fs.FS, module string) (map[string]token.Position, error) {
	x := optionalFinder{module: module, fset: token.NewFileSet(), files: map[string]*ast.File{},
		declared: map[string]bool{}, found: map[string]token.Position{}}
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
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
		return x.addFile(name, src)
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(x.files)) {
		if layer, _, _ := strings.Cut(name, "/"); slices.Contains(assertingLayers, layer) {
			x.findAssertions(name)
		}
	}
	return x.found, nil
}

// optionalFinder finds the optional interfaces of a module.
type optionalFinder struct {
	module   string
	fset     *token.FileSet
	files    map[string]*ast.File
	declared map[string]bool // exported interfaces, as folder.Name
	found    map[string]token.Position
}

// addFile parses a file and records the exported interfaces that it declares.
func (x *optionalFinder) addFile(name string, src []byte) error {
	f, err := parser.ParseFile(x.fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	x.files[name] = f
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, s := range g.Specs {
			if t, ok := s.(*ast.TypeSpec); ok && t.Name.IsExported() {
				_, isInterface := t.Type.(*ast.InterfaceType)
				x.declared[path.Dir(name)+"."+t.Name.Name] = isInterface
			}
		}
	}
	return nil
}

// findAssertions records the optional interfaces that one file asserts.
func (x *optionalFinder) findAssertions(name string) {
	f, folder := x.files[name], path.Dir(name)
	imports := map[string]string{} // folders of packages of the module, by their names in the file
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		if imported, own := strings.CutPrefix(p, x.module+"/"); own {
			as := path.Base(imported)
			if spec.Name != nil {
				as = spec.Name.Name
			}
			imports[as] = imported
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			x.addAsserted(n.Type, folder, imports)
		case *ast.TypeSwitchStmt:
			for _, s := range n.Body.List {
				for _, e := range s.(*ast.CaseClause).List {
					x.addAsserted(e, folder, imports)
				}
			}
		}
		return true
	})
}

// addAsserted records the type of an assertion if it is an optional interface. t is nil in the head of a type switch.
func (x *optionalFinder) addAsserted(t ast.Expr, folder string, imports map[string]string) {
	var name string
	switch t := t.(type) {
	case *ast.Ident:
		name = t.Name
	case *ast.SelectorExpr:
		if p, ok := t.X.(*ast.Ident); ok {
			folder, name = imports[p.Name], t.Sel.Name
		}
	case *ast.InterfaceType:
		if m := t.Methods.List; len(m) == 1 && len(m[0].Names) == 1 && m[0].Names[0].IsExported() {
			x.add(path.Base(folder)+"."+m[0].Names[0].Name+"()", t)
		}
		return
	}
	if x.declared[folder+"."+name] {
		x.add(path.Base(folder)+"."+name, t)
	}
}

// add records an optional interface with the first place that asserts it.
func (x *optionalFinder) add(name string, t ast.Expr) {
	if _, ok := x.found[name]; !ok {
		x.found[name] = x.fset.Position(t.Pos())
	}
}
