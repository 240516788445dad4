package experiment

import (
	"bytes"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"weir/core/unit"
)

// InputError is one thing that is wrong with an experiment file.
type InputError struct {
	File         string
	Line, Column int    // from 1
	Msg          string // what is wrong
	Allowed      string // what would be right, if that can be said
	Excerpt      string // the line of the file, or of a long one the part around the column
	caret        int    // how far into the excerpt the column is
}

func (e InputError) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Msg)
	if e.Allowed != "" {
		s += "; allowed: " + e.Allowed
	}
	if e.Excerpt != "" {
		s += "\n    " + e.Excerpt + "\n    " + strings.Repeat(" ", e.caret) + "^"
	}
	return s
}

// excerpt is what an error shows of a line, and where in it the column is. What a
// terminal would not print is a replacement character, one for each.
func excerpt(line string, column int) (text string, caret int) {
	const before, after = 60, 40 // columns of a long line
	runes := []rune(strings.TrimRight(line, " \t\r"))
	for i, r := range runes {
		if r == '\t' {
			runes[i] = ' '
		} else if !strconv.IsPrint(r) {
			runes[i] = utf8.RuneError
		}
	}
	at := min(max(column-1, 0), len(runes))
	end := ""
	if len(runes) > before+after {
		if at+after < len(runes) {
			runes, end = runes[:at+after], "…"
		}
		if at > before {
			runes, at = append([]rune{'…'}, runes[at-before:]...), before+1
		}
	}
	return string(runes) + end, at
}

// InputErrors are all things that were found wrong, in the order of the file.
type InputErrors []InputError

func (e InputErrors) Error() string {
	var s []string
	for _, x := range e {
		s = append(s, x.Error())
	}
	return strings.Join(s, "\n")
}

// place is where a value stands.
type place struct {
	file         string
	line, column int
}

// tree is a value of an experiment file: a scalar (text), a list or a map, with
// its place. from says where it comes from if not from the file itself.
type tree struct {
	place
	kind   treeKind
	text   string  // of a scalar
	quoted bool    // of a scalar
	items  []*tree // of a list
	keys   []entry // of a map, in the file's order
	from   string  // "--set", "quick", or a default's source; "" for the file
	bound  bool    // text is a sweep value that stands for a $key
	orig   *tree   // what this one was copied from
}

type treeKind uint8

const (
	scalar treeKind = iota
	list
	mapping
)

func (k treeKind) String() string { return [...]string{"a value", "a list", "a map"}[k] }

type entry struct {
	place
	name  string
	value *tree
}

// get returns the value of a key, or nil.
func (t *tree) get(name string) *tree {
	if t == nil || t.kind != mapping {
		return nil
	}
	for i := range t.keys {
		if t.keys[i].name == name {
			return t.keys[i].value
		}
	}
	return nil
}

// set replaces or appends a key.
func (t *tree) set(name string, value *tree) {
	for i := range t.keys {
		if t.keys[i].name == name {
			t.keys[i].value = value
			return
		}
	}
	t.keys = append(t.keys, entry{value.place, name, value})
}

// copyTree returns a deep copy whose parts know what they were copied from.
func copyTree(t *tree) *tree {
	c := *t
	c.orig = t
	if t.orig != nil {
		c.orig = t.orig
	}
	c.items, c.keys = nil, nil
	for _, x := range t.items {
		c.items = append(c.items, copyTree(x))
	}
	for _, k := range t.keys {
		c.keys = append(c.keys, entry{k.place, k.name, copyTree(k.value)})
	}
	return &c
}

// fill adds a default to a map and to what the map was copied from, so that it
// appears in the resolved file.
func (t *tree) fill(name, text, source string) *tree {
	v := &tree{place: t.place, text: text, from: "default: " + source}
	t.set(name, v)
	if t.orig != nil && t.orig.get(name) == nil {
		t.orig.set(name, v)
	}
	return v
}

// collector gathers what is wrong.
type collector struct {
	files  map[string][]byte // by the name that errors give them
	bound  map[place]string  // what stands for the $key at a place, at the point in hand
	errors InputErrors
	seen   map[string]bool
	what   string // kind of file, as messages name it; "": experiment
	first  string // what such a file begins with
}

// kind is the kind of file that is read.
func (c *collector) kind() string {
	if c.what == "" {
		return "experiment"
	}
	return c.what
}

// whole is the file that is read.
func (c *collector) whole() string {
	if c.what == "" {
		return "an experiment"
	}
	return "a " + c.what + " file"
}

// remember keeps a file for the excerpts of errors.
func (c *collector) remember(file string, data []byte) {
	if c.files == nil {
		c.files = map[string][]byte{}
	}
	c.files[file] = data
}

// lineOf returns line n of a text, counted from 1; "" if there is none.
func lineOf(data []byte, n int) string {
	for ; n > 1; n-- {
		_, rest, more := bytes.Cut(data, []byte("\n"))
		if !more {
			return ""
		}
		data = rest
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return string(line)
}

// shorten takes the middle out of a message about a very long word.
func shorten(s string) string {
	const begin, end = 100, 80
	r := []rune(s)
	if len(r) <= begin+end {
		return s
	}
	return string(r[:begin]) + "…" + string(r[len(r)-end:])
}

// fail notes an error at a place, once.
func (c *collector) fail(at place, allowed, format string, args ...any) {
	e := InputError{File: at.file, Line: max(at.line, 1), Column: max(at.column, 1),
		Msg: shorten(fmt.Sprintf(format, args...)), Allowed: allowed}
	if value, ok := c.bound[at]; ok {
		e.Msg += " (" + value + ")"
	}
	key := fmt.Sprintf("%s:%d:%d %s", e.File, e.Line, e.Column, e.Msg)
	if c.seen[key] || len(c.errors) >= 20 {
		return
	}
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	c.seen[key] = true
	e.Excerpt, e.caret = excerpt(lineOf(c.files[at.file], e.Line), e.Column)
	c.errors = append(c.errors, e)
}

// err returns what was gathered, in the order of the file.
func (c *collector) err() error {
	if len(c.errors) == 0 {
		return nil
	}
	sort.SliceStable(c.errors, func(i, j int) bool {
		a, b := c.errors[i], c.errors[j]
		return a.Line < b.Line || a.Line == b.Line && a.Column < b.Column
	})
	return c.errors
}

// parseTree reads YAML. It allows what experiment files need (maps, lists,
// scalars) and nothing that hides where a value comes from: no anchors, tags or
// second documents.
func parseTree(c *collector, file string, data []byte) (t *tree) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark, which some editors write
	c.remember(file, data)
	if len(data) > int(largestFile) {
		c.fail(place{file, 1, 1}, "up to "+largestFile.String(), "%s of more than %v", c.whole(), largestFile)
		return nil
	}
	if !c.text(file, data, true) {
		return nil
	}
	defer func() { // the YAML library has panicked on garbage before; garbage is an input error
		if r := recover(); r != nil {
			c.fail(place{file, 1, 1}, "", "this is not YAML: %v", r)
			t = nil
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		c.fail(at(file, deep), fmt.Sprintf("%d levels", deepest), "the file is nested too deeply")
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // convertEntry says it with its place
	if err != nil {
		at := place{file, 1, 1}
		var tk interface{ GetToken() *token.Token }
		if x, ok := err.(interface{ GetToken() *token.Token }); ok {
			tk = x
		}
		if tk != nil && tk.GetToken() != nil && tk.GetToken().Position != nil {
			at.line, at.column = tk.GetToken().Position.Line, tk.GetToken().Position.Column
		}
		msg := err.Error()
		if m, ok := err.(interface{ GetMessage() string }); ok {
			msg = m.GetMessage()
		}
		c.fail(at, "", "this is not YAML: %s", msg)
		return nil
	}
	switch {
	case len(f.Docs) > 1:
		c.fail(place{file, 1, 1}, "one", "the file has %d YAML documents", len(f.Docs))
		return nil
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		first := "title, duration, topology, traffic, …"
		if c.first != "" {
			first = c.first
		}
		c.fail(place{file, 1, 1}, first, "the file is empty")
		return nil
	}
	return c.convert(file, f.Docs[0].Body, 0)
}

// largestFile is the most that an experiment file may have, and deepest how many
// levels: the YAML library takes time and memory with the square of the nesting.
const (
	largestFile = unit.MB
	deepest     = 50
)

// text checks that a file is text: without control characters and, if strict, in UTF-8.
func (c *collector) text(file string, data []byte, strict bool) bool {
	first := -1
	for i, b := range data {
		if b < ' ' && b != '\n' && b != '\t' && b != '\r' || b == 0x7f {
			first = i
			break
		}
	}
	for i := 0; strict && i < len(data) && (first < 0 || i < first); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			first = i
		}
		i += n
	}
	if first < 0 {
		return true
	}
	before := data[:first]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	c.fail(place{file, line, column}, "text in UTF-8", "this is not text: byte 0x%02x", data[first])
	return false
}

// tooDeep returns the first token that is nested deeper than deepest in brackets,
// braces and hyphens of one line, nil if there is none. Nesting by indentation costs
// its own square of characters.
func tooDeep(tokens token.Tokens) *token.Token {
	open, hyphens, line := 0, 0, 0
	for _, tk := range tokens {
		if tk.Position != nil && tk.Position.Line != line {
			hyphens, line = 0, tk.Position.Line
		}
		switch tk.Type {
		case token.SequenceStartType, token.MappingStartType:
			open++
		case token.SequenceEndType, token.MappingEndType:
			open--
		case token.SequenceEntryType:
			hyphens++
		}
		if open+hyphens > deepest {
			return tk
		}
	}
	return nil
}

func at(file string, tk *token.Token) place {
	if tk == nil || tk.Position == nil {
		return place{file, 1, 1}
	}
	return place{file, tk.Position.Line, tk.Position.Column}
}

func (c *collector) convert(file string, n ast.Node, depth int) *tree {
	here := at(file, n.GetToken())
	t := &tree{place: here}
	if depth > deepest {
		c.fail(here, fmt.Sprintf("%d levels", deepest), "the file is nested too deeply")
		return t
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		t.kind = mapping
		for _, v := range n.Values {
			c.convertEntry(file, t, v, depth)
		}
		if len(t.keys) > 0 && !n.IsFlowStyle {
			t.place = t.keys[0].place
		}
	case *ast.MappingValueNode:
		t.kind = mapping
		c.convertEntry(file, t, n, depth)
		if len(t.keys) > 0 {
			t.place = t.keys[0].place
		}
	case *ast.SequenceNode:
		t.kind = list
		for _, v := range n.Values {
			t.items = append(t.items, c.convert(file, v, depth+1))
		}
	case *ast.StringNode:
		t.text = n.Value
		tk := n.GetToken()
		t.quoted = tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		t.text, t.quoted = n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		t.text = n.GetToken().Value
		if _, null := n.(*ast.NullNode); null {
			c.fail(here, "a value, or no key at all", "a value is missing")
		}
	default:
		c.fail(here, "maps, lists and plain values", "YAML's %v is not used in %s files", n.Type(), c.kind())
	}
	return t
}

func (c *collector) convertEntry(file string, t *tree, v *ast.MappingValueNode, depth int) {
	k := v.Key.GetToken()
	here := at(file, k)
	if _, ok := v.Key.(*ast.MergeKeyNode); ok || v.Value == nil {
		c.fail(here, "maps, lists and plain values", "this key cannot be used in %s files", c.kind())
		return
	}
	for _, other := range t.keys {
		if other.name == k.Value {
			c.fail(here, "each key once", "%q is here a second time, after line %d", k.Value, other.line)
			return
		}
	}
	t.keys = append(t.keys, entry{here, k.Value, c.convert(file, v.Value, depth+1)})
}

// write prints t as canonical YAML in flow style below the first levels.
func (t *tree) write(b *strings.Builder, indent int) {
	switch t.kind {
	case mapping:
		for _, k := range t.keys {
			b.WriteString(strings.Repeat("  ", indent) + quote(k.name, false) + ":")
			if k.value.simple() || indent >= 4 {
				b.WriteString(" " + k.value.flow() + "\n")
			} else {
				b.WriteString("\n")
				k.value.write(b, indent+1)
			}
		}
	case list:
		for _, x := range t.items {
			b.WriteString(strings.Repeat("  ", indent) + "- " + x.flow() + "\n")
		}
	default:
		b.WriteString(strings.Repeat("  ", indent) + t.flow() + "\n")
	}
}

// simple tells whether t fits on its key's line.
func (t *tree) simple() bool { return t.kind == scalar || len(t.flow()) < 60 }

func (t *tree) flow() string {
	var parts []string
	switch t.kind {
	case mapping:
		for _, k := range t.keys {
			parts = append(parts, quote(k.name, false)+": "+k.value.flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		for _, x := range t.items {
			parts = append(parts, x.flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return quote(t.text, t.quoted)
}

// quote writes a scalar so that YAML reads the same text.
func quote(s string, force bool) string {
	plain := s != "" && !force && !strings.ContainsAny(s, "{}[],:#&*!|>'\"%@`\\\n\t") && s == strings.TrimSpace(s) &&
		!strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "?") && !strings.HasPrefix(s, "<") &&
		!strings.HasPrefix(s, "=") && s != "null" && s != "~"
	if plain || !force && (strings.HasSuffix(s, "%") || strings.Contains(s, "->")) &&
		!strings.ContainsAny(s, "{}[],:#&*!|'\"@`\\\n\t") && s == strings.TrimSpace(s) && s[0] != '%' && s[0] != '>' &&
		s[0] != '-' && s[0] != '<' {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

// Nearest is the word that is the likeliest meant by s, "" if none is near.
func Nearest(s string, words []string) string { return nearest(s, words) }

// nearest returns the word most like s for an error message, "" if none is.
func nearest(s string, words []string) string {
	best, least := "", max(2, len(s)/3)+1
	for _, w := range words {
		if d := distance(strings.ToLower(s), strings.ToLower(w)); d < least && d < len(s) {
			best, least = w, d
		}
	}
	return best
}

// distance is Levenshtein's, with a swap of neighbours as one.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// unknown notes that a word is none of those allowed, with the nearest one.
func (c *collector) unknown(at place, what, word string, words []string) {
	msg := fmt.Sprintf("%s %q is not known", what, word)
	if n := nearest(word, words); n != "" {
		msg += fmt.Sprintf("; did you mean %q?", n)
	}
	c.fail(at, strings.Join(words, ", "), "%s", msg)
}
