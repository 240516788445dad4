package e2e

import (
	"os"
	"strings"
	"testing"

	"weir/app"
)

// TestEverySizeIsExplained checks that docs/sizes.md explains the size of each registered job, in the table that
// core/workload's TestCountedSizes_MatchSentBytes compares with the bytes sent.
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
