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

// declarations are the names that the Go files of one folder declare, also those of its tests.
type declarations struct {
	pkg     string                     // the package's name, without _test
	names   map[string]bool            // of the package, of fields and of methods
	top     map[string]bool            // of the package
	members map[string]map[string]bool // by type: fields and methods
	embeds  map[string][]ast.Expr      // by type: embedded types, and the type it is defined by
}

// mentionChecker compares the names in comments with the declarations of a module.
type mentionChecker struct {
	module  string
	fset    *token.FileSet
	files   map[string][]*file         // by folder
	folders map[string]*declarations   // by folder
	byName  map[string][]*declarations // by the package's name
	types   map[string][]*declarations // by the type's name
	allowed map[string]string
	used    map[string]bool
	found   []Violation
}

// CheckMentions checks that names in the comments of all Go files below fsys, the root of module, exist. These are:
//
//   - pkg.Name and pkg.Name.Member, if the file imports pkg from the module, or if one package of the module has the
//     name pkg and the file does not use pkg as a variable;
//   - Type.Member, if the module has a type of that name;
//   - a capitalised name in a code span or in the brackets of a link: any declaration of the module is accepted;
//   - the first word of a doc comment, if it has a capital after a lower-case letter: the comment's own declaration or
//     another one of the package.
//
// It accepts any declaration of the package, whether it is exported or not, and fields and methods of any of its types.
// It also reports a comment in which a sentence occurs twice. The keys of allowed are "folder/file.go: name", its
// values are reasons; CheckMentions reports those that are no longer needed. A file that cannot be parsed is an error.
func CheckMentions(fsys fs.FS, module string, allowed map[string]string) ([]Violation, error) {
	c := &mentionChecker{
		module: module, fset: token.NewFileSet(), files: map[string][]*file{}, folders: map[string]*declarations{},
		byName: map[string][]*declarations{}, types: map[string][]*declarations{}, allowed: allowed, used: map[string]bool{},
	}
	if err := c.readDeclarations(fsys); err != nil {
		return nil, err
	}
	for _, folder := range slices.Sorted(maps.Keys(c.files)) {
		for _, f := range c.files[folder] {
			c.checkFile(folder, f)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(allowed)) {
		if !c.used[key] {
			c.found = append(c.found, Violation{Msg: fmt.Sprintf("%s needs no exception", key)})
		}
	}
	return c.found, nil
}

// readDeclarations parses all Go files and collects what they declare. It skips folders testdata.
func (c *mentionChecker) readDeclarations(fsys fs.FS) error {
	return fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (base[0] == '.' || base[0] == '_' || base == "testdata"):
			return fs.SkipDir
		case d.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(c.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := path.Dir(name)
		c.files[folder] = append(c.files[folder], &file{File: f, name: name})
		p := c.folders[folder]
		if p == nil {
			p = &declarations{pkg: strings.TrimSuffix(f.Name.Name, "_test"), names: map[string]bool{}, top: map[string]bool{},
				members: map[string]map[string]bool{}, embeds: map[string][]ast.Expr{}}
			c.folders[folder] = p
			c.byName[p.pkg] = append(c.byName[p.pkg], p)
		}
		for _, d := range f.Decls {
			c.collect(p, d)
		}
		return nil
	})
}

// collect adds the names of one declaration to p.
func (c *mentionChecker) collect(p *declarations, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.top[d.Name.Name], p.names[d.Name.Name] = true, true
		} else {
			c.addMember(p, receiverName(d.Recv.List[0].Type), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				p.top[s.Name.Name], p.names[s.Name.Name] = true, true
				c.addMember(p, s.Name.Name, "")
				c.collectType(p, s)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					p.top[name.Name], p.names[name.Name] = true, true
				}
			}
		}
	}
}

// collectType adds the fields and methods of a type, and those of types without a name in it.
func (c *mentionChecker) collectType(p *declarations, s *ast.TypeSpec) {
	owner := s.Name.Name
	embedded := func(fields *ast.FieldList) {
		for _, field := range fields.List {
			if len(field.Names) == 0 {
				p.embeds[owner] = append(p.embeds[owner], field.Type)
				if name := typeName(field.Type); name != "" {
					c.addMember(p, owner, name)
				}
			}
		}
	}
	switch t := s.Type.(type) {
	case *ast.StructType:
		embedded(t.Fields)
	case *ast.InterfaceType:
		embedded(t.Methods)
	default:
		p.embeds[owner] = append(p.embeds[owner], t)
	}
	ast.Inspect(s.Type, func(n ast.Node) bool {
		if field, ok := n.(*ast.Field); ok {
			for _, name := range field.Names {
				c.addMember(p, owner, name.Name)
			}
		}
		return true
	})
}

// addMember adds a field or method of a type, or the type if the name is "".
func (c *mentionChecker) addMember(p *declarations, owner, name string) {
	if p.members[owner] == nil {
		p.members[owner] = map[string]bool{}
		c.types[owner] = append(c.types[owner], p)
	}
	if name != "" {
		p.members[owner][name], p.names[name] = true, true
	}
}

// typeName returns the name of a type without its package, its pointers and its parameters; "" of other types.
func typeName(t ast.Expr) string {
	if s, ok := t.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return receiverName(t)
}

// hasMember reports whether a type of p has a field or method, also by embedding. A type that embeds one from outside
// the module is taken to have any.
func (c *mentionChecker) hasMember(p *declarations, owner, name string, depth int) bool {
	if p.members[owner][name] || depth > 8 {
		return true
	}
	for _, t := range p.embeds[owner] {
		switch t := t.(type) {
		case *ast.SelectorExpr:
			id, ok := t.X.(*ast.Ident)
			if !ok || len(c.byName[id.Name]) == 0 {
				return true
			}
			for _, q := range c.byName[id.Name] {
				if q.top[t.Sel.Name] && c.hasMember(q, t.Sel.Name, name, depth+1) {
					return true
				}
			}
		default:
			if inner := receiverName(t); inner != "" && p.top[inner] && c.hasMember(p, inner, name, depth+1) {
				return true
			}
			if s, ok := t.(*ast.StarExpr); ok {
				if _, foreign := s.X.(*ast.SelectorExpr); foreign {
					return true
				}
			}
			switch t.(type) {
			case *ast.IndexExpr, *ast.IndexListExpr:
				return true
			}
		}
	}
	return false
}

// spaces joins the lines of a comment.
var spaces = regexp.MustCompile(`\s+`)

// mentioned matches a qualified name, with what is before and after it.
var mentioned = regexp.MustCompile(`([\w./-]*/)?\b([A-Za-z]\w*)\.([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?`)

// spanned matches a name in a code span or in the brackets of a link.
var spanned = regexp.MustCompile("`\\*?([A-Z][A-Za-z0-9]*)`|\\[\\*?([A-Z][A-Za-z0-9]*)\\]")

// camel matches a name with a capital after a lower-case letter.
var camel = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*$`)

// checkFile checks the comments of one file.
func (c *mentionChecker) checkFile(folder string, f *file) {
	imports := map[string]string{} // paths by names; the last part of a path stands for its package's name
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		name := path.Base(p)
		if q := c.imported(p); q != nil {
			name = q.pkg
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imports[name] = p
	}
	idents := map[string]bool{}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			idents[id.Name] = true
		}
		return true
	})
	for _, group := range f.Comments {
		for _, line := range group.List {
			c.checkLine(folder, f, line, imports, idents)
		}
		c.checkSentences(f, group)
	}
	c.checkDocs(folder, f)
}

// imported returns the declarations of an import path; nil of other modules and of the standard library.
func (c *mentionChecker) imported(p string) *declarations {
	if p == c.module {
		return c.folders["."]
	}
	rest, ok := strings.CutPrefix(p, c.module+"/")
	if !ok {
		return nil
	}
	return c.folders[rest]
}

// fail adds a violation unless the name is an exception.
func (c *mentionChecker) fail(f *file, at token.Pos, name, format string, args ...any) {
	key := f.name + ": " + name
	if c.allowed[key] != "" {
		c.used[key] = true
		return
	}
	c.found = append(c.found, Violation{c.fset.Position(at), fmt.Sprintf(format, args...)})
}

// checkLine checks the names in one line or block of a comment.
func (c *mentionChecker) checkLine(folder string, f *file, line *ast.Comment, imports map[string]string,
	idents map[string]bool) {
	own := c.folders[folder]
	for _, at := range mentioned.FindAllStringSubmatchIndex(line.Text, -1) {
		group := func(i int) string {
			if at[2*i] < 0 {
				return ""
			}
			return line.Text[at[2*i]:at[2*i+1]]
		}
		way, first, second, third := group(1), group(2), group(3), group(4)
		pos := line.Pos() + token.Pos(at[4])
		whole := line.Text[at[4]:at[1]]
		if way != "" {
			if p := c.folders[way+first]; p != nil {
				c.checkQualified(f, pos, p, whole, second, third)
			}
			continue
		}
		if ast.IsExported(first) || own.top[first] && own.members[first] != nil {
			c.checkMember(f, pos, own, whole, first, second)
			continue
		}
		if !ast.IsExported(second) || own.top[first] {
			continue
		}
		p, isImport := imports[first]
		switch {
		case isImport:
			if q := c.imported(p); q != nil {
				c.checkQualified(f, pos, q, whole, second, third)
			}
		case !idents[first] && len(c.byName[first]) == 1:
			c.checkQualified(f, pos, c.byName[first][0], whole, second, third)
		}
	}
	for _, m := range spanned.FindAllStringSubmatchIndex(line.Text, -1) {
		i := 2
		if m[2] < 0 {
			i = 4
		}
		name := line.Text[m[i]:m[i+1]]
		if !own.names[name] && !idents[name] {
			c.fail(f, line.Pos()+token.Pos(m[i]), name, "span %s", name)
		}
	}
}

// checkQualified checks pkg.Name and pkg.Name.Member.
func (c *mentionChecker) checkQualified(f *file, at token.Pos, p *declarations, whole, name, member string) {
	if !p.names[name] {
		c.fail(f, at, whole, "package %s has no %s", p.pkg, name)
	} else if member != "" && p.members[name] != nil && !c.hasMember(p, name, member, 0) {
		c.fail(f, at, whole, "%s.%s has no %s", p.pkg, name, member)
	}
}

// checkMember checks Type.Member, first of the file's own package, then of any package with such a type.
func (c *mentionChecker) checkMember(f *file, at token.Pos, own *declarations, whole, owner, member string) {
	if own.members[owner] != nil {
		if !c.hasMember(own, owner, member, 0) {
			c.fail(f, at, whole, "type %s has no %s", owner, member)
		}
		return
	}
	if own.names[owner] {
		return
	}
	for _, p := range c.types[owner] {
		if c.hasMember(p, owner, member, 0) {
			return
		}
	}
	c.fail(f, at, whole, "%d types %s; no %s", len(c.types[owner]), owner, member)
}

// checkDocs checks the first words of doc comments.
func (c *mentionChecker) checkDocs(folder string, f *file) {
	own := c.folders[folder]
	check := func(doc *ast.CommentGroup, names ...string) {
		words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return strings.ContainsRune(" \n,.:;'’()", r) })
		if len(words) == 0 || !camel.MatchString(words[0]) || own.names[words[0]] || slices.Contains(names, words[0]) {
			return
		}
		c.fail(f, doc.Pos(), words[0], "the comment of %s begins with %s", strings.Join(names, ", "), words[0])
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Doc, n.Name.Name)
		case *ast.GenDecl:
			check(n.Doc, n.Tok.String())
		case *ast.TypeSpec:
			check(n.Doc, n.Name.Name)
		case *ast.ValueSpec:
			check(n.Doc, n.Names[0].Name)
		case *ast.Field:
			check(n.Doc, "field")
		}
		return true
	})
}

// checkSentences reports a sentence of at least 4 words that a comment has twice.
func (c *mentionChecker) checkSentences(f *file, group *ast.CommentGroup) {
	seen := map[string]bool{}
	text := spaces.ReplaceAllString(group.Text(), " ")
	for sentence := range strings.SplitSeq(text, ". ") {
		sentence = strings.TrimSuffix(strings.TrimSpace(sentence), ".")
		if len(strings.Fields(sentence)) < 4 {
			continue
		}
		if seen[sentence] {
			c.fail(f, group.Pos(), sentence, "the comment has twice: %s", sentence)
		}
		seen[sentence] = true
	}
}
