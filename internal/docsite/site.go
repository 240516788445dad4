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

// Website has all pages, in the order of the list.
type Website struct {
	Pages  []*Page
	Broken []BrokenLink // broken links, in the order of the pages

	files    fs.FS
	attached map[string]bool // linked files that are not pages
}

// BrokenLink is a link to a file or heading that does not exist. The site shows it unchanged.
type BrokenLink struct {
	File   string // file with the link: "docs/spec.md"
	Line   int
	Link   string
	Reason error
}

func (b BrokenLink) Error() string {
	return fmt.Sprintf("%s:%d: link to %s: %v", b.File, b.Line, b.Link, b.Reason)
}

// Page is one Markdown file.
type Page struct {
	File     string // "docs/spec.md"
	Path     string // path in the site: "docs/spec.html"; "index.html" for README.md
	Title    string // text of the first heading
	Headings []Heading
	Body     template.HTML // with links to other pages relative to this page's folder
	Sections []Section     // sections for the search

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

// frontPage is the first page.
const frontPage = "README.md"

// markdown supports what GitHub does, too: tables, and addresses as links. It drops HTML except anchors.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table, extension.Linkify, extension.Strikethrough),
	goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(bodies{}, 100))))

// New reads all Markdown files of a file system and converts them. README.md is first, then the pages that it links to,
// in its order, then the others. Broken links are listed in Broken, not an error.
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
		s.Pages = append(s.Pages, parsePage(name, source))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if len(s.Pages) == 0 {
		return nil, errors.New("there are no pages: files whose names end in .md")
	}
	s.sortPages()
	for _, p := range s.Pages {
		s.convertLinks(p)
	}
	for _, p := range s.Pages {
		if err := p.render(); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// findPage returns the page of a file, of its path in the site, or of a name without folder and ending (spec), or nil.
func (s *Website) findPage(name string) *Page {
	for _, p := range s.Pages {
		if name == p.File || name == strings.TrimSuffix(p.File, ".md") || name == p.Path {
			return p
		}
	}
	for _, p := range s.Pages {
		if strings.EqualFold(name, p.Name()) {
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

// findPart returns the Markdown of the heading with the given anchor and all text up to the next heading of its level
// or above, or nil if the page lacks the heading.
func (p *Page) findPart(id string) []byte {
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

// Name returns the shortest name by which findPage finds the page, if no other page shares it. Pages of papers have
// their folder in it, since some papers and schemes have the same name.
func (p *Page) Name() string {
	name := strings.TrimSuffix(path.Base(p.File), ".md")
	if path.Dir(p.File) == paperPages {
		return path.Join(path.Base(paperPages), name)
	}
	return name
}

// parsePage parses a page and gives its headings GitHub's anchors.
func parsePage(name string, source []byte) *Page {
	p := &Page{File: name, Path: strings.TrimSuffix(name, ".md") + ".html", source: source, ids: map[string]bool{}}
	if name == frontPage {
		p.Path = "index.html"
	}
	p.tree = markdown.Parser().Parse(text.NewReader(source), parser.WithContext(parser.NewContext()))
	given := map[string]int{}
	walk(p.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Heading:
			words := plainText(n, source)
			id := anchorOf(words)
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
	p.splitSections()
	return p
}

// sortPages sorts the pages in the order of the front page's links.
func (s *Website) sortPages() {
	rank := map[string]int{frontPage: 0}
	if p := s.findPage(frontPage); p != nil {
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

// walk calls visit for all nodes of a tree, parents first.
func walk(n ast.Node, visit func(ast.Node)) {
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			visit(n)
		}
		return ast.WalkContinue, nil
	})
}
