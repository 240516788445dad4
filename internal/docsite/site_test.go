package docsite

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	repository "weir"
)

// pages returns files of Markdown from pairs of names and texts.
func pages(list ...string) fstest.MapFS {
	files := fstest.MapFS{}
	for i := 0; i < len(list); i += 2 {
		files[list[i]] = &fstest.MapFile{Data: []byte(list[i+1])}
	}
	return files
}

// TestSite_LinksOfRepositoryHaveTargets checks that all pages of the repository become a site, in which each link
// has a target or is reported as broken. Lint checks that tracked pages have no broken link.
func TestSite_LinksOfRepositoryHaveTargets(t *testing.T) {
	s, err := New(repository.Files)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "site")
	if err := s.writeSite(dir); err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "docs/design.md", "docs/tutorials/first-hour.md"} {
		if !slices.ContainsFunc(s.Pages, func(p *Page) bool { return p.File == page }) {
			t.Errorf("the site lacks %s", page)
		}
	}
	scheme, paper := s.findPage("hpcc"), s.findPage("papers/hpcc")
	if scheme == nil || scheme.File != "docs/schemes/hpcc.md" || paper == nil || paper.File != "docs/papers/hpcc.md" {
		t.Errorf("pages of a scheme and of a paper with the same name are %v, %v", scheme, paper)
	}
	if p := s.findPage("p4abc"); p == nil || p.Name() != "papers/p4abc" {
		t.Errorf("the page that only a paper has is %v", p)
	}
	followed := 0
	for _, p := range s.Pages {
		for _, link := range linksOf(t, filepath.Join(dir, filepath.FromSlash(p.Path))) {
			if strings.Contains(link, "://") {
				continue
			}
			if slices.ContainsFunc(s.Broken, func(b BrokenLink) bool { return b.File == p.File && b.Link == link }) {
				continue
			}
			followed++
			file, at, _ := strings.Cut(link, "#")
			if file == "" {
				file = path.Base(p.Path)
			}
			file, err := url.PathUnescape(file)
			if err != nil {
				t.Errorf("%s: %v", p.Path, err)
			}
			target := filepath.Join(dir, filepath.FromSlash(path.Join(path.Dir(p.Path), file)))
			if data, err := os.ReadFile(target); err != nil {
				t.Errorf("%s: %v", p.Path, err)
			} else if at != "" && !bytes.Contains(data, []byte(`id="`+at+`"`)) {
				t.Errorf("%s: %s has no %s", p.Path, target, at)
			}
		}
	}
	if followed < 500 {
		t.Errorf("only %d links: this test sees nothing", followed)
	}
}

// linksOf returns the addresses in a page, as a browser parses it.
func linksOf(t *testing.T, file string) (links []string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	tree, err := html.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	for n := range tree.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" {
				links = append(links, a.Val)
			}
		}
	}
	return links
}

// TestNew_ReportsBrokenLinksWithLines checks that every broken link is reported with its line.
func TestNew_ReportsBrokenLinksWithLines(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"file":   {"# A\n\nSee [b](b.md).\n", "README.md:3: link to b.md: there is no file b.md"},
		"folder": {"# A\n\n[b](docs)\n", "README.md:3: link to docs: there is no file docs"},
		"anchor": {"# A\n\n- one\n- two: [b](docs/c.md#lates)\n",
			"README.md:4: link to docs/c.md#lates: docs/c.md has no heading with this anchor; there is #late-words"},
		"own":     {"# A\n\ntext [b](#c)\n", "README.md:3: link to #c: README.md has no heading with this anchor"},
		"picture": {"# A\n\n![b](b.svg)\n", "README.md:3: link to b.svg: there is no file b.svg"},
		"above":   {"# A\n\n[b](../b.md)\n", "README.md:3: link to ../b.md: there is no file ../b.md"},
		"absolute": {"# A\n\n[b](/etc/passwd)\n",
			"README.md:3: link to /etc/passwd: it does not start from this page's folder"},
		"script": {"# A\n\n[b](javascript:alert)\n",
			"README.md:3: link to javascript:alert: javascript: is not allowed; http, https and mailto are"},
		"heading of no page": {"# A\n\n[b](x.svg#y)\n",
			"README.md:3: link to x.svg#y: x.svg is not a page and has no headings"},
		"two": {"# A\n\n[b](b.md)\n[c](c.md)\n",
			"README.md:3: link to b.md: there is no file b.md\nREADME.md:4: link to c.md: there is no file c.md"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(pages("README.md", c.text, "docs/c.md", "# C\n\n## Late words\n", "x.svg", "<svg/>"))
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, b := range s.Broken {
				lines = append(lines, b.Error())
			}
			if got := strings.Join(lines, "\n"); got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}

// TestCodeSpans checks that words of code within a line are not broken after their hyphens, unless they are long.
func TestCodeSpans(t *testing.T) {
	const long = "a-word-of-which-a-telephone-shows-a-part"
	s, err := New(pages("README.md", "# Weir\n\nCode `weir run NAME\n--quick -x<y` and `"+long+"`, `*a_b*`\n"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `<code>weir run NAME <span class="whole">--quick</span> <span class="whole">-x&lt;y</span></code> and ` +
		`<code>` + long + `</code>, <code>*a_b*</code>`
	if body := string(s.Pages[0].Body); !strings.Contains(body, want) {
		t.Errorf("%s\nwant\n%s", body, want)
	}
	files, err := s.buildFiles()
	if err != nil || !strings.Contains(string(files["assets/site.css"]), ".whole { white-space: nowrap; }") {
		t.Errorf("the style of whole words is missing: %v", err)
	}
}

// TestNew_RendersMarkdownWithoutOwnHTML checks the rendering of Markdown: links to pages and files, anchors as on
// GitHub, and no HTML from the page itself.
func TestNew_RendersMarkdownWithoutOwnHTML(t *testing.T) {
	s, err := New(pages("README.md", "# Weir\n\n[spec](docs/spec.md#the-keys-a-b), [licence](LICENSE)\n",
		"docs/spec.md", "# Spec\n\n## The `keys`: a, b\n\n### Twice\n\n### Twice\n\n<!-- keys -->\n"+
			"<a id=\"own\"></a>Hello <b>you</b> <script>x()</script> [home](../README.md) [here](#own)\n\n"+
			"    a < b\n\n| a | b |\n|---|---|\n| 1 | `2` |\n",
		"LICENSE", "words\n"))
	if err != nil {
		t.Fatal(err)
	}
	p := s.findPage("spec")
	if p == nil || p != s.findPage("docs/spec.md") || p != s.findPage("SPEC") || s.findPage("speck") != nil {
		t.Fatalf("pages by name: %v", p)
	}
	const want = `<h1 id="spec">Spec</h1>
<h2 id="the-keys-a-b">The <code>keys</code>: a, b{#the-keys-a-b}</h2>
<h3 id="twice">Twice{#twice}</h3>
<h3 id="twice-1">Twice{#twice-1}</h3>
<p><a id="own"></a>Hello you x() <a href="../index.html">home</a> <a href="#own">here</a></p>
<pre tabindex="0"><code>a &lt; b
</code></pre>
<div class="scroll" tabindex="0"><table>
<thead>
<tr>
<th>a</th>
<th>b</th>
</tr>
</thead>
<tbody>
<tr>
<td>1</td>
<td><code>2</code></td>
</tr>
</tbody>
</table></div>
`
	self := regexp.MustCompile(`<a class="self" aria-hidden="true" tabindex="-1" href="(#[a-z0-9-]+)">#</a>`)
	if body := self.ReplaceAllString(string(p.Body), "{$1}"); body != want {
		t.Errorf("%s\nwant\n%s", body, want)
	}
	files, err := s.buildFiles()
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(files))
	if got := strings.Join(names, " "); got != "LICENSE.txt assets/index.js assets/search.js assets/site.css "+
		"docs/spec.html index.html" {
		t.Errorf("files: %s", got)
	}
	if !strings.Contains(string(s.Pages[0].Body),
		`<a href="docs/spec.html#the-keys-a-b">spec</a>, <a href="LICENSE.txt">`) {
		t.Errorf("front page: %s", s.Pages[0].Body)
	}
	index, err := s.buildIndex()
	if err != nil || !strings.Contains(string(index),
		`{"page":"Spec","path":"docs/spec.html#twice-1","heading":"Twice","text":"Hello you x() home here a \u003c b a b `+
			`1 2"}`) {
		t.Errorf("index: %s, %v", index, err)
	}
}

// TestFindPart_IncludesSubsections checks that a part of a page is a heading with the text and the headings below
// it.
func TestFindPart_IncludesSubsections(t *testing.T) {
	s, err := New(pages("README.md", "# A\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n"))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"a": "# A\n\n## B\n\nb\n\n### C\n\nc\n\n## D\n\nd\n",
		"b": "## B\n\nb\n\n### C\n\nc\n\n",
		"c": "### C\n\nc\n\n",
		"d": "## D\n\nd\n",
		"e": "",
	} {
		t.Run(id, func(t *testing.T) {
			if got := string(s.Pages[0].findPart(id)); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestNew_OrdersPagesAsFrontPage checks that pages have the order in which the front page names them. A page
// without a heading has its file's name as its title.
func TestNew_OrdersPagesAsFrontPage(t *testing.T) {
	s, err := New(pages("a.md", "", "docs/z.md", "# Z", "docs/b.md", "# B", "README.md", "# W\n\n[z](docs/z.md)"))
	if err != nil {
		t.Fatal(err)
	}
	var titles []string
	for _, p := range s.Pages {
		titles = append(titles, p.Title)
	}
	if got := strings.Join(titles, " "); got != "W Z a B" {
		t.Errorf("order: %s", got)
	}
	if _, err := New(pages("x.txt", "")); err == nil {
		t.Error("a site without pages")
	}
}

// TestWriteSite_ReplacesOnlyOwnFiles checks that a site is written into a new folder, or over an earlier site. It
// removes its old pages, keeps other files, and refuses folders that are not its own.
func TestWriteSite_ReplacesOnlyOwnFiles(t *testing.T) {
	site := func(list ...string) *Website {
		s, err := New(pages(list...))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	dir := filepath.Join(t.TempDir(), "deep", "site")
	if err := site("README.md", "# A", "old.md", "# Old").writeSite(dir); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(dir, "mine.html")
	if err := os.WriteFile(keep, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := site("README.md", "# A").writeSite(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "old.html")); err == nil {
		t.Error("a page that is gone is still there")
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error(err)
	}
	for name, prepare := range map[string]func(dir string) error{
		"foreign folder": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x"), nil, 0o666) },
		"foreign mark":   func(dir string) error { return os.WriteFile(filepath.Join(dir, mark), []byte("mine"), 0o666) },
		"mark that leads out": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, mark), []byte(markHead+"../x\n"), 0o666)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := prepare(dir); err != nil {
				t.Fatal(err)
			}
			if err := site("README.md", "# A").writeSite(dir); err == nil {
				t.Error("it was written over")
			}
			if _, err := os.Stat(filepath.Join(dir, "index.html")); err == nil {
				t.Error("half of it was written")
			}
		})
	}
}

// Example builds a site of two pages from a folder of Markdown.
func Example() {
	s, err := New(pages("README.md", "# Lab\n\nRead [how](docs/how.md#ports).\n", "docs/how.md", "# How\n\n## Ports\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range s.Pages {
		fmt.Println(p.Path, p.Title)
	}
	fmt.Print(s.Pages[0].Body)
	// Output:
	// index.html Lab
	// docs/how.html How
	// <h1 id="lab">Lab</h1>
	// <p>Read <a href="docs/how.html#ports">how</a>.</p>
}
