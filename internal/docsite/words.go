package docsite

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// anchor is the one that GitHub gives a heading: its letters and digits in lower case, with hyphens for spaces.
func anchor(heading string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ' || r == '-':
			return '-'
		case r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// plain is the text of a node without its marks.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	put(&b, n, source)
	return strings.Join(strings.Fields(b.String()), " ")
}

func put(b *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		b.Write(n.Segment.Value(source))
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte(' ')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(source))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		b.Write(n.Lines().Value(source))
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		put(b, c, source)
		if c.Type() == ast.TypeBlock || c.Kind() == east.KindTableCell {
			b.WriteByte(' ')
		}
	}
}

// sections divides the page at its headings.
func (p *Page) sections() {
	at := Section{Heading: p.Title}
	var b strings.Builder
	flush := func() {
		at.Text = strings.Join(strings.Fields(b.String()), " ")
		if at.Text != "" || at.ID != "" {
			p.Sections = append(p.Sections, at)
		}
		b.Reset()
	}
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		h, ok := n.(*ast.Heading)
		if !ok {
			put(&b, n, p.source)
			b.WriteByte(' ')
			continue
		}
		words := plain(h, p.source)
		if h.Level == 1 && words == p.Title {
			continue
		}
		flush()
		id, _ := h.AttributeString("id")
		at = Section{ID: string(id.([]byte)), Heading: words}
	}
	flush()
}

var (
	// anchorTag is the only HTML that a page may have.
	anchorTag = regexp.MustCompile(`^<a id="([A-Za-z0-9._-]+)">$`)
	closing   = []byte("</a>")
)

// bodies writes what differs from goldmark's own HTML.
type bodies struct{}

// RegisterFuncs is called by goldmark.
func (bodies) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, nothing)
	r.Register(ast.KindRawHTML, anchors)
	r.Register(ast.KindCodeBlock, code)
	r.Register(ast.KindFencedCodeBlock, code)
	r.Register(ast.KindHeading, heading)
	r.Register(ast.KindCodeSpan, codeSpan)
	r.Register(east.KindTable, table)
}

// nothing leaves HTML out: comments, which mark parts of pages for tests.
func nothing(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// anchors keeps those that a page sets itself.
func anchors(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		if tag := n.(*ast.RawHTML).Segments.Value(source); anchorTag.Match(tag) || bytes.Equal(tag, closing) {
			_, _ = w.Write(tag)
		}
	}
	return ast.WalkSkipChildren, nil
}

// code is a block that a keyboard can scroll.
func code(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<pre tabindex="0"><code>`)
		_, _ = w.Write(util.EscapeHTML(n.Lines().Value(source)))
		_, _ = w.WriteString("</code></pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

// CodeSpans writes code within a line so that its words stay whole: a browser breaks lines after hyphens, and half of
// --quick means something else.
type CodeSpans struct{}

// RegisterFuncs is called by goldmark.
func (CodeSpans) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeSpan, codeSpan)
}

// longestWhole is how many letters a word with hyphens has at most that stays whole: what a telephone's page has room
// for, in a table too.
const longestWhole = 24

func codeSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	put(&b, n, source)
	_, _ = w.WriteString("<code>")
	for i, word := range strings.Split(strings.ReplaceAll(b.String(), "\n", " "), " ") {
		if i > 0 {
			_ = w.WriteByte(' ')
		}
		text := util.EscapeHTML([]byte(word))
		if whole := strings.Contains(word, "-") && utf8.RuneCountInString(word) <= longestWhole; whole {
			_, _ = w.WriteString(`<span class="whole">` + string(text) + "</span>")
		} else {
			_, _ = w.Write(text)
		}
	}
	_, _ = w.WriteString("</code>")
	return ast.WalkSkipChildren, nil
}

// heading has a link to itself, to be copied.
func heading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	h := n.(*ast.Heading)
	level := string(rune('0' + h.Level))
	if entering {
		_, _ = w.WriteString("<h" + level)
		html.RenderAttributes(w, n, html.HeadingAttributeFilter)
		_ = w.WriteByte('>')
		return ast.WalkContinue, nil
	}
	if id, ok := h.AttributeString("id"); ok && h.Level > 1 {
		_, _ = w.WriteString(`<a class="self" aria-hidden="true" tabindex="-1" href="#` +
			string(util.EscapeHTML(id.([]byte))) + `">#</a>`)
	}
	_, _ = w.WriteString("</h" + level + ">\n")
	return ast.WalkContinue, nil
}

// table scrolls by itself where the page is narrow.
func table(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}
