package cite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Sources is the page that lists the works.
const Sources = "docs/sources.md"

// wrong is a citation that does not resolve.
type wrong struct {
	File string
	Line int
	Msg  string
}

// String returns the file, the line and what is wrong.
func (w wrong) String() string { return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Msg) }

// Tree is a source tree whose citations are checked.
type Tree struct {
	Works *Works
	fsys  fs.FS
	homes map[string]string          // by folder: the work that its package comment names first
	pages map[string]map[string]bool // by page: its anchors
	wrong []wrong
}

// Open reads the works and the pages of a tree, and the first work in each package comment. It returns an error if
// docs/sources.md is missing or wrong.
func Open(fsys fs.FS) (*Tree, error) {
	text, err := fs.ReadFile(fsys, Sources)
	if err != nil {
		return nil, err
	}
	works, err := ReadWorks(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Sources, err)
	}
	t := &Tree{Works: works, fsys: fsys, homes: map[string]string{}, pages: map[string]map[string]bool{}}
	err = t.walkFiles(".md", func(name string, data []byte) error {
		t.pages[name] = anchors(string(data))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = t.walkFiles(".go", func(name string, data []byte) error {
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		if f.Doc != nil && !strings.HasSuffix(name, "_test.go") {
			if m := works.mentions(joinLines(f.Doc.Text())); len(m) > 0 {
				t.homes[path.Dir(name)] = m[0].key
			}
		}
		return nil
	})
	return t, err
}

// Check returns the citations that do not resolve, in the order of the files: in the tree's Go comments and strings,
// its experiments, pages and templates.
func (t *Tree) Check() ([]wrong, error) {
	t.wrong = nil
	if err := t.walkFiles(".go", t.checkSource); err != nil {
		return nil, err
	}
	if err := t.walkFiles(".yaml", t.checkYAML); err != nil {
		return nil, err
	}
	if err := t.walkFiles(".md", t.checkPage); err != nil {
		return nil, err
	}
	if err := t.walkFiles(".tmpl", t.checkTemplate); err != nil {
		return nil, err
	}
	sort.SliceStable(t.wrong, func(i, j int) bool {
		a, b := t.wrong[i], t.wrong[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
	return t.wrong, nil
}

// CheckSource checks a value's source, see Works.CheckSource. The argument home is the work that an experiment names as
// its paper, or "".
func (t *Tree) CheckSource(source, home string) error {
	return t.Works.CheckSource(source, home, t.hasPage)
}

// walkFiles calls f for the regular files of the tree with this ending. It skips inputs of tests, results, and names
// with a leading dot or underscore, which other programs make, such as editors.
func (t *Tree) walkFiles(ending string, f func(name string, data []byte) error) error {
	return fs.WalkDir(t.fsys, ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (base[0] == '.' || base[0] == '_' || base == "testdata" || base == "results"):
			return fs.SkipDir
		case !d.Type().IsRegular() || base[0] == '.' || base[0] == '_' || !strings.HasSuffix(name, ending):
			return nil
		}
		data, err := fs.ReadFile(t.fsys, name)
		if err != nil {
			return err
		}
		return f(name, data)
	})
}

// hasPage reports whether a page of the tree exists or, with an anchor, a heading in it. Pages are named from the root,
// or by their name in docs.
func (t *Tree) hasPage(name string) bool {
	name, anchor, _ := strings.Cut(name, "#")
	for _, p := range []string{name, "docs/" + name} {
		if headings, ok := t.pages[path.Clean(p)]; ok {
			return anchor == "" || headings[anchor]
		}
	}
	return false
}

// findHome returns the work of a file's citations without a work: the first one in the comment of its package, or of a
// package around it; "" without one.
func (t *Tree) findHome(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if work, ok := t.homes[dir]; ok {
			return work
		}
	}
	return ""
}

// checkText appends the errors of a text, which begins at a line of the file name, to t.wrong.
func (t *Tree) checkText(name string, line int, text string) {
	for _, msg := range t.Works.CheckText(joinLines(text), t.findHome(name), t.hasPage) {
		t.wrong = append(t.wrong, wrong{name, line, msg})
	}
}

// checkSource checks the comments and strings of a Go file: of tests only the comments, of package cite neither.
func (t *Tree) checkSource(name string, data []byte) error {
	if strings.HasPrefix(name, "internal/cite/") { // its texts are the grammar, and wrong on purpose
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		t.checkText(name, fset.Position(group.Pos()).Line, group.Text())
	}
	if strings.HasSuffix(name, "_test.go") { // strings of tests are inputs and outputs
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if text, ok := evalConstant(e); ok {
				t.checkText(name, fset.Position(e.Pos()).Line, text)
				return false
			}
		}
		return true
	})
	return nil
}

// evalConstant returns the text of a string literal, or of a sum of them; false for other expressions.
func evalConstant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, left := evalConstant(e.X)
		y, right := evalConstant(e.Y)
		return x + y, left && right && e.Op == token.ADD
	}
	return "", false
}

// checkYAML checks a YAML file: a comment of several lines as one text, other lines with their values and comments.
func (t *Tree) checkYAML(name string, data []byte) error {
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		block, whole := strings.CutPrefix(strings.TrimSpace(lines[i]), "#")
		for whole && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "#") {
			i++
			block += " " + strings.TrimLeft(strings.TrimSpace(lines[i]), "# ")
		}
		t.checkText(name, first+1, block) // in other lines, the values and the comment
	}
	return nil
}

// checkTemplate checks the lines of a template.
func (t *Tree) checkTemplate(name string, data []byte) error {
	for i, line := range strings.Split(string(data), "\n") {
		t.checkText(name, i+1, line)
	}
	return nil
}

// checkPage checks the paragraphs of a page. If the heading above names a work, citations without one refer to it.
func (t *Tree) checkPage(name string, data []byte) error {
	line, home := 1, ""
	for _, p := range strings.Split(string(data), "\n\n") {
		if strings.HasPrefix(p, "#") {
			home = ""
			if m := t.Works.mentions(p); len(m) > 0 {
				home = m[0].key
			}
		}
		for _, msg := range t.Works.CheckText(joinLines(p), home, t.resolveFrom(name)) {
			t.wrong = append(t.wrong, wrong{name, line, msg})
		}
		line += strings.Count(p, "\n") + 2
	}
	return nil
}

// resolveFrom returns a function that finds pages by links from a page: relative to its folder, or from the root.
func (t *Tree) resolveFrom(name string) func(string) bool {
	return func(link string) bool { return t.hasPage(path.Join(path.Dir(name), link)) || t.hasPage(link) }
}

// joinLines makes a text one line. A bar marks the end of a paragraph or of a table's line.
func joinLines(text string) string {
	return strings.Join(strings.Fields(breaks.ReplaceAllString(text, " | ")), " ")
}

// breaks matches ends of paragraphs and of table lines.
var breaks = regexp.MustCompile(`\n\s*\n|\n\t`)

// heading matches a heading's line.
var heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)

// anchors returns the anchors of a page's headings, as GitHub makes them.
func anchors(markdown string) map[string]bool {
	found := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(markdown, -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(strings.TrimSpace(m[1])) {
			switch {
			case r == ' ' || r == '-':
				b.WriteByte('-')
			case r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r > 127 && !slices.Contains([]rune("·–—→§…“”"), r):
				b.WriteRune(r)
			}
		}
		found[b.String()] = true
	}
	return found
}
