//go:build slow

package cli

import (
	"strings"
	"testing"

	"weir/internal/testutil"
)

// What the lab says of every experiment of the catalogue, as docs/lab.md tells by groups.
func TestCatalogueInTheLab(t *testing.T) {
	var b strings.Builder
	for _, e := range Registry().Experiments() {
		b.WriteString(labLine(t, e.Name) + "\n")
	}
	testutil.Golden(t, "labfits.txt", b.String())
}
