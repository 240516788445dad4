package testkit

import (
	"os"
	"path/filepath"
	"testing"
)

const archived = "What the cases are about.\n-- a.in --\n1\n-- a.out --\none\n-- b.in --\n2\n"

// openArchive writes an archive to a folder of the test and reads it.
func openArchive(t *testing.T) *Archive {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"cases.txtar", ".cases.txtar", "_cases.txtar"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(archived), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	archives := ReadArchives(t, folder)
	if len(archives) != 1 || archives[0].Name != "cases" || len(archives[0].Select(".in")) != 2 {
		t.Fatalf("%+v", archives)
	}
	return archives[0]
}

// TestArchiveUnchanged checks that an expected result changes no archive.
func TestArchiveUnchanged(t *testing.T) {
	a := openArchive(t)
	a.Golden(t, "a.out", "one\n")
	a.setFile("a.out", "one\n")
	if a.changed {
		t.Error("the archive has changed")
	}
}

// TestArchiveUpdate checks that a new result follows the last file of its case, or all files. A changed result
// replaces the old one.
func TestArchiveUpdate(t *testing.T) {
	a := openArchive(t)
	a.setFile("c.out", "three\n")
	a.setFile("a.out", "1.0\n")
	a.setFile("a.err", "")
	a.setFile("b.out", "two\n")
	if err := a.saveChanges(); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(a.path)
	want := "What the cases are about.\n-- a.in --\n1\n-- a.out --\n1.0\n-- a.err --\n-- b.in --\n2\n-- b.out --\ntwo\n" +
		"-- c.out --\nthree\n"
	if err != nil || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s\n%v", got, want, err)
	}
}
