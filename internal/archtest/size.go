package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of what a reader takes in at once. Types has the limits of types.
const (
	maxLine     = 120  // characters, a tab as one; of Go, YAML and Markdown
	maxFunction = 80   // lines, from func to its closing brace; also of a function literal
	maxFile     = 1000 // lines of Go; a type and its methods stand in one file rather than in many
)

// lined are the endings of files with lines limited to maxLine. Lines of other files cannot be broken freely: a
// template's line is a line of its page, and the format of a list of addresses or figures determines its lines.
var lined = []string{".go", ".yaml", ".md"}

// Exception is one place that may be longer, and why.
type Exception struct {
	File     string // core/packet/packet.go, or a folder with a slash at its end
	Function string // Packet.Emit, or the variable that is a function literal or has one; "" for the file's length
	Why      string
}

// CheckSizes checks the length of lines in all hand-written files below fsys, of Go's functions and function literals,
// and of Go files. It also reports exceptions that are no longer needed. It skips folders testdata: their golden files
// are a program's output.
func CheckSizes(fsys fs.FS, exceptions []Exception) (found []Violation, err error) {
	used := make([]bool, len(exceptions))
	excused := func(file, function string) bool {
		for i, e := range exceptions {
			if e.File == file && e.Function == function {
				used[i] = true
				return true
			}
		}
		return false
	}
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case d.IsDir() || !slices.Contains(lined, path.Ext(name)):
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		found = append(found, linesOf(name, string(src))...)
		if path.Ext(name) != ".go" {
			return nil
		}
		over, err := sizesOf(name, string(src), excused)
		found = append(found, over...)
		return err
	})
	for i, e := range exceptions {
		if !used[i] {
			found = append(found, Violation{Msg: fmt.Sprintf("%s %s needs no exception", e.File, e.Function)})
		}
		if e.Why == "" {
			found = append(found, Violation{Msg: fmt.Sprintf("%s %s has no reason", e.File, e.Function)})
		}
	}
	return found, err
}

// linesOf returns a violation for each line of a file that is longer than maxLine. A row of a Markdown table cannot be
// broken and may be longer.
func linesOf(name, src string) (found []Violation) {
	at := token.Position{Filename: name, Column: 1}
	for line := range strings.Lines(src) {
		at.Line++
		if path.Ext(name) == ".md" && strings.HasPrefix(line, "|") {
			continue
		}
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > maxLine {
			found = append(found, Violation{at, fmt.Sprintf("a line of %d characters; at most %d", n, maxLine)})
		}
	}
	return found
}

// sizesOf returns a violation for each function or function literal of a Go file that is longer than maxFunction, and
// for a file longer than maxFile. The function excused reports whether an exception allows the length. A file that
// cannot be parsed is an error.
func sizesOf(name, src string, excused func(file, function string) bool) (found []Violation, err error) {
	fail := func(line int, format string, args ...any) {
		at := token.Position{Filename: name, Line: line, Column: 1}
		found = append(found, Violation{at, fmt.Sprintf(format, args...)})
	}
	if lines := len(slices.Collect(strings.Lines(src))); lines > maxFile && !excused(name, "") {
		fail(1, "a file of %d lines; at most %d", lines, maxFile)
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	check := func(n ast.Node, what, function string) {
		from, to := fset.Position(n.Pos()).Line, fset.Position(n.End()).Line
		if lines := to - from + 1; lines > maxFunction && !excused(name, function) {
			fail(from, "%s has %d lines; at most %d", what, lines, maxFunction)
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl: // what stands in it is shorter
			check(d, functionName(d), functionName(d))
		case *ast.GenDecl:
			for _, s := range d.Specs {
				v, ok := s.(*ast.ValueSpec)
				if !ok {
					continue
				}
				for _, l := range findOutermost(v) {
					check(l, "a function literal of "+v.Names[0].Name, v.Names[0].Name)
				}
			}
		}
	}
	return found, nil
}

// findOutermost returns the function literals in the values of variables, without those inside other literals.
func findOutermost(v *ast.ValueSpec) (all []*ast.FuncLit) {
	ast.Inspect(v, func(n ast.Node) bool {
		l, ok := n.(*ast.FuncLit)
		if ok {
			all = append(all, l)
		}
		return !ok
	})
	return all
}

// functionName returns a function's name. The type of its receiver, if it has one, is in front: Packet.Emit.
func functionName(fn *ast.FuncDecl) string {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return fn.Name.Name
	}
	t := fn.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	switch generic := t.(type) {
	case *ast.IndexExpr:
		t = generic.X
	case *ast.IndexListExpr:
		t = generic.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name + "." + fn.Name.Name
	}
	return fn.Name.Name
}
