package page

import (
	"bytes"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"weir/internal/docsite"
)

// docs are the pages of the documentation.
type docs struct {
	files fs.FS
	pages []docPage
}

type docPage struct {
	File, Title string
	source      []byte
}

// newDocs reads the pages: README.md and others of the root folder, then those of docs.
func newDocs(files fs.FS) (*docs, error) {
	d := &docs{files: files}
	if files == nil {
		return d, nil
	}
	root, err := fs.Glob(files, "*.md")
	if err != nil {
		return nil, err
	}
	below, err := fs.Glob(files, "docs/*.md")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(root, func(a, b string) int {
		if a == "README.md" {
			return -1
		}
		if b == "README.md" {
			return 1
		}
		return strings.Compare(a, b)
	})
	further, err := fs.Glob(files, "docs/*/*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Concat(root, below, further) {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, err
		}
		p := docPage{File: name, Title: strings.TrimSuffix(path.Base(name), ".md"), source: data}
		for _, line := range strings.Split(string(data), "\n") {
			if t, ok := strings.CutPrefix(line, "# "); ok {
				p.Title = strings.TrimSpace(t)
				break
			}
		}
		d.pages = append(d.pages, p)
	}
	return d, nil
}

// markdown renders tables too, and gives headings names that links can name. HTML of a page is left out.
var markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.
	WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Linkify), goldmark.WithParserOptions(
	parser.WithAutoHeadingID()), goldmark.WithRendererOptions(renderer.WithNodeRenderers(
	util.Prioritized(docsite.CodeSpans{}, 100))))

// render is a page as HTML, whose links lead to other pages of the documentation here.
func (d *docs) render(p *docPage) (template.HTML, error) {
	tree := markdown.Parser().Parse(text.NewReader(p.source))
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch x := n.(type) {
		case *ast.Link:
			x.Destination = []byte(d.target(p.File, string(x.Destination)))
		case *ast.Image:
			x.Destination = []byte(d.target(p.File, string(x.Destination)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, tree); err != nil {
		return "", err
	}
	return template.HTML(b.String()), nil // of the program's own pages, without their HTML
}

// target is where a link of a page leads to.
func (d *docs) target(from, to string) string {
	file, fragment, _ := strings.Cut(to, "#")
	if file == "" || strings.Contains(file, ":") {
		return to
	}
	at := path.Join(path.Dir(from), file)
	if _, err := fs.Stat(d.files, at); err != nil {
		return "/docs" // code, which the program does not carry
	}
	if fragment != "" {
		at += "#" + fragment
	}
	return "/docs/" + at
}

// hit is a place where the documentation has what was looked for.
type hit struct {
	Page  docPage
	Count int
	Lines []string
}

// mostLines is how many places of a page are shown.
const mostLines = 3

// plainly leaves out what Markdown marks words with.
var plainly = strings.NewReplacer("`", "", "**", "", " | ", ": ")

// search finds pages that have all words, those with most of them first.
func (d *docs) search(words []string) (hits []hit) {
	for _, p := range d.pages {
		lower := strings.ToLower(string(p.source))
		h := hit{Page: p}
		for _, w := range words {
			n := strings.Count(lower, w)
			if h.Count += n; n == 0 {
				h.Count = 0
				break
			}
		}
		if h.Count == 0 {
			continue
		}
		for _, line := range strings.Split(string(p.source), "\n") {
			if at := strings.ToLower(line); len(h.Lines) < mostLines && strings.Contains(at, words[0]) {
				h.Lines = append(h.Lines, plainly.Replace(strings.Trim(strings.TrimSpace(line), "#|> ")))
			}
		}
		hits = append(hits, h)
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.Count - a.Count })
	return hits
}

func (s *Server) docList(w http.ResponseWriter, r *http.Request) error {
	find := strings.TrimSpace(r.URL.Query().Get("find"))
	data := map[string]any{"Pages": s.docs.pages, "Find": find}
	if find != "" {
		data["Hits"] = s.docs.search(strings.Fields(strings.ToLower(find)))
	}
	return s.show(w, r, "docs", http.StatusOK, "Documentation", data)
}

var picture = regexp.MustCompile(`^docs/[A-Za-z0-9-]+\.(svg|png)$`)

func (s *Server) docPage(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("page")
	for i := range s.docs.pages {
		if p := &s.docs.pages[i]; p.File == name {
			html, err := s.docs.render(p)
			if err != nil {
				return err
			}
			return s.show(w, r, "doc", http.StatusOK, p.Title, map[string]any{"Page": p, "HTML": html, "Pages": s.docs.pages})
		}
	}
	if m := picture.FindStringSubmatch(name); m != nil && s.docs.files != nil {
		if data, err := fs.ReadFile(s.docs.files, name); err == nil {
			w.Header().Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[m[1]])
			w.Header().Set("Content-Security-Policy", apart)
			_, err = w.Write(data)
			return err
		}
	}
	return missing("There is no such page.")
}
