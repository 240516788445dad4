// Package cite checks that what the tree cites is there: comments, experiments, pages and the
// sources of values name works that docs/sources.md has, and pages and headings that exist.
// It knows a citation by its form, which Works.Text and Works.Source say.
package cite
