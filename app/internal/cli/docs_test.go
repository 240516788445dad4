package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// weir docs lists the pages, prints one or a part of it, and writes all as a site.
func TestDocs(t *testing.T) {
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
		{"list", "docs", exitDone, "README                   Weir\n…", ""},
		{"page", "docs spec", exitDone, strings.TrimSpace(string(spec)) + "\n", ""},
		{"part", "docs spec#expect", exitDone, "## expect\n…", ""},
		{"unknown page", "docs speck", exitWrongInput, "", `there is no page "speck"; there are README, `},
		{"unknown part", "docs results#x", exitWrongInput, "", "docs/results.md has no heading #x; it has #"},
		{"page and site", "docs spec --site " + site, exitWrongInput, "", "--site writes all pages; leave spec out"},
		{"empty folder's name", "docs --site=", exitWrongInput, "", "it is empty"},
		{"site", "docs --site " + site, exitDone, filepath.Join(site, "index.html") + "\n", ""},
		{"site again", "docs --site " + site, exitDone, filepath.Join(site, "index.html") + "\n", ""},
		{"site over others' files", "docs --site .", exitRunFailed, "", "is no site that Weir has made"},
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
