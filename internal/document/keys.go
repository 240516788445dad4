package document

import (
	"slices"
	"strings"
)

// Key is one key of a map of a file. It is declared here and nowhere else: the reader takes
// no other key and fills in this default; the JSON schema and the reference are made of it.
type Key struct {
	Name     string
	Form     Form   // what it holds
	Doc      string // what it is, in a line
	Default  string // what the reader fills in if the file lacks it; a list in brackets
	Source   string // of the default
	Cases    []Case // defaults that replace it
	Without  string // what holds without the key, if no default is filled in
	Required bool
	Example  string // what an error shows if it is missing
	Traits   Trait
}

// Case is a default that stands in for a key's own.
type Case struct{ When, Default, Source string }

// Trait is what a key has in common with others; who declares keys says what the bits mean.
type Trait uint16

// Table are the keys of a map.
type Table struct {
	What string // how errors call one of the keys: a link's key
	Doc  string // what the map is
	Keys []Key
	Open string // whose names can be further keys, as Form.Of has them; "": nobody's
}

// Names are those of the keys that have any of some traits, or of all for none.
func (t *Table) Names(traits ...Trait) (names []string) {
	names = make([]string, 0, len(t.Keys))
	for i := range t.Keys {
		k := &t.Keys[i]
		if len(traits) == 0 || slices.ContainsFunc(traits, func(w Trait) bool { return k.Traits&w != 0 }) {
			names = append(names, k.Name)
		}
	}
	return names
}

// Has reports whether a key has a trait.
func (t *Table) Has(name string, trait Trait) bool {
	for i := range t.Keys {
		if t.Keys[i].Name == name && t.Keys[i].Traits&trait != 0 {
			return true
		}
	}
	return false
}

// Only is the table with some of its keys alone.
func (t *Table) Only(names ...string) *Table {
	some := &Table{What: t.What, Doc: t.Doc}
	for _, n := range names {
		some.Keys = append(some.Keys, *t.Key(n))
	}
	return some
}

// Key returns the declaration of a key. That there is none is a mistake of the program, not
// of a file: nothing may be read that the table does not have.
func (t *Table) Key(name string) *Key {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	panic("the key " + name + " is read, but not declared: " + t.What)
}

// Shape is how the value of a key is built.
type Shape uint8

// Shapes of values.
const (
	Plain  Shape = iota // a plain value, with a grammar of its own
	Word                // one of some words
	Listed              // a list
	Fields              // a map with the keys of a table
	ByName              // a map with names for keys
	Choice              // of several forms
	Ends                // two names
	Scheme              // of what a registry has, by its name, with its parameters
	Free                // what only its reader knows
)

// Form is what the value of a key may be.
type Form struct {
	Shape Shape
	Text  string // as the reference has it
	Words []string
	Table *Table
	Items *Form  // of a list, or of a map with names for keys
	Any   []Form // of a choice
	Of    string // kind of scheme: program, transport, …
	Extra string // a word beside the schemes' names
}

// Value is a plain value.
func Value(text string) Form { return Form{Text: text} }

// OneOf is one of some words.
func OneOf(words ...string) Form { return Form{Shape: Word, Words: words, Text: Spelt(words)} }

// Spelt lists words as the reference does.
func Spelt(words []string) string {
	if len(words) == 0 {
		return ""
	}
	var quoted []string
	for _, w := range words {
		quoted = append(quoted, "`"+w+"`")
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}

// ListOf is a list of values of a form.
func ListOf(f Form, text string) Form { return Form{Shape: Listed, Items: &f, Text: text} }

// MapOf is a map with the keys of a table.
func MapOf(t *Table) Form {
	return Form{Shape: Fields, Table: t, Text: "`{" + strings.Join(t.Names(), ", ") + "}`"}
}

// MapBy is a map from names to values of a form.
func MapBy(f Form, text string) Form { return Form{Shape: ByName, Items: &f, Text: text} }

// AnyOf is a value of one of some forms.
func AnyOf(text string, forms ...Form) Form { return Form{Shape: Choice, Any: forms, Text: text} }

// byName reports whether a value can be a map from names.
func (f Form) byName() bool { return f.Shape == ByName || slices.ContainsFunc(f.Any, Form.byName) }

// Spellings are the words that a value can be.
func (f Form) Spellings() []string {
	words := slices.Clone(f.Words)
	for _, x := range f.Any {
		words = append(words, x.Spellings()...)
	}
	return words
}

// Pair is a list of two names.
func Pair(text string) Form { return Form{Shape: Ends, Text: text} }

// Registered is a scheme of a kind: its name, or its name with parameters.
func Registered(kind, text string, extra string) Form {
	return Form{Shape: Scheme, Of: kind, Text: text, Extra: extra}
}

// Unbound is what only its reader knows.
func Unbound(text string) Form { return Form{Shape: Free, Text: text} }

// Map is a map of a file that is read by a table.
type Map struct {
	*Node
	reader *Reader
	table  *Table
	known  []string // what errors list as its keys
}

// View reads t by a table without refusing other keys, which are others' business: more are
// those that there can be.
func (r *Reader) View(t *Node, table *Table, more ...string) Map {
	t.declared = true
	return Map{t, r, table, append(table.Names(), more...)}
}

// Map reads t by a table, of which alone it may have keys, or of more. It reports whether t is
// a map at all.
func (r *Reader) Map(t *Node, table *Table, more ...string) (Map, bool) {
	m := r.View(t, table, more...)
	return m, r.Keys(t, table.What, m.known)
}

// Of reads a map of a file by the table where nothing is to be said of it.
func (t *Table) Of(n *Node) Map { return Map{Node: n, table: t} }

// Entries are those of a key whose form is a map from names to values, if the file has one
// there: who reads names that the file gives asks for them here.
func (m Map) Entries(name string) []Entry {
	if !m.table.Key(name).Form.byName() {
		panic("the names in " + name + " are read, but not declared: " + m.table.What)
	}
	if v := m.Node.Find(name); v != nil && v.Kind == Mapping {
		return v.Keys
	}
	return nil
}

// Get returns the value of a key, or nil.
func (m Map) Get(name string) *Node {
	m.table.Key(name)
	return m.Node.Find(name)
}

// Default returns the value of a key; if the file has none, its default, which is filled in.
func (m Map) Default(name string) *Node {
	k := m.table.Key(name)
	return m.standard(k, k.Default, k.Source)
}

// DefaultWhen is Default with the case of that name in place of the key's own default.
func (m Map) DefaultWhen(name, when string) *Node {
	k := m.table.Key(name)
	for _, c := range k.Cases {
		if c.When == when {
			return m.standard(k, c.Default, c.Source)
		}
	}
	panic("the key " + name + " has no default for " + when)
}

// DefaultAs is Default with a text that follows from the rest of the file, in place of the key's own default.
func (m Map) DefaultAs(name, text, source string) *Node {
	return m.standard(m.table.Key(name), text, source)
}

func (m Map) standard(k *Key, text, source string) *Node {
	if v := m.Node.Find(k.Name); v != nil {
		return v
	}
	if text == "" {
		panic("the key " + k.Name + " has no default: " + m.table.What)
	}
	if list, ok := strings.CutPrefix(text, "["); ok {
		return m.fillList(k.Name, strings.TrimSuffix(list, "]"), source)
	}
	return m.fill(k.Name, text, source)
}

// fillList is fill for a list of plain values.
func (t *Node) fillList(name, items, source string) *Node {
	v := &Node{Position: t.Position, Kind: List, From: defaultOf + source}
	for _, x := range strings.Split(items, ", ") {
		v.Items = append(v.Items, &Node{Position: t.Position, Text: x})
	}
	t.Set(name, v)
	return v
}

// Missing notes that the map lacks a key, or that an unknown one is probably meant to be it.
func (m Map) Missing(name, format string, args ...any) {
	m.reader.Missing(m.Node, name, m.table.What, m.known, m.table.Key(name).Example, format, args...)
}
