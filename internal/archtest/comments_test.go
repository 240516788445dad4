package archtest

import (
	"slices"
	"testing"
	"testing/fstest"
)

// TestFindUncommented_ListsNamesInOrder checks that names without a comment are listed in the order of the file.
// Each exported name of p/a.go has a comment, except those that begin with Bare.
func TestFindUncommented_ListsNamesInOrder(t *testing.T) {
	const src = `package p

// A Thing is one.
type Thing struct{}

type BareType[T any] struct{}

// String is the comment of another name.
func (Thing) BareMethod() {}

// Run runs.
func (t *Thing) Run() {}
func (t *BareType[T]) BareToo() {}
func (t hidden) String() string { return "" }

type hidden struct{}

// Makes things.
func BareFunction() {}

// BareFunctions is longer than the name.
func BareFunctio() {}

// Limits.
const (
	First = iota
	Second
)

const (
	Third  = 3 // is enough in a group
	BareIn = 4
)

var BareSingle int
`
	want := []string{"p/a.go:6: BareType", "p/a.go:9: Thing.BareMethod", "p/a.go:13: BareType.BareToo",
		"p/a.go:19: BareFunction", "p/a.go:22: BareFunctio", "p/a.go:32: BareIn", "p/a.go:35: BareSingle"}
	got, err := findUncommented(fstest.MapFS{"p/a.go": {Data: []byte(src)}, "p/a_test.go": {Data: []byte("no Go")}}, "p")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
	if _, err := findUncommented(fstest.MapFS{"p/a.go": {Data: []byte("no Go")}}, "p"); err == nil {
		t.Error("a file that is no Go has no error")
	}
}
