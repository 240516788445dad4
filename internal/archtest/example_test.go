package archtest

import (
	"fmt"
	"testing"
	"testing/fstest"
)

func TestExamplesCatches(t *testing.T) {
	const shown = "package a\nfunc ExampleX() {}\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  string
	}{
		{"none", map[string]string{"a/a.go": "package a\n"}, "a/a.go:1:1: package a has no Example"},
		{"one", map[string]string{"a/a.go": "package a\n", "a/x_test.go": shown}, ""},
		{"of another package", map[string]string{"a/a.go": "package a\n", "a/b/b.go": "package b\n", "a/b/x_test.go": shown},
			"a/a.go:1:1: package a has no Example"},
		{"a method", map[string]string{"a/a.go": "package a\n", "a/x_test.go": "package a\nfunc (t) ExampleX() {}\n"},
			"a/a.go:1:1: package a has no Example"},
		{"not in a test", map[string]string{"a/a.go": shown}, "a/a.go:1:1: package a has no Example"},
		{"a command", map[string]string{"a/a.go": "package main\n"}, ""},
		{"internal", map[string]string{"internal/a/a.go": "package a\n"}, ""},
		{"for tests", map[string]string{"a/a.go": "package a\nimport \"testing\"\n"}, ""},
		{"tests only", map[string]string{"a/x_test.go": "package a\n"}, ""},
		{"another module", map[string]string{"a/a.go": "package a\n", "a/go.mod": "module a\n"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			fsys := fstest.MapFS{}
			for name, src := range c.files {
				fsys[name] = &fstest.MapFile{Data: []byte(src)}
			}
			found, err := CheckExamples(fsys)
			if err != nil || c.want == "" && len(found) > 0 || c.want != "" && fmt.Sprint(found) != "["+c.want+"]" {
				t.Errorf("found %v, %v; want %q", found, err, c.want)
			}
		})
	}
}

func ExampleCheckExamples() {
	found, err := CheckExamples(fstest.MapFS{"core/unit/unit.go": {Data: []byte("package unit\n")}})
	fmt.Println(found, err)
	// Output: [core/unit/unit.go:1:1: package core/unit has no Example] <nil>
}
