//go:build slow || system

package e2e

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sharedBuilds returns an environment for go build and go test in which the packages of this module come from the
// stage's build cache.
func sharedBuilds() []string {
	return append(os.Environ(), "GOFLAGS=-buildvcs=false -vet=off", "GOWORK=off")
}

// task runs an example's script in a new folder, with a program, and returns its output and the folder.
func task(t *testing.T, weir, script string, args ...string) (out, dir string) {
	t.Helper()
	script, err := filepath.Abs(filepath.Join("../examples", script))
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "with space")
	c := exec.Command("sh", append([]string{script, dir}, args...)...)
	c.Dir = t.TempDir() // a script works from anywhere
	c.Env = append(sharedBuilds(), "WEIR="+weir)
	printed, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return string(printed), dir
}

// figure checks the PDF that a script names in its last line.
func figure(t *testing.T, out, file string) {
	t.Helper()
	if !strings.HasSuffix(out, file+"\n") {
		t.Errorf("the last line does not name %s:\n%s", file, out)
	}
	if data, err := os.ReadFile(file); err != nil || !bytes.HasPrefix(data, []byte("%PDF-")) || len(data) < 3000 {
		t.Errorf("%s: %d bytes, %v", file, len(data), err)
	}
}
