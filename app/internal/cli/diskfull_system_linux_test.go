//go:build system

package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/command"
)

// TestFullDiskOfEveryKind fills disks at five points; TestFullDiskEveryPage of the slow stage fills them at each page.
func TestFullDiskOfEveryKind(t *testing.T) {
	fillDisk(t, func(all int) []int { return []int{0, 6, all / 4, all / 2, 3 * all / 4} })
}

// TestResultsMergeFullDisk checks that a full disk is an error that names the file, and that merged files stay.
// With space again, the same command writes the files that an undisturbed one has written.
func TestResultsMergeFullDisk(t *testing.T) {
	const room = 1 << 21
	disk := mounted(t, room)
	file := write(t, small)
	a := ranMerge(t, file, "--set", "repeat=2", "--trace", "*")
	args := []string{"results", "merge", a, "--into", disk}
	page := os.Getpagesize()
	ballast := filepath.Join(disk, "ballast")
	for pages := range 40 {
		if err := os.WriteFile(ballast, make([]byte, room-(4+2*pages)*page), 0o644); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr bytes.Buffer
		code := Run(Registry(), args, &stdout, &stderr, false)
		said := stderr.String()
		if code == command.Done {
			if pages < 4 {
				t.Errorf("%d pages were enough", pages)
			}
			break
		}
		if code != command.RunFailed || !strings.Contains(said, "no space left on device") ||
			!strings.HasPrefix(said, "weir: "+disk) {
			t.Fatalf("exit code %d, %s", code, said)
		}
		want := contents(t, a)
		for name, text := range contents(t, disk) {
			rel, err := filepath.Rel(filepath.Base(a), name)
			if name != "ballast" && !strings.HasPrefix(filepath.Base(name), "host.") && (err != nil || want[rel] != text) {
				t.Errorf("%s has %d bytes, or others", name, len(text))
			}
		}
	}
	got := contents(t, filepath.Join(disk, filepath.Base(a)))
	for name, text := range contents(t, a) {
		if got[name] != text && !strings.HasPrefix(name, "host.") {
			t.Errorf("%s differs", name)
		}
	}
}
