package archtest

import (
	"os"
	"testing"
)

// TestLibraryNeedsOnlyGo imports a package that has a variant in C where there is no C
// compiler, and finds no file afterwards.
func TestLibraryNeedsOnlyGo(t *testing.T) {
	l := &library{}
	if err := l.open(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "")
	t.Setenv("TMPDIR", t.TempDir())
	if _, err := l.Import("os/user"); err != nil {
		t.Errorf("import os/user: %v", err)
	}
	left, err := os.ReadDir(os.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range left {
		t.Errorf("%s is left behind", f.Name())
	}
}
