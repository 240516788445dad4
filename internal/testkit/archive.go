package testkit

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// Archive is a file NAME.txtar with the inputs of several test cases, each followed by its expected results (package
// txtar). The files of one case have the same stem: their names differ from the last dot on.
type Archive struct {
	Name    string // of the file, without folder and suffix
	Files   []txtar.File
	path    string
	comment []byte
	changed bool
}

// ReadArchives reads the archives in a folder, sorted by name, except those that begin with a dot or an underscore.
// With -update it writes the archives that Golden has changed when the test ends.
func ReadArchives(t testing.TB, folder string) []*Archive {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(folder, "[^._]*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s has no archive: %v", folder, err)
	}
	var archives []*Archive
	for _, path := range paths {
		a, err := readArchive(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, a)
	}
	t.Cleanup(func() {
		for _, a := range archives {
			if err := a.saveChanges(); err != nil {
				t.Error(err)
			}
		}
	})
	return archives
}

// readArchive reads one archive.
func readArchive(path string) (*Archive, error) {
	parsed, err := txtar.ParseFile(path)
	if err != nil {
		return nil, err
	}
	return &Archive{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), Files: parsed.Files, path: path,
		comment: parsed.Comment}, nil
}

// Select returns the files with a name suffix, in the archive's order.
func (a *Archive) Select(suffix string) []txtar.File {
	var files []txtar.File
	for _, f := range a.Files {
		if strings.HasSuffix(f.Name, suffix) {
			files = append(files, f)
		}
	}
	return files
}

// indexOf returns the index of the file with the given name, or −1.
func (a *Archive) indexOf(name string) int {
	return slices.IndexFunc(a.Files, func(f txtar.File) bool { return f.Name == name })
}

// Golden compares the text got with a file of the archive, or with -update replaces the file. A new file is inserted
// after the last file of its case. The text must be empty or end with a newline, and must not have a line of the form
// "-- name --".
func (a *Archive) Golden(t *testing.T, name, got string) {
	t.Helper()
	if got != "" && !strings.HasSuffix(got, "\n") || len(txtar.Parse([]byte(got)).Files) > 0 {
		t.Fatalf("%s: an archive cannot have this text: %q", name, got)
	}
	at := a.indexOf(name)
	switch {
	case *update:
		a.setFile(name, got)
	case at < 0:
		t.Fatalf("%s has no file %s (go test -update adds it)", a.path, name)
	case string(a.Files[at].Data) != got:
		t.Errorf("%s: %s differs (go test -update rewrites it)%s", a.path, name,
			difference(string(a.Files[at].Data), got))
	}
}

// setFile replaces the text of a file, or inserts a new file after the last file of its case.
func (a *Archive) setFile(name, text string) {
	at := a.indexOf(name)
	if at < 0 {
		at = len(a.Files)
		for i, f := range a.Files {
			if stem(f.Name) == stem(name) {
				at = i + 1
			}
		}
		a.Files = slices.Insert(a.Files, at, txtar.File{Name: name})
		a.changed = true
	}
	if !bytes.Equal(a.Files[at].Data, []byte(text)) {
		a.Files[at].Data = []byte(text)
		a.changed = true
	}
}

// saveChanges writes the archive if it has changed.
func (a *Archive) saveChanges() error {
	if !a.changed {
		return nil
	}
	return os.WriteFile(a.path, txtar.Format(&txtar.Archive{Comment: a.comment, Files: a.Files}), 0o644)
}

// stem returns a file's name up to its last dot.
func stem(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
