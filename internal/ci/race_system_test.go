//go:build system

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRaceWithoutCompiler checks that the race stage is skipped on a machine that has no C compiler and cannot
// install one.
func TestRaceWithoutCompiler(t *testing.T) {
	summary := filepath.Join(t.TempDir(), "summary")
	t.Setenv("CGO_ENABLED", "0")
	t.Setenv(summaryVariable, summary)
	t.Setenv(leftOutVariable, "1")
	if err := raceCommand(filepath.Join("..", ".."), nil); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(summary); err != nil || !strings.Contains(string(text), "race: left out") {
		t.Errorf("the summary is %q, %v", text, err)
	}
}
