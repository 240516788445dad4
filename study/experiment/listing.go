package experiment

import (
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// Listing is what the file says of the tables of results: which columns they have, in which order, and by what their
// rows are sorted. What is empty is as usual.
type Listing struct {
	Columns []string // measures, or measures with a group; * stands for any characters
	Sort    []string // keys of the sweep, or such names; with Descending the largest first
}

// Descending is what a name of Sort ends with whose largest value comes first.
const Descending = ":desc"

// tables are its keys.
var tables = &document.Table{What: "key of tables", Doc: "how results are listed", Keys: []document.Key{
	{Name: "columns", Form: manyNames, Doc: "measures, or `measure.group`, in this order; `*` stands for any characters",
		Without: "all"},
	{Name: "sort", Form: manyNames, Doc: "keys of the sweep, or such names; with `:desc` the largest first",
		Without: "by the sweep"},
}}

// Listing is what reports show unless they are asked for others.
func (s *Spec) Listing() Listing {
	return Listing{slices.Clone(s.listing.Columns), slices.Clone(s.listing.Sort)}
}

// readTables reads them, when measures are known.
func (s *Spec) readTables(d *reader, t *document.Node) {
	if t == nil {
		return
	}
	x, ok := d.Map(t, tables)
	if !ok {
		return
	}
	var measures, names []string // that a column, and that an order can have
	for i := range s.shape().Measures {
		measures = append(measures, s.shape().Measures[i].Name)
	}
	for _, dim := range s.sweep {
		names = append(names, dim.Key)
	}
	names = append(names, s.valueNames()...)
	for _, v := range d.readWords(x.Get("columns")) {
		if !slices.ContainsFunc(s.shape().Measures, func(m measure.Measured) bool { return means(v.Text, &m) }) {
			d.Unknown(v.Place, "measure", v.Text, measures)
		}
		s.listing.Columns = append(s.listing.Columns, v.Text)
	}
	for _, v := range d.readWords(x.Get("sort")) {
		name := strings.TrimSuffix(v.Text, Descending)
		if !slices.Contains(names, name) {
			d.Unknown(v.Place, "key of the sweep or value", name, names)
		}
		s.listing.Sort = append(s.listing.Sort, v.Text)
	}
}

// readWords are the texts of a list, or one.
func (d *reader) readWords(t *document.Node) (words []*document.Node) {
	for _, v := range items(t) {
		if d.Text(v); v.Kind == document.Scalar {
			words = append(words, v)
		}
	}
	return words
}

// means reports whether a word means a measure, or a group of it.
func means(word string, m *measure.Measured) bool {
	return Named(word, m.Name, "") || slices.ContainsFunc(m.Groups, func(g measure.Grouped) bool {
		return Named(word, m.Name, g.Group)
	})
}

// Named reports whether a word means a value: its measure, or measure and group, with * for any characters.
func Named(word, measure, group string) bool {
	return matches(word, measure) || group != "" && matches(word, measure+"."+group)
}

// matches reports whether a name fits a pattern in which * stands for any characters.
func matches(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for i := range len(name) + 1 {
		if matches(rest, name[i:]) {
			return true
		}
	}
	return false
}
