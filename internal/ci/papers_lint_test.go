//go:build lint

package main

import "testing"

// TestPapers_PagesHaveEveryExperiment compares the papers' pages with their experiments and claims.
func TestPapers_PagesHaveEveryExperiment(t *testing.T) {
	files, err := trackedFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkPapers("../..", files); err != nil {
		t.Error(err)
	}
}
