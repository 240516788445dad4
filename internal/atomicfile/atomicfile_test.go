package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// names returns the names in a folder.
func names(t *testing.T, dir string) (all []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// TestFile_AppearsWhenCommitted checks that a new content appears at the commit, and not before. A discarded file
// leaves no trace.
func TestFile_AppearsWhenCommitted(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "a.txt")
	for _, x := range []struct {
		name  string
		begin func(string) (*File, error)
	}{{"create", Create}, {"claim", Claim}} {
		t.Run(x.name, func(t *testing.T) {
			if err := os.WriteFile(place, []byte("old"), 0o600); err != nil {
				t.Fatal(err)
			}
			read := func(want string) {
				t.Helper()
				if data, err := os.ReadFile(place); err != nil || string(data) != want {
					t.Errorf("%q, %v, want %q", data, err, want)
				}
			}
			for _, commit := range []bool{false, true} {
				f, err := x.begin(place)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := f.Write([]byte("new")); err != nil {
					t.Fatal(err)
				}
				read("old")
				if commit {
					if err := f.Commit(); err != nil {
						t.Fatal(err)
					}
				}
				f.Discard()
			}
			read("new")
			if all := names(t, dir); len(all) != 1 {
				t.Errorf("files %v", all)
			}
			if info, err := os.Stat(place); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
		})
	}
}

// TestClaim_IsExclusiveUntilEnd checks that a file has one claim at a time. The next claim succeeds after the
// commit or the discard.
func TestClaim_IsExclusiveUntilEnd(t *testing.T) {
	place := filepath.Join(t.TempDir(), "a.txt")
	for _, end := range []func(*File){(*File).Discard, func(f *File) { f.Commit() }} {
		f, err := Claim(place)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Claim(place); err != ErrTaken {
			t.Errorf("a second one: %v", err)
		}
		end(f)
	}
	f, err := Claim(place)
	if err != nil {
		t.Fatal(err)
	}
	f.Discard()
}

// TestCountUnfinished_CountsLivingWritersOnly checks that only files that living processes write are counted.
// Finished files and those of dead processes are not.
func TestCountUnfinished_CountsLivingWritersOnly(t *testing.T) {
	dir := t.TempDir()
	count := func(want int) {
		t.Helper()
		if n := CountUnfinished(dir); n != want {
			t.Errorf("%d files are written, want %d", n, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, ".new-dead"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	count(0)
	a, err := Claim(filepath.Join(dir, "a.json"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := Create(filepath.Join(dir, "b.json"))
	if err != nil {
		t.Fatal(err)
	}
	count(2)
	if err := a.Commit(); err != nil {
		t.Fatal(err)
	}
	count(1)
	b.Discard()
	count(0)
	if n := CountUnfinished(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("a folder that is not there: %d", n)
	}
}

// TestRemoveUnfinished_KeepsClaimedFiles checks that RemoveUnfinished removes the files of dead processes only,
// also in a folder whose name looks like a pattern. Files that this process claims stay. TestSweepAfterKill, in the
// system stage, kills a child.
func TestRemoveUnfinished_KeepsClaimedFiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "[a]*") // no pattern
	if err := MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	own, err := Create(filepath.Join(dir, "own"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".new-dead", "file"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("part"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	RemoveUnfinished(dir)
	if all := names(t, dir); len(all) != 2 {
		t.Errorf("next to a living one: %v", all)
	}
	own.Discard()
	if all := names(t, dir); len(all) != 1 || all[0] != "file" {
		t.Errorf("files that are left: %v", all)
	}
}

// TestNewTempFolder_StaysUntilRemoved checks that folders of living processes stay until they are removed.
func TestNewTempFolder_StaysUntilRemoved(t *testing.T) {
	first, remove, err := NewTempFolder("weir-atomicfile-test")
	if err != nil {
		t.Fatal(err)
	}
	second, removeSecond, err := NewTempFolder("weir-atomicfile-test")
	if _, bad := os.Stat(first); err != nil || bad != nil || first == second {
		t.Errorf("%s and %s: %v, %v", first, second, err, bad)
	}
	remove()
	removeSecond()
	for _, dir := range []string{first, second} {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
}

// TestClaim_SurvivesConcurrentRemoval checks that concurrent claims and removals do not take files from each other.
func TestClaim_SurvivesConcurrentRemoval(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "a")
	inside := make(chan struct{}, 1)
	done := make(chan error)
	const several = 8
	for range several {
		go func() {
			var err error
			for range 50 {
				RemoveUnfinished(dir)
				f, e := Claim(place)
				if e == ErrTaken {
					continue
				}
				if e != nil {
					err = e
					break
				}
				select {
				case inside <- struct{}{}:
				default:
					err = errors.New("two have it")
				}
				if e := Write(filepath.Join(dir, "b"), []byte("text")); e != nil {
					err = e
				}
				<-inside
				f.Discard()
			}
			done <- err
		}()
	}
	for range several {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if all := names(t, dir); len(all) != 1 || all[0] != "b" {
		t.Errorf("left: %v", all)
	}
}

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	fmt.Println(Write(filepath.Join(dir, "result"), []byte("whole")))
	// Output: <nil>
}

// TestJoinShared_JoinsOnlySameText checks that processes with the same text share a file, and that another text is
// refused. The file is removed with its last user, and the text of a dead one does not count.
func TestJoinShared_JoinsOnlySameText(t *testing.T) {
	place := filepath.Join(t.TempDir(), "ports")
	if err := os.WriteFile(filepath.Join(filepath.Dir(place), prefix+"ports"), []byte("dead"), 0o600); err != nil {
		t.Fatal(err)
	}
	join := func(text, with string) func() {
		t.Helper()
		leave, joined, has, err := JoinShared(place, text)
		if joined != (text == with) || has != with || err != nil {
			t.Fatalf("%s: %v with %q, %v", text, joined, has, err)
		}
		return leave
	}
	first, second := join("a", "a"), join("a", "a")
	join("b", "a")
	RemoveUnfinished(filepath.Dir(place))
	first()
	join("b", "a")
	second()
	if all := names(t, filepath.Dir(place)); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
	join("b", "b")()
}
