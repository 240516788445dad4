package e2e

import (
	"os"
	"strings"
	"testing"

	"weir/app"
)

// TestEverySizeIsExplained: docs/sizes.md says of each registered job what its size counts, in the table that
// core/workload's TestCountedSizes_MatchSentBytes checks by the bytes that are sent.
func TestEverySizeIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/sizes.md")
	if err != nil {
		t.Fatal(err)
	}
	table := string(text)
	for i := range app.Registry().Jobs {
		name := app.Registry().Jobs[i].Name
		if !strings.Contains(table, "| job | "+name+" |") && !strings.Contains(table, "\n| "+name+" |") {
			t.Errorf("job %s has no row", name)
		}
	}
}
