package archtest

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestOptionalCatches checks that the table of optional interfaces has to be complete, and lists no others.
func TestOptionalCatches(t *testing.T) {
	const source = `package a

import c "example.org/m/core/b"

type Local interface{ M() }
type hidden interface{ N() }
type Struct struct{}

func f(x any) {
	_, _ = x.(Local)
	_, _ = x.(hidden)
	_, _ = x.(Struct)
	_, _ = x.(interface{ SetRate(int) })
	switch x.(type) {
	case c.Imported, error:
	}
}
`
	const head = "| optional interface | by | caller |\n|---|---|---|\n"
	for _, x := range []struct{ name, table, want string }{
		{"complete", head + "| `a.Local`, `b.Imported` | x | `f` |\n| `a.SetRate()` | x | `f` |\n", ""},
		{"one is missing", head + "| `a.Local` | x | `b.Imported` |\n| `a.SetRate()` | x | `f` |\n",
			"core/a/a.go:15:7: b.Imported is an optional interface without a row in d.md"},
		{"one without a name is missing", head + "| `a.Local`, `b.Imported` | x | `f` |\n",
			"core/a/a.go:13:12: a.SetRate() is an optional interface without a row in d.md"},
		{"one is not asserted", head + "| `a.Local`, `b.Imported`, `b.Other`, `a.SetRate()` | x | `f` |\n",
			"d.md:3:1: b.Other is no interface that code of core, study, worlds asserts"},
		{"two rows", head + "| `a.Local`, `b.Imported`, `a.SetRate()` | x | `f` |\n| `a.Local` | x | `f` |\n",
			"d.md:4:1: a.Local has two rows"},
		{"no table", "| interface | by |\n", "d.md has no table of optional interfaces"},
	} {
		t.Run(x.name, func(t *testing.T) {
			files := fstest.MapFS{"core/a/a.go": {Data: []byte(source)}, "d.md": {Data: []byte(x.table)},
				"core/b/b.go":      {Data: []byte("package b\n\ntype Imported interface{ M() }\ntype Other interface{ M() }\n")},
				"core/b/b_test.go": {Data: []byte("package b\n\nvar _, _ = any(1).(Other)\n")},
				"app/a.go":         {Data: []byte("package app\n\nvar _, _ = any(1).(Public)\n\ntype Public interface{ M() }\n")}}
			found, err := checkOptional(files, "example.org/m", "d.md")
			var got []string
			if err != nil {
				got = append(got, err.Error())
			}
			for _, v := range found {
				got = append(got, v.String())
			}
			if s := strings.Join(got, "\n"); s != x.want {
				t.Errorf("%s; want %s", s, x.want)
			}
		})
	}
}
