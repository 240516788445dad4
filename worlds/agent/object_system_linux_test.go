//go:build system

package agent

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// builtWith is the major version of the clang that built the objects: others choose other instructions.
const builtWith = "14"

// TestObjects_MatchSources checks that the objects are clang's output for the sources: all of their code, data, maps
// and types, byte for byte, wherever the sources are. Debugging symbols are removed.
func TestObjects_MatchSources(t *testing.T) {
	testkit.RequireProgram(t, "clang", "clang")
	said, err := exec.Command("clang", "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`version (\d+)`).FindSubmatch(said)
	if version == nil || string(version[1]) != builtWith {
		t.Skipf("clang is not of version %s: %s", builtWith, said)
	}
	sources, err := filepath.Glob("bpf/*.[ch]")
	if err != nil {
		t.Fatal(err)
	}
	from, to := t.TempDir(), t.TempDir()
	for _, name := range append(sources, "bpf/build.sh") {
		b, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(from, filepath.Base(name)), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("sh", filepath.Join(from, "build.sh"), to).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"agent.o", "lawtest.o", "ncf.o", "ncftest.o"} {
		want, got := parts(t, filepath.Join(to, name)), parts(t, filepath.Join("bpf", name))
		for part, b := range want {
			if !bytes.Equal(b, got[part]) {
				t.Errorf("%s: %s is not what the sources give; go generate builds it anew", name, part)
			}
			delete(got, part)
		}
		for part := range got {
			t.Errorf("%s: the sources give no %s", name, part)
		}
	}
}

// parts returns the sections of an object, except for debug sections, symbols, and sections that refer to them by
// number.
func parts(t *testing.T, name string) map[string][]byte {
	t.Helper()
	f, err := elf.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := map[string][]byte{}
	for _, s := range f.Sections {
		if s.Type != elf.SHT_PROGBITS || strings.HasPrefix(s.Name, ".debug") {
			continue
		}
		if all[s.Name], err = s.Data(); err != nil {
			t.Fatal(err)
		}
	}
	return all
}
