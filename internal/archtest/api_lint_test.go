//go:build lint

package archtest

import (
	"io/fs"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// published are the packages that users' programs import, and those with the types that package app returns.
// docs/api has a file of each.
var published = []string{"app", "core/cc", "core/dataplane", "core/scheme", "core/telemetry", "core/topology",
	"core/transport", "core/workload", "papers/hpcc", "papers/ncf", "papers/p4abc", "papers/p4te", "study/experiment",
	"study/measure", "study/results"}

// TestPublishedPackages_MatchDocumentedAPI compares the exported names of published packages with docs/api; -update
// writes it.
func TestPublishedPackages_MatchDocumentedAPI(t *testing.T) {
	tree := testkit.TrackedFiles(t, root)
	want := map[string]bool{}
	for _, folder := range published {
		text, err := writeAPI(tree, module, folder)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(folder, "/", "-") + ".txt"
		want[name] = true
		testkit.GoldenFile(t, "../../docs/api/"+name, text)
	}
	files, err := fs.Glob(tree, "docs/api/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name := strings.TrimPrefix(f, "docs/api/"); !want[name] {
			t.Errorf("%s is of no package of the list", f)
		}
	}
	if !slices.IsSorted(published) {
		t.Error("the list is not sorted")
	}
}
