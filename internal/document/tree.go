package document

import (
	"fmt"
	"math"
	"strings"

	"weir/internal/text"
)

// Node is a value of a file: a scalar, a list or a map, with its position.
type Node struct {
	Position
	Kind   NodeKind
	Text   string  // of a scalar
	quoted bool    // of a scalar
	Items  []*Node // of a list
	Keys   []Entry // of a map, in the file's order
	From   string  // origin if not the file: "--set", "quick", or a default's source
	Bound  bool    // text is a sweep value that stands for a $key
	Orig   *Node   // the node that this one was copied from

	declared bool // of a map: read by a table or as parameters, so that the order of its keys has no meaning
}

// NodeKind is the kind of a node: scalar, list or map.
type NodeKind uint8

// The kinds of nodes.
const (
	Scalar NodeKind = iota
	List
	Mapping
)

func (k NodeKind) String() string { return [...]string{"a plain value", "a list", "a map"}[k] }

// Entry is one key of a map, with its position.
type Entry struct {
	Position
	Name  string
	Value *Node
}

// Find returns the value of a key, or nil, also if t is nil or no map. It is for keys that a file or a registry names;
// Map.Get reads those that a Table declares.
func (t *Node) Find(name string) *Node {
	if t == nil || t.Kind != Mapping {
		return nil
	}
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return t.Keys[i].Value
		}
	}
	return nil
}

// Set replaces the value of a key of a map, or appends the key with the value's position.
func (t *Node) Set(name string, value *Node) {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			t.Keys[i].Value = value
			return
		}
	}
	t.Keys = append(t.Keys, Entry{value.Position, name, value})
}

// Copy returns a deep copy. Each part refers to its original in Orig; a copy of a copy refers to the first original.
func Copy(t *Node) *Node {
	c := *t
	c.Orig = t
	if t.Orig != nil {
		c.Orig = t.Orig
	}
	c.Items, c.Keys = nil, nil
	if len(t.Items) > 0 {
		c.Items = make([]*Node, len(t.Items))
		for i, x := range t.Items {
			c.Items[i] = Copy(x)
		}
	}
	if len(t.Keys) > 0 {
		c.Keys = make([]Entry, len(t.Keys))
		for i := range t.Keys {
			k := &t.Keys[i]
			c.Keys[i] = Entry{k.Position, k.Name, Copy(k.Value)}
		}
	}
	return &c
}

// Clone returns a deep copy without references to the originals.
func Clone(t *Node) *Node {
	c := *t
	c.Orig, c.Items, c.Keys = nil, nil, nil
	for _, x := range t.Items {
		c.Items = append(c.Items, Clone(x))
	}
	for _, k := range t.Keys {
		c.Keys = append(c.Keys, Entry{k.Position, k.Name, Clone(k.Value)})
	}
	return &c
}

// fill adds a default to a map and returns it. Defaults.WriteShared copies it to the original of the map.
func (t *Node) fill(name, text, source string) *Node {
	v := &Node{Position: t.Position, Text: text, From: defaultOf + source}
	t.Set(name, v)
	return v
}

// WriteYAML appends t as canonical YAML at an indent in levels, in flow style below the first levels.
func (t *Node) WriteYAML(b *strings.Builder, indent int) {
	switch t.Kind {
	case Mapping:
		for i := range t.Keys {
			k := &t.Keys[i]
			writeIndent(b, indent)
			b.WriteString(Quote(k.Name, false))
			b.WriteString(":")
			short := maxSimple
			if k.Value.Kind == Scalar || indent >= 4 {
				short = math.MaxInt
			}
			if flow := k.Value.appendFlow(nil, short); len(flow) < short {
				b.WriteString(" ")
				b.Write(flow)
				b.WriteString("\n")
			} else {
				b.WriteString("\n")
				k.Value.WriteYAML(b, indent+1)
			}
		}
	case List:
		for _, x := range t.Items {
			writeIndent(b, indent)
			b.WriteString("- ")
			b.Write(x.appendFlow(nil, math.MaxInt))
			b.WriteString("\n")
		}
	default:
		writeIndent(b, indent)
		b.WriteString(Quote(t.Text, t.quoted))
		b.WriteString("\n")
	}
}

// writeIndent appends two spaces per level.
func writeIndent(b *strings.Builder, indent int) {
	for range indent {
		b.WriteString("  ")
	}
}

// maxSimple is the length in bytes from which a value gets its own lines.
const maxSimple = 60

// FormatFlow returns t as one line of YAML in flow style.
func (t *Node) FormatFlow() string { return string(t.appendFlow(nil, math.MaxInt)) }

// appendFlow appends t in flow style. It may stop once b has limit bytes; the text is then incomplete.
func (t *Node) appendFlow(b []byte, limit int) []byte {
	switch t.Kind {
	case Mapping:
		b = append(b, '{')
		for i := range t.Keys {
			if len(b) >= limit {
				return b
			}
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(b, Quote(t.Keys[i].Name, false)...), ": "...)
			b = t.Keys[i].Value.appendFlow(b, limit)
		}
		return append(b, '}')
	case List:
		b = append(b, '[')
		for i, x := range t.Items {
			if len(b) >= limit {
				return b
			}
			if i > 0 {
				b = append(b, ", "...)
			}
			b = x.appendFlow(b, limit)
		}
		return append(b, ']')
	}
	return append(b, Quote(t.Text, t.quoted)...)
}

// isWord reports whether a text has only letters, digits, '_', '.', '/' and, except at its start, '-'. Quote returns
// such a text unchanged unless it is null.
func isWord(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '.', c == '/':
		case c == '-' && i > 0:
		default:
			return false
		}
	}
	return s != ""
}

// Quote writes a scalar so that YAML reads the same text. It adds double quotes only if they are needed, or with force.
func Quote(s string, force bool) string {
	if !force && s != "null" && isWord(s) { // the common case
		return s
	}
	at, _, _ := text.FindActing(s)
	force = force || at >= 0
	plain := s != "" && !force && !strings.ContainsAny(s, "{}[],:#&*!|>'\"%@`\\\n\t") && s == strings.TrimSpace(s) &&
		!strings.HasPrefix(s, "-") && !strings.HasPrefix(s, "?") && !strings.HasPrefix(s, "<") &&
		!strings.HasPrefix(s, "=") && s != "null" && s != "~"
	if plain || !force && (strings.HasSuffix(s, "%") || strings.Contains(s, "->")) &&
		!strings.ContainsAny(s, "{}[],:#&*!|'\"@`\\\n\t") && s == strings.TrimSpace(s) && s[0] != '%' && s[0] != '>' &&
		s[0] != '-' && s[0] != '<' {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case text.ActsOnTerminal(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}

// ItemsOf returns the items of a list, or a list of the single value, or nil.
func ItemsOf(v *Node) []*Node {
	switch {
	case v == nil:
		return nil
	case v.Kind == List:
		return v.Items
	}
	return []*Node{v}
}
