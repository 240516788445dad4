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

// declarations are the names that the Go files of one folder declare, including its tests.
type declarations struct {
	pkg     string                     // the package's name, without _test
	names   map[string]bool            // of the package, of fields and of methods
	top     map[string]bool            // of the package
	members map[string]map[string]bool // by type: fields and methods
	parts   map[string][]ast.Expr      // by type: embedded types, and the type by which it is defined
}

// mentionChecker compares the names in comments with the declarations of a module.
type mentionChecker struct {
	module  string
	fset    *token.FileSet
	files   map[string][]*file         // by folder
	folders map[string]*declarations   // by folder
	byName  map[string][]*declarations // by the package's name
	types   map[string][]*declarations // by the type's name
	tests   map[string]bool            // names of tests, benchmarks and fuzz tests
	allowed map[string]string
	used    map[string]bool
	found   []Violation
}

// checkMentions checks that the names in comments of all Go files below fsys, the root of module, exist. These are:
//
//   - pkg.Name and pkg.Name.Member, if the file imports pkg from the module, or if one package of the module has the
//     name pkg and the file has no identifier pkg;
//   - Type.Member, if Type has a lower-case letter. It may be a type or a field of the package or of an imported one,
//     or a type of any package;
//   - a capitalised name of three letters or more in a code span or in the brackets of a link: a declaration of the
//     package, or an identifier of the file;
//   - a name that begins with Test, Fuzz or Benchmark and a capital: a function of any package;
//   - the first word of a doc comment, if a capital stands between lower-case letters: a declaration of the package.
//
// Any declaration of a package is accepted, exported or not, and so are fields and methods of any of its types. The
// comment of a function outside tests must have the function's name among its first two words. A sentence of four words
// or more must not occur twice in a comment. The comments of examples with their output are exempt.
//
// The keys of allowed are "folder/file.go: name", its values are reasons. checkMentions reports exceptions that are no
// longer needed. A file that cannot be parsed is an error.
func checkMentions(fsys fs.FS, module string, allowed map[string]string) ([]Violation, error) {
	c := &mentionChecker{
		module: module, fset: token.NewFileSet(), files: map[string][]*file{}, folders: map[string]*declarations{},
		byName: map[string][]*declarations{}, types: map[string][]*declarations{}, tests: map[string]bool{},
		allowed: allowed, used: map[string]bool{},
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
		c.files[folder] = append(c.files[folder], &file{File: f, name: name, test: strings.HasSuffix(name, "_test.go")})
		p := c.folders[folder]
		if p == nil {
			p = &declarations{pkg: strings.TrimSuffix(f.Name.Name, "_test"), names: map[string]bool{}, top: map[string]bool{},
				members: map[string]map[string]bool{}, parts: map[string][]ast.Expr{}}
			c.folders[folder] = p
			c.byName[p.pkg] = append(c.byName[p.pkg], p)
		}
		for _, d := range f.Decls {
			c.collect(p, d)
		}
		return nil
	})
}

// collect adds the names of one declaration to p, functions also to c.tests, and types to c.types.
func (c *mentionChecker) collect(p *declarations, d ast.Decl) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			p.top[d.Name.Name], p.names[d.Name.Name] = true, true
			c.tests[d.Name.Name] = true
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

// collectType adds to p the fields and methods of a type, and of types without a name in it, and its parts.
func (c *mentionChecker) collectType(p *declarations, s *ast.TypeSpec) {
	owner := s.Name.Name
	var fields *ast.FieldList
	switch t := s.Type.(type) {
	case *ast.StructType:
		fields = t.Fields
	case *ast.InterfaceType:
		fields = t.Methods
	default:
		p.parts[owner] = append(p.parts[owner], t)
	}
	if fields != nil {
		for _, field := range fields.List {
			if len(field.Names) > 0 {
				continue
			}
			p.parts[owner] = append(p.parts[owner], field.Type)
			c.addMember(p, owner, embeddedName(field.Type))
		}
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

// addMember adds a field or method of a type, or only the type if the name is "".
func (c *mentionChecker) addMember(p *declarations, owner, name string) {
	if p.members[owner] == nil {
		p.members[owner] = map[string]bool{}
		c.types[owner] = append(c.types[owner], p)
	}
	if name != "" {
		p.members[owner][name], p.names[name] = true, true
	}
}

// embeddedName returns the name of the field of an embedded type, "" for a union of types.
func embeddedName(t ast.Expr) string {
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if s, ok := t.(*ast.SelectorExpr); ok {
		return s.Sel.Name
	}
	return receiverName(t)
}

// maxEmbedding limits the depth of embedded types that hasMember follows.
const maxEmbedding = 8

// hasMember reports whether the type owner of p has a field or method of this name, also through embedded types; depth
// is how many of them led to owner. It also returns true above maxEmbedding, and for a type with a part from outside
// the module: the members of that part are unknown.
func (c *mentionChecker) hasMember(p *declarations, owner, name string, depth int) bool {
	if p.members[owner][name] || depth > maxEmbedding {
		return true
	}
	for _, t := range p.parts[owner] {
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		s, ok := t.(*ast.SelectorExpr)
		if !ok {
			inner := receiverName(t)
			if inner != "" && p.top[inner] && c.hasMember(p, inner, name, depth+1) {
				return true
			}
			continue
		}
		pkg, _ := s.X.(*ast.Ident)
		if pkg == nil || len(c.byName[pkg.Name]) == 0 {
			return true
		}
		for _, q := range c.byName[pkg.Name] {
			if q.top[s.Sel.Name] && c.hasMember(q, s.Sel.Name, name, depth+1) {
				return true
			}
		}
	}
	return false
}

var (
	// qualified matches a name with one or two dots in it, and the path before it.
	qualified = regexp.MustCompile(`([\w./-]*/)?\b([A-Za-z]\w*)\.([A-Za-z]\w*)(?:\.([A-Za-z]\w*))?`)
	// spanned matches a name in a code span or in the brackets of a link.
	spanned = regexp.MustCompile("`\\*?([A-Z][A-Za-z0-9]{2,})`|\\[\\*?([A-Z][A-Za-z0-9]{2,})\\]")
	// testNamed matches the name of a test.
	testNamed = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`)
	// compound matches a word with a capital between lower-case letters.
	compound = regexp.MustCompile(`^[A-Za-z0-9]*[a-z][A-Z][a-z][A-Za-z0-9]*$`)
	// lowerCase matches a lower-case letter.
	lowerCase = regexp.MustCompile(`[a-z]`)
	// lineBreak matches the space between the words of a comment.
	lineBreak = regexp.MustCompile(`\s+`)
)

// extensions are the endings of files. The name of a file with one looks like a type and its member.
var extensions = []string{"c", "cc", "cff", "cpp", "go", "h", "md", "txt", "txtar", "yaml"}

// mentionScope has what the comments of one file can name.
type mentionScope struct {
	*file
	own      *declarations
	imported map[string]*declarations // by the name in the file; nil: a package from outside the module
	idents   map[string]bool          // all identifiers of the file
}

// checkFile checks the comments of one file of a folder, except the output of examples, and adds what it finds to
// c.found.
func (c *mentionChecker) checkFile(folder string, f *file) {
	s := &mentionScope{file: f, own: c.folders[folder], imported: map[string]*declarations{}, idents: map[string]bool{}}
	for _, spec := range f.Imports {
		p, _ := strconv.Unquote(spec.Path.Value)
		q, name := c.declarationsOf(p), path.Base(p)
		if q != nil {
			name = q.pkg
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		s.imported[name] = q
	}
	ast.Inspect(f.File, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			s.idents[id.Name] = true
		}
		return true
	})
	for _, group := range f.Comments {
		text := strings.ToLower(group.Text())
		if strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:") {
			continue
		}
		for _, line := range group.List {
			c.checkQualified(s, line)
			c.checkSpans(s, line)
		}
		c.checkSentences(s, group)
	}
	c.checkDocs(s)
}

// declarationsOf returns the declarations of an import path, nil for packages from outside the module.
func (c *mentionChecker) declarationsOf(importPath string) *declarations {
	if importPath == c.module {
		return c.folders["."]
	}
	if folder, ok := strings.CutPrefix(importPath, c.module+"/"); ok {
		return c.folders[folder]
	}
	return nil
}

// fail adds a violation unless the name is an exception. It records exceptions that are needed.
func (c *mentionChecker) fail(s *mentionScope, at token.Pos, name, format string, args ...any) {
	key := s.name + ": " + name
	if c.allowed[key] != "" {
		c.used[key] = true
		return
	}
	c.found = append(c.found, Violation{c.fset.Position(at), fmt.Sprintf(format, args...)})
}

// checkQualified checks the names with dots in one line or block of a comment.
func (c *mentionChecker) checkQualified(s *mentionScope, line *ast.Comment) {
	for _, m := range qualified.FindAllStringSubmatchIndex(line.Text, -1) {
		part := func(i int) string { return line.Text[max(m[2*i], 0):max(m[2*i+1], 0)] }
		folder, first, second, third := part(1), part(2), part(3), part(4)
		at, whole := line.Pos()+token.Pos(m[4]), line.Text[m[4]:m[1]]
		var p *declarations
		switch imported, ok := s.imported[first]; {
		case folder != "":
			p = c.folders[folder+first]
		case ast.IsExported(first) || s.own.members[first] != nil:
			if lowerCase.MatchString(first) && !slices.Contains(extensions, second) && !c.knowsMember(s, first, second) {
				c.fail(s, at, whole, "no %s has %s", first, second)
			}
			continue
		case !ast.IsExported(second) || s.own.top[first]:
		case ok:
			p = imported
		case !s.idents[first] && len(c.byName[first]) == 1:
			p = c.byName[first][0]
		}
		if p == nil || !ast.IsExported(second) {
			continue
		}
		if !p.names[second] {
			c.fail(s, at, whole, "package %s has no %s", p.pkg, second)
		} else if third != "" && p.members[second] != nil && !c.hasMember(p, second, third, 0) {
			c.fail(s, at, whole, "%s.%s has no %s", p.pkg, second, third)
		}
	}
}

// knowsMember reports whether owner is a type with such a field or method, or a field next to such a name.
func (c *mentionChecker) knowsMember(s *mentionScope, owner, member string) bool {
	if s.own.members[owner] != nil {
		return c.hasMember(s.own, owner, member, 0)
	}
	if s.own.names[owner] {
		return true
	}
	for _, p := range s.imported {
		if p != nil && p.names[owner] && p.members[owner] == nil {
			return true
		}
	}
	return slices.ContainsFunc(c.types[owner], func(p *declarations) bool { return c.hasMember(p, owner, member, 0) })
}

// checkSpans checks the names in code spans and links, and the names of tests, in one line or block of a comment.
func (c *mentionChecker) checkSpans(s *mentionScope, line *ast.Comment) {
	for _, m := range spanned.FindAllStringSubmatchIndex(line.Text, -1) {
		from, to := max(m[2], m[4]), max(m[3], m[5])
		if name := line.Text[from:to]; !s.own.names[name] && !s.idents[name] {
			c.fail(s, line.Pos()+token.Pos(from), name, "the package has no %s", name)
		}
	}
	for _, m := range testNamed.FindAllStringIndex(line.Text, -1) {
		if name := line.Text[m[0]:m[1]]; !c.tests[name] && !s.own.names[name] && !s.idents[name] {
			c.fail(s, line.Pos()+token.Pos(m[0]), name, "there is no test %s", name)
		}
	}
}

// isTestName reports whether a function of a test file with this name is run by go test.
func isTestName(name string) bool {
	return strings.HasPrefix(name, "Test") || strings.HasPrefix(name, "Benchmark") || strings.HasPrefix(name, "Fuzz")
}

// checkDocs checks the first words of doc comments. Those of functions begin with the name; in test files only those
// about tests have to.
func (c *mentionChecker) checkDocs(s *mentionScope) {
	check := func(doc *ast.CommentGroup, name string, needsName bool) {
		words := strings.FieldsFunc(doc.Text(), func(r rune) bool { return strings.ContainsRune(" \n,.:;'’()", r) })
		if len(words) == 0 {
			return
		}
		if compound.MatchString(words[0]) && !s.own.names[words[0]] {
			c.fail(s, doc.Pos(), words[0], "the comment of %s begins with %s", name, words[0])
		} else if needsName && !slices.Contains(words[:min(2, len(words))], name) {
			c.fail(s, doc.Pos(), name, "the comment of %s does not begin with the name", name)
		}
	}
	ast.Inspect(s.File, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			check(n.Doc, n.Name.Name, n.Name.Name != "init" && n.Name.Name != "main" && (!s.test || isTestName(n.Name.Name)))
		case *ast.GenDecl:
			name := n.Tok.String()
			if len(n.Specs) == 1 {
				if t, ok := n.Specs[0].(*ast.TypeSpec); ok {
					name = t.Name.Name
				}
			}
			check(n.Doc, name, false)
		case *ast.TypeSpec:
			check(n.Doc, n.Name.Name, false)
		case *ast.ValueSpec:
			check(n.Doc, n.Names[0].Name, false)
		case *ast.Field:
			check(n.Doc, "a field", false)
		}
		return true
	})
}

// checkSentences reports a sentence of at least four words that a comment contains twice.
func (c *mentionChecker) checkSentences(s *mentionScope, group *ast.CommentGroup) {
	seen := map[string]bool{}
	for sentence := range strings.SplitSeq(lineBreak.ReplaceAllString(group.Text(), " "), ". ") {
		sentence = strings.TrimSuffix(strings.TrimSpace(sentence), ".")
		if strings.Count(sentence, " ") < 3 {
			continue
		}
		if seen[sentence] {
			c.fail(s, group.Pos(), sentence, "the comment contains twice: %s", sentence)
		}
		seen[sentence] = true
	}
}
