package main

import (
	"testing"

	"weir/internal/testkit"
)

// TestMissingHere checks which reasons of skips are errors for root where all packages are installed.
func TestMissingHere(t *testing.T) {
	for reason, want := range map[string]bool{
		"needs root: it mounts":                             true,
		"no network namespaces here: EPERM":                 true,
		"pdffonts" + testkit.NotInstalled + "poppler-utils": true,
		"DuckDB is not installed; .ci/system installs it":   true,
		"DuckDB needs Node.js":                              false,
		"pdflatex is not installed (Debian: texlive)":       false,
		"the kernel has no IOAM":                            false,
	} {
		t.Run(reason, func(t *testing.T) {
			if missingHere.MatchString(reason) != want {
				t.Errorf("want %v", want)
			}
		})
	}
}
