//go:build system

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"weir/internal/command"
)

// TestFullDisk checks that a full disk is an error that names the file, and that finished runs are kept. When the
// disk has space again, the same command runs the rest.
func TestFullDisk(t *testing.T) {
	const room = 1 << 20
	disk := mounted(t, room)
	// A run of small writes about 1 kB. Ten runs and the files derived from them do not fit into what the ballast
	// leaves free.
	file := write(t, small+"repeat: 5\n")
	ballast := filepath.Join(disk, "ballast")
	page := os.Getpagesize() // tmpfs gives whole pages, and some to folders
	if err := os.WriteFile(ballast, make([]byte, room-8*page), 0o644); err != nil {
		t.Fatal(err)
	}
	said := checkStderr(t, command.RunFailed, disk, "run", file, "--out", disk, "--jobs", "1")
	dirs, _ := filepath.Glob(filepath.Join(disk, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v, %s", dirs, said)
	}
	kept := runs(t, dirs[0])
	if n := len(kept); n < 1 || n > 9 {
		t.Fatalf("%d runs are kept: %s", n, said)
	}
	if want := fmt.Sprintf("the file cannot be written: no space left on device; %d of 10 runs are finished and kept; "+
		"the same command continues with the rest\n", len(kept)); !strings.HasPrefix(said, "weir: DIR/small-") ||
		!strings.HasSuffix(said, want) {
		t.Errorf("%s\nwant …%s", said, want)
	}
	for name := range contents(t, dirs[0]) {
		if strings.Contains(name, ".new-") {
			t.Errorf("%s is left", name)
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", file, "--out", disk}, &stdout, &stderr, false); code != command.Done ||
		!strings.Contains(stdout.String(), fmt.Sprintf("%d runs reused from earlier", len(kept))) {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	for name, text := range runs(t, dirs[0]) {
		if old, ok := kept[name]; ok && old != text {
			t.Errorf("%s has changed", name)
		}
	}

	// A report on a disk that is full again leaves the old page intact.
	old := contents(t, dirs[0])
	fill, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := fill.Write(make([]byte, room)); err == nil; _, err = fill.Write(make([]byte, page)) {
	}
	fill.Close()
	said = checkStderr(t, command.RunFailed, disk, "report", dirs[0])
	if !strings.HasSuffix(said, "the file cannot be written: no space left on device\n") {
		t.Errorf("report: %s", said)
	}
	for name, text := range contents(t, dirs[0]) {
		if old[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
}

// TestReadOnlyFolder checks that a read-only folder is refused, and its finished runs can be read.
func TestReadOnlyFolder(t *testing.T) {
	file := write(t, small)
	disk := mounted(t, 1<<20)
	var stdout, stderr bytes.Buffer
	if code := Run(Registry(), []string{"run", file, "--out", disk}, &stdout, &stderr, false); code != command.Done {
		t.Fatal(stderr.String())
	}
	dirs, _ := filepath.Glob(filepath.Join(disk, "small-*"))
	old := contents(t, disk)
	if err := syscall.Mount("none", disk, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip("it cannot be made read-only here: ", err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", file, "--out", disk}, "/spec.yaml: the file cannot be written: read-only file system\n"},
		{[]string{"run", file, "--out", disk, "--seed", "9"},
			": the results folder cannot be created: read-only file system\n"},
		{[]string{"report", dirs[0]}, "the file cannot be written: read-only file system\n"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if said := checkStderr(t, command.RunFailed, disk, c.args...); !strings.HasPrefix(said, "weir: DIR/small-") ||
				!strings.HasSuffix(said, c.want) {
				t.Errorf("weir %s: %s", c.args[0], said)
			}
		})
	}
	stdout.Reset()
	if code := Run(Registry(), []string{"diff", dirs[0], dirs[0]}, &stdout, &stderr, false); code != command.Done ||
		!strings.Contains(stdout.String(), "0 values differ") {
		t.Errorf("diff: exit code %d, %s%s", code, stdout.String(), stderr.String())
	}
	for name, text := range contents(t, disk) {
		if old[name] != text {
			t.Errorf("%s has changed", name)
		}
	}
}
