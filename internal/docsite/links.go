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

// convertLinks replaces links to files by links to pages of the site, and adds the broken ones to Broken.
func (s *Website) convertLinks(p *Page) {
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

// lineOf returns the line of a link with this destination, at or after the line of its block. If it finds no such line,
// it returns the block's line.
func (p *Page) lineOf(block int, destination []byte) int {
	for i, text := range bytes.Split(p.source, []byte("\n")) {
		if i+1 >= block && bytes.Contains(text, append([]byte("]("), destination...)) {
			return i + 1
		}
	}
	return block
}

// resolve returns the target of a page's link in the site, relative to the page. It notes linked files that are not
// pages in attached. It returns an error for a broken link or another scheme than http, https and mailto.
func (s *Website) resolve(p *Page, link string) (string, error) {
	u, err := url.Parse(link)
	if err != nil {
		return "", err
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return link, nil
	case "":
	default:
		return "", fmt.Errorf("%s: is not allowed; http, https and mailto are", u.Scheme)
	}
	if u.Host != "" || path.IsAbs(u.Path) {
		return "", fmt.Errorf("it does not start from this page's folder")
	}
	target, file := p, path.Join(path.Dir(p.File), u.Path)
	if u.Path != "" {
		target = s.pageOf(file)
	}
	if target == nil {
		if u.Fragment != "" {
			return "", fmt.Errorf("%s is not a page and has no headings", file)
		}
		if info, err := fs.Stat(s.files, file); err != nil || !info.Mode().IsRegular() {
			return "", fmt.Errorf("there is no file %s", file)
		}
		s.attached[file] = true
		return relativeURL(p.Path, sitePath(file)), nil
	}
	if u.Fragment != "" && !target.ids[u.Fragment] {
		return "", fmt.Errorf("%s has no heading with this anchor%s", target.File, target.suggestAnchors(u.Fragment))
	}
	at := ""
	if u.Fragment != "" {
		at = "#" + u.EscapedFragment()
	}
	if target == p && at != "" {
		return at, nil
	}
	return relativeURL(p.Path, target.Path) + at, nil
}

// suggestAnchors returns a hint with up to three anchors that share the longest beginning with a missing one, of three
// bytes or more, or "".
func (p *Page) suggestAnchors(id string) string {
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

// pageOf returns the page of a file, or nil.
func (s *Website) pageOf(file string) *Page {
	for _, p := range s.Pages {
		if p.File == file {
			return p
		}
	}
	return nil
}

// sitePath returns the path of a file in the site. Files without a known ending become .txt, so that a browser shows
// them as text.
func sitePath(file string) string {
	switch path.Ext(file) {
	case ".svg", ".png", ".pdf", ".txt", ".csv", ".json":
		return file
	}
	return file + ".txt"
}

// relativeURL returns the relative URL from a page to a file.
func relativeURL(from, to string) string {
	r, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(to))
	if err != nil {
		return to // unreachable: both are below one folder
	}
	return (&url.URL{Path: filepath.ToSlash(r)}).String()
}

// render sets the page's Body from its tree. convertLinks must have run.
func (p *Page) render() error {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.tree); err != nil {
		return fmt.Errorf("%s: %w", p.File, err)
	}
	p.Body = template.HTML(b.String())
	return nil
}
