package document

import (
	"slices"
	"strings"
)

// Key declares one key of a map of a file. The reader accepts only declared keys and fills in their defaults. The
// JSON schema and the reference are generated from the declarations.
type Key struct {
	Name     string
	Form     Form   // form of the value
	Doc      string // one line for the reference
	Default  string // filled in if the file lacks the key; a list in brackets
	Source   string // of the default
	Cases    []Case // defaults for special cases
	Without  string // behavior without the key, if no default is filled in
	Required bool
	Example  string // shown by the error for a missing key
	Traits   Trait
}

// Case is a default that replaces the key's own under a condition.
type Case struct{ When, Default, Source string }

// Trait is a set of bits that groups keys. The package that declares the keys defines the bits.
type Trait uint16

// Table declares the keys of a map.
type Table struct {
	KeyNoun string // name of one key in errors: a link's key
	Doc     string // description of the map
	Keys    []Key
	Open    string // kind of the names that can be further keys, as in Form.SchemeKind; "": no further keys
}

// KeyNames returns the names of the keys that have any of the traits, in the table's order. Without traits it returns
// all names.
func (t *Table) KeyNames(traits ...Trait) (names []string) {
	names = make([]string, 0, len(t.Keys))
	for i := range t.Keys {
		k := &t.Keys[i]
		if len(traits) == 0 || slices.ContainsFunc(traits, func(w Trait) bool { return k.Traits&w != 0 }) {
			names = append(names, k.Name)
		}
	}
	return names
}

// HasTrait reports whether the key with the given name has a trait.
func (t *Table) HasTrait(name string, trait Trait) bool {
	for i := range t.Keys {
		if t.Keys[i].Name == name && t.Keys[i].Traits&trait != 0 {
			return true
		}
	}
	return false
}

// SelectKeys returns a copy of the table with the named keys, in the order of the names and without further keys. It
// panics if the table lacks one.
func (t *Table) SelectKeys(names ...string) *Table {
	some := &Table{KeyNoun: t.KeyNoun, Doc: t.Doc}
	for _, n := range names {
		some.Keys = append(some.Keys, *t.FindKey(n))
	}
	return some
}

// FindKey returns the declaration of a key. It panics if the table lacks the key: the program, not the file, is wrong
// then.
func (t *Table) FindKey(name string) *Key {
	for i := range t.Keys {
		if t.Keys[i].Name == name {
			return &t.Keys[i]
		}
	}
	panic("the key " + name + " is read, but not declared: " + t.KeyNoun)
}

// Shape is the structure of a key's value.
type Shape uint8

// Shapes of values.
const (
	Plain     Shape = iota // a plain value with its own grammar
	Word                   // one of a list of words
	Listed                 // a list
	Fields                 // a map whose keys a table declares
	ByName                 // a map with arbitrary names as keys
	Choice                 // one of several forms
	PairShape              // two names
	Scheme                 // the name of a registered scheme, with its parameters
	Free                   // any value; its reader checks it
)

// Form describes the values that a key accepts.
type Form struct {
	Shape      Shape
	Text       string // as printed in the reference
	Words      []string
	Table      *Table
	Items      *Form  // form of the items of a list or of the values of a ByName map
	Any        []Form // alternatives of a choice
	SchemeKind string // kind of scheme: program, transport, …
	Extra      string // a word allowed in addition to the schemes' names
}

// Value returns the form of a plain value.
func Value(text string) Form { return Form{Text: text} }

// OneOf returns the form of a value that is one of the words.
func OneOf(words ...string) Form { return Form{Shape: Word, Words: words, Text: ListWords(words)} }

// ListWords lists words as the reference does: in backquotes, the last one after "or".
func ListWords(words []string) string {
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

// ListOf returns the form of a list whose items have form f.
func ListOf(f Form, text string) Form { return Form{Shape: Listed, Items: &f, Text: text} }

// MapOf returns the form of a map with the keys of a table.
func MapOf(t *Table) Form {
	return Form{Shape: Fields, Table: t, Text: "`{" + strings.Join(t.KeyNames(), ", ") + "}`"}
}

// MapBy returns the form of a map from names to values of form f.
func MapBy(f Form, text string) Form { return Form{Shape: ByName, Items: &f, Text: text} }

// AnyOf returns the form of a value that has one of the given forms.
func AnyOf(text string, forms ...Form) Form { return Form{Shape: Choice, Any: forms, Text: text} }

// isByName reports whether a value can be a map with names as keys.
func (f Form) isByName() bool { return f.Shape == ByName || slices.ContainsFunc(f.Any, Form.isByName) }

// ListWords returns the words that a value can be, including results of the alternatives.
func (f Form) ListWords() []string {
	words := slices.Clone(f.Words)
	for _, x := range f.Any {
		words = append(words, x.ListWords()...)
	}
	return words
}

// Pair returns the form of a list of two names.
func Pair(text string) Form { return Form{Shape: PairShape, Text: text} }

// Registered returns the form of a scheme of a kind: its name, or its name with parameters.
func Registered(kind, text string, extra string) Form {
	return Form{Shape: Scheme, SchemeKind: kind, Text: text, Extra: extra}
}

// AnyValue returns the form of a value that its reader checks by itself.
func AnyValue(text string) Form { return Form{Shape: Free, Text: text} }

// Map is a map of a file, read by the table that declares its keys.
type Map struct {
	*Node
	reader *Reader
	table  *Table
	known  []string // names that errors list as allowed keys
}

// ViewMap reads t by a table and accepts all other keys, which other readers check. Errors list more in addition to the
// table's keys. It also marks t for SortKeys.
func (r *Reader) ViewMap(t *Node, table *Table, more ...string) Map {
	t.declared = true
	return Map{t, r, table, append(table.KeyNames(), more...)}
}

// ReadMap reads t by a table and notes an error for each key that is neither in the table nor in more, or if t is no
// map. It reports whether t is a map. It also marks t for SortKeys.
func (r *Reader) ReadMap(t *Node, table *Table, more ...string) (Map, bool) {
	m := r.ViewMap(t, table, more...)
	return m, r.CheckKeys(t, table.KeyNoun, m.known)
}

// ViewMap reads a map of a file by the table, for callers that report no errors.
func (t *Table) ViewMap(n *Node) Map { return Map{Node: n, table: t} }

// GetEntries returns the entries of a key whose form is a map from names to values, or nil if the file has no map
// there. It panics if the key is not declared as such a map.
func (m Map) GetEntries(name string) []Entry {
	if !m.table.FindKey(name).Form.isByName() {
		panic("the names in " + name + " are read, but not declared: " + m.table.KeyNoun)
	}
	if v := m.Node.Find(name); v != nil && v.Kind == Mapping {
		return v.Keys
	}
	return nil
}

// Get returns the value of a declared key, or nil. It panics if the key is not declared.
func (m Map) Get(name string) *Node {
	m.table.FindKey(name)
	return m.Node.Find(name)
}

// GetDefault returns the value of a key. If the file lacks the key, it fills in the default and returns it. It panics
// if the key is not declared or has no default.
func (m Map) GetDefault(name string) *Node {
	k := m.table.FindKey(name)
	return m.valueOr(k, k.Default, k.Source)
}

// GetDefaultWhen works as GetDefault, with the default that the key declares for the given case. It panics if the key
// declares no such case.
func (m Map) GetDefaultWhen(name, when string) *Node {
	k := m.table.FindKey(name)
	for _, c := range k.Cases {
		if c.When == when {
			return m.valueOr(k, c.Default, c.Source)
		}
	}
	panic("the key " + name + " has no default for " + when)
}

// GetDefaultAs works as GetDefault, with a default that follows from the rest of the file.
func (m Map) GetDefaultAs(name, text, source string) *Node {
	return m.valueOr(m.table.FindKey(name), text, source)
}

// valueOr returns the value of a key, or fills in text with its source and returns that. It panics if text is empty.
func (m Map) valueOr(k *Key, text, source string) *Node {
	if v := m.Node.Find(k.Name); v != nil {
		return v
	}
	if text == "" {
		panic("the key " + k.Name + " has no default: " + m.table.KeyNoun)
	}
	if list, ok := strings.CutPrefix(text, "["); ok {
		return m.fillList(k.Name, strings.TrimSuffix(list, "]"), source)
	}
	return m.fill(k.Name, text, source)
}

// fillList works as fill for a list of plain values, separated by ", ".
func (t *Node) fillList(name, items, source string) *Node {
	v := &Node{Position: t.Position, Kind: List, From: defaultOf + source}
	for _, x := range strings.Split(items, ", ") {
		v.Items = append(v.Items, &Node{Position: t.Position, Text: x})
	}
	t.Set(name, v)
	return v
}

// FailMissing notes that the map lacks a key, or that an unknown key was probably meant to be this one. It panics if
// the key is not declared.
func (m Map) FailMissing(name, format string, args ...any) {
	m.reader.FailMissing(m.Node, name, m.table.KeyNoun, m.known, m.table.FindKey(name).Example, format, args...)
}
