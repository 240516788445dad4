package cli

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	pages "weir"
	"weir/internal/docsite"
)

type docsCmd struct {
	Page string `arg:"" optional:"" help:"${docsPage}"`
	Site target `placeholder:"DIR" help:"${docsSite}"`
}

func (d *docsCmd) Run(a *app) error {
	site, err := docsite.New(pages.Files)
	if err != nil {
		return err
	}
	switch {
	case d.Site != "" && d.Page != "":
		return fmt.Errorf("%w: --site writes all pages; leave %s out", errInput, d.Page)
	case d.Site != "":
		if err := site.Write(string(d.Site)); err != nil {
			return err
		}
		fmt.Fprintln(a.stdout, filepath.Join(string(d.Site), "index.html"))
		return nil
	case d.Page == "":
		for _, p := range site.Pages {
			a.entry(24, p.Name(), p.Title)
		}
		return nil
	}
	name, heading, _ := strings.Cut(d.Page, "#")
	p := site.Page(name)
	if p == nil {
		return fmt.Errorf("%w: there is no page %q; there are %s", errInput, name, names(site))
	}
	text := p.Source()
	if heading != "" {
		if text = p.Part(heading); text == nil {
			return fmt.Errorf("%w: %s has no heading #%s; it has %s", errInput, p.File, heading, headings(p))
		}
	}
	fmt.Fprintln(a.stdout, string(bytes.TrimSpace(text)))
	return nil
}

// names are those of all pages.
func names(s *docsite.Site) string {
	var all []string
	for _, p := range s.Pages {
		all = append(all, p.Name())
	}
	return strings.Join(all, ", ")
}

// headings are the anchors of a page.
func headings(p *docsite.Page) string {
	var all []string
	for _, h := range p.Headings {
		all = append(all, "#"+h.ID)
	}
	return strings.Join(all, ", ")
}
