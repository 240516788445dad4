package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Terminated, as Slurm does when it takes a machine back, a task gives up the run that is under way, and leaves nothing
// of it.
func TestTaskInterrupt(t *testing.T) {
	binary, file, dir := build(t), writeSpec(t, twoLengths), filepath.Join(t.TempDir(), "job")
	text, err := exec.Command(binary, "export", "slurm", file, "--to", dir, "--slurm-task", "1000h").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "2 runs in 1 task,") {
		t.Fatalf("%v\n%s", err, text)
	}
	first := begin(t, binary, "task", dir, "--index", "0")
	first.await(t, "the long run, which comes first", func() bool {
		claims, _ := filepath.Glob(filepath.Join(dir, "runs", ".new-*"))
		return len(claims) == 1
	})
	first.Process.Signal(syscall.SIGTERM)
	first.end(t)
	if text := first.stderr.String(); !strings.HasPrefix(text, "interrupted: what was finished is kept") {
		t.Errorf("it says %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
