//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import (
	"io/fs"
	"os"
)

// lock returns errNoLocks: this system has no flock(2).
func lock(*os.File) error { return errNoLocks }

// waitLock has no effect without locks.
func waitLock(*os.File) {}

// shareLock has no effect without locks.
func shareLock(*os.File) {}

// isLocked returns false without locks.
func isLocked(*os.File) bool { return false }

// isOwn returns false: the owner of a file is unknown on this system.
func isOwn(fs.FileInfo) bool { return false }
