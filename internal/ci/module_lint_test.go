//go:build lint

package main

import (
	"os"
	"testing"

	"weir/internal/testkit"
)

// TestReadmeInstalls compares the README's way to install Weir with the module's path.
func TestReadmeInstalls(t *testing.T) {
	path, err := moduleName("../..")
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !installBlock.Match(data) {
		t.Fatal("README.md has no block install")
	}
	want := installBlock.ReplaceAllString(string(data), "${1}"+installText(path)+"${2}")
	testkit.GoldenFile(t, "../../README.md", want)
}
