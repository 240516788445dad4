package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
)

// findUncommented returns the exported names of a package below fsys that have no doc comment which begins with the
// name, as "folder/file.go:line: name", in the order of files. Such names are functions, types and methods of exported
// types, also those that implement an interface, and single constants and variables. An article may be before the name
// of a type. A group of constants or variables needs a comment of its own, or one at each exported name. Files of tests
// are left out. A file that cannot be parsed is an error.
func findUncommented(fsys fs.FS, folder string) (all []string, err error) {
	names, err := fs.Glob(fsys, path.Join(folder, "*.go"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		c := commentChecker{fset: token.NewFileSet(), file: name}
		f, err := parser.ParseFile(c.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				c.checkFunction(d)
			case *ast.GenDecl:
				c.checkGroup(d)
			}
		}
		all = append(all, c.found...)
	}
	return all, nil
}

// commentChecker collects the names of one file without a comment.
type commentChecker struct {
	fset  *token.FileSet
	file  string
	found []string
}

// require adds name unless it is not exported or one of the comments begins with it. The result lists it as label.
func (c *commentChecker) require(name *ast.Ident, label string, comments ...*ast.CommentGroup) {
	if !name.IsExported() {
		return
	}
	for _, group := range comments {
		if beginsWith(group.Text(), name.Name) {
			return
		}
	}
	c.found = append(c.found, fmt.Sprintf("%s:%d: %s", c.file, c.fset.Position(name.Pos()).Line, label))
}

// beginsWith reports whether a comment begins with a name, before which an article may be.
func beginsWith(comment, name string) bool {
	for _, article := range []string{"A ", "An ", "The "} {
		comment = strings.TrimPrefix(comment, article)
	}
	rest, ok := strings.CutPrefix(comment, name)
	return ok && (rest == "" || strings.ContainsAny(rest[:1], " ,.:;\n'’"))
}

// checkFunction requires a comment of a function, or of a method of an exported type.
func (c *commentChecker) checkFunction(d *ast.FuncDecl) {
	label := d.Name.Name
	if d.Recv != nil {
		receiver := receiverName(d.Recv.List[0].Type)
		if !ast.IsExported(receiver) {
			return
		}
		label = receiver + "." + label
	}
	c.require(d.Name, label, d.Doc)
}

// receiverName returns the name of a receiver's type, without pointer and type parameters; "" for another expression.
func receiverName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiverName(t.X)
	case *ast.IndexExpr:
		return receiverName(t.X)
	case *ast.IndexListExpr:
		return receiverName(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

// checkGroup requires comments of types, constants and variables.
func (c *commentChecker) checkGroup(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.TypeSpec:
			c.require(s.Name, s.Name.Name, d.Doc, s.Doc)
		case *ast.ValueSpec:
			if d.Lparen.IsValid() && (d.Doc.Text() != "" || s.Doc.Text() != "" || s.Comment.Text() != "") {
				continue
			}
			for _, name := range s.Names {
				c.require(name, name.Name, d.Doc, s.Doc)
			}
		}
	}
}
