// Package cite checks that citations in the tree resolve: comments, experiments, pages and the sources of values name
// works listed in docs/sources.md, and pages and headings that exist. Works.CheckText and Works.CheckSource define the
// forms of citations.
package cite
