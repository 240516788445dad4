//go:build system || slow

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weir/internal/command"
)

// mounted returns a folder with a separate file system of the given size. It skips the test where mounts are not
// permitted.
func mounted(t *testing.T, size int) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "disk")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("none", dir, "tmpfs", 0, fmt.Sprintf("size=%d", size)); err != nil {
		t.Skip("a small file system cannot be mounted here: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fillDisk runs a sweep with traces on disks that are full after the given numbers of pages, so that each kind of
// file is once the first that does not fit. All runs end then, with one message that names the file, and only
// complete files are left. With space again, the same command writes the files of an undisturbed one. It returns
// the suffixes of the files' names.
func fillDisk(t *testing.T, pages func(all int) []int) (kinds map[string]bool) {
	const room = 1 << 21
	file := write(t, small+"repeat: 2\n")
	args := func(out string) []string { return []string{"run", file, "--out", out, "--jobs", "1", "--trace", "*"} }
	var stdout, stderr bytes.Buffer
	disk := mounted(t, room)
	if code := Run(Registry(), args(disk), &stdout, &stderr, false); code != command.Done {
		t.Fatal(stderr.String())
	}
	want := contents(t, disk)
	page, all := os.Getpagesize(), 0
	for _, text := range want {
		all += len(text)/os.Getpagesize() + 1
	}
	kinds = map[string]bool{}
	for _, n := range pages(all) {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if err := os.RemoveAll(onlyFolder(t, disk)); err != nil {
				t.Fatal(err)
			}
			ballast := filepath.Join(disk, "ballast")
			if err := os.WriteFile(ballast, make([]byte, room-n*page), 0o644); err != nil {
				t.Fatal(err)
			}
			said := untraced(checkStderr(t, command.RunFailed, disk, args(disk)...))
			line, rest, _ := strings.Cut(said, "\n")
			if rest != "" || !strings.HasPrefix(line, "weir: DIR/small-") || !strings.Contains(line, "no space left on device") {
				t.Errorf("it says %q", said)
			}
			name, _, _ := strings.Cut(line, ": it cannot ")
			kinds[filepath.Ext(name)] = true
			for name, text := range contents(t, disk) {
				if name != "ballast" && text != want[name] && !derived(name, text) {
					t.Errorf("%s has %d bytes, want %d, or others", name, len(text), len(want[name]))
				}
			}
			if err := os.Remove(ballast); err != nil {
				t.Fatal(err)
			}
			stdout.Reset()
			stderr.Reset()
			if code := Run(Registry(), args(disk), &stdout, &stderr, false); code != command.Done ||
				untraced(stderr.String()) != "" {
				t.Errorf("with room again: exit code %d, %s", code, stderr.String())
			}
			got := contents(t, disk)
			for name, text := range want {
				if got[name] != text && !strings.HasPrefix(filepath.Base(name), "host.") {
					t.Errorf("with room again: %s has %d bytes, want %d, or others", name, len(got[name]), len(text))
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
		})
	}
	return kinds
}

// derived reports whether a file is made of the runs that there are, and whole.
func derived(name, text string) bool {
	switch filepath.Base(name) {
	case "runs.json", "host.json":
		return json.Valid([]byte(text))
	case "flows.parquet", "series.parquet":
		return strings.HasPrefix(text, "PAR1") && strings.HasSuffix(text, "PAR1")
	case "report.html", "host.html":
		return strings.HasSuffix(strings.TrimSpace(text), "</html>")
	}
	return filepath.Ext(name) == ".svg" && strings.HasSuffix(strings.TrimSpace(text), "</svg>")
}

// onlyFolder returns the single results folder of a disk.
func onlyFolder(t *testing.T, disk string) string {
	t.Helper()
	dirs, _ := filepath.Glob(filepath.Join(disk, "small-*"))
	if len(dirs) != 1 {
		t.Fatalf("folders %v", dirs)
	}
	return dirs[0]
}
