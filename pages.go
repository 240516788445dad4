// Package pages embeds the documentation of this repository, so that the program can print it (`weir docs`).
package pages

import "embed"

// Files has README.md and the other pages of the root folder, and the folder docs with its pictures.
//
//go:embed README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md LICENSE CITATION.cff docs
var Files embed.FS
