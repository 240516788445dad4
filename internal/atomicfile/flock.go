//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks an open file for one process until it is closed, without waiting. It returns ErrTaken if another open file
// has the lock, and errNoLocks without locks.
func lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return nil
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrTaken
		case unix.ENOTSUP, unix.ENOSYS, unix.ENOLCK: // a file system without locks
			return errNoLocks
		default:
			return fmt.Errorf("lock: %w", err)
		}
	}
}

// waitLock locks a file until it is closed, waiting until no other open file has the lock. A file that cannot be locked
// stays unlocked.
func waitLock(f *os.File) {
	for unix.Flock(int(f.Fd()), unix.LOCK_EX) == unix.EINTR {
	}
}

// shareLock locks a file, until it is closed, together with others that do so, waiting until no process has it alone. A
// file that cannot be locked stays unlocked.
func shareLock(f *os.File) {
	for unix.Flock(int(f.Fd()), unix.LOCK_SH) == unix.EINTR {
	}
}

// isLocked reports whether a process has a file alone. If it returns false, it shares the lock until f is closed: a
// process that calls lock meanwhile fails, and has to try again.
func isLocked(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return err == unix.EWOULDBLOCK
}

// isOwn reports whether a file belongs to this user.
func isOwn(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
