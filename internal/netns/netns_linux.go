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

// Dir is the folder of named namespaces (ip-netns(8)).
const Dir = "/run/netns"

// ownNamespacePath leads to the calling thread's network namespace.
const ownNamespacePath = "/proc/thread-self/ns/net"

// Path returns the file of the namespace with the given name.
func Path(name string) string { return filepath.Join(Dir, name) }

// Do runs f inside the named namespace, on a locked thread: sockets that it opens stay in that namespace. The function
// f must not start goroutines that rely on the namespace. Do returns the error of f, or of the change of namespaces.
func Do(name string, f func() error) error {
	to, err := os.Open(Path(name))
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, errors.Unwrap(err))
	}
	defer to.Close()
	return DoAt(name, int(to.Fd()), f)
}

// DoAt works as Do for the namespace that the descriptor fd refers to; name appears in errors only.
func DoAt(name string, fd int, f func() error) error {
	return runInside(name, func() error { return unix.Setns(fd, unix.CLONE_NEWNET) }, f)
}

// ListPaths lists files that lead to the network namespaces of this machine, as far as this process can see them. Each
// namespace is listed once: by its name if it has one, else by a process inside it.
func ListPaths() (paths []string) {
	named, _ := filepath.Glob(Path("*"))
	processes, _ := filepath.Glob("/proc/[0-9]*/ns/net")
	listed := map[uint64]bool{}
	for _, path := range append(named, processes...) {
		if i, err := namespaceInode(path); err == nil && !listed[i] {
			listed[i] = true
			paths = append(paths, path)
		}
	}
	return paths
}

// runInside locks the thread, calls enter to move it to another namespace, runs f, and moves the thread back. If the
// way back fails, the thread stays locked and ends with its goroutine; the error is joined to f's.
func runInside(name string, enter, f func() error) error {
	runtime.LockOSThread()
	home, err := os.Open(ownNamespacePath)
	if err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("own network namespace: %w", err)
	}
	defer home.Close()
	if err := enter(); err != nil {
		runtime.UnlockOSThread()
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	err = f()
	if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
		// The thread stays locked, so it ends with its goroutine.
		return errors.Join(err, fmt.Errorf("namespace %s: way back: %w", name, back))
	}
	runtime.UnlockOSThread()
	return err
}

// Enter moves the calling goroutine's thread, which must be locked, to the named namespace permanently.
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

// namespaceInode returns the inode that identifies the namespace at path.
func namespaceInode(path string) (uint64, error) {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return 0, err
	}
	return s.Ino, nil
}

// isStaleName reports whether path is an empty file without a namespace mounted on it. Such a file remains after a
// reboot if the folder is on disk.
func isStaleName(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil || s.Type == unix.NSFS_MAGIC {
		return false
	}
	i, err := os.Lstat(path)
	return err == nil && i.Mode().IsRegular() && i.Size() == 0
}

// createNamespace makes a namespace with the given name and returns its inode. It fails with fs.ErrExist if the
// name is taken.
func createNamespace(name string) (ino uint64, err error) {
	if err := mountSharedDir(); err != nil {
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
			removeNamespace(name)
		}
	}()
	err = runInside(name, func() error { return unix.Unshare(unix.CLONE_NEWNET) }, func() error {
		if err := unix.Mount(ownNamespacePath, Path(name), "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("namespace %s: its name: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return namespaceInode(Path(name))
}

// removeNamespace removes a namespace's name. The kernel frees the namespace once no process and no socket is
// inside. A name that does not exist is no error.
func removeNamespace(name string) error {
	path := Path(name)
	for { // several mounts of one name may be stacked
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
		err = removeCoveredName(name)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
