package main

import "testing"

// TestRenameModule checks what a new path changes in each kind of file, and that the way back gives the same bytes.
func TestRenameModule(t *testing.T) {
	const path = "example.org/net/weir"
	for _, c := range []struct{ file, from, to string }{
		{"a.go", "import (\n\tpages \"weir\"\n\t\"weir/core/cc\"\n)\n\nconst module = \"weir\"\n\nvar x = \"weir\"\n",
			"import (\n\tpages \"example.org/net/weir\"\n\t\"example.org/net/weir/core/cc\"\n)\n\n" +
				"const module = \"example.org/net/weir\"\n\nvar x = \"weir\"\n"},
		{"go.mod", "module weir\n\ngo 1.26.0\n", "module example.org/net/weir\n\ngo 1.26.0\n"},
		{"examples/x/go.mod", "require weir v0.0.0\n\nreplace weir => ../..\n",
			"require example.org/net/weir v0.0.0\n\nreplace example.org/net/weir => ../..\n"},
		{"docs/tutorials/x.md", "go mod edit -require weir@v0.0.0 -replace weir=../weir\ncp ../weir/go.sum .\n",
			"go mod edit -require example.org/net/weir@v0.0.0 -replace example.org/net/weir=../weir\ncp ../weir/go.sum .\n"},
		{"docs/x.md", "`weir/app` and `weir/app/figure`; weir run, ./weir/core, app/internal/cli\n",
			"`example.org/net/weir/app` and `example.org/net/weir/app/figure`; weir run, ./weir/core, app/internal/cli\n"},
		{"README.md", "<!-- install: begin -->\n" + installText("weir") + "<!-- install: end -->\n",
			"<!-- install: begin -->\n" + installText(path) + "<!-- install: end -->\n"},
		{"x.bin", "\x00weir/core/cc", "\x00weir/core/cc"},
	} {
		there := renameModule(c.file, []byte(c.from), "weir", path)
		if string(there) != c.to {
			t.Errorf("%s: %q, want %q", c.file, there, c.to)
		}
		if back := renameModule(c.file, there, path, "weir"); string(back) != c.from {
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
