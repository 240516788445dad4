package testutil

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// unprivilegedID is a user ID other than root's, without privileges on most systems.
const unprivilegedID = 65534

// RunUnprivileged calls f on a thread that has neither root's user ID nor its capabilities, and waits for it. As
// root, it drops them on that thread only, and the thread ends with f. As another user, it changes no ID or
// capability. Goroutines that f starts keep the process's privileges.
func RunUnprivileged(f func()) {
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		runtime.LockOSThread() // without an unlock, the runtime ends the thread
		unix.RawSyscall(unix.SYS_SETRESUID, unprivilegedID, unprivilegedID, unprivilegedID)
		f()
	}()
	<-finished
}
