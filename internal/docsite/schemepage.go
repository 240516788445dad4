package docsite

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// SchemePages is the folder of pages about schemes. The title of a page lists the names of its schemes.
const SchemePages = "docs/schemes"

// paperPages is the folder of pages about the results of papers.
const paperPages = "docs/papers"

// SchemePage returns the Markdown of the page about a scheme without its title, or "" if it has no page.
func (c Command) SchemePage(name string) string {
	entries, err := fs.ReadDir(c.Pages, SchemePages)
	if err != nil { // the pages have no such folder
		return ""
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(c.Pages, path.Join(SchemePages, entry.Name()))
		if err != nil {
			continue
		}
		title, text, _ := strings.Cut(string(data), "\n")
		if slices.Contains(strings.Split(strings.TrimPrefix(title, "# "), ", "), name) {
			return strings.TrimSpace(text)
		}
	}
	return ""
}
