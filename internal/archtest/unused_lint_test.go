//go:build lint

package archtest

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// exportedSources are the files of a small module, for TestUnusedNames.
var exportedSources = map[string]string{
	"go.mod": "module example.org/m\n\ngo 1.26\n",
	"a/a.go": `package a

// Lone is used in no package.
const Lone = 1

// Kind has a constant that b uses, so that both remain.
type Kind int

const (
	First Kind = iota
	Second
)

type (
	Used     struct{ Field InField }
	InField  struct{}
	Returned struct{}
	Forgotten struct{}
	named    interface{ Name() string }
)

func Make() (Returned, error) { return Returned{}, nil }
func OnlyTests()              {}
func ForExamples()            {}

func (Used) Called()      {}
func (Used) Uncalled()    {}
func (Used) Name() string { return "" }
func (Used) Error() string { return named(Used{}).Name() }
`,
	"a/a_test.go": `package a_test

import "example.org/m/a"

func ExampleForExamples() { a.ForExamples() }

var _ = a.OnlyTests
`,
	"b/b.go": `package b

import "example.org/m/a"

func use() {
	_ = a.First
	a.Used{}.Called()
	_, _ = a.Make()
}
`,
	"c/c.go":        "package c\n\nfunc Published() {}\n",
	"c/c_test.go":   "//go:build slow\n\npackage c\n\nfunc init() { Published() }\n",
	"d/d.go":        "package d\n\nfunc Tagged() {}\n",
	"d/e/e_test.go": "//go:build slow\n\npackage e\n\nimport \"example.org/m/d\"\n\nfunc init() { d.Tagged() }\n",
}

// TestUnusedNames checks which names of a small module count as used and which exceptions are needed.
// It compiles packages, which needs a build cache.
func TestUnusedNames(t *testing.T) {
	dir := t.TempDir()
	for name, text := range exportedSources {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	all, err := loadAll(dir, "./...")
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Sorted(maps.Keys(unusedNames(all, "example.org/m", []string{"c"})))
	want := []string{"a.Forgotten", "a.Lone", "a.OnlyTests", "a.Used.Uncalled"}
	if !slices.Equal(got, want) {
		t.Errorf("unused are %q, not %q", got, want)
	}

	exceptions := map[string]string{"a.Forgotten": "a reason", "a.Lone": "", "a.Make": "a reason",
		"a.OnlyTests": "a reason"}
	found, err := checkExported(all, "example.org/m", []string{"c"}, exceptions)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, v := range found {
		texts = append(texts, v.Msg)
	}
	if want := []string{"a.Used.Uncalled is exported, and no other package uses it", "a.Lone has no reason",
		"a.Make needs no exception: it is unexported, unknown or used"}; !slices.Equal(texts, want) {
		t.Errorf("violations are %q, not %q", texts, want)
	}
}
