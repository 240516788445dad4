package experiment

import (
	"fmt"

	"weir/core/scheme"
	"weir/internal/document"
)

// reader reads values of an experiment's file and the files that it names. It collects errors and warnings. The
// decoders of all sections share one.
type reader struct {
	*document.Reader
	registry *Registry
	source   *Source
	machine  float64           // bytes of memory of the machine; 0: not known
	inputs   map[string][]byte // the files that any point reads, by the name in the spec
	files    []string          // the files that the point in hand reads, with their hashes
	before   int               // errors before the traffic in hand
	warnings []Warning
	issued   map[Warning]bool   // all: kept in warnings, or counted in similar
	similar  map[similarity]int // warnings
}

// entryFine reports whether the traffic in hand has no error so far.
func (d *reader) entryFine() bool { return d.Count() == d.before }

// readWord reads one of a key's words.
func (d *reader) readWord(t *document.Node, table *document.Table, key string) string {
	return d.Word(t, key, table.Key(key).Form.Words)
}

// warn issues a warning about a place in the file.
func (d *reader) warn(kind scheme.WarningKind, at document.Place, format string, args ...any) {
	d.issue(document.Warn(kind, at, format, args...))
}

// similarity is what warnings have in common that differ in their texts only, as those about the points of a sweep may.
type similarity struct {
	id, port string
	at       document.Place
}

// maxSimilar limits how many of them are kept.
const maxSimilar = 3

// issue keeps a warning, once.
func (d *reader) issue(w Warning) {
	if d.issued[w] {
		return
	}
	if d.issued == nil {
		d.issued, d.similar = map[Warning]bool{}, map[similarity]int{}
	}
	d.issued[w] = true
	k := similarity{w.Kind.ID, w.Port, w.At}
	if d.similar[k]++; d.similar[k] <= maxSimilar {
		d.warnings = append(d.warnings, w)
	}
}

// countSimilar adds to the last of similar warnings that is kept how many more there are.
func (d *reader) countSimilar() {
	counted := map[similarity]bool{}
	for i := len(d.warnings) - 1; i >= 0; i-- {
		w := &d.warnings[i]
		k := similarity{w.Kind.ID, w.Port, w.At}
		if n := d.similar[k]; n > maxSimilar && !counted[k] {
			more := "; 1 more like this is about the same place"
			if n > maxSimilar+1 {
				more = fmt.Sprintf("; %d more like this are about the same place", n-maxSimilar)
			}
			w.Text += more
			counted[k] = true
		}
	}
}
