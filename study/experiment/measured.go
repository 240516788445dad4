package experiment

import (
	"reflect"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// measuredSection is what runs have, and how they are judged: ratios, claims, and which values are best.
type measuredSection struct {
	kinds       []measure.Definition
	names       measure.Values // what runs have, without values
	view        claim.View     // of claims
	ratios      []claim.Ratio
	claims      []*claim.Compiled
	best        map[string]measure.Better // by measure or measure.group
	competitors map[string]bool           // by traffic and group of hosts: others share the network with it
}

// Kind returns the kind of measure with the name of a recorded value. It returns the zero Kind for what a kind records
// under another name, such as fct_written.
func (m *measuredSection) Kind(name string) measure.Definition {
	for _, k := range m.kinds {
		if k.Name == name {
			return k
		}
	}
	return measure.Definition{}
}

// Judged returns the measures whose values are compared between simulator and lab.
func (m *measuredSection) Judged() (names []string) {
	for _, k := range m.kinds {
		if k.Near.Given() {
			names = append(names, k.Name)
		}
	}
	return names
}

// shape returns the names of what runs of the spec have, without values.
func (m *measuredSection) shape() *measure.Values { return &m.names }

// readRatios reads the ratio list. Plots and claims can name what it has like any measure.
func (m *measuredSection) readRatios(d *reader, t *document.Node) {
	if t == nil {
		return
	}
	names := m.shape()
	m.ratios = m.view.DecodeRatios(d.Reader, t, names.Measures)
	for i := range m.ratios {
		names.Measures = append(names.Measures, m.ratios[i].Shape(names.Measures))
	}
}

// Ratios returns the measures of runs over those of their reference points, by run.
func (m *measuredSection) Ratios(runs []claim.FinishedRun) [][]measure.Measured {
	return m.view.Ratios(m.ratios, runs)
}

// Over returns which point a measure that is a ratio has as its reference; "" for others.
func (m *measuredSection) Over(name string) string {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.ratios[i].Over()
		}
	}
	return ""
}

// Measures returns the names of the measures that runs have.
func (m *measuredSection) Measures() []measure.Measured { return slices.Clone(m.shape().Measures) }

// valueNames returns the measures that are one number, and the groups of the others.
func (m *measuredSection) valueNames() (names []string) {
	for i := range m.shape().Measures {
		x := &m.shape().Measures[i]
		if x.Groups == nil {
			names = append(names, x.Name)
		}
		for _, g := range x.Groups {
			names = append(names, nameOf(x.Name, g.Group))
		}
	}
	return names
}

// KindOf returns the kind of measure that records values of a name, also of such as fct_p99; a ratio's is that of what
// it divides. It is the zero Kind if none does.
func (m *measuredSection) KindOf(name string) (kind measure.Definition) {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.KindOf(m.ratios[i].Of)
		}
	}
	for _, k := range m.kinds {
		if k.Records(name) && len(k.Name) >= len(kind.Name) && kind.Name != name {
			kind = k
		}
	}
	return kind
}

// Parts returns the names of how many things a mean is of, and of how many it was to be; false: it is of all there are.
func (m *measuredSection) Parts(name string) (parts [2]string, ok bool) {
	kind := m.KindOf(name)
	parts, ok = kind.Parts[name]
	return parts, ok
}

// directions are the words of the key best, with what they mean.
var directions = map[string]measure.Better{"higher": measure.Higher, "lower": measure.Lower, "none": measure.Neither}

// direction is the form of a value of best.
var direction = document.OneOf("higher", "lower", "none")

// readBest reads which value of a measure is the best. It needs the names of measures and groups.
func (m *measuredSection) readBest(d *reader, t *document.Node) {
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Position, "{goodput.a: higher, queue: none}", "best is %v", t.Kind)
		return
	}
	var names []string
	for i := range m.shape().Measures {
		names = append(names, m.shape().Measures[i].Name)
	}
	for _, name := range m.valueNames() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	m.best = map[string]measure.Better{}
	for _, k := range t.Keys {
		if !slices.Contains(names, k.Name) {
			d.Unknown(k.Position, "measure", k.Name, names)
			continue
		}
		if word := d.Word(k.Value, "direction", direction.Words); slices.Contains(direction.Words, word) {
			m.best[k.Name] = directions[word]
		}
	}
}

// Better decides which of two values of a measure and group is the better one; "" is the group of a measure without
// groups. What the file says of the group or else of the measure comes first. Otherwise the kind of measure decides. A
// value of one traffic among several, or of one group of hosts among several, has no best direction: what one gains,
// another may lose.
func (m *measuredSection) Better(name, group string) measure.Better {
	if group != "" {
		if b, ok := m.best[nameOf(name, group)]; ok {
			return b
		}
	}
	if b, ok := m.best[name]; ok {
		return b
	}
	if m.isCompeting(group) {
		return measure.Neither
	}
	return m.kindDirection(name)
}

// kindDirection decides by the kind of measure which of two values is the better one. A ratio has the direction of the
// measure that it divides.
func (m *measuredSection) kindDirection(name string) measure.Better {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.kindDirection(m.ratios[i].Of)
		}
	}
	kind := m.KindOf(name)
	return kind.Of(name)
}

// isCompeting reports whether a group of values belongs to one traffic or one group of hosts, and a point has others
// that share the network with it.
func (m *measuredSection) isCompeting(group string) bool {
	name, _, _ := strings.Cut(group, " ") // "a p99" is a percentile of a
	if name == "" {
		return false
	}
	return m.competitors[name]
}

// nameOf returns a measure, or one of its groups, as expressions have it.
func nameOf(m, group string) string {
	if group == "" {
		return m
	}
	return m + "." + group
}

// Conditions returns the keys of the sweep that vary what a scheme has to cope with: the network, what is sent over it,
// times and events. Points that differ in one of them are not compared with each other, for none of them is better;
// what the other keys vary are alternatives.
func (s *Spec) Conditions() (keys []string) {
	step := 1
	for k := len(s.sweep) - 1; k >= 0; k-- {
		n := len(s.sweep[k].Values)
		for i := 1; i < n; i++ {
			if p, q := s.findDiffering(k, i, i*step); q != nil && !sameConditions(p, q) {
				keys = append(keys, s.sweep[k].Key)
				break
			}
		}
		step *= n
	}
	slices.Reverse(keys)
	return keys
}

// findDiffering returns the first two points that differ in key k alone, in which one has the first value and the other
// has value i, so many combinations further on; nil if there are none.
func (s *Spec) findDiffering(k, i, further int) (p, q *Point) {
	if s.numbers == nil {
		if further < len(s.points) {
			return s.points[0], s.points[further]
		}
		return nil, nil
	}
	for n, number := range s.numbers {
		if s.indexOf(number)[k] != i {
			continue
		}
		if first, ok := slices.BinarySearch(s.numbers, number-further); ok {
			return s.points[first], s.points[n]
		}
	}
	return nil, nil
}

// maxCompared bounds the flows that are compared one by one.
const maxCompared = 100000

// sameConditions reports whether two points have the same network, flows, times and events. What sends without a
// controller is offered load with all its parameters, among them the rate.
func sameConditions(p, q *Point) bool {
	if p.seen.Duration != q.seen.Duration || p.seen.Warmup != q.seen.Warmup || len(p.entries) != len(q.entries) ||
		p.flows.n != q.flows.n || !reflect.DeepEqual(p.stalls, q.stalls) || p.repeats != q.repeats ||
		p.anew != q.anew || !reflect.DeepEqual(p.seen.Events, q.seen.Events) ||
		p.seen.Network != q.seen.Network && !reflect.DeepEqual(p.seen.Network, q.seen.Network) {
		return false
	}
	for i := range p.entries {
		a, b := &p.entries[i], &q.entries[i]
		if a.seen.Name != b.seen.Name || a.startLow != b.startLow || a.startHigh != b.startHigh || a.stop != b.stop ||
			!reflect.DeepEqual(a.generator, b.generator) || !sameJob(a, b) {
			return false
		}
		if a.cc == nil && b.cc == nil && a.seen.Transport == b.seen.Transport && !a.seen.Transport.Gauged &&
			!reflect.DeepEqual(a.transportConfig, b.transportConfig) {
			return false
		}
	}
	for i := range min(p.flows.n, maxCompared) {
		a, b := p.flows.at(i), q.flows.at(i)
		if a.Traffic != b.Traffic || a.Src != b.Src || a.Dst != b.Dst || a.Size != b.Size || a.Start != b.Start {
			return false
		}
	}
	return true
}

// Listing has the columns of the tables of results, in their order, and the keys that sort their rows. An empty list
// stands for the usual one.
type Listing struct {
	Columns []string // measures, or measures with a group; * stands for any characters
	Sort    []string // keys of the sweep, or such names; with Descending the largest first
}

// Descending is what a name of Sort ends with whose largest value comes first.
const Descending = ":desc"

// tables are the keys of a Listing.
var tables = &document.Table{What: "key of tables", Doc: "how results are listed", Keys: []document.Key{
	{Name: "columns", Form: manyNames, Doc: "measures, or `measure.group`, in this order; `*` stands for any characters",
		Without: "all"},
	{Name: "sort", Form: manyNames, Doc: "keys of the sweep, or such names; with `:desc` the largest first",
		Without: "by the sweep"},
}}

// Listing returns the columns and the order of tables, unless reports are asked for others.
func (s *Spec) Listing() Listing {
	return Listing{slices.Clone(s.listing.Columns), slices.Clone(s.listing.Sort)}
}

// readTables reads how tables are listed, when measures are known.
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
		if !slices.ContainsFunc(s.shape().Measures, func(m measure.Measured) bool { return matchesMeasure(v.Text, &m) }) {
			d.Unknown(v.Position, "measure", v.Text, measures)
		}
		s.listing.Columns = append(s.listing.Columns, v.Text)
	}
	for _, v := range d.readWords(x.Get("sort")) {
		name := strings.TrimSuffix(v.Text, Descending)
		if !slices.Contains(names, name) {
			d.Unknown(v.Position, "key of the sweep or value", name, names)
		}
		s.listing.Sort = append(s.listing.Sort, v.Text)
	}
}

// matchesMeasure reports whether a word means a measure, or a group of it.
func matchesMeasure(word string, m *measure.Measured) bool {
	return Named(word, m.Name, "") || slices.ContainsFunc(m.Groups, func(g measure.Grouped) bool {
		return Named(word, m.Name, g.Group)
	})
}

// Named reports whether a word means a value: its measure, or measure and group, with * for any characters.
func Named(word, measure, group string) bool {
	return matchesPattern(word, measure) || group != "" && matchesPattern(word, measure+"."+group)
}

// matchesPattern reports whether a name fits a pattern in which * stands for any characters.
func matchesPattern(pattern, name string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, first) {
		return false
	}
	name = name[len(first):]
	for i := range len(name) + 1 {
		if matchesPattern(rest, name[i:]) {
			return true
		}
	}
	return false
}
