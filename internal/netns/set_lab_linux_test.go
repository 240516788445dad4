//go:build lab

package netns

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

func newSet(t *testing.T) *Set {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: it makes network namespaces")
	}
	s, _, err := NewSet()
	if err != nil {
		t.Skipf("no network namespaces here: %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestSet_KeepsNamespacesApart checks that two sets have separate names, and that work in a namespace stays there.
// It also checks that Close removes a set's namespaces, and that a cleanup keeps those of a living lab.
func TestSet_KeepsNamespacesApart(t *testing.T) {
	a, b := newSet(t), newSet(t)
	if a.ID == b.ID {
		t.Fatalf("both have the number %d", a.ID)
	}
	for _, s := range []*Set{a, b} {
		if err := s.Add("x"); errors.Is(err, unix.EPERM) {
			t.Skipf("no network namespaces here: %v", err)
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := a.Add("x"); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a name for the second time: %v", err)
	}
	home, err := namespaceInode(ownNamespacePath)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint64]bool{home: true}
	for _, s := range []*Set{a, b} {
		err := Do(s.Name("x"), func() error {
			ino, err := namespaceInode(ownNamespacePath)
			seen[ino] = true
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	if now, err := namespaceInode(ownNamespacePath); err != nil || now != home || len(seen) != 3 {
		t.Errorf("%d namespaces, home is %d, was %d: %v", len(seen), now, home, err)
	}
	wrong := fmt.Errorf("wrong")
	if err := Do(a.Name("x"), func() error { return wrong }); err != wrong {
		t.Error(err)
	}
	if err := Do(a.Name("y"), func() error { return nil }); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a namespace that is not there: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(Path(b.Name("x"))); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	if removed, err := RemoveDead(); err != nil || slices.Contains(removed, a.Name("x")) {
		t.Errorf("cleaning up beside a living lab: %v, %v", removed, err)
	}
	if _, err := os.Stat(Path(a.Name("x"))); err != nil {
		t.Error(err)
	}
}

// TestRemoveDead_TrustsOwnRecordsOnly checks that a record removes only namespaces of its own lab. It skips names
// that another program has created again since, names that cannot belong to a lab, and damaged lines.
func TestRemoveDead_TrustsOwnRecordsOnly(t *testing.T) {
	s := newSet(t)
	if err := s.Add("x"); errors.Is(err, unix.EPERM) {
		t.Skipf("no network namespaces here: %v", err)
	} else if err != nil {
		t.Fatal(err)
	}
	ino, err := namespaceInode(Path(s.Name("x")))
	if err != nil {
		t.Fatal(err)
	}
	name := s.Name("x")
	for _, x := range []struct {
		text string
		want bool
	}{
		{fmt.Sprintf("makes %s\nmade %s %d\n", name, name, ino+1), false}, // another one
		{fmt.Sprintf("makes %s\nnot %s\n", name, name), false},            // it was there before
		{fmt.Sprintf("made %s %d\n", name, ino), false},
		{fmt.Sprintf("makes ../netns/%s\n", name), false},
		{fmt.Sprintf("makes /run/netns/%s\nmakes\n\x00\xff", name), false},
		{fmt.Sprintf("owner 5\nmakes %s\nmade %s %d\n", name, name, ino), true},
	} {
		f, err := os.CreateTemp(t.TempDir(), "record")
		if err != nil {
			t.Fatal(err)
		}
		f.WriteString(x.text)
		removed, err := removeRecorded(f)
		f.Close()
		if err != nil || slices.Contains(removed, name) != x.want || len(removed) > 1 {
			t.Errorf("%q: removed %v, %v", x.text, removed, err)
		}
	}
	// These are a namespace whose lab died during its creation, a bare file after a restart of the machine, and a file
	// with other content.
	if err := s.Add("half"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name, content, record string
		want                  bool
	}{
		{s.Name("half"), "", "makes %s\n", true},
		{s.Name("bare"), "", "makes %s\nmade %[1]s 5\n", true},
		{s.Name("file"), "text", "makes %s\nmade %[1]s 5\n", false},
	} {
		if x.name != s.Name("half") {
			if err := os.WriteFile(Path(x.name), []byte(x.content), 0o444); err != nil {
				t.Fatal(err)
			}
			defer os.Remove(Path(x.name))
		}
		f, err := os.CreateTemp(t.TempDir(), "record")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, x.record, x.name)
		removed, err := removeRecorded(f)
		f.Close()
		if _, there := os.Lstat(Path(x.name)); err != nil || slices.Contains(removed, x.name) != x.want ||
			(there != nil) != x.want {
			t.Errorf("%s: removed %v, %v; there: %v", x.name, removed, err, there)
		}
	}
}
