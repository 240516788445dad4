package testkit

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite golden files")

// IsUpdating reports whether tests rewrite their golden files (go test -update).
func IsUpdating() bool { return *update }

// Golden compares the text got with the file testdata/name, or with -update rewrites it. A difference is an error of
// the test.
func Golden(t *testing.T, name, got string) {
	t.Helper()
	GoldenFile(t, filepath.Join("testdata", name), got)
}

// GoldenFile compares the text got with the file at path, such as a page of docs, or with -update rewrites it.
func GoldenFile(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -update writes it)", err)
	}
	if string(want) != got {
		t.Errorf("%s differs (go test -update rewrites it)%s", path, difference(string(want), got))
	}
}

// difference shows the lines in which two texts differ, up to 40 of each.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	first := 0
	for first < min(len(w), len(g)) && w[first] == g[first] {
		first++
	}
	last := 0
	for last < min(len(w), len(g))-first && w[len(w)-1-last] == g[len(g)-1-last] {
		last++
	}
	const most = 40
	part := func(of []string) string {
		lines := of[first : len(of)-last]
		if len(lines) > most {
			lines = append(append([]string{}, lines[:most]...), "…")
		}
		return strings.Join(lines, "\n")
	}
	return fmt.Sprintf(" in line %d; got\n%s\nwant\n%s", first+1, part(g), part(w))
}
