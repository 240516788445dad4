//go:build system

package revision

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The digest is that of the file: a change of one byte behind the program gives another.
func TestExecutable(t *testing.T) {
	if os.Getenv("WEIR_TEST_REVISION") != "" {
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
	same, other := filepath.Join(t.TempDir(), "same"), filepath.Join(t.TempDir(), "other")
	write(t, same, data)
	write(t, other, append(data, 0))
	if digestOf(t, same) != Executable() || digestOf(t, other) == Executable() {
		t.Errorf("%s, a copy %s, and with a byte more %s", Executable(), digestOf(t, same), digestOf(t, other))
	}
}

func write(t *testing.T, name string, program []byte) {
	t.Helper()
	if err := os.WriteFile(name, program, 0o700); err != nil {
		t.Fatal(err)
	}
}

// digestOf is what a program says of itself.
func digestOf(t *testing.T, program string) string {
	t.Helper()
	c := exec.Command(program, "-test.run=^TestExecutable$")
	c.Env = append(os.Environ(), "WEIR_TEST_REVISION=1")
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
