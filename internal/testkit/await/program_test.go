package await

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestProgramDir checks that a folder of programs is removed after its process has ended, and not before. A process
// that has ended holds no lock.
func TestProgramDir(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" {
		return // without file locks nothing is removed
	}
	parent := t.TempDir()
	first, err := newProgramDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(parent, "weir-programs-1")
	unfinished := filepath.Join(parent, "weir-new-programs-2")
	for _, folder := range []string{dead, unfinished} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "in-use.lock"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	second, err := newProgramDir(parent)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		folder string
		kept   bool
	}{{first, true}, {second, true}, {unfinished, true}, {dead, false}} {
		if _, err := os.Stat(x.folder); (err == nil) != x.kept {
			t.Errorf("%s: %v, want kept %v", x.folder, err, x.kept)
		}
	}
}
