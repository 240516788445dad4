package document

import (
	"fmt"
	"strings"

	"weir/internal/text"
)

// Node is a value of a file: a scalar (text), a list or a map, with
// its place. From says where it comes from if not from the file itself.
type Node struct {
	Place
	Kind   NodeKind
	Text   string  // of a scalar
	quoted bool    // of a scalar
	Items  []*Node // of a list
	Keys   []Entry // of a map, in the file's order
	From   string  // "--set", "quick", or a default's source; "" for the file
	Bound  bool    // text is a sweep value that stands for a $key
	Orig   *Node   // what this one was copied from

	declared bool // of a map: it has been read by a table or as parameters, so that its keys have no order
}

// NodeKind is what a node is.
type NodeKind uint8

// The kinds of nodes.
const (
	Scalar NodeKind = iota
	List
	Mapping
)

func (k NodeKind) String() string { return [...]string{"a value", "a list", "a map"}[k] }

// Entry is one key of a map, with its place.
type Entry struct {
	Place
	Name  string
	Value *Node
}

// Find returns the value of a key whose name stands in a file or a registry, or nil. What a
// Table declares is read by Map.Get.
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

// Set replaces or appends a key.
func (t *Node) Set(name string, value *Node) {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			t.Keys[i].Value = value
			return
		}
	}
	t.Keys = append(t.Keys, Entry{value.Place, name, value})
}

// Copy returns a deep copy whose parts refer to the originals.
func Copy(t *Node) *Node {
	c := *t
	c.Orig = t
	if t.Orig != nil {
		c.Orig = t.Orig
	}
	c.Items, c.Keys = nil, nil
	for _, x := range t.Items {
		c.Items = append(c.Items, Copy(x))
	}
	for _, k := range t.Keys {
		c.Keys = append(c.Keys, Entry{k.Place, k.Name, Copy(k.Value)})
	}
	return &c
}

// Clone returns a deep copy that knows nothing of where it came from.
func Clone(t *Node) *Node {
	c := *t
	c.Orig, c.Items, c.Keys = nil, nil, nil
	for _, x := range t.Items {
		c.Items = append(c.Items, Clone(x))
	}
	for _, k := range t.Keys {
		c.Keys = append(c.Keys, Entry{k.Place, k.Name, Clone(k.Value)})
	}
	return &c
}

// fill adds a default to a map. Defaults.Settle writes it into what the map was copied from.
func (t *Node) fill(name, text, source string) *Node {
	v := &Node{Place: t.Place, Text: text, From: defaultOf + source}
	t.Set(name, v)
	return v
}

// Write prints t as canonical YAML in flow style below the first levels.
func (t *Node) Write(b *strings.Builder, indent int) {
	switch t.Kind {
	case Mapping:
		for _, k := range t.Keys {
			b.WriteString(strings.Repeat("  ", indent) + Quote(k.Name, false) + ":")
			if k.Value.simple() || indent >= 4 {
				b.WriteString(" " + k.Value.Flow() + "\n")
			} else {
				b.WriteString("\n")
				k.Value.Write(b, indent+1)
			}
		}
	case List:
		for _, x := range t.Items {
			b.WriteString(strings.Repeat("  ", indent) + "- " + x.Flow() + "\n")
		}
	default:
		b.WriteString(strings.Repeat("  ", indent) + t.Flow() + "\n")
	}
}

// simple reports whether t fits on its key's line.
func (t *Node) simple() bool { return t.Kind == Scalar || len(t.Flow()) < 60 }

func (t *Node) Flow() string {
	var parts []string
	switch t.Kind {
	case Mapping:
		for _, k := range t.Keys {
			parts = append(parts, Quote(k.Name, false)+": "+k.Value.Flow())
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case List:
		for _, x := range t.Items {
			parts = append(parts, x.Flow())
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return Quote(t.Text, t.quoted)
}

// Quote writes a scalar so that YAML reads the same text.
func Quote(s string, force bool) string {
	at, _, _ := text.Find(s)
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
		case text.Acts(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
