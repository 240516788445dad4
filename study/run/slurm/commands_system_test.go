//go:build system

package slurm

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool writes a command that replaces one of Slurm's, first in the path.
func tool(t *testing.T, dir, name, script string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
}

// TestCommands_ReportErrorsInOneLine checks that a command that is missing or fails is an error of one line. A
// user's own filters of the queue (SQUEUE_STATES) do not affect Weir.
func TestCommands_ReportErrorsInOneLine(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":/usr/bin:/bin")
	t.Setenv("SQUEUE_STATES", "RUNNING")
	tool(t, dir, "squeue", `echo "squeue: error: first" >&2; echo "squeue: error: second" >&2; exit 1`)
	_, err := commands(nil).listQueue(t.Context())
	if err == nil || err.Error() != "squeue: error: first squeue: error: second" {
		t.Error(err)
	}
	tool(t, dir, "squeue", `echo "1|2|RUNNING|$SQUEUE_STATES|/x"`)
	all, err := commands(nil).listQueue(t.Context())
	if err != nil || len(all) != 1 || all[0] != (queuedTask{1, 2, "RUNNING", "", "/x"}) {
		t.Error(all, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := commands(nil).submitScript(ctx, dir, "x"); err == nil {
		t.Error("a call of nothing")
	}
}

// TestScriptCalls checks that the script is valid, and calls the copy of the program in its folder, or WEIR, for
// its task. In another folder it names the folder from which to submit it.
func TestScriptCalls(t *testing.T) {
	f := exported(t, six, quick())
	if out, err := exec.Command("sh", "-n", filepath.Join(f.Dir, "sweep.sbatch")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
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
		{t.TempDir(), "", "call sbatch in the folder of sweep.sbatch\n"},
	} {
		cmd := exec.Command("sh", filepath.Join(f.Dir, "sweep.sbatch"))
		cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "SLURM_ARRAY_TASK_ID=3", "WEIR="+c.weir)
		if out, _ := cmd.CombinedOutput(); !strings.HasSuffix(string(out), c.want) {
			t.Errorf("%s, want %s", out, c.want)
		}
	}
}
