package experiment

import (
	"fmt"

	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/document"
	"weir/internal/pcapng/pcapflows"
	"weir/internal/switchfile"
)

// decoder turns trees into values and notes what is wrong.
type decoder struct {
	*document.Reader
	tree      *document.Node    // what is decoded; nothing changes it
	defaults  document.Defaults // of the points so far
	mentions  map[string]bool   // names that the file uses, be it in a block that this point has not
	registry  *Registry
	placement switchfile.Placement // of the programs
	trial     Trial
	machine   float64 // bytes of memory that it has; 0: not known
	source    *Source
	warnings  []Warning
	issued    map[Warning]bool   // all: kept in warnings, or counted in similar
	similar   map[similarity]int // warnings
	networks  routedNetworks
	flows     flowList                     // of the point before
	built     map[string]bool              // what decides whether switches can be built, of the points so far
	files     []string                     // the files that the point in hand reads, with their hashes
	inputs    map[string][]byte            // the files that any point reads, by the name in the spec
	bufferAt  []document.Place             // by link of the point's network, where its buffer is given
	limits    []limit                      // of queues, of the point in hand
	named     directory                    // the nodes and links of its network
	groups    map[string][]int             // hosts by the name that the file gives them, of the point in hand
	around    surroundings                 // of the point in hand
	jobs      map[string]*Job              // by all that decides them
	captures  map[string]*pcapflows.Source // by what of them is wanted
	// incomplete: there is no network or no traffic
	incomplete  bool
	telemetryAt document.Place // of the program that writes telemetry
	ideally     bool           // an ideal network carries what the point in hand has
	before      int            // how much was wrong before the traffic in hand
	matches     int            // names that its patterns were compared with

	trafficKeys []string // all keys of a traffic, once trafficWords has listed them
}

// fine reports whether nothing is wrong with the traffic in hand so far.
func (d *decoder) fine() bool { return d.Count() == d.before }

// limit is a bound of a queue in bytes, and where it is given.
type limit struct {
	document.Place
	bytes unit.Bytes
}

// word reads one of a key's words.
func (d *decoder) word(t *document.Node, table *document.Table, key string) string {
	return d.Word(t, key, table.Key(key).Form.Words)
}

// warn issues a warning about a place in the file.
func (d *decoder) warn(kind scheme.WarningKind, at document.Place, format string, args ...any) {
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
func (d *decoder) issue(w Warning) {
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
func (d *decoder) countSimilar() {
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
