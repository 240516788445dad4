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

// docSet holds the pages of the documentation.
type docSet struct {
	files fs.FS
	pages []docPage
}

// docPage is a page of the documentation with its Markdown source.
type docPage struct {
	File, Title string
	source      []byte
}

// newDocs reads the pages: README.md and others of the root folder, then those below docs. It returns an empty set if
// files is nil.
func newDocs(files fs.FS) (*docSet, error) {
	d := &docSet{files: files}
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

// markdown renders Markdown with tables and headings with ids for links. It omits HTML in a page.
var markdown = goldmark.New(goldmark.WithExtensions(extension.NewTable(extension.
	WithTableCellAlignMethod(extension.TableCellAlignAttribute)), extension.Linkify), goldmark.WithParserOptions(
	parser.WithAutoHeadingID()), goldmark.WithRendererOptions(renderer.WithNodeRenderers(
	util.Prioritized(docsite.CodeSpans{}, 100))))

// renderPage returns a page as HTML, with links to other pages changed to their addresses on this server.
func (d *docSet) renderPage(p *docPage) (template.HTML, error) {
	tree := markdown.Parser().Parse(text.NewReader(p.source))
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch x := n.(type) {
		case *ast.Link:
			x.Destination = []byte(d.resolveLink(p.File, string(x.Destination)))
		case *ast.Image:
			x.Destination = []byte(d.resolveLink(p.File, string(x.Destination)))
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
	return template.HTML(b.String()), nil // from the program's own pages, without their HTML
}

// resolveLink returns the address on this server of the link target in the page from. It leaves addresses with a scheme
// and those within the page unchanged. A link to a file that is not embedded leads to /docs.
func (d *docSet) resolveLink(from, target string) string {
	file, fragment, _ := strings.Cut(target, "#")
	if file == "" || strings.Contains(file, ":") {
		return target
	}
	at := path.Join(path.Dir(from), file)
	if _, err := fs.Stat(d.files, at); err != nil {
		return "/docs" // source code is not embedded
	}
	if fragment != "" {
		at += "#" + fragment
	}
	return "/docs/" + at
}

// searchHit is a page that matches a search, with the number of matches and sample lines.
type searchHit struct {
	Page  docPage
	Count int
	Lines []string
}

// maxHitLines limits the sample lines of a page.
const maxHitLines = 3

// plainText removes Markdown's emphasis.
var plainText = strings.NewReplacer("`", "", "**", "", " | ", ": ")

// searchPages returns the pages that contain all words (in lower case), ordered by the number of matches. Each has up
// to maxHitLines lines with the first word. The list words must not be empty.
func (d *docSet) searchPages(words []string) (hits []searchHit) {
	for _, p := range d.pages {
		lower := strings.ToLower(string(p.source))
		h := searchHit{Page: p}
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
			if at := strings.ToLower(line); len(h.Lines) < maxHitLines && strings.Contains(at, words[0]) {
				h.Lines = append(h.Lines, plainText.Replace(strings.Trim(strings.TrimSpace(line), "#|> ")))
			}
		}
		hits = append(hits, h)
	}
	slices.SortStableFunc(hits, func(a, b searchHit) int { return b.Count - a.Count })
	return hits
}

// serveDocList shows the list of pages, or the search results for the query's find.
func (s *Server) serveDocList(w http.ResponseWriter, r *http.Request) error {
	find := strings.TrimSpace(r.URL.Query().Get("find"))
	data := map[string]any{"Pages": s.docs.pages, "Find": find}
	if find != "" {
		data["Hits"] = s.docs.searchPages(strings.Fields(strings.ToLower(find)))
	}
	return s.showPage(w, r, "docs", http.StatusOK, "Documentation", data)
}

// picturePath matches the documentation's pictures.
var picturePath = regexp.MustCompile(`^docs/[A-Za-z0-9-]+\.(svg|png)$`)

// serveDocPage shows a page of the documentation or a picture.
func (s *Server) serveDocPage(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("page")
	for i := range s.docs.pages {
		if p := &s.docs.pages[i]; p.File == name {
			html, err := s.docs.renderPage(p)
			if err != nil {
				return err
			}
			return s.showPage(w, r, "doc", http.StatusOK, p.Title, map[string]any{"Page": p, "HTML": html,
				"Pages": s.docs.pages})
		}
	}
	if m := picturePath.FindStringSubmatch(name); m != nil && s.docs.files != nil {
		if data, err := fs.ReadFile(s.docs.files, name); err == nil {
			w.Header().Set("Content-Type", map[string]string{"svg": "image/svg+xml", "png": "image/png"}[m[1]])
			w.Header().Set("Content-Security-Policy", filePolicy)
			_, err = w.Write(data)
			return err
		}
	}
	return notFound("The page does not exist.")
}
