//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package atomicfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lock locks an open file for as long as it is open; ErrTaken if another one has.
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

// wait locks it when nobody else has.
func wait(f *os.File) {
	for unix.Flock(int(f.Fd()), unix.LOCK_EX) == unix.EINTR {
	}
}

// share locks it together with others that do so, when nobody has it alone.
func share(f *os.File) {
	for unix.Flock(int(f.Fd()), unix.LOCK_SH) == unix.EINTR {
	}
}

// locked reports whether somebody has a file alone. Whoever wants it alone is kept from that by this look for so short
// that it has to try again.
func locked(f *os.File) bool {
	err := unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	return err == unix.EWOULDBLOCK
}

// own reports whether a file is this user's.
func own(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid()
}
