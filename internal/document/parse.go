package document

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"weir/core/unit"
	"weir/internal/text"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Parse reads YAML and returns its root, or nil if it cannot be parsed. It accepts maps, lists and scalars. It notes
// errors in r, also for what hides the origin of a value: anchors, tags and second documents. The root may be
// incomplete then. The reader keeps data, which the caller must not change.
func Parse(r *Reader, file string, data []byte) (t *Node) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors write a byte order mark
	r.Remember(file, data)
	if len(data) > int(MaxFile) {
		r.Fail(Position{file, 1, 1}, "up to "+MaxFile.String(), "the file is larger than %v", MaxFile)
		return nil
	}
	if !r.CheckText(file, data, true) {
		return nil
	}
	defer func() { // the YAML library may panic on invalid input, which is an input error
		if garbage := recover(); garbage != nil {
			r.Fail(Position{file, 1, 1}, "", "the file is not valid YAML: %v", garbage)
			t = nil
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if !r.checkTokens(file, tokens) {
		return nil
	}
	// convertEntry reports duplicate keys with their position
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		at := Position{file, 1, 1}
		var tk interface{ GetToken() *token.Token }
		if x, ok := err.(interface{ GetToken() *token.Token }); ok {
			tk = x
		}
		if tk != nil && tk.GetToken() != nil && tk.GetToken().Position != nil {
			at.Line, at.Column = tk.GetToken().Position.Line, tk.GetToken().Position.Column
		}
		msg := err.Error()
		if m, ok := err.(interface{ GetMessage() string }); ok {
			msg = m.GetMessage()
		}
		if strings.HasPrefix(strings.TrimLeft(r.LineIn(file, at.Line), " "), "\t") {
			r.Fail(at, "spaces", "the file is not valid YAML: the line is indented with a tab")
			return nil
		}
		r.Fail(at, "", "the file is not valid YAML: %s", msg)
		return nil
	}
	switch {
	case len(f.Docs) > 1:
		r.Fail(Position{file, 1, 1}, "one", "the file has %d YAML documents; it must have one", len(f.Docs))
		return nil
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		r.Fail(Position{file, 1, 1}, r.kind.First, "the file is empty")
		return nil
	}
	return r.convert(file, f.Docs[0].Body, 0)
}

// MaxFile limits the size of an experiment file.
const MaxFile = unit.MB

// CheckText reports whether a file is text: it has no invisible characters and no terminal controls, and is valid UTF-8
// if strict. Lines may end in CR LF. It notes the first error.
func (r *Reader) CheckText(file string, data []byte, strict bool) bool {
	for from := 0; ; {
		at, c, bad := text.FindActing(data[from:])
		if at < 0 {
			return true
		}
		from += at
		switch {
		case c == '\n', c == '\t', c == '\r' && bytes.HasPrefix(data[from+1:], []byte("\n")), bad && !strict:
			from++
			continue
		}
		before := data[:from]
		line := bytes.Count(before, []byte("\n")) + 1
		column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
		here := Position{file, line, column}
		if bad {
			r.Fail(here, "text in UTF-8 without control characters", "the text is not UTF-8: byte 0x%02x", c)
		} else {
			r.failCharacter(here, c)
		}
		return false
	}
}

// failCharacter notes an error for an invisible character or a control.
func (r *Reader) failCharacter(here Position, c rune) {
	switch {
	case c == '\n':
		r.Fail(here, "one line (in YAML, > joins several)", "the value has several lines: %s", text.EscapeRune(c))
		return
	case c < 0xa0:
		r.Fail(here, "text in UTF-8 without control characters", "the text contains the control character %s",
			text.EscapeRune(c))
		return
	}
	r.Fail(here, "visible characters", "the character %s is invisible or changes how other characters are displayed",
		text.EscapeRune(c))
}

// CheckPrintable reports whether a name or a value has no invisible characters and no controls, which YAML can write as
// escapes. It notes an error, which points at the escape.
func (r *Reader) CheckPrintable(here Position, s string) bool {
	at, c, bad := text.FindActing(s)
	if at < 0 {
		return true
	}
	if bad {
		r.Fail(here, "text in UTF-8 without control characters", "the text is not UTF-8: byte 0x%02x", c)
		return false
	}
	if r.isFull(here) { // avoid the search for the escape
		return false
	}
	line := []rune(r.LineIn(here.File, here.Line))
	for i := max(here.Column-1, 0); i < len(line); i++ {
		if line[i] != '\\' {
			continue
		}
		if isEscapeOf(line[i:], c) {
			here.Column = i + 1
			break
		}
		i++ // an escaped character starts no escape
	}
	r.failCharacter(here, c)
	return false
}

// isEscapeOf reports whether s begins with an escape for c in the syntax of YAML's double quotes.
func isEscapeOf(s []rune, c rune) bool {
	if len(s) < 2 {
		return false
	}
	digits, numbered := map[rune]int{'x': 2, 'u': 4, 'U': 8}[s[1]]
	if numbered {
		n, err := strconv.ParseUint(string(s[2:min(2+digits, len(s))]), 16, 32)
		return err == nil && rune(n) == c
	}
	named, ok := map[rune]rune{'0': 0, 'a': 7, 'b': 8, 't': 9, '\t': 9, 'n': 10, 'v': 11, 'f': 12, 'r': 13, 'e': 27,
		'N': 0x85, 'L': 0x2028, 'P': 0x2029}[s[1]]
	return ok && named == c
}

// positionOf returns the position of a token, or the file's start if the token has none.
func positionOf(file string, tk *token.Token) Position {
	if tk == nil || tk.Position == nil {
		return Position{file, 1, 1}
	}
	return Position{file, tk.Position.Line, tk.Position.Column}
}

// convert returns the tree below a YAML node at the given nesting depth, and notes errors of its values.
func (r *Reader) convert(file string, n ast.Node, depth int) *Node {
	here := positionOf(file, n.GetToken())
	t := &Node{Position: here}
	if depth > maxDepth {
		r.Fail(here, fmt.Sprintf("%d levels", maxDepth), "the file is nested too deeply")
		return t
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		t.Kind = Mapping
		lines := map[string]int{}
		for _, v := range n.Values {
			r.convertEntry(file, t, v, depth, lines)
		}
		if len(t.Keys) > 0 && !n.IsFlowStyle {
			t.Position = t.Keys[0].Position
		}
	case *ast.MappingValueNode:
		t.Kind = Mapping
		r.convertEntry(file, t, n, depth, map[string]int{})
		if len(t.Keys) > 0 {
			t.Position = t.Keys[0].Position
		}
	case *ast.SequenceNode:
		t.Kind = List
		for _, v := range n.Values {
			t.Items = append(t.Items, r.convert(file, v, depth+1))
		}
	case *ast.StringNode:
		t.Text = n.Value
		tk := n.GetToken()
		t.quoted = tk.Type == token.SingleQuoteType || tk.Type == token.DoubleQuoteType
	case *ast.LiteralNode:
		t.Text, t.quoted = strings.TrimRight(n.Value.Value, "\n"), true // YAML keeps the line end of a block's last line
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		t.Text = n.GetToken().Value
		if _, null := n.(*ast.NullNode); null {
			r.Fail(here, "a value after the key, or no key", "a value is missing")
		}
	default:
		r.Fail(here, "maps, lists and plain values", "the YAML feature %v is not allowed in %s files", n.Type(), r.kind.Name)
	}
	r.CheckPrintable(here, t.Text)
	return t
}

// convertEntry adds an entry to the map t. The map lines holds the line of each key so far, for errors about
// duplicates; a duplicate is not added.
func (r *Reader) convertEntry(file string, t *Node, v *ast.MappingValueNode, depth int, lines map[string]int) {
	k := v.Key.GetToken()
	here := positionOf(file, k)
	if _, ok := v.Key.(*ast.MergeKeyNode); ok || v.Value == nil {
		r.Fail(here, "maps, lists and plain values", "a key of this form is not allowed in %s files", r.kind.Name)
		return
	}
	r.CheckPrintable(here, k.Value)
	if line, twice := lines[k.Value]; twice {
		r.Fail(here, "each key once", "%q is given twice, first in line %d", k.Value, line)
		return
	}
	lines[k.Value] = here.Line
	t.Keys = append(t.Keys, Entry{here, k.Value, r.convert(file, v.Value, depth+1)})
}
