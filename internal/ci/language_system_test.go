//go:build system

package main

import (
	"os/exec"
	"strings"
	"testing"
)

// TestRaisedBounds checks that a raised bound is found behind any number of later commits. A new or removed count
// is not a raise.
func TestRaisedBounds(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	root := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		args = append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)
		if _, err := runForOutput(root, "git", args...); err != nil {
			t.Fatal(err)
		}
	}
	git("init", "-q")
	for _, text := range []string{"5 a\n3 b\n1 gone\n", "2 a\n3 b\n", "4 a\n3 b\n", "4 a\n2 b\n", "4 a\n1 b\n"} {
		writeFile(t, root, languageFile, text)
		git("add", ".")
		git("commit", "-q", "-m", "x")
	}
	raised, err := raisedBounds(root, languageFile, map[string]int{"a": 4, "b": 1, "new": 9})
	if err != nil || len(raised) != 1 || !strings.HasPrefix(raised[0], "a: the bound was 2 in ") {
		t.Errorf("%v, %v", raised, err)
	}
}
