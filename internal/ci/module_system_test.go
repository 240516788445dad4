//go:build system

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestModulePath gives a copy of the module another path. All packages and their tests compile, an example's
// program runs, and the way back gives the same bytes.
func TestModulePath(t *testing.T) {
	testkit.RequireProgram(t, "git", "git")
	const path = "example.org/net/weir"
	root, err := moduleRoot()
	if err != nil {
		t.Fatal(err)
	}
	files, err := trackedFiles(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "weir")
	before := map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		copyHere(t, dir, name, info.Mode())
		before[name] = string(data)
	}
	mustRun(t, dir, "git", "init", "-q")
	mustRun(t, dir, "git", "add", "-A", "-f")
	mustRun(t, dir, "go", "run", "-buildvcs=false", "./internal/ci", "module", path)
	for _, name := range []string{"app/example_test.go", "docs/tutorials/controller.md", "README.md", "go.mod"} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(data), path) {
			t.Errorf("%s lacks the path: %v", name, err)
		}
	}
	mustRun(t, dir, "go", "build", "-buildvcs=false", "-o", os.DevNull, "./...")
	mustRun(t, dir, "go", "vet", "-buildtags", "-tags=lint,system,lab,slow", "./...")
	mustRun(t, dir, "go", "test", "-buildvcs=false", "./internal/archtest", "./internal/revision")
	example := filepath.Join(dir, "examples", "controller")
	mustRun(t, example, "go", "build", "-buildvcs=false", "-o", "own", ".")
	if out := mustRun(t, example, "./own", "list", "schemes"); !strings.Contains(out, "cc         gentle ") {
		t.Errorf("the example has no controller of its own: %s", out)
	}
	mustRun(t, dir, "go", "run", "-buildvcs=false", "./internal/ci", "module", "weir")
	for name, want := range before {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(data) != want {
			t.Errorf("%s differs after the way back: %v", name, err)
		}
	}
}
