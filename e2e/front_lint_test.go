//go:build lint

package e2e

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"weir/internal/docsite"
	"weir/internal/testkit"
)

// comment matches comments, which HTML does not show.
var comment = regexp.MustCompile(`(?s)<!--.*?-->`)

// TestReadmeIsShort checks that the README is short, because it is the first page that users read.
func TestReadmeIsShort(t *testing.T) {
	const most = 900
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(strings.Fields(comment.ReplaceAllString(string(text), ""))); n > most {
		t.Errorf("README.md has %d words; at most %d", n, most)
	}
}

// TestShownFailuresAreExplained checks that a page with the output of a failed claim explains it. The paragraph
// after the output gives the reason and the name of an experiment.
func TestShownFailuresAreExplained(t *testing.T) {
	shown := 0
	tree := testkit.TrackedFiles(t, "..")
	pages, _ := fs.Glob(tree, "docs/*.md")
	for _, page := range append(pages, "README.md") {
		text, err := fs.ReadFile(tree, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range failure.FindAllStringIndex(string(text), -1) {
			shown++
			_, after, _ := strings.Cut(string(text[at[0]:]), "\n\nA claim ")
			paragraph, _, _ := strings.Cut(after, "\n\n")
			if !strings.Contains(paragraph, "claim that fails here") || !experimentName.MatchString(paragraph) {
				t.Errorf("%s shows %q and does not say why below", page, text[at[0]:at[1]])
			}
		}
	}
	if shown == 0 {
		t.Error("no page shows a claim that fails: this test sees nothing")
	}
}

var (
	failure        = regexp.MustCompile(`(?m)^    fails +[a-z0-9.-]+`)
	experimentName = regexp.MustCompile("`[a-z0-9]+/[a-z0-9-]+`")

	linked  = regexp.MustCompile(`\]\(([^)#\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchor  = regexp.MustCompile(`<a id="([^"]*)">`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// TestPages_LinksLeadToFilesAndHeadings follows the links of the pages to files and headings of this repository.
func TestPages_LinksLeadToFilesAndHeadings(t *testing.T) {
	tree := testkit.TrackedFiles(t, "..")
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/tutorials/*.md", "docs/schemes/*.md", "docs/papers/*.md",
		"examples/*.md"} {
		more, _ := fs.Glob(tree, pattern)
		pages = append(pages, more...)
	}
	if len(pages) < 8 {
		t.Fatalf("only %d pages", len(pages))
	}
	for _, page := range pages {
		text, err := fs.ReadFile(tree, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range linked.FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target := page
			if m[1] != "" {
				target = path.Join(path.Dir(page), m[1])
			}
			if stat, err := fs.Stat(tree, target); err == nil && stat.IsDir() {
				continue
			}
			data, err := fs.ReadFile(tree, target)
			if err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
				continue
			}
			if m[2] != "" && !hasAnchor(string(data), m[2]) {
				t.Errorf("%s links to %s#%s, and there is no such heading", page, m[1], m[2])
			}
		}
	}
}

// TestLinksOfSite checks that the pages that the program shows have no broken link.
func TestLinksOfSite(t *testing.T) {
	site, err := docsite.New(testkit.TrackedFiles(t, ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range site.Broken {
		if !strings.HasPrefix(b.File, "examples/") { // the program does not have them, nor what they link to
			t.Error(b)
		}
	}
}

// hasAnchor reports whether a page has a heading, or an explicit anchor, of this name.
func hasAnchor(page, name string) bool {
	for _, m := range anchor.FindAllStringSubmatch(page, -1) {
		if m[1] == name {
			return true
		}
	}
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		if strings.ReplaceAll(strings.ToLower(dropped.ReplaceAllString(m[1], "")), " ", "-") == name {
			return true
		}
	}
	return false
}

// TestCitation_HasKeysOfFormat checks that CITATION.cff has the keys that version 1.2.0 of the format requires, and
// names of all authors. (https://github.com/citation-file-format/citation-file-format)
func TestCitation_HasKeysOfFormat(t *testing.T) {
	data, err := os.ReadFile("../CITATION.cff")
	if err != nil {
		t.Fatal(err)
	}
	type work struct {
		Title   string
		Type    string
		Authors []map[string]string
	}
	var cited struct {
		Version                 string `yaml:"cff-version"`
		Message, License, Title string
		Authors                 []map[string]string
		References              []work
	}
	if err := yaml.Unmarshal(data, &cited); err != nil {
		t.Fatal(err)
	}
	if cited.Version != "1.2.0" || cited.Message == "" || cited.License != "Apache-2.0" || len(cited.References) != 4 {
		t.Errorf("%+v", cited)
	}
	for _, w := range append(cited.References, work{cited.Title, "software", cited.Authors}) {
		if w.Title == "" || w.Type == "" || len(w.Authors) == 0 {
			t.Errorf("%+v", w)
		}
		for _, a := range w.Authors {
			if a["name"] == "" && (a["family-names"] == "" || a["given-names"] == "") {
				t.Errorf("%s: %v", w.Title, a)
			}
		}
	}
}
