package docsite

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// Website is all pages, in the order in which they are listed.
type Website struct {
	Pages  []*Page
	Broken []BrokenLink // links to no file or to no heading, in the order of pages

	files    fs.FS
	attached map[string]bool // files that are no pages, and to which one links
}

// BrokenLink is a link to no file or to no heading. The site shows it as it is written.
type BrokenLink struct {
	File   string // that has the link: "docs/spec.md"
	Line   int
	Link   string
	Reason error
}

func (b BrokenLink) Error() string {
	return fmt.Sprintf("%s:%d: link to %s: %v", b.File, b.Line, b.Link, b.Reason)
}

// findPage is one file of Markdown.
type Page struct {
	File     string // "docs/spec.md"
	Path     string // of the page in the site: "docs/spec.html"; that of README.md is "index.html"
	Title    string // of the first heading
	Headings []Heading
	Body     template.HTML // with links to other pages as they are in the site, from this page's folder
	Sections []Section     // what the search finds

	source []byte
	tree   ast.Node
	ids    map[string]bool
}

// Heading is a heading below the title.
type Heading struct {
	Level int // from 2
	ID    string
	Text  string
}

// Section is a heading with the text up to the next one.
type Section struct {
	ID, Heading, Text string
}

// front is the page that is read first.
const front = "README.md"

// markdown is what GitHub understands, too: tables and addresses that are links. HTML is left out, but for anchors.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Linkify, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(bodies{}, 100))))

// New reads all files of Markdown that a file system has. README.md comes first, then the pages that it links to, in
// its order, then the others.
func New(files fs.FS) (*Website, error) {
	s := &Website{files: files, attached: map[string]bool{}}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		s.Pages = append(s.Pages, parse(name, source))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Pages) == 0 {
		return nil, errors.New("there are no pages: files whose names end in .md")
	}
	s.arrange()
	for _, p := range s.Pages {
		s.link(p)
	}
	for _, p := range s.Pages {
		if err := p.render(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// findPage is the page of a file, or of a name without its folder and ending (spec); nil if there is none.
func (s *Website) findPage(name string) *Page {
	for _, p := range s.Pages {
		if name == p.File || name == strings.TrimSuffix(p.File, ".md") || name == p.Path {
			return p
		}
	}
	for _, p := range s.Pages {
		if strings.EqualFold(name, strings.TrimSuffix(path.Base(p.File), ".md")) {
			return p
		}
	}
	return nil
}

// part is the Markdown of one heading with all that is below it, up to the next heading of its level; nil if the page
// does not have it.
func (p *Page) part(id string) []byte {
	from, to, level := -1, len(p.source), 0
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok || h.Lines().Len() == 0 {
			continue
		}
		start := bytes.LastIndexByte(p.source[:h.Lines().At(0).Start], '\n') + 1
		if own, _ := h.AttributeString("id"); from < 0 && string(own.([]byte)) == id {
			from, level = start, h.Level
		} else if from >= 0 && h.Level <= level {
			to = start
			break
		}
	}
	if from < 0 {
		return nil
	}
	return p.source[from:to]
}

// Name is the shortest that Page finds it by, if no other page has the same.
func (p *Page) Name() string { return strings.TrimSuffix(path.Base(p.File), ".md") }

// parse reads a page, and gives its headings the anchors that GitHub would.
func parse(name string, source []byte) *Page {
	p := &Page{File: name, Path: strings.TrimSuffix(name, ".md") + ".html", source: source, ids: map[string]bool{}}
	if name == front {
		p.Path = "index.html"
	}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	given := map[string]int{}
	walk(p.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Heading:
			words := plain(n, source)
			id := anchor(words)
			given[id]++
			if times := given[id]; times > 1 {
				id = fmt.Sprint(id, "-", times-1)
			}
			n.SetAttributeString("id", []byte(id))
			p.ids[id] = true
			switch {
			case n.Level == 1 && p.Title == "":
				p.Title = words
			default:
				p.Headings = append(p.Headings, Heading{n.Level, id, words})
			}
		case *ast.RawHTML:
			if m := anchorTag.FindSubmatch(n.Segments.Value(source)); m != nil {
				p.ids[string(m[1])] = true
			}
		}
	})
	if p.Title == "" {
		p.Title = p.Name()
	}
	p.sections()
	return p
}

// arrange puts the pages in the order in which the front page links to them.
func (s *Website) arrange() {
	rank := map[string]int{front: 0}
	if p := s.findPage(front); p != nil {
		walk(p.tree, func(n ast.Node) {
			if l, ok := n.(*ast.Link); ok {
				file, _, _ := strings.Cut(string(l.Destination), "#")
				if _, known := rank[path.Clean(file)]; !known {
					rank[path.Clean(file)] = len(rank)
				}
			}
		})
	}
	slices.SortStableFunc(s.Pages, func(a, b *Page) int {
		x, known := rank[a.File]
		y, too := rank[b.File]
		switch {
		case known && too:
			return x - y
		case known != too:
			if known {
				return -1
			}
			return 1
		}
		return strings.Compare(a.File, b.File)
	})
}

// walk visits all nodes of a tree from above.
func walk(n ast.Node, visit func(ast.Node)) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}
