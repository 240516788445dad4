//go:build unix

package await

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// setGroup makes a command the leader of its own process group, so that its descendants end with it.
func setGroup(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if !cmd.SysProcAttr.Setsid {
		cmd.SysProcAttr.Setpgid = true
	}
}

// killGroup kills a process and its group. The process must have been started.
func killGroup(cmd *exec.Cmd) {
	syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	cmd.Process.Kill()
}

// quitGroup asks the Go programs of a process group to print their stacks and exit.
func quitGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGQUIT) }

// lockFile creates a file and locks it against other processes. If another process has the lock, it waits, or fails
// without wait. The lock ends with unlock or with the process.
func lockFile(name string, wait bool) (unlock func(), err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	if err := syscall.Flock(int(f.Fd()), how); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
