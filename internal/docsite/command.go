package docsite

import (
	"bytes"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"weir/internal/command"
)

// Command implements command.Docs.
type Command struct {
	Pages fs.FS // README.md and docs/*.md
}

// Run lists the pages, prints the page or the part of it that d.Page names, or writes all pages as a site into the
// folder d.Site and prints its first file. An unknown page or heading is an ErrInput.
func (c Command) Run(d *command.DocsFlags, e *command.Environment) error {
	site, err := New(c.Pages)
	if err != nil {
		return err
	}
	switch {
	case d.Site != "" && d.Page != "":
		return fmt.Errorf("%w: --site writes all pages and needs no page; leave out %s", command.ErrInput, d.Page)
	case d.Site != "":
		if err := site.writeSite(string(d.Site)); err != nil {
			return err
		}
		fmt.Fprintln(e.Stdout, filepath.Join(string(d.Site), "index.html"))
		return nil
	case d.Page == "":
		for _, p := range site.Pages {
			e.Entry(24, p.Name(), p.Title)
		}
		return nil
	}
	name, heading, _ := strings.Cut(d.Page, "#")
	p := site.findPage(name)
	if p == nil {
		return fmt.Errorf("%w: there is no page %q; allowed: %s", command.ErrInput, name, pageNames(site))
	}
	text := p.source
	if heading != "" {
		if text = p.findPart(heading); text == nil {
			return fmt.Errorf("%w: %s has no heading #%s; allowed: %s", command.ErrInput, p.File, heading, pageHeadings(p))
		}
	}
	fmt.Fprintln(e.Stdout, string(bytes.TrimSpace(text)))
	return nil
}

// pageNames returns the names of all pages, separated by commas.
func pageNames(s *Website) string {
	var all []string
	for _, p := range s.Pages {
		all = append(all, p.Name())
	}
	return strings.Join(all, ", ")
}

// pageHeadings returns the anchors of a page, separated by commas.
func pageHeadings(p *Page) string {
	var all []string
	for _, h := range p.Headings {
		all = append(all, "#"+h.ID)
	}
	return strings.Join(all, ", ")
}
