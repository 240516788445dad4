package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// Dir is where namespaces have their names (ip-netns(8)).
const Dir = "/run/netns"

const own = "/proc/thread-self/ns/net"

// Path is the file of a namespace's name.
func Path(name string) string { return filepath.Join(Dir, name) }

// Do runs what in a namespace, on a thread of its own: sockets that it opens stay there.
// It must not start goroutines that rely on the namespace.
func Do(name string, what func() error) error {
	to, err := os.Open(Path(name))
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, errors.Unwrap(err))
	}
	defer to.Close()
	return Inside(name, int(to.Fd()), what)
}

// Inside is Do for a namespace that a descriptor leads to; name is for errors.
func Inside(name string, fd int, what func() error) error {
	return in(name, func() error { return unix.Setns(fd, unix.CLONE_NEWNET) }, what)
}

// All are files that lead to the network namespaces of this machine, as far as they can be seen: each namespace once,
// by its name if it has one, and else by a process that is in it.
func All() (paths []string) {
	named, _ := filepath.Glob(Path("*"))
	processes, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	seen := map[uint64]bool{}
	for _, path := range append(named, processes...) {
		if i, err := inode(path); err == nil && !seen[i] {
			seen[i] = true
			paths = append(paths, path)
		}
	}
	return paths
}

// in runs what on a locked thread after enter has moved it to another namespace, and
// brings the thread back.
func in(name string, enter, what func() error) error {
	runtime.LockOSThread()
	home, err := os.Open(own)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("own network namespace: %w", err)
	}
	defer home.Close()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	err = what()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked, and so ends with its goroutine.
		return errors.Join(err, fmt.Errorf("namespace %s: way back: %w", name, back))
	}
	runtime.UnlockOSThread()
	return err
}

// Enter moves the calling goroutine's thread, which must be locked, to a namespace for
// good.
func Enter(name string) error {
	to, err := os.Open(Path(name))
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, errors.Unwrap(err))
	}
	defer to.Close()
	if err := unix.Setns(int(to.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

// inode identifies a namespace.
func inode(path string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return 0, err
	}
	return s.Ino, nil
}

// bare reports whether a name is an empty file that leads to no namespace any more: what stays
// of one after a restart of the machine, where the folder outlives it.
func bare(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil || s.Type == unix.NSFS_MAGIC {
		return false
	}
	i, err := os.Lstat(path)
	return err == nil && i.Mode().IsRegular() && i.Size() == 0
}

// create makes a namespace with a name and returns its inode. It fails with fs.ErrExist if
// the name is taken.
func create(name string) (ino uint64, err error) {
	if err := share(); err != nil {
		return 0, err
	}
	f, err := os.OpenFile(Path(name), os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		if errors.Is(err, fs.ErrExist) {
			return 0, fmt.Errorf("the name %s: %w", name, fs.ErrExist)
		}
		return 0, err
	}
	f.Close()
	defer func() {
		if err != nil {
			remove(name)
		}
	}()
	err = in(name, func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() error {
		if err := unix.Mount(own, Path(name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("namespace %s: its name: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return inode(Path(name))
}

// remove takes a namespace's name away, and with it the namespace, once no process and no
// socket is in it. What is not there is no error.
func remove(name string) error {
	path := Path(name)
	for { // mounts of one name may lie on top of each other
		err := unix.Unmount(path, unix.MNT_DETACH)
		if err == unix.EINVAL || err == unix.ENOENT {
			break
		}
		if err != nil {
			return fmt.Errorf("namespace %s: %w", name, err)
		}
	}
	err := os.Remove(path)
	if errors.Is(err, unix.EBUSY) {
		err = dig(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
