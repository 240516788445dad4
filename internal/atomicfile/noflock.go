//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package atomicfile

import "os"

// lock has no flock(2) on this system.
func lock(*os.File) error { return errNoLocks }

func wait(*os.File) {}
