package document

import (
	"slices"
	"strings"
)

// Defaults collects the defaults that readers filled into copies of a tree. A map may be read once for each point of
// a sweep, and a default may depend on the point. Such a default has no single place in the tree.
type Defaults struct {
	found map[*Node]*sharedDefaults // by node of the original tree
	order []*Node
}

// sharedDefaults are the defaults that all copies of a node have in common.
type sharedDefaults struct {
	keys  []Entry // of a map
	named *Node   // a name expanded to a map with its parameters; nil if some copy differs
}

// NoteDefaults records the defaults of a copy that has been read, and the defaults of its parts. The copies come from
// Copy.
func (d *Defaults) NoteDefaults(t *Node) {
	if t.Orig != nil {
		d.noteNode(t)
	}
	for _, x := range t.Items {
		d.NoteDefaults(x)
	}
	for _, k := range t.Keys {
		if !k.Value.isDefault() {
			d.NoteDefaults(k.Value)
		}
	}
}

// noteNode records the defaults of one node, which must be a copy, and drops those that other copies of it lack.
func (d *Defaults) noteNode(t *Node) {
	now := &sharedDefaults{}
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
			d.found = map[*Node]*sharedDefaults{}
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

// WriteShared writes the defaults that all copies have in common into the original tree. A later reader fills in the
// others.
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

// isDefault reports whether a reader filled in the value.
func (t *Node) isDefault() bool { return strings.HasPrefix(t.From, defaultOf) }

// defaultOf is the prefix of Node.From in a default.
const defaultOf = "default: "

// same reports whether two values have the same kind, text, items and keys.
func same(a, b *Node) bool {
	return a.Kind == b.Kind && a.Text == b.Text &&
		slices.EqualFunc(a.Items, b.Items, same) &&
		slices.EqualFunc(a.Keys, b.Keys, func(x, y Entry) bool { return x.Name == y.Name && same(x.Value, y.Value) })
}

// SortKeys sorts the keys of all maps that were read by a table or as parameters, so that a default and a key of the
// file produce the same text. Names that the file gives keep its order, which may matter.
func (t *Node) SortKeys() {
	if t.declared {
		slices.SortStableFunc(t.Keys, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	for _, x := range t.Items {
		x.SortKeys()
	}
	for _, k := range t.Keys {
		k.Value.SortKeys()
	}
}
