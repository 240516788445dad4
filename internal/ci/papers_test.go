package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// writeFiles writes files below a folder, by their names.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

const emptyPage = `# A paper
<!-- results: a/one -->
<!-- end -->
Between.
<!-- results: a/two -->
<!-- end -->
`

// TestUpdatePage_FillsFinishedBlocks fills the block of an experiment that has results, and leaves the other one.
func TestUpdatePage_FillsFinishedBlocks(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"page.md": emptyPage, "a/one/finished": "", "a/one/x/origin.json": `{"version": "commit 0123"}`,
		"a/one/x/runs.json": `{"runs": [{}, {}], "claims": [
			{"id": "one.high", "says": "x is a|b", "verdict": "holds", "measured": "x = 3 < 4"},
			{"id": "one.low", "says": "an old text", "verdict": "fails", "measured": "y = 1"}]}`,
	})
	runs := filepath.Join(dir, "a/one/x/runs.json")
	if err := os.Chtimes(runs, time.Time{}, time.Date(2026, 11, 30, 23, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(dir, "page.md")
	for range 2 { // the second time, the block has a text
		says := map[claimKey]string{{"a/one", "one.low"}: "y", {"b/one", "one.high"}: "of another paper"}
		if err := (paperResults{program{"", dir}, true, false, says}).updatePage(page, regexp.MustCompile("")); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(emptyPage, "<!-- results: a/one -->\n", `<!-- results: a/one -->

`+"`weir run a/one`"+`, commit 0123, 2026-11-30: 2 runs.
Claims: 2 (fails 1, holds 1).

| verdict | claim | measured |
|---|---|---|
| holds | `+"`one.high`"+`: x is a\|b | x = 3 &lt; 4 |
| fails | `+"`one.low`"+`: y | y = 1 |

`, 1)
	if string(data) != want {
		t.Errorf("the page is\n%s\nnot\n%s", data, want)
	}
	if ids := claimsOfBlock(string(data)); !slices.Equal(ids, []string{"one.high", "one.low"}) {
		t.Errorf("claims are %q", ids)
	}
}

// TestUpdatePage_KeepsFullResults checks that results of quick variants replace empty blocks and those of other quick
// variants, but no results in full.
func TestUpdatePage_KeepsFullResults(t *testing.T) {
	const folder = "a/one/x/"
	for text, replaced := range map[string]bool{"": true, "\n`weir run a/one`, commit 1, 2026-11-30: 9 runs.\n": false,
		"\n`weir run a/one --quick`, commit 1, 2026-11-30: 9 runs.\n": true} {
		dir := t.TempDir()
		writeFiles(t, dir, map[string]string{"page.md": "<!-- results: a/one -->\n" + text + "<!-- end -->\n",
			"a/one/finished": "", folder + "origin.json": `{"version": "commit 2"}`, folder + "runs.json": `{"runs": [{}]}`})
		page := filepath.Join(dir, "page.md")
		if err := (paperResults{program{"", dir}, true, true, nil}).updatePage(page, regexp.MustCompile("")); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(page)
		if got := strings.Contains(string(data), "`weir run a/one --quick`, commit 2"); err != nil || got != replaced {
			t.Errorf("%q is replaced: %v, want %v (%v)", text, got, replaced, err)
		}
	}
}

// TestCheckPapers_FindsDeviations checks pages with missing, foreign and outdated blocks.
func TestCheckPapers_FindsDeviations(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"papers/verdicts.txt": someVerdicts, "papers/a/doc.go": strings.Repeat("//\n", maxPaperDoc+1),
		"papers/a/experiments/one.yaml": "", "papers/a/experiments/three.yaml": "",
		"docs/papers/a.md": "<!-- results: a/one -->\n| fails | `one.high`: x | y |\n<!-- end -->\n" +
			"<!-- results: b/two -->\n<!-- end -->\n",
	})
	err := checkPapers(dir, []string{"docs/papers/a.md", "docs/other.md"})
	if err == nil {
		t.Fatal("no deviation was found")
	}
	want := []string{
		`docs/papers/a.md: a/one has the claims ["one.high"], and papers/verdicts.txt has ["one.high" "one.low"]; run ` +
			`.ci/papers '^a/one$'`,
		"docs/papers/a.md: b/two belongs to another page",
		"docs/papers/a.md: a/three has 0 blocks; it needs one: <!-- results: a/three --> and <!-- end -->",
		"papers/a/doc.go: 151 lines; allowed: at most 150; results belong in docs/papers/a.md",
		"b/two: no experiment has this name",
	}
	if got := strings.Split(err.Error(), "\n"); !slices.Equal(got, want) {
		t.Errorf("deviations are\n%s\nnot\n%s", err, strings.Join(want, "\n"))
	}
}

// TestPrintedTables_EndBeforeExplanations checks that the tables in the output of weir run are cut out without the
// explanations.
func TestPrintedTables_EndBeforeExplanations(t *testing.T) {
	text := "1 claim: 1 holds\nholds   one.high\n\nat all points: 3 runs\n\n  goodput\nr0  [Mb/s]\n10  9.6 ± 0.1 *\n\n" +
		"* the best, of points with the same r0\nscheme abc: switch: forward\njain: Jain's index\n"
	want := []string{"  goodput", "r0  [Mb/s]", "10  9.6 ± 0.1 *", "", "* the best, of points with the same r0"}
	if got := printedTables(text); !slices.Equal(got, want) {
		t.Errorf("lines are %q, not %q", got, want)
	}
	text = "at all points: 3 runs\n\nr0  [Mb/s]\n10  9.6\n\n3 runs: 3 time up\n/a/folder/report.html\n"
	if got := printedTables(text); !slices.Equal(got, []string{"r0  [Mb/s]", "10  9.6"}) {
		t.Errorf("without explanations, lines are %q", got)
	}
}
