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

// anchorOf returns GitHub's anchor of a heading: its letters and digits in lower case, with hyphens for spaces.
func anchorOf(heading string) string {
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

// plainText returns the text of a node without markup.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	writeText(&b, n, source)
	return strings.Join(strings.Fields(b.String()), " ")
}

// writeText appends the text of a node and its children, separated by spaces.
func writeText(b *strings.Builder, n ast.Node, source []byte) {
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
		writeText(b, c, source)
		if c.Type() == ast.TypeBlock || c.Kind() == east.KindTableCell {
			b.WriteByte(' ')
		}
	}
}

// splitSections sets the sections of the page: it divides the text at the headings.
func (p *Page) splitSections() {
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
			writeText(&b, n, p.source)
			b.WriteByte(' ')
			continue
		}
		words := plainText(h, p.source)
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
	// anchorTag matches the only HTML tag that a page may have.
	anchorTag = regexp.MustCompile(`^<a id="([A-Za-z0-9._-]+)">$`)
	closing   = []byte("</a>")
)

// bodies renders the nodes that differ from goldmark's HTML.
type bodies struct{}

// RegisterFuncs registers the render functions with goldmark.
func (bodies) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, skipHTML)
	r.Register(ast.KindRawHTML, renderAnchor)
	r.Register(ast.KindCodeBlock, renderCode)
	r.Register(ast.KindFencedCodeBlock, renderCode)
	r.Register(ast.KindHeading, renderHeading)
	r.Register(ast.KindCodeSpan, renderCodeSpan)
	r.Register(east.KindTable, renderTable)
}

// skipHTML drops HTML blocks: comments, which mark parts of pages for tests.
func skipHTML(util.BufWriter, []byte, ast.Node, bool) (ast.WalkStatus, error) {
	return ast.WalkSkipChildren, nil
}

// renderAnchor writes the anchors that a page sets itself and drops other tags.
func renderAnchor(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		if tag := n.(*ast.RawHTML).Segments.Value(source); anchorTag.Match(tag) || bytes.Equal(tag, closing) {
			_, _ = w.Write(tag)
		}
	}
	return ast.WalkSkipChildren, nil
}

// renderCode writes a code block that a keyboard can scroll.
func renderCode(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString(`<pre tabindex="0"><code>`)
		_, _ = w.Write(util.EscapeHTML(n.Lines().Value(source)))
		_, _ = w.WriteString("</code></pre>\n")
	}
	return ast.WalkSkipChildren, nil
}

// CodeSpans renders code within a line without breaks in its words: a browser breaks lines after hyphens, and half of
// --quick has another meaning.
type CodeSpans struct{}

// RegisterFuncs registers the render function with goldmark.
func (CodeSpans) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindCodeSpan, renderCodeSpan)
}

// maxWhole limits the letters of an unbroken word with hyphens to the width of a phone's page, also in a table.
const maxWhole = 24

// renderCodeSpan writes code within a line. It marks words with hyphens that must not be broken.
func renderCodeSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	var b strings.Builder
	writeText(&b, n, source)
	_, _ = w.WriteString("<code>")
	for i, word := range strings.Split(strings.ReplaceAll(b.String(), "\n", " "), " ") {
		if i > 0 {
			_ = w.WriteByte(' ')
		}
		text := util.EscapeHTML([]byte(word))
		if whole := strings.Contains(word, "-") && utf8.RuneCountInString(word) <= maxWhole; whole {
			_, _ = w.WriteString(`<span class="whole">` + string(text) + "</span>")
		} else {
			_, _ = w.Write(text)
		}
	}
	_, _ = w.WriteString("</code>")
	return ast.WalkSkipChildren, nil
}

// renderHeading writes a heading with a link to itself for copying.
func renderHeading(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
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

// renderTable writes a table that scrolls on narrow pages.
func renderTable(w util.BufWriter, _ []byte, _ ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		_, _ = w.WriteString("<div class=\"scroll\" tabindex=\"0\"><table>\n")
	} else {
		_, _ = w.WriteString("</table></div>\n")
	}
	return ast.WalkContinue, nil
}
