//go:build lint

package e2e

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// A place is a file between backquotes, then functions of it.
var place = regexp.MustCompile("`([a-z0-9_/]+\\.go)`((?:[:,] `[A-Za-z]+`)*)")

// TestPacketPage checks that files that docs/packet.md names exist, and declare the functions that it names.
func TestPacketPage(t *testing.T) {
	page, err := os.ReadFile("../docs/packet.md")
	if err != nil {
		t.Fatal(err)
	}
	tree, places := testkit.TrackedFiles(t, ".."), 0
	for _, m := range place.FindAllStringSubmatch(string(page), -1) {
		places++
		source, err := fs.ReadFile(tree, m[1])
		if err != nil {
			t.Error(err)
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), m[1], source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		declared := map[string]bool{}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				declared[fn.Name.Name] = true
			}
		}
		for _, name := range strings.FieldsFunc(m[2], func(r rune) bool { return strings.ContainsRune(":,` ", r) }) {
			if !declared[name] {
				t.Errorf("%s has no function %s", m[1], name)
			}
		}
	}
	if places < 30 {
		t.Errorf("there are %d places", places)
	}
}
