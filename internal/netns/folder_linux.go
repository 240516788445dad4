package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// mountSharedDir creates Dir as ip-netns(8) does with its first namespace: a bind mount of itself with shared
// propagation. If ip created that mount later, it would cover the names of existing namespaces, and no path would
// lead to them.
func mountSharedDir() error {
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return err
	}
	f, err := os.Open(Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// ip takes the same lock, so that only one of two processes creates the mount.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", Dir, err)
	}
	shared := func() error { return unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	if err = shared(); err == unix.EINVAL { // Dir is not a mount yet
		if err = unix.Mount(Dir, Dir, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = shared()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", Dir, err)
	}
	return nil
}

// maxMounts limits how many mounts of Dir are detached in search of a name.
const maxMounts = 8

// removeCoveredName removes a name that a mount of Dir covers. This happens to all existing names when another
// program mounts Dir on itself. A thread with a private mount namespace detaches the mounts on top and the mount
// of the name, then removes the file. The kernel then unmounts that file in all other mount namespaces.
func removeCoveredName(name string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	view, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	defer view.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread is never unlocked, so it ends with its private mount namespace
		err := unshareMounts(int(view.Fd()))
		if err == nil {
			err = removeBelowMounts(Path(name))
		}
		done <- err
	}()
	return <-done
}

// unshareMounts gives the calling thread, which must be locked, a private copy of the mount namespace that view
// refers to.
func unshareMounts(view int) error {
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	if err := unix.Setns(view, unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("setns", err)
	}
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return os.NewSyscallError("unshare", err)
	}
	return os.NewSyscallError("mount", unix.Mount("", "/", "none", unix.MS_PRIVATE|unix.MS_REC, ""))
}

// removeBelowMounts detaches mounts of Dir in the calling thread's mount namespace until it can remove path. It
// returns EBUSY, with the path, after maxMounts mounts or when Dir is no mount any more.
func removeBelowMounts(path string) (err error) {
	err = unix.EBUSY
	for range maxMounts {
		if unix.Unmount(Dir, unix.MNT_DETACH) != nil { // Dir is no mount any more
			break
		}
		for unix.Unmount(path, unix.MNT_DETACH) == nil { // several mounts of one name may be stacked
		}
		if !isStaleName(path) {
			continue
		}
		if err = os.Remove(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
