//go:build lab

package netns

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// apart runs a function on a thread with a separate mount namespace, in which Dir is empty.
func apart(t *testing.T, what func() error) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it mounts")
	}
	view, err := os.Open("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	done := make(chan error)
	allowed := true
	go func() {
		runtime.LockOSThread() // and never free: the thread ends with its view
		err := unshareMounts(int(view.Fd()))
		if err == nil {
			err = unix.Mount("none", filepath.Dir(Dir), "tmpfs", 0, "")
		}
		if allowed = !errors.Is(err, unix.EPERM); err == nil {
			err = what()
		}
		done <- err
	}()
	if err := <-done; !allowed {
		t.Skipf("no mounts here: %v", err)
	} else if err != nil {
		t.Error(err)
	}
}

// mounts returns the number of mounts of a name in this thread's mount namespace.
func mounts(name string) int {
	b, _ := os.ReadFile("/proc/thread-self/mountinfo")
	return strings.Count(string(b), " "+Path(name)+" ")
}

// TestRemoveNamespace_RemovesNameBelowMount checks that a name that existed before ip-netns(8) made Dir a mount
// point, and so lies below that mount, is removed completely.
func TestRemoveNamespace_RemovesNameBelowMount(t *testing.T) {
	apart(t, func() error {
		if err := os.MkdirAll(Dir, 0o755); err != nil {
			return err
		}
		for _, name := range []string{"x", "stays"} {
			if err := os.WriteFile(Path(name), nil, 0o444); err != nil {
				return err
			}
			if err := unix.Mount(ownNamespacePath, Path(name), "", unix.MS_BIND, ""); err != nil {
				return err
			}
		}
		if err := mountSharedDir(); err != nil { // as ip does
			return err
		}
		if n := mounts("x"); n != 2 {
			return fmt.Errorf("%d mounts of the name, 2 are to be tried", n)
		}
		if err := removeNamespace("x"); err != nil {
			return err
		}
		if n := mounts("x"); n != 0 {
			return fmt.Errorf("%d mounts of the name are left", n)
		}
		if n := mounts("stays"); n != 2 {
			return fmt.Errorf("%d mounts of the other name are left of 2", n)
		}
		if err := unix.Unmount(Dir, unix.MNT_DETACH); err != nil {
			return err
		}
		if _, err := os.Lstat(Path("x")); !os.IsNotExist(err) {
			return fmt.Errorf("the name is still there below: %v", err)
		}
		return removeNamespace("stays")
	})
}

// TestCreateNamespace_MountsNameOnce checks that a namespace's name has one mount, even if another program makes
// Dir a mount point afterwards.
func TestCreateNamespace_MountsNameOnce(t *testing.T) {
	apart(t, func() error {
		if _, err := createNamespace("x"); err != nil {
			return err
		}
		if err := mountSharedDir(); err != nil { // as ip does
			return err
		}
		if n := mounts("x"); n != 1 {
			return fmt.Errorf("%d mounts of the name", n)
		}
		if err := removeNamespace("x"); err != nil {
			return err
		}
		if n := mounts("x"); n != 0 {
			return fmt.Errorf("%d mounts of the name are left", n)
		}
		return nil
	})
}

// TestRemoveDead_SkipsUnremovableNames checks that remains of a dead lab that cannot be removed do not block the
// removal of the rest, or the start of a new lab. New labs skip the numbers of such remains.
func TestRemoveDead_SkipsUnremovableNames(t *testing.T) {
	apart(t, func() error {
		if err := os.MkdirAll(Path("weir-1-stays/full"), 0o755); err != nil { // rmdir(2) fails, and so does umount(2)
			return err
		}
		if err := os.MkdirAll(recordPath(4), 0o755); err != nil { // no record can be opened
			return err
		}
		if err := os.WriteFile(Path("weir-1-goes"), nil, 0o444); err != nil {
			return err
		}
		for id, text := range map[int]string{1: "owner 1\nmakes weir-1-stays\nmakes weir-1-goes\n",
			2: "owner 1\nmakes weir-2-goes\n"} {
			if err := os.WriteFile(recordPath(id), []byte(text), 0o644); err != nil {
				return err
			}
		}
		if err := os.WriteFile(Path("weir-2-goes"), nil, 0o444); err != nil {
			return err
		}
		removed, err := RemoveDead()
		if err == nil || !strings.Contains(err.Error(), recordPath(1)+": ") ||
			!strings.Contains(err.Error(), Path("weir-1-stays")) || !strings.Contains(err.Error(), recordPath(4)) {
			return fmt.Errorf("what is left: %v", err)
		}
		if fmt.Sprint(removed) != "[weir-1-goes weir-2-goes]" {
			return fmt.Errorf("removed %v", removed)
		}
		for _, want := range []int{2, 3, 5} {
			set, _, err := NewSet()
			if err != nil {
				return err
			}
			defer set.Close()
			if set.ID != want {
				return fmt.Errorf("a lab has the number %d, want %d", set.ID, want)
			}
		}
		if err := os.RemoveAll(Path("weir-1-stays/full")); err != nil {
			return err
		}
		if removed, _ = RemoveDead(); fmt.Sprint(removed) != "[weir-1-stays]" {
			return fmt.Errorf("removed %v when that could be", removed)
		}
		return nil
	})
}
