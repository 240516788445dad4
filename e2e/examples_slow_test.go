//go:build slow

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestControllerExample checks that a controller of one's own becomes a weir of one's own, and a table.
func TestControllerExample(t *testing.T) {
	out, dir := task(t, "", "controller/run.sh")
	if !strings.Contains(out, "holds      gentle.fuller") || !strings.Contains(out, "keep") {
		t.Error(out)
	}
	table, err := os.ReadFile(filepath.Join(dir, "gentle.md"))
	if err != nil || !strings.Contains(string(table), "| gentle |") || !strings.HasSuffix(strings.TrimSpace(out),
		"gentle.md") {
		t.Errorf("%v: %s\n%s", err, table, out)
	}
}
