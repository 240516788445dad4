//go:build lint

package cite_test

import (
	"testing"

	"weir/internal/cite"
	"weir/internal/testkit"
)

// TestTree_CitesListedSources holds every citation of this tree against docs/sources.md.
func TestTree_CitesListedSources(t *testing.T) {
	tree, err := cite.Open(testkit.TrackedFiles(t, "../.."))
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := tree.Check()
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range wrong {
		t.Error(w)
	}
}
