package document

import (
	"slices"
	"strings"
)

// Defaults are those that readers have filled into copies of a tree. A map may be read many times, once for each point
// of a sweep, and what is filled in then can depend on the point; then the tree has no one place for it.
type Defaults struct {
	found map[*Node]*filled // by node of the tree
	order []*Node
}

// filled is what all copies of a node have beside what the node has.
type filled struct {
	keys  []Entry // of a map
	named *Node   // of a name, which stands for a map with its parameters; nil: not in all copies
}

// Note takes the defaults of a copy that has been read.
func (d *Defaults) Note(t *Node) {
	if t.Orig != nil {
		d.note(t)
	}
	for _, x := range t.Items {
		d.Note(x)
	}
	for _, k := range t.Keys {
		if !k.Value.isDefault() {
			d.Note(k.Value)
		}
	}
}

func (d *Defaults) note(t *Node) {
	now := &filled{}
	switch {
	case t.Kind == Mapping && t.Orig.Kind == Mapping:
		for _, k := range t.Keys {
			if k.Value.isDefault() && t.Orig.Find(k.Name) == nil {
				now.keys = append(now.keys, k)
			}
		}
	case t.Kind == Mapping && t.Orig.Kind == Scalar:
		now.named = t
	}
	before := d.found[t.Orig]
	if before == nil {
		if d.found == nil {
			d.found = map[*Node]*filled{}
		}
		d.found[t.Orig] = now
		d.order = append(d.order, t.Orig)
		return
	}
	before.keys = slices.DeleteFunc(before.keys, func(k Entry) bool {
		return !slices.ContainsFunc(now.keys, func(x Entry) bool { return x.Name == k.Name && same(x.Value, k.Value) })
	})
	if before.named != nil && (now.named == nil || !same(before.named, now.named)) {
		before.named = nil
	}
}

// WriteShared writes into the tree the defaults that all of its copies had. A later reader fills in the others.
func (d *Defaults) WriteShared() {
	for _, t := range d.order {
		f := d.found[t]
		for _, k := range f.keys {
			t.Set(k.Name, Clone(k.Value))
		}
		if f.named != nil {
			named := Clone(f.named)
			named.From = t.From
			*t = *named
		}
	}
}

// isDefault reports whether a reader has filled a value in.
func (t *Node) isDefault() bool { return strings.HasPrefix(t.From, defaultOf) }

// defaultOf begins what says where a default is from.
const defaultOf = "default: "

// same reports whether two values have the same text.
func same(a, b *Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text &&
		slices.EqualFunc(a.Items, b.Items, same) &&
		slices.EqualFunc(a.Keys, b.Keys, func(x, y Entry) bool { return x.Name == y.Name && same(x.Value, y.Value) })
}

// Arrange sorts the keys of all maps in which they are declared, of tables and of parameters: what stands in the file
// and what is a default is then the same text. Keys that are names from the file stay in its order, which may mean
// something.
func (t *Node) Arrange() {
	if t.declared {
		slices.SortStableFunc(t.Keys, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, x := range t.Items {
		x.Arrange()
	}
	for _, k := range t.Keys {
		k.Value.Arrange()
	}
}
