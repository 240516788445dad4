// Package pages is the documentation: the pages of this repository, which the program carries with it, so that somebody
// who has nothing but the program can read them.
package pages

import "embed"

// Files are README.md and the other pages of the root folder, and the folder docs, with their pictures.
//
//go:embed README.md CONTRIBUTING.md CHANGELOG.md LICENSE CITATION.cff docs
var Files embed.FS
