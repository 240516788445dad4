// Package page links the pages into a program: weir serve and weir docs, and the documentation that both show.
package page

import (
	pages "weir"
	"weir/internal/command"
	"weir/internal/docsite"
	"weir/study/page"
	"weir/study/page/live"
)

func init() {
	live.Page.Link(func(o live.Options) (live.Server, error) {
		o.Docs = pages.Files
		s, err := page.New(o)
		if err != nil {
			return nil, err
		}
		return s, nil
	})
	command.DocsCommand.Link(docsite.Command{Pages: pages.Files})
}
