//go:build system

package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTaskInterrupt checks that a task that is terminated, as Slurm does to take a machine back, ends its run in
// progress and leaves no file of it.
func TestTaskInterrupt(t *testing.T) {
	file, dir := writeSpec(t, twoLengths), filepath.Join(t.TempDir(), "job")
	export := exec.Command(killpointsProgram(t), "export", "slurm", file, "--to", dir, "--slurm-task", "1000h")
	text, err := export.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "2 runs in 1 task,") {
		t.Fatalf("%v\n%s", err, text)
	}
	k := planKillpoints(t, "")
	p := startPatient(t, k, "task", dir, "--index", "0")
	p.AwaitCondition("the long run, which is first", k.reached("after claim runs/*.json"))
	p.LimitWork(5 * time.Second).Signal(syscall.SIGTERM)
	endInterrupted(t, p)
	if text := p.Stderr(); !strings.HasPrefix(text, "interrupted: finished runs are kept") {
		t.Errorf("it prints %q", text)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "runs", "*")); len(left) > 0 {
		t.Errorf("files that are left: %v", left)
	}
}
