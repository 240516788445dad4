package archtest

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestWordsCatches(t *testing.T) {
	const head = "| type | meaning | packages |\n|---|---|---|\n"
	const pair = "| `Pair` | two values | `a`, `b` |\n"
	for _, c := range []struct {
		name, table string
		files       map[string]string
		want        []string
	}{
		{"in few packages", pair, nil, nil},
		{"in many packages", pair, map[string]string{"c/x.go": "type T int", "d/x.go": "type T int"},
			[]string{"4 packages declare a type T; at most 3, or a row in page.md: a, b, c, d"}},
		{"with a row", pair + "| `T` | a number | `a`, `b`, `c`, `d` |\n",
			map[string]string{"c/x.go": "type T int", "d/x.go": "type T int"}, nil},
		{"with a row in words", pair + "| `T` | a number | each package with numbers |\n",
			map[string]string{"c/x.go": "type T int", "d/x.go": "type T int"}, nil},
		{"other packages", "| `Pair` | two values | `a`, `c` |\n", nil,
			[]string{"page.md:3:1: Pair is declared by `a`, `b`"}},
		{"two rows", pair + pair, nil, []string{"page.md:4:1: Pair has two rows"}},
		{"in one package", pair + "| `One` | one value | `a` |\n", nil,
			[]string{"page.md:4:1: One is a type of 1 packages and needs no row"}},
		{"another table", pair + "\n| name | |\n|---|---|\n| `One` | one value | `a` |\n", nil, nil},
		{"what is not counted", pair, map[string]string{"c/x_test.go": "type T int", "d/x.go": "type T = string",
			"e/testdata/x.go": "type T int", "f/x.go": "type t int\nfunc T() {}"}, nil},
		{"a file for each system", pair, map[string]string{"b/y.go": "type T int", "c/x_linux.go": "type T int",
			"c/x_other.go": "type T int"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"page.md": {Data: []byte(head + c.table)},
				"a/x.go": {Data: []byte("package a\ntype Pair struct{}\ntype T int\ntype One int")},
				"b/x.go": {Data: []byte("package b\ntype (\n\tPair[K any] struct{}\n\tT int\n)")}}
			for name, src := range c.files {
				files[name] = &fstest.MapFile{Data: []byte("package p\n" + src)}
			}
			found, err := checkTypeNames(files, "page.md")
			if err != nil || len(found) != len(c.want) {
				t.Fatalf("%v, %v; want %q", found, err, c.want)
			}
			for i, v := range found {
				if !strings.Contains(v.String(), c.want[i]) {
					t.Errorf("%v; want %q", v, c.want[i])
				}
			}
		})
	}
}

func TestWordsWithoutTable(t *testing.T) {
	if _, err := checkTypeNames(fstest.MapFS{"page.md": {Data: []byte("# Design\n")}}, "page.md"); err == nil {
		t.Error("a page without a table is accepted")
	}
}
