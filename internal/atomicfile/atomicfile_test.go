package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// names are those in a folder.
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

// A file is there when it is committed, and not before; what is discarded leaves nothing.
func TestCommit(t *testing.T) {
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

// One at a time has the claim of a file: the next one when it is committed or discarded.
func TestClaim(t *testing.T) {
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

const role = "ATOMICFILE_ROLE"

// What somebody living writes is counted, and neither what is finished nor what the dead have left.
func TestWritten(t *testing.T) {
	dir := t.TempDir()
	count := func(want int) {
		t.Helper()
		if n := Written(dir); n != want {
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
	if n := Written(filepath.Join(dir, "none")); n != 0 {
		t.Errorf("a folder that is not there: %d", n)
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv(role); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

// hold begins files and is killed.
func hold(dir string) {
	_, err := Create(filepath.Join(dir, "created"))
	_, err2 := Claim(filepath.Join(dir, "claimed"))
	unlock := Lock(dir)
	folder, _, err3 := Folder("weir-atomicfile-test")
	fmt.Println(errors.Join(err, err2, err3), folder)
	time.Sleep(time.Hour)
	unlock()
}

// What a living process writes stays; of one that is killed nothing does, and its claims and locks are free.
func TestSweep(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "[a]*") // no pattern
	if err := MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), role+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var said, folder string
	if fmt.Fscan(out, &said, &folder); said != "<nil>" {
		t.Errorf("it says %s", said)
	}
	folders := func() (mine string, theirs bool) {
		mine, remove, err := Folder("weir-atomicfile-test")
		if err != nil {
			t.Fatal(err)
		}
		remove()
		_, err = os.Stat(folder)
		return mine, err == nil
	}
	if mine, theirs := folders(); !theirs || mine == folder {
		t.Errorf("beside a living one's folder %s: %s, it is there: %v", folder, mine, theirs)
	}
	own, err := Create(filepath.Join(dir, "own"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".new-dead"), []byte("part"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	Sweep(dir)
	if all := names(t, dir); len(all) != 4 {
		t.Errorf("beside a living one: %v", all)
	}
	if _, err := Claim(filepath.Join(dir, "claimed")); err != ErrTaken {
		t.Errorf("what a living one has claimed: %v", err)
	}
	child.Process.Kill()
	child.Wait()
	Lock(dir)()
	f, err := Claim(filepath.Join(dir, "claimed"))
	if err != nil {
		t.Fatalf("what a dead one had claimed: %v", err)
	}
	f.Discard()
	if mine, theirs := folders(); theirs {
		t.Errorf("a dead one's folder is left")
	} else if _, err := os.Stat(mine); err == nil {
		t.Errorf("its own folder is left")
	}
	Sweep(dir)
	if all := names(t, dir); len(all) != 2 {
		t.Errorf("after it is dead: %v", all)
	}
	own.Discard()
	if all := names(t, dir); len(all) != 1 || all[0] != "file" {
		t.Errorf("left: %v", all)
	}
}

// Many that claim and sweep at a time do not take from each other what they have.
func TestContention(t *testing.T) {
	dir := t.TempDir()
	place := filepath.Join(dir, "a")
	inside := make(chan struct{}, 1)
	done := make(chan error)
	const several = 8
	for range several {
		go func() {
			var err error
			for range 50 {
				Sweep(dir)
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

// Those with the same text share a file, others do not; it goes with the last, and a dead one's text does not count.
func TestShare(t *testing.T) {
	place := filepath.Join(t.TempDir(), "ports")
	if err := os.WriteFile(filepath.Join(filepath.Dir(place), prefix+"ports"), []byte("dead"), 0o600); err != nil {
		t.Fatal(err)
	}
	join := func(text, with string) func() {
		t.Helper()
		leave, joined, has, err := Share(place, text)
		if joined != (text == with) || has != with || err != nil {
			t.Fatalf("%s: %v with %q, %v", text, joined, has, err)
		}
		return leave
	}
	first, second := join("a", "a"), join("a", "a")
	join("b", "a")
	Sweep(filepath.Dir(place))
	first()
	join("b", "a")
	second()
	if all := names(t, filepath.Dir(place)); len(all) > 0 {
		t.Errorf("left: %v", all)
	}
	join("b", "b")()
}
