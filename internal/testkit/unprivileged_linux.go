package testkit

import (
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// unprivilegedID is a user ID other than root's, without privileges on most systems.
const unprivilegedID = 65534

// RunUnprivileged calls f on a thread with neither root's user ID nor its capabilities, and waits for it. As root, it
// drops them on that thread only, and the thread ends with f. As another user, it changes no ID or capability.
// Goroutines that f starts keep the process's privileges.
//
// It skips the test in a user namespace without other users than root (unshare -r, bubblewrap).
func RunUnprivileged(t testing.TB, f func()) {
	t.Helper()
	root := unix.Geteuid() == 0
	finished := make(chan syscall.Errno)
	go func() {
		var failure syscall.Errno
		defer func() { finished <- failure }()
		runtime.LockOSThread() // without an unlock, the runtime ends the thread
		_, _, failure = unix.RawSyscall(unix.SYS_SETRESUID, unprivilegedID, unprivilegedID, unprivilegedID)
		if !root {
			failure = 0
		}
		if failure == 0 {
			f()
		}
	}()
	if failure := <-finished; failure != 0 {
		t.Skipf("root is the only user here: %v", failure)
	}
}
