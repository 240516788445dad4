package archtest

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestAPIText checks that exported names are listed with fields and methods, and that unexported ones, bodies,
// comments, tests and files of other systems are not.
func TestAPIText(t *testing.T) {
	got, err := writeAPI(fstest.MapFS{"a/a.go": {Data: []byte(`// Package a is for a test.
package a

// Limit is one.
const Limit, limit = 1, 2 // hidden

// T has a field.
type T struct {
	Field int // of it
	hidden int
}

// New makes one.
func New() *T { return &T{} }

// Do does it.
func (t *T) Do(n int) error { return nil }

func (t *T) own() {}

func own() {}
`)}, "a/a_test.go": {Data: []byte("package a\n\nfunc Tested() {}\n")},
		"a/other.go": {Data: []byte("//go:build !linux\n\npackage a\n\nfunc Other() {}\n")}}, "m", "a")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"package a // import \"m/a\"\n", "Limit", "type T struct {", "Field int",
		"func New() *T\n", "func (t *T) Do(n int) error\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	for _, hidden := range []string{"own", "hidden int", "of it", "is one", "Tested", "Other", "return"} {
		if strings.Contains(got, hidden) {
			t.Errorf("it has %q:\n%s", hidden, got)
		}
	}
	if _, err := writeAPI(fstest.MapFS{}, "m", "a"); err == nil {
		t.Error("a package without files is none")
	}
}
