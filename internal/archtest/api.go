package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// writeAPI returns the exported names of a package below fsys, as a text: constants, variables, functions and types
// with their fields and methods, without comments. Files for other systems than Linux are left out.
func writeAPI(fsys fs.FS, module, folder string) (string, error) {
	names, err := fs.Glob(fsys, path.Join(folder, "*.go"))
	if err != nil {
		return "", err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return "", err
		}
		f, err := parser.ParseFile(fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return "", err
		}
		if builtOnLinux(f) {
			files = append(files, f)
		}
	}
	if len(files) == 0 {
		return "", fmt.Errorf("%s has no Go files", folder)
	}
	p, err := doc.NewFromFiles(fset, files, path.Join(module, folder))
	if err != nil {
		return "", err
	}
	w := &apiWriter{fset: fset}
	fmt.Fprintf(&w.text, "package %s // import %q\n", p.Name, p.ImportPath)
	w.writeValues(p.Consts)
	w.writeValues(p.Vars)
	w.writeFunctions(p.Funcs)
	for _, t := range p.Types {
		w.writeDeclaration(t.Decl)
		w.writeValues(t.Consts)
		w.writeValues(t.Vars)
		w.writeFunctions(t.Funcs)
		w.writeFunctions(t.Methods)
	}
	return w.text.String(), w.err
}

// builtOnLinux reports whether a file's constraints hold on Linux without tags.
func builtOnLinux(f *ast.File) bool {
	for _, group := range f.Comments {
		if group.Pos() > f.Package {
			break
		}
		for _, c := range group.List {
			if expression, err := constraint.Parse(c.Text); err == nil {
				return expression.Eval(func(tag string) bool { return tag == "linux" || tag == "unix" || tag == "amd64" })
			}
		}
	}
	return true
}

// apiWriter prints declarations into text; err is the first error.
type apiWriter struct {
	fset *token.FileSet
	text bytes.Buffer
	err  error
}

// writeValues prints groups of constants or variables.
func (w *apiWriter) writeValues(all []*doc.Value) {
	for _, v := range all {
		w.writeDeclaration(v.Decl)
	}
}

// writeFunctions prints functions or methods.
func (w *apiWriter) writeFunctions(all []*doc.Func) {
	for _, f := range all {
		w.writeDeclaration(f.Decl)
	}
}

// writeDeclaration prints a declaration without its comments and its body. It removes both from d.
func (w *apiWriter) writeDeclaration(d ast.Decl) {
	ast.Inspect(d, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Field:
			n.Doc, n.Comment = nil, nil
		case *ast.GenDecl:
			n.Doc = nil
		case *ast.FuncDecl:
			n.Doc, n.Body = nil, nil
		case *ast.TypeSpec:
			n.Doc, n.Comment = nil, nil
		case *ast.ValueSpec:
			n.Doc, n.Comment = nil, nil
		}
		return true
	})
	w.text.WriteByte('\n')
	config := printer.Config{Mode: printer.UseSpaces | printer.TabIndent, Tabwidth: 8}
	if err := config.Fprint(&w.text, token.NewFileSet(), d); err != nil && w.err == nil {
		w.err = err
	}
	w.text.WriteByte('\n')
}
