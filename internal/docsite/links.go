package docsite

import (
	"bytes"
	"fmt"
	"html/template"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// link turns the links of a page to files into links to pages of the site, and records the broken ones.
func (s *Website) link(p *Page) {
	line := 1 // of the block that a node is in
	walk(p.tree, func(n ast.Node) {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			line = 1 + bytes.Count(p.source[:n.Lines().At(0).Start], []byte("\n"))
		}
		var to *[]byte
		switch n := n.(type) {
		case *ast.Link:
			to = &n.Destination
		case *ast.Image:
			to = &n.Destination
		default:
			return
		}
		target, err := s.resolve(p, string(*to))
		if err != nil {
			s.Broken = append(s.Broken, BrokenLink{p.File, p.lineOf(line, *to), string(*to), err})
			return
		}
		*to = []byte(target)
	})
}

// lineOf is the line in which a link stands, at or after that of its block.
func (p *Page) lineOf(block int, destination []byte) int {
	for i, text := range bytes.Split(p.source, []byte("\n")) {
		if i+1 >= block && bytes.Contains(text, append([]byte("]("), destination...)) {
			return i + 1
		}
	}
	return block
}

// resolve is where a link of a page leads in the site.
func (s *Website) resolve(p *Page, to string) (string, error) {
	u, err := url.Parse(to)
	if err != nil {
		return "", err
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return to, nil
	case "":
	default:
		return "", fmt.Errorf("%s: is not allowed; http, https and mailto are", u.Scheme)
	}
	if u.Host != "" || path.IsAbs(u.Path) {
		return "", fmt.Errorf("it does not start from this page's folder")
	}
	target, file := p, path.Join(path.Dir(p.File), u.Path)
	if u.Path != "" {
		target = s.page(file)
	}
	if target == nil {
		if u.Fragment != "" {
			return "", fmt.Errorf("%s has no headings: it is no page", file)
		}
		if info, err := fs.Stat(s.files, file); err != nil || !info.Mode().IsRegular() {
			return "", fmt.Errorf("there is no file %s", file)
		}
		s.attached[file] = true
		return relative(p.Path, shown(file)), nil
	}
	if u.Fragment != "" && !target.ids[u.Fragment] {
		return "", fmt.Errorf("%s has no heading with this anchor%s", target.File, target.near(u.Fragment))
	}
	at := ""
	if u.Fragment != "" {
		at = "#" + u.EscapedFragment()
	}
	if target == p && at != "" {
		return at, nil
	}
	return relative(p.Path, target.Path) + at, nil
}

// near names the anchors that share the beginning of one that is not there.
func (p *Page) near(id string) string {
	for n := len(id); n >= 3; n-- {
		var like []string
		for _, h := range p.Headings {
			if strings.HasPrefix(h.ID, id[:n]) {
				like = append(like, "#"+h.ID)
			}
		}
		if len(like) > 0 {
			return "; there is " + strings.Join(like[:min(3, len(like))], ", ")
		}
	}
	return ""
}

// page is that of a file.
func (s *Website) page(file string) *Page {
	for _, p := range s.Pages {
		if p.File == file {
			return p
		}
	}
	return nil
}

// shown is the name of a file in the site: a browser shows what has no ending of its own as text.
func shown(file string) string {
	switch path.Ext(file) {
	case ".svg", ".png", ".pdf", ".txt", ".csv", ".json":
		return file
	}
	return file + ".txt"
}

// relative is the way from one page to a file.
func relative(from, to string) string {
	r, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		return to // not reached: both are below one folder
	}
	return (&url.URL{Path: filepath.ToSlash(r)}).String()
}

// render makes the page's HTML.
func (p *Page) render() error {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.tree); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	p.Body = template.HTML(b.String())
	return nil
}
