//go:build lint

package main

import (
	"os"
	"testing"
)

// TestPages_KeepProseLimits compares words and sentences of the pages with their limits and bounds.
func TestPages_KeepProseLimits(t *testing.T) {
	files, err := trackedFiles("../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := checkProse("../..", files, os.Stdout); err != nil {
		t.Error(err)
	}
}
