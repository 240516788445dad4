//go:build lint

package webserver

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestOnlyServers checks that programs make their HTTP servers by New, with its bounds, and listen by bind.Listen.
func TestOnlyServers(t *testing.T) {
	tree := testkit.TrackedFiles(t, "../..")
	own := regexp.MustCompile(`http\.Server\{|http\.ListenAndServe|net\.Listen\("tcp`)
	err := fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") ||
			strings.HasPrefix(name, "internal/webserver/") || strings.HasPrefix(name, "internal/bind/") {
			return err
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		for i, line := range strings.Split(string(data), "\n") {
			if s := own.FindString(line); s != "" {
				t.Errorf("%s:%d: %s: weir/internal/webserver and weir/internal/bind have what bounds it", name, i+1, s)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
