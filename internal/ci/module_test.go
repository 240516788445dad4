package main

import (
	"slices"
	"strings"
	"testing"
)

// TestRenameModule checks the changes of a new path in each kind of file, and that the way back gives the same
// bytes.
func TestRenameModule(t *testing.T) {
	// OLD and NEW replace the paths: a text with a path of this module would change with it.
	paths := strings.NewReplacer("OLD", "weir", "NEW", "example.org/net/weir")
	old, path, folders := paths.Replace("OLD"), paths.Replace("NEW"), []string{"app", "core", "papers"}
	for _, c := range []struct{ file, from, to string }{
		{"a.go", "import (\n\tpages \"OLD\"\n\t\"OLD/core/cc\"\n)\n\nconst module = \"OLD\"\n\nvar x = \"OLD\"\n",
			"import (\n\tpages \"NEW\"\n\t\"NEW/core/cc\"\n)\n\nconst module = \"NEW\"\n\nvar x = \"OLD\"\n"},
		{"go.mod", "module OLD\n\ngo 1.26.0\n", "module NEW\n\ngo 1.26.0\n"},
		{"examples/x/go.mod", "require OLD v0.0.0\n\nreplace OLD => ../..\n",
			"require NEW v0.0.0\n\nreplace NEW => ../..\n"},
		{"docs/tutorials/x.md", "go mod edit -require OLD@v0.0.0 -replace OLD=../weir\ncp ../weir/go.sum .\n",
			"go mod edit -require NEW@v0.0.0 -replace NEW=../weir\ncp ../weir/go.sum .\n"},
		{"docs/x.md", "`OLD/app` and `OLD/app/figure`; weir run, ./OLD/core, app/internal/cli\n",
			"`NEW/app` and `NEW/app/figure`; weir run, ./OLD/core, app/internal/cli\n"},
		{"README.md", "<!-- install: begin -->\n" + installText(old) + "<!-- install: end -->\n",
			"<!-- install: begin -->\n" + installText(path) + "<!-- install: end -->\n"},
		{"x.bin", "\x00OLD/core/cc", "\x00OLD/core/cc"},
	} {
		from, to := paths.Replace(c.from), paths.Replace(c.to)
		there := renameModule(c.file, []byte(from), folders, old, path)
		if string(there) != to {
			t.Errorf("%s: %q, want %q", c.file, there, to)
		}
		if back := renameModule(c.file, there, folders, path, old); string(back) != from {
			t.Errorf("%s: the way back gives %q", c.file, back)
		}
	}
	for name, ok := range map[string]bool{"weir": true, path: true, "example.org/weir": true, "example.org": false,
		"": false, "Weir/x": false, "https://example.org/weir": false, "example.org/weir/": false, "net/weir": false} {
		if modulePath.MatchString(name) != ok {
			t.Errorf("%q: %v", name, !ok)
		}
	}
}

// TestPackageFolders checks that only folders with Go files of the module itself count.
func TestPackageFolders(t *testing.T) {
	files := []string{"app/app.go", "app/app_test.go", "core/cc/bbr/bbr.go", "docs/x.md", "examples/x/go.mod",
		"examples/x/main.go", "go.mod", "pages.go"}
	if got := packageFolders(files); !slices.Equal(got, []string{"app", "core"}) {
		t.Errorf("%q", got)
	}
}
