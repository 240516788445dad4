//go:build lab || slow || system

package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// writeSpec writes an experiment into a new folder.
func writeSpec(t testing.TB, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "long.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
