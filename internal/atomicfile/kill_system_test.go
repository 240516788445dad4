//go:build system

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

const role = "ATOMICFILE_ROLE"

func TestMain(m *testing.M) {
	if dir := os.Getenv(role); dir != "" {
		hold(dir)
	}
	os.Exit(m.Run())
}

// hold begins files, and waits to be killed.
func hold(dir string) {
	_, err := Create(filepath.Join(dir, "created"))
	_, err2 := Claim(filepath.Join(dir, "claimed"))
	unlock := Lock(dir)
	folder, _, err3 := NewTempFolder("weir-atomicfile-test")
	fmt.Println(errors.Join(err, err2, err3), folder)
	time.Sleep(time.Hour)
	unlock()
}

// TestSweepAfterKill checks that files of a living process stay. Files of a killed process are removed, and its
// claims and locks are free.
func TestSweepAfterKill(t *testing.T) {
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
		mine, remove, err := NewTempFolder("weir-atomicfile-test")
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
	RemoveUnfinished(dir)
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
	RemoveUnfinished(dir)
	if all := names(t, dir); len(all) != 2 {
		t.Errorf("after it is dead: %v", all)
	}
	own.Discard()
	if all := names(t, dir); len(all) != 1 || all[0] != "file" {
		t.Errorf("left: %v", all)
	}
}
