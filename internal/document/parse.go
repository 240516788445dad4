package document

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"weir/core/unit"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Parse reads YAML. It allows what experiment files need (maps, lists,
// scalars) and nothing that hides where a value comes from: no anchors, tags or
// second documents.
func Parse(r *Reader, file string, data []byte) (t *Node) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // a byte order mark, which some editors write
	r.Remember(file, data)
	if len(data) > int(LargestFile) {
		r.Fail(Place{file, 1, 1}, "up to "+LargestFile.String(), "%s of more than %v", r.kind.Whole, LargestFile)
		return nil
	}
	if !r.IsText(file, data, true) {
		return nil
	}
	defer func() { // the YAML library has panicked on garbage before; garbage is an input error
		if garbage := recover(); garbage != nil {
			r.Fail(Place{file, 1, 1}, "", "this is not YAML: %v", r)
			t = nil
		}
	}()
	tokens := lexer.Tokenize(string(data))
	if deep := tooDeep(tokens); deep != nil {
		r.Fail(at(file, deep), fmt.Sprintf("%d levels", deepest), "the file is nested too deeply")
		return nil
	}
	f, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // convertEntry says it with its place
	if err != nil {
		at := Place{file, 1, 1}
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
		r.Fail(at, "", "this is not YAML: %s", msg)
		return nil
	}
	switch {
	case len(f.Docs) > 1:
		r.Fail(Place{file, 1, 1}, "one", "the file has %d YAML documents", len(f.Docs))
		return nil
	case len(f.Docs) == 0 || f.Docs[0].Body == nil:
		r.Fail(Place{file, 1, 1}, r.kind.First, "the file is empty")
		return nil
	}
	return r.convert(file, f.Docs[0].Body, 0)
}

// largestFile is the most that an experiment file may have, and deepest how many
// levels: the YAML library takes time and memory with the square of the nesting.
const (
	LargestFile = unit.MB
	deepest     = 50
)

// IsText checks that a file is text: without control characters and, if strict, in UTF-8.
func (r *Reader) IsText(file string, data []byte, strict bool) bool {
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
	r.Fail(Place{file, line, column}, "text in UTF-8", "this is not text: byte 0x%02x", data[first])
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

func at(file string, tk *token.Token) Place {
	if tk == nil || tk.Position == nil {
		return Place{file, 1, 1}
	}
	return Place{file, tk.Position.Line, tk.Position.Column}
}

func (r *Reader) convert(file string, n ast.Node, depth int) *Node {
	here := at(file, n.GetToken())
	t := &Node{Place: here}
	if depth > deepest {
		r.Fail(here, fmt.Sprintf("%d levels", deepest), "the file is nested too deeply")
		return t
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		t.Kind = Mapping
		for _, v := range n.Values {
			r.convertEntry(file, t, v, depth)
		}
		if len(t.Keys) > 0 && !n.IsFlowStyle {
			t.Place = t.Keys[0].Place
		}
	case *ast.MappingValueNode:
		t.Kind = Mapping
		r.convertEntry(file, t, n, depth)
		if len(t.Keys) > 0 {
			t.Place = t.Keys[0].Place
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
		t.Text, t.quoted = n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.NullNode, *ast.InfinityNode, *ast.NanNode:
		t.Text = n.GetToken().Value
		if _, null := n.(*ast.NullNode); null {
			r.Fail(here, "a value, or no key at all", "a value is missing")
		}
	default:
		r.Fail(here, "maps, lists and plain values", "YAML's %v is not used in %s files", n.Type(), r.kind.Name)
	}
	return t
}

func (r *Reader) convertEntry(file string, t *Node, v *ast.MappingValueNode, depth int) {
	k := v.Key.GetToken()
	here := at(file, k)
	if _, ok := v.Key.(*ast.MergeKeyNode); ok || v.Value == nil {
		r.Fail(here, "maps, lists and plain values", "this key cannot be used in %s files", r.kind.Name)
		return
	}
	for _, other := range t.Keys {
		if other.Name == k.Value {
			r.Fail(here, "each key once", "%q is here a second time, after line %d", k.Value, other.Line)
			return
		}
	}
	t.Keys = append(t.Keys, Entry{here, k.Value, r.convert(file, v.Value, depth+1)})
}
