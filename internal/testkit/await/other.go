//go:build !unix

package await

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
)

// setGroup has no effect on systems without process groups.
func setGroup(*exec.Cmd) {}

// killGroup kills a process. Its descendants continue on systems without process groups.
func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// quitGroup kills a process, because systems without Unix signals cannot ask it for its stacks.
func quitGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

// lockFile creates the folder of a file, and fails if it must not wait. Without file locks, a program may be built
// twice, and folders of programs are not removed.
func lockFile(name string, wait bool) (unlock func(), err error) {
	if !wait {
		return nil, errors.New("no file locks")
	}
	return func() {}, os.MkdirAll(filepath.Dir(name), 0o777)
}
