//go:build system

package docsite

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	repository "weir"

	"weir/internal/testkit"
)

// TestSearch_FindsPagesInBrowser searches the site's files in a browser. The results must be the pages that a
// reader looks for.
func TestSearch_FindsPagesInBrowser(t *testing.T) {
	testkit.RequireProgram(t, "chromium", "chromium")
	s, err := New(repository.Files)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := s.writeSite(dir); err != nil {
		t.Fatal(err)
	}
	// The browser starts once for all queries. Each query has a frame, and when all are loaded, the page has their
	// results.
	queries := map[string]string{
		"seeds+warmup":         `href="docs/spec.html`,
		"expect":               `href="docs/spec.html#expect"`,
		"%3Cscript%3E+nowhere": "No section has all of these words.",
	}
	var asking strings.Builder
	for query := range queries {
		fmt.Fprintf(&asking, "<iframe src=\"index.html?q=%s\"></iframe>\n<pre id=\"%[1]s\"></pre>\n", query)
	}
	asking.WriteString(`<script>
setInterval(() => document.querySelectorAll("iframe").forEach((f) => {
  f.nextElementSibling.textContent = f.contentDocument.getElementById("found")?.innerHTML;
}), 100);
</script>`)
	page := filepath.Join(dir, "asking.html")
	if err := os.WriteFile(page, []byte(asking.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000",
		"--allow-file-access-from-files", "--user-data-dir="+t.TempDir(), "--dump-dom", "file://"+page)
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	for query, want := range queries {
		t.Run(query, func(t *testing.T) {
			_, list, _ := strings.Cut(string(out), `<pre id="`+query+`">`)
			list, _, _ = strings.Cut(list, "</pre>")
			if !strings.Contains(html.UnescapeString(list), want) {
				t.Errorf("%s finds\n%s\nwant %s", query, list, want)
			}
		})
	}
}
