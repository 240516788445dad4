//go:build system

package revision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExecutable_IsSameForCopies checks that a copy of a program is the same program, also with bytes after its
// end. A program whose file is replaced while it runs keeps its identity.
func TestExecutable_IsSameForCopies(t *testing.T) {
	if os.Getenv("WEIR_TEST_REVISION") != "" {
		if path, err := os.Executable(); err == nil && os.Getenv("WEIR_TEST_REVISION") == "replace" {
			os.Remove(path)
			os.WriteFile(path, []byte("another program"), 0o700)
		}
		os.Stdout.WriteString(Executable())
		os.Exit(0)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, program := range map[string][]byte{"same": data, "longer": append(data[:len(data):len(data)], 0)} {
		path := filepath.Join(dir, name)
		write(t, path, program)
		for _, mode := range []string{"print", "replace"} {
			if got := executableOf(t, path, mode); got != Executable() {
				t.Errorf("%s, %s: %s, want %s", name, mode, got, Executable())
			}
		}
	}
}

func write(t *testing.T, name string, program []byte) {
	t.Helper()
	if err := os.WriteFile(name, program, 0o700); err != nil {
		t.Fatal(err)
	}
}

// executableOf returns the Executable that a copy of this program prints.
func executableOf(t *testing.T, program, mode string) string {
	t.Helper()
	c := exec.Command(program, "-test.run=^TestExecutable_IsSameForCopies$")
	c.Env = append(os.Environ(), "WEIR_TEST_REVISION="+mode)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// TestTwoBuilds checks that two builds that differ in one constant have two build IDs, that a build repeated has the
// same, and that an executable without a build ID is identified by its file.
func TestTwoBuilds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), []byte("module example.org/constant\n\ngo 1.26\n"))
	count := 0
	build := func(system, constant string, flags ...string) (build, digest string) {
		t.Helper()
		write(t, filepath.Join(dir, "main.go"),
			[]byte("package main\n\nconst x = "+constant+"\n\nfunc main() { println(x) }\n"))
		count++
		out := filepath.Join(dir, "out", system, string(rune('a'+count)))
		c := exec.Command("go",
			append(append([]string{"build", "-trimpath", "-buildvcs=false", "-o", out}, flags...), ".")...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
		if text, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		f, err := os.Open(out)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		build, digest, err = identify(f)
		if err != nil {
			t.Fatal(err)
		}
		return build, digest
	}
	for _, system := range []string{"linux", "darwin", "windows"} {
		one, _ := build(system, "1")
		other, _ := build(system, "2")
		again, _ := build(system, "1")
		stripped, _ := build(system, "1", "-ldflags=-s -w")
		if one == "" || other == "" || one == other || one != again || stripped == one || stripped == "" {
			t.Errorf("%s: builds %q, other constant %q, repeated %q, other flags %q", system, one, other, again, stripped)
		}
		for _, id := range []string{"", "redacted"} {
			none, digest := build(system, "1", "-ldflags=-buildid="+id)
			_, changed := build(system, "2", "-ldflags=-buildid="+id)
			if none != "" || strings.Trim(digest, "0123456789abcdef") != "" || len(digest) != 64 || digest == changed {
				t.Errorf("%s with -buildid=%s: build %q, digests %q and %q", system, id, none, digest, changed)
			}
		}
	}
}
