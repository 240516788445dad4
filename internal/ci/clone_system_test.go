//go:build system

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// runIn runs a command in a folder, without the user's configuration of git, and returns its output.
func runIn(t *testing.T, dir, name string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// mustRun calls runIn with a command that must not fail.
func mustRun(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	out, err := runIn(t, dir, name, args...)
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return out
}

// copyHere copies a file of the module into a folder.
func copyHere(t *testing.T, dir, name string, mode os.FileMode) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../..", name))
	if err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, data, mode); err != nil {
		t.Fatal(err)
	}
}

// TestCloneKeepsLineEnds checks that a clone with core.autocrlf has the same bytes: golden files are compared and
// experiments are embedded as they are.
func TestCloneKeepsLineEnds(t *testing.T) {
	testkit.RequireProgram(t, "git", "git")
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "clone")
	copyHere(t, from, ".gitattributes", 0o666)
	names := []string{"testdata/golden.txt", "papers/experiments/a.yaml", "a.go", "binary.o"}
	const text = "one\ntwo\n"
	for _, name := range names[:3] {
		writeFile(t, from, name, text)
	}
	writeFile(t, from, names[3], "\x00\r\n\n")
	mustRun(t, from, "git", "init", "-q")
	mustRun(t, from, "git", "add", ".")
	mustRun(t, from, "git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "x")
	mustRun(t, from, "git", "-c", "core.autocrlf=true", "clone", "-q", from, to)
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
}

// TestHooks_RunLintInOwnRepositoryOnly checks that .ci/hooks installs a hook that runs .ci/lint, and that this hook
// harms no other repository.
func TestHooks_RunLintInOwnRepositoryOnly(t *testing.T) {
	testkit.RequireProgram(t, "git", "git")
	testkit.RequireProgram(t, "bash", "bash")
	outer := t.TempDir()
	inner := filepath.Join(outer, "an archive")
	copyHere(t, inner, ".ci/hooks", 0o777)
	mustRun(t, outer, "git", "init", "-q")
	if out, err := runIn(t, inner, ".ci/hooks"); err == nil || !strings.Contains(out, "another repository") {
		t.Errorf("in the work tree of another repository: %q, %v", out, err)
	}

	if files, err := trackedFiles(inner); err == nil {
		t.Errorf("git tracks %q", files)
	}

	mustRun(t, inner, "git", "init", "-q")
	writeFile(t, inner, ".ci/lint", "#!/bin/sh\necho linted\nexit 1\n")
	if err := os.Chmod(filepath.Join(inner, ".ci/lint"), 0o777); err != nil {
		t.Fatal(err)
	}
	shared := filepath.Join(outer, "hooks") // of all repositories of a user
	for _, dir := range []string{inner, outer} {
		mustRun(t, dir, "git", "config", "core.hooksPath", shared)
	}
	for range 2 {
		mustRun(t, inner, ".ci/hooks")
	}
	commit := []string{"-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--allow-empty", "-m", "x"}
	if out, err := runIn(t, inner, "git", commit...); err == nil || !strings.Contains(out, "linted") {
		t.Errorf("the hook does not run .ci/lint: %q, %v", out, err)
	}
	mustRun(t, outer, "git", commit...)
}
