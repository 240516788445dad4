package experiment

import (
	"fmt"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// variable is what a block of the sweep says a $name stands for.
type variable struct {
	document.Entry
	used bool
}

// substitute replaces every $name: by the value of a sweep key, or by what a block
// defines. A value that stands for one is of this point alone: what is read out of it is
// not written back into the file's tree; what is read out of a block is, into the block.
func (d *decoder) substitute(t *document.Node, at []measure.Coordinate, places []document.Place, variables []variable,
	used map[string]bool) {
	for _, x := range t.Items {
		d.substitute(x, at, places, variables, used)
	}
	for _, k := range t.Keys {
		d.substitute(k.Value, at, places, variables, used)
	}
	if t.Kind != document.Scalar || !strings.HasPrefix(t.Text, "$") {
		return
	}
	name := t.Text[1:]
	var names []string
	for i := range variables {
		if v := &variables[i]; v.Name == name {
			v.used = true
			*t = *document.Copy(v.Value)
			t.Bound = t.Kind == document.Scalar
			return
		}
		names = append(names, "$"+variables[i].Name)
	}
	for i, c := range at {
		if c.Key == name {
			d.Bound[t.Place] = fmt.Sprintf("$%s is %q at %s:%d:%d", name, c.Text, places[i].File, places[i].Line,
				places[i].Column)
			t.Text, t.Bound, t.Orig = c.Text, true, nil
			used[name] = true
			return
		}
		names = append(names, "$"+c.Key)
	}
	d.Unknown(t.Place, "sweep key", t.Text, names)
}

// mentions collects the names that stand as $name anywhere in a file.
func mentions(t *document.Node, names map[string]bool) map[string]bool {
	for _, x := range t.Items {
		mentions(x, names)
	}
	for _, k := range t.Keys {
		mentions(k.Value, names)
	}
	if name, ok := strings.CutPrefix(t.Text, "$"); ok && t.Kind == document.Scalar {
		names[name] = true
	}
	return names
}

// overlay puts a block of the sweep into the root. The maps topology, switches and
// switches.<name> are merged; what lies deeper (a scheduler and its parameters) is
// replaced.
func overlay(root, block *document.Node, depth int) {
	for _, k := range block.Keys {
		if old := root.Find(k.Name); depth < 2 && old != nil && old.Kind == document.Mapping &&
			k.Value.Kind == document.Mapping {
			overlay(old, k.Value, depth+1)
			continue
		}
		root.Set(k.Name, k.Value)
	}
}
