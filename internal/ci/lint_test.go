package main

import (
	"strings"
	"testing"
)

func TestCheckFormat(t *testing.T) {
	root := t.TempDir()
	writeFile(t, root, "good.go", "package a\n\nvar x = 1\n")
	writeFile(t, root, "wrong.go", "package a\nvar  x = 1\n")
	writeFile(t, root, "ends.go", "package a\r\n")
	writeFile(t, root, "broken.go", "package a\nfunc {\n")
	writeFile(t, root, "testdata/wrong.go", "package a\nvar  x = 1\n")
	writeFile(t, root, "page.md", "a  b\n")
	for _, x := range []struct {
		files []string
		want  string // the end of the error; empty: there is none
	}{
		{[]string{"good.go", "testdata/wrong.go", "page.md"}, ""},
		{[]string{"good.go", "wrong.go", "ends.go"}, "would change:\nwrong.go\nends.go"},
		{[]string{"broken.go"}, "broken.go: 2:6: expected 'IDENT', found '{'"},
	} {
		err := checkFormat(root, x.files)
		if x.want == "" && err != nil || x.want != "" && (err == nil || !strings.Contains(err.Error(), x.want)) {
			t.Errorf("%v: %v, want %q", x.files, err, x.want)
		}
	}
}
