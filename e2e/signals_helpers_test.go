//go:build lab || system

package e2e

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"

	"weir/internal/testkit/await"
)

// signals are the signals that interrupt weir.
var signals = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}

// Under nohup(1) the processes that tests start would ignore SIGHUP if the test process did not handle it.
func init() { signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) }

// start starts a build of weir with killpoints, in the plan's environment. At most two processors keep its work
// comparable between machines.
func start(t *testing.T, k killpoints, args ...string) *await.Process {
	t.Helper()
	cmd := exec.Command(killpointsProgram(t), args...)
	cmd.Env = k.environ("GOMAXPROCS=2")
	return await.Start(t, cmd)
}

// startPatient is like start, but no grace period ends, and two signals never count as one: only events end the
// process.
func startPatient(t *testing.T, k killpoints, args ...string) *await.Process {
	t.Helper()
	cmd := exec.Command(killpointsProgram(t), args...)
	cmd.Env = k.environ("GOMAXPROCS=2", "WEIR_GRACE=long")
	return await.Start(t, cmd)
}

// endInterrupted waits for the exit code of an interrupted process.
func endInterrupted(t *testing.T, p *await.Process) {
	t.Helper()
	if code := p.AwaitExit(); code != 130 {
		t.Errorf("exit code %d, want 130; %s", code, p.Stderr())
	}
}
