package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// share makes Dir as ip-netns(8) makes it with its first namespace: a mount of itself whose mounts are shared. Were it
// left to that, a name of ours from before would lie below that mount, where no path leads.
func share() error {
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return err
	}
	f, err := os.Open(Dir)
	if err != nil {
		return err
	}
	defer f.Close()
	// As ip does, so that of two processes one makes it.
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		return fmt.Errorf("%s: %w", Dir, err)
	}
	shared := func() error { return unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "") }
	if err = shared(); err == unix.EINVAL { // it is no mount
		if err = unix.Mount(Dir, Dir, "none", unix.MS_BIND|unix.MS_REC, ""); err == nil {
			err = shared()
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", Dir, err)
	}
	return nil
}

// most is how many mounts of Dir are taken away to find a name.
const most = 8

// dig takes a name away that lies below a mount of Dir, as all of them do that were there when another program made
// Dir a mount of itself. A thread with a view of its own takes the mounts on top out of its view, then the name's, and
// then removes the file: with it the kernel takes away what is mounted there in all other views.
func dig(name string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	view, err := os.Open("/proc/thread-self/ns/mnt")
	if err != nil {
		return err
	}
	defer view.Close()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never free: the thread ends with its view
		err := leave(int(view.Fd()))
		if err == nil {
			err = below(Path(name))
		}
		done <- err
	}()
	return <-done
}

// leave gives this thread, which must be locked, a copy of a view of all mounts that no other thread has.
func leave(view int) error {
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

// below removes a name from the first of Dir's folders, from the top, that has it.
func below(path string) (err error) {
	err = unix.EBUSY
	for range most {
		if unix.Unmount(Dir, unix.MNT_DETACH) != nil { // Dir is no mount any more
			break
		}
		for unix.Unmount(path, unix.MNT_DETACH) == nil { // mounts of one name may lie on top of each other
		}
		if !bare(path) {
			continue
		}
		if err = os.Remove(path); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}
