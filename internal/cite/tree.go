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

// Sources is the page that has the works.
const Sources = "docs/sources.md"

// wrong is a citation that does not resolve.
type wrong struct {
	File string
	Line int
	Msg  string
}

func (w wrong) String() string { return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Msg) }

// Tree is a source tree whose citations are checked.
type Tree struct {
	Works *Works
	fsys  fs.FS
	homes map[string]string          // by folder: the work that its package comment names first
	pages map[string]map[string]bool // by page: its anchors
	wrong []wrong
}

// Open reads the works and the pages of a tree.
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
	err = t.walk(".md", func(name string, data []byte) error {
		t.pages[name] = anchors(string(data))
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = t.walk(".go", func(name string, data []byte) error {
		f, err := parser.ParseFile(token.NewFileSet(), name, data, parser.ParseComments|parser.PackageClauseOnly)
		if err != nil {
			return err
		}
		if f.Doc != nil && !strings.HasSuffix(name, "_test.go") {
			if m := works.mentions(join(f.Doc.Text())); len(m) > 0 {
				t.homes[path.Dir(name)] = m[0].key
			}
		}
		return nil
	})
	return t, err
}

// Check returns the citations of the tree's Go comments and strings, of its experiments, of its
// pages and of its templates that do not resolve, in the order of the files.
func (t *Tree) Check() ([]wrong, error) {
	t.wrong = nil
	if err := t.walk(".go", t.source); err != nil {
		return nil, err
	}
	if err := t.walk(".yaml", t.document); err != nil {
		return nil, err
	}
	if err := t.walk(".md", t.page); err != nil {
		return nil, err
	}
	if err := t.walk(".tmpl", t.template); err != nil {
		return nil, err
	}
	sort.SliceStable(t.wrong, func(i, j int) bool {
		a, b := t.wrong[i], t.wrong[j]
		return a.File < b.File || a.File == b.File && a.Line < b.Line
	})
	return t.wrong, nil
}

// Source checks a value's source, see Works.Source. home is the work that an experiment
// names as its paper, "" for none.
func (t *Tree) Source(source, home string) error { return t.Works.Source(source, home, t.has) }

// walk calls f for the regular files of the tree with this ending. It leaves out inputs of tests, results, and names
// with a leading dot or underscore: those are files of other programs, such as editors.
func (t *Tree) walk(ending string, f func(name string, data []byte) error) error {
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

// has reports whether a page of the tree, or a heading in it, is there. Pages are named from
// the root, or as they are called in docs.
func (t *Tree) has(name string) bool {
	name, anchor, _ := strings.Cut(name, "#")
	for _, p := range []string{name, "docs/" + name} {
		if headings, ok := t.pages[path.Clean(p)]; ok {
			return anchor == "" || headings[anchor]
		}
	}
	return false
}

// home is the work that the places of a room's comments are of when they name none: the first
// one in the comment of its package, or of the one around it.
func (t *Tree) home(name string) string {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if work, ok := t.homes[dir]; ok {
			return work
		}
	}
	return ""
}

func (t *Tree) check(name string, line int, text string) {
	for _, msg := range t.Works.Text(join(text), t.home(name), t.has) {
		t.wrong = append(t.wrong, wrong{name, line, msg})
	}
}

// source checks the comments and strings of a Go file.
func (t *Tree) source(name string, data []byte) error {
	if strings.HasPrefix(name, "internal/cite/") { // its texts are the grammar, and wrong on purpose
		return nil
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, data, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range f.Comments {
		t.check(name, fset.Position(group.Pos()).Line, group.Text())
	}
	if strings.HasSuffix(name, "_test.go") { // strings of tests are inputs and outputs
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if text, ok := constant(e); ok {
				t.check(name, fset.Position(e.Pos()).Line, text)
				return false
			}
		}
		return true
	})
	return nil
}

// constant is the text of a string, or of several that are added up.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		x, left := constant(e.X)
		y, right := constant(e.Y)
		return x + y, left && right && e.Op == token.ADD
	}
	return "", false
}

// document checks a YAML file: comments of several lines as one, and the values and comments of
// other lines.
func (t *Tree) document(name string, data []byte) error {
	lines := strings.Split(string(data), "\n")
	for i := 0; i < len(lines); i++ {
		first := i
		block, whole := strings.CutPrefix(strings.TrimSpace(lines[i]), "#")
		for whole && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "#") {
			i++
			block += " " + strings.TrimLeft(strings.TrimSpace(lines[i]), "# ")
		}
		t.check(name, first+1, block) // of a line with values, these too
	}
	return nil
}

// template checks the lines of a template.
func (t *Tree) template(name string, data []byte) error {
	for i, line := range strings.Split(string(data), "\n") {
		t.check(name, i+1, line)
	}
	return nil
}

// page checks a page: its paragraphs. The heading above says whose their places are, if it
// names a work.
func (t *Tree) page(name string, data []byte) error {
	line, home := 1, ""
	for _, p := range strings.Split(string(data), "\n\n") {
		if strings.HasPrefix(p, "#") {
			home = ""
			if m := t.Works.mentions(p); len(m) > 0 {
				home = m[0].key
			}
		}
		for _, msg := range t.Works.Text(join(p), home, t.near(name)) {
			t.wrong = append(t.wrong, wrong{name, line, msg})
		}
		line += strings.Count(p, "\n") + 2
	}
	return nil
}

// near finds pages as another page links them, beside it.
func (t *Tree) near(name string) func(string) bool {
	return func(link string) bool { return t.has(path.Join(path.Dir(name), link)) || t.has(link) }
}

// join makes a text one line. A bar stands where a paragraph ends, or a line of a table.
func join(text string) string {
	return strings.Join(strings.Fields(breaks.ReplaceAllString(text, " | ")), " ")
}

var breaks = regexp.MustCompile(`\n\s*\n|\n\t`)

var heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)

// anchors are those that GitHub gives a page's headings.
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
