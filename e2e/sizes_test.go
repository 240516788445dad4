package e2e

import (
	"os"
	"strings"
	"testing"

	"weir/app"
)

// TestEverySizeIsExplained: docs/spec.md says of each registered job what its size counts, in the table that
// core/workload's TestSizes checks by the bytes that are sent.
func TestEverySizeIsExplained(t *testing.T) {
	text, err := os.ReadFile("../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## What a size means\n")
	table, _, _ = strings.Cut(table, "\n## ")
	for i := range app.Registry().Jobs {
		name := app.Registry().Jobs[i].Name
		if !strings.Contains(table, "| job | "+name+" |") && !strings.Contains(table, "\n| "+name+" |") {
			t.Errorf("job %s has no row", name)
		}
	}
}
