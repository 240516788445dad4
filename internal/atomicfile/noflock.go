//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

// lock has no flock(2) on this system.
func lock(*os.File) error { return errNoLocks }

func wait(*os.File) {}

func share(*os.File) {}

func locked(*os.File) bool { return false }

func own(fs.FileInfo) bool { return false }
