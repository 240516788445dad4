package archtest

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

func TestTypesCatches(t *testing.T) {
	methods := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "func (t *T) m%d() {}\n", i)
		}
		return b.String()
	}
	fields := func(n int) string {
		return "type T struct {\n\tio.Reader\n\ta" + strings.Repeat(", a", n-2) + " int\n}\n"
	}
	for _, c := range []struct {
		name, src, other string
		except           []TypeException
		want             []string
	}{
		{"at the limits", fields(20) + methods(40), "", nil, nil},
		{"fields", fields(21), "", nil, []string{"a/x.go:2:6: a.T has 21 fields; at most 20"}},
		{"fields of an anonymous struct",
			"type T struct { a, b int; c []struct { d" + strings.Repeat(", d", 17) + " int } }\n", "", nil,
			[]string{"a/x.go:2:6: a.T has 21 fields; at most 20"}},
		{"methods in two files", "type T int\n" + methods(40), "func (T) other() {}",
			nil, []string{"a/x.go:2:6: a.T has 41 methods; at most 40"}},
		{"a method for each system", "type T int\n" + methods(40), "func (t T) m1() {}", nil, nil},
		{"of a generic type", "type T[K any] struct {}\n" + strings.ReplaceAll(methods(41), "*T)", "*T[K])"), "", nil,
			[]string{"a.T has 41 methods"}},
		{"of a generic type with two parameters", "type T[K, V any] struct {}\n" +
			strings.ReplaceAll(methods(41), "*T)", "*T[K, V])"), "", nil, []string{"a.T has 41 methods"}},
		{"a configuration", fields(30) + "func (t *T) Params() {}", "", nil, nil},
		{"exception", fields(25) + methods(50), "", []TypeException{{"a.T", 50, 25, "a table"}}, nil},
		{"beyond the exception", fields(26), "", []TypeException{{"a.T", 0, 25, "a table"}},
			[]string{"a.T has 26 fields; its exception has 25"}},
		{"below the exception", fields(24), "", []TypeException{{"a.T", 0, 25, "a table"}},
			[]string{"a.T has 24 fields; its exception has 25"}},
		{"exception at the limit", fields(20), "", []TypeException{{"a.T", 0, 25, "a table"}},
			[]string{"a.T has 20 fields and needs no exception"}},
		{"no reason", fields(21), "", []TypeException{{"a.T", 0, 21, ""}}, []string{"a.T has no reason"}},
		{"unknown", "", "", []TypeException{{"a.U", 50, 0, "a table"}}, []string{"a.U is no type"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := fstest.MapFS{"a/x.go": {Data: []byte("package a\n" + c.src)},
				"a/y.go":      {Data: []byte("package a\n" + c.other)},
				"a/x_test.go": {Data: []byte("package a\ntype T2 struct { a" + strings.Repeat(", a", 30) + " int }")}}
			found, err := CheckTypes(files, c.except)
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

func ExampleCheckTypes() {
	src := "package unit\n\ntype Rates struct { a" + strings.Repeat(", a", maxFields) + " int }\n"
	found, err := CheckTypes(fstest.MapFS{"unit/unit.go": {Data: []byte(src)}}, nil)
	fmt.Println(found, err)
	// Output: [unit/unit.go:3:6: unit.Rates has 21 fields; at most 20] <nil>
}
