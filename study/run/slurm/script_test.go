package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testutil"
)

// The script of a sweep, and of one with options that replace what is estimated.
func TestScript(t *testing.T) {
	o := quick()
	for _, c := range []struct {
		golden string
		sbatch []string
	}{
		{"sweep.sbatch", nil},
		{"options.sbatch", []string{"partition=short", "time=1-00:00:00", "mem-per-cpu=2G", "no-requeue", "exclusive",
			`comment=it's "so" # \ here`}},
	} {
		o.Sbatch, o.AnyProgram, o.Threads = c.sbatch, c.sbatch != nil, 1+len(c.sbatch)
		f := exported(t, six, o)
		data, err := os.ReadFile(filepath.Join(f.Dir, "sweep.sbatch"))
		if err != nil {
			t.Fatal(err)
		}
		testutil.Golden(t, c.golden, string(data))
		if out, err := exec.Command("sh", "-n", filepath.Join(f.Dir, "sweep.sbatch")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", c.golden, err, out)
		}
	}
}

// Carried out, the script calls the copy of the program in its folder, or WEIR, for its task; elsewhere it says where
// it is to be submitted.
func TestScriptCalls(t *testing.T) {
	f := exported(t, six, quick())
	if err := os.WriteFile(filepath.Join(f.Dir, program), []byte("#!/bin/sh\necho \"own $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "an other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho \"other $*\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ dir, weir, want string }{
		{f.Dir, "", "own task . --index 3 --threads 1\n"},
		{f.Dir, other, "other task . --index 3 --threads 1\n"},
		{t.TempDir(), "", "sbatch is to be called in the folder of sweep.sbatch\n"},
	} {
		cmd := exec.Command("sh", filepath.Join(f.Dir, "sweep.sbatch"))
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "SLURM_ARRAY_TASK_ID=3", "WEIR="+c.weir)
		if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), c.want) {
			t.Errorf("%s, want %s", out, c.want)
		}
	}
}
