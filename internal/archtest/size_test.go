package archtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestSizesCatches(t *testing.T) {
	long := func(n int) string { return strings.Repeat("\n", n) }
	for _, c := range []struct {
		name, src string
		except    []Exception
		want      []string
	}{
		{"clean", "package a\n//" + strings.Repeat("ä", 118) + "\n", nil, nil},
		{"line", "package a\n//" + strings.Repeat("ä", 119) + "\n", nil, []string{"a/x.go:2:1: a line of 121 characters"}},
		{"file", "package a\n" + long(1000), nil, []string{"a/x.go:1:1: a file of 1001 lines"}},
		{"file with a reason", "package a\n" + long(1000), []Exception{{"a/x.go", "", "a table"}}, nil},
		{"file of 1000 lines", "package a\n" + long(999), nil, nil},
		{"function of 80 lines", "package a\nfunc f() {" + long(79) + "}\n", nil, nil},
		{"function", "package a\nfunc f() {" + long(80) + "}\n", nil, []string{"a/x.go:2:1: f has 81 lines"}},
		{"method", "package a\ntype t[T any] int\nfunc (t *t[T]) f() {" + long(80) + "}\n", nil,
			[]string{"t.f has 81 lines"}},
		{"method with a reason", "package a\ntype t int\nfunc (t) f() {" + long(80) + "}\n",
			[]Exception{{"a/x.go", "t.f", "a list"}}, nil},
		{"literal of 80 lines", "package a\nvar f = func() {" + long(79) + "}\n", nil, nil},
		{"literal", "package a\nvar f = func() {" + long(80) + "}\n", nil,
			[]string{"a/x.go:2:1: a function literal of f has 81 lines"}},
		{"literal in a table", "package a\nvar table = []func(){\n\tfunc() {" + long(80) + "},\n}\n", nil,
			[]string{"a/x.go:3:1: a function literal of table has 81 lines"}},
		{"literal in a function", "package a\nfunc f() {\ng := func() {" + long(80) + "}\ng()\n}\n", nil,
			[]string{"a/x.go:2:1: f has 84 lines"}},
		{"literal in a literal", "package a\nvar f = func() { g(func() {" + long(80) + "}) }\n", nil,
			[]string{"a/x.go:2:1: a function literal of f has 81 lines"}},
		{"literal with a reason", "package a\nvar f = func() {" + long(80) + "}\n",
			[]Exception{{"a/x.go", "f", "a list"}}, nil},
		{"no reason", "package a\n" + long(1000), []Exception{{"a/x.go", "", ""}}, []string{"has no reason"}},
		{"not needed", "package a\n", []Exception{{"a/x.go", "f", "a list"}}, []string{"needs no exception"}},
	} {
		t.Run(c.name, func(t *testing.T) { catches(t, "a/x.go", c.src, c.except, c.want) })
	}
}

// TestSizesCatchesLines checks that lines of YAML and of Markdown are limited, too. Rows of tables, golden files
// and templates are exempt.
func TestSizesCatchesLines(t *testing.T) {
	fits, long := strings.Repeat("ä", 120), strings.Repeat("ä", 121)
	for _, c := range []struct {
		name, file, src string
		want            []string
	}{
		{"YAML fits", "papers/x/experiments/y.yaml", "title: a\n" + fits + "\n", nil},
		{"YAML", "papers/x/experiments/y.yaml", "title: a\n" + long + "\n",
			[]string{"y.yaml:2:1: a line of 121 characters"}},
		{"long file of YAML", "y.yaml", strings.Repeat("\n", 1100), nil},
		{"Markdown fits", "docs/x.md", fits, nil},
		{"Markdown", "docs/x.md", "# X\n\n" + long, []string{"docs/x.md:3:1: a line of 121 characters"}},
		{"row of a table", "docs/x.md", "| " + long + " |\n", nil},
		{"a row is Markdown's", "y.yaml", "| " + long + " |\n", []string{"a line of 125 characters"}},
		{"golden file", "study/experiment/testdata/x.yaml", long, nil},
		{"template", "study/report/x.tmpl", long, nil},
	} {
		t.Run(c.name, func(t *testing.T) { catches(t, c.file, c.src, nil, c.want) })
	}
}

// catches checks the findings of CheckSizes in a file.
func catches(t *testing.T, file, src string, except []Exception, want []string) {
	t.Helper()
	found, err := CheckSizes(fstest.MapFS{file: {Data: []byte(src)}}, except)
	if err != nil || len(found) != len(want) {
		t.Fatalf("%v, %v; want %q", found, err, want)
	}
	for i, v := range found {
		if !strings.Contains(v.String(), want[i]) {
			t.Errorf("%v; want %q", v, want[i])
		}
	}
}

func ExampleCheckSizes() {
	src := "package unit\n\nvar long = `" + strings.Repeat("x", 120) + "`\n"
	fsys := fstest.MapFS{"unit/unit.go": {Data: []byte(src)}}
	found, err := CheckSizes(fsys, nil)
	fmt.Println(found, err)
	// Output: [unit/unit.go:3:1: a line of 133 characters; at most 120] <nil>
}
