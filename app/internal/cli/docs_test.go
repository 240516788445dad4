package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"weir/internal/command"
)

// TestDocs_ListsPrintsAndWritesPages checks that weir docs lists the pages, prints one or a part of it, and writes all
// as a site.
func TestDocs_ListsPrintsAndWritesPages(t *testing.T) {
	site := filepath.Join(t.TempDir(), "site")
	spec, err := os.ReadFile("../../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, args string
		code       int
		stdout     string // all of it, or its beginning if it ends in …
		stderr     string // part of it
	}{
		{"list", "docs", command.Done, "README                   Weir\n…", ""},
		{"page", "docs spec", command.Done, strings.TrimSpace(string(spec)) + "\n", ""},
		{"part", "docs spec#expect", command.Done, "## expect\n…", ""},
		{"unknown page", "docs speck", command.WrongInput, "", `there is no page "speck"; allowed: README, `},
		{"unknown part", "docs results#x", command.WrongInput, "", "docs/results.md has no heading #x; allowed: #"},
		{"page and site", "docs spec --site " + site, command.WrongInput, "",
			"--site writes all pages and needs no page; leave out spec"},
		{"empty folder's name", "docs --site=", command.WrongInput, "", "the path is empty"},
		{"site", "docs --site " + site, command.Done, filepath.Join(site, "index.html") + "\n", ""},
		{"site again", "docs --site " + site, command.Done, filepath.Join(site, "index.html") + "\n", ""},
		{"site over others' files", "docs --site .", command.RunFailed, "", "is not a site of weir docs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			code := Run(Registry(), strings.Fields(c.args), &stdout, &stderr, false)
			begin, part := strings.CutSuffix(c.stdout, "…")
			if code != c.code || part && !strings.HasPrefix(stdout.String(), begin) || !part && stdout.String() != c.stdout ||
				!strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("code %d\n%.300s\n%s", code, stdout.String(), stderr.String())
			}
		})
	}
}
