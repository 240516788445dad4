//go:build !unix

package await

import (
	"os"
	"os/exec"
	"path/filepath"
)

func setGroup(*exec.Cmd) {}

func killGroup(cmd *exec.Cmd) { cmd.Process.Kill() }

func quit(cmd *exec.Cmd) { cmd.Process.Kill() }

// lockFile makes the folder of a file. Without file locks a program may be built twice.
func lockFile(name string) (unlock func(), err error) {
	return func() {}, os.MkdirAll(filepath.Dir(name), 0o777)
}
