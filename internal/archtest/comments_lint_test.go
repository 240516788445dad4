//go:build lint

package archtest

import (
	"io/fs"
	"path"
	"testing"

	"weir/internal/testkit"
)

// TestPublishedPackages_HaveDocComments requires a doc comment of each exported name of published packages and of the
// transports.
func TestPublishedPackages_HaveDocComments(t *testing.T) {
	tree := testkit.TrackedFiles(t, root)
	transports, err := fs.Glob(tree, "core/transport/*/doc.go")
	if err != nil {
		t.Fatal(err)
	}
	folders := published
	for _, f := range transports {
		folders = append(folders[:len(folders):len(folders)], path.Dir(f))
	}
	for _, folder := range folders {
		names, err := findUncommented(tree, folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			t.Errorf("%s has no doc comment that begins with it", name)
		}
	}
}
