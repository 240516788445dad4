package experiment

import (
	"reflect"
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// measuredSection has what runs measure, and how results are judged: ratios, claims, and which values are best.
type measuredSection struct {
	kinds       []measure.Definition
	names       measure.Values // names and units of what runs measure, without values
	view        claim.View     // for claims
	ratios      []claim.Ratio
	claims      []*claim.Compiled
	best        map[string]measure.Better // by measure or measure.group
	competitors map[string]bool           // by traffic and group of hosts: others share the network with it
}

// Kind returns the kind of measure with the given name; the zero Definition for other names, such as those that a kind
// also records: fct_written.
func (m *measuredSection) Kind(name string) measure.Definition {
	for _, k := range m.kinds {
		if k.Name == name {
			return k
		}
	}
	return measure.Definition{}
}

// Judged returns the measures that are compared between simulator and lab: those that define a tolerance.
func (m *measuredSection) Judged() (names []string) {
	for _, k := range m.kinds {
		if k.Tolerance.IsSet() {
			names = append(names, k.Name)
		}
	}
	return names
}

// shape returns the names of what runs measure, without values. It is shared: readRatios appends to it.
func (m *measuredSection) shape() *measure.Values { return &m.names }

// readRatios reads the ratio list. Plots and claims can name ratios like any measure. It adds them to the measures of
// runs. The other measures must be known.
func (m *measuredSection) readRatios(d *reader, t *document.Node) {
	if t == nil {
		return
	}
	names := m.shape()
	m.ratios = m.view.ReadRatios(d.Reader, t, names.Measures)
	for i := range m.ratios {
		names.Measures = append(names.Measures, m.ratios[i].Shape(names.Measures))
	}
}

// Ratios returns, by run, the measures divided by their values at the reference points.
func (m *measuredSection) Ratios(runs []claim.FinishedRun) [][]measure.Measured {
	return m.view.ComputeRatios(m.ratios, runs)
}

// RatioReference returns the reference point of a ratio in words; "" for other measures.
func (m *measuredSection) RatioReference(name string) string {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.ratios[i].ReferenceName()
		}
	}
	return ""
}

// Measures returns the measures of runs and the ratios, with names, units and groups but without values.
func (m *measuredSection) Measures() []measure.Measured { return slices.Clone(m.shape().Measures) }

// valueNames returns the names of single values: measures without groups, and the groups of the others.
func (m *measuredSection) valueNames() (names []string) {
	for i := range m.shape().Measures {
		x := &m.shape().Measures[i]
		if x.Groups == nil {
			names = append(names, x.Name)
		}
		for _, g := range x.Groups {
			names = append(names, valueName(x.Name, g.Group))
		}
	}
	return names
}

// KindOf returns the kind of measure that records values of a name, such as fct for fct_p99. For a ratio it is the kind
// of the divided measure. A kind with exactly this name has priority, then the longest name. It returns the zero
// Definition if no kind records the name.
func (m *measuredSection) KindOf(name string) (kind measure.Definition) {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.KindOf(m.ratios[i].Of)
		}
	}
	for _, k := range m.kinds {
		if k.RecordsName(name) && len(k.Name) >= len(kind.Name) && kind.Name != name {
			kind = k
		}
	}
	return kind
}

// Parts returns the names of two values: the number of things that a mean covers, and the number that was requested;
// false if it covers all.
func (m *measuredSection) Parts(name string) (parts [2]string, ok bool) {
	kind := m.KindOf(name)
	parts, ok = kind.Parts[name]
	return parts, ok
}

// directions maps the words of the key best to their meaning.
var directions = map[string]measure.Better{"higher": measure.Higher, "lower": measure.Lower, "none": measure.Neither}

// direction is the form of a value of best.
var direction = document.OneOf("higher", "lower", "none")

// readBest reads which values of measures are best. The names of measures and groups must be known. It reports an error
// for unknown names and words.
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
			d.FailUnknown(k.Position, "measure", k.Name, names)
			continue
		}
		if word := d.ReadWord(k.Value, "direction", direction.Words); slices.Contains(direction.Words, word) {
			m.best[k.Name] = directions[word]
		}
	}
}

// Better returns which of two values of a measure and group is the better one. group is "" for a measure without
// groups. An entry of the file for the group, or else for the measure, has priority. Otherwise the kind of measure
// decides. Values of one traffic, or of one group of hosts, among several have no best direction, since one may gain
// what another loses.
func (m *measuredSection) Better(name, group string) measure.Better {
	if group != "" {
		if b, ok := m.best[valueName(name, group)]; ok {
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

// kindDirection returns the direction that the kind of measure defines. A ratio has the direction of the measure that
// it divides.
func (m *measuredSection) kindDirection(name string) measure.Better {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.kindDirection(m.ratios[i].Of)
		}
	}
	kind := m.KindOf(name)
	return kind.BetterOf(name)
}

// isCompeting reports whether a group of values belongs to one traffic or one group of hosts, and others share the
// network with it at some point. It is false for values without a group.
func (m *measuredSection) isCompeting(group string) bool {
	name, _, _ := strings.Cut(group, " ") // "a p99" is a percentile of group a
	if name == "" {
		return false
	}
	return m.competitors[name]
}

// valueName returns the name of a measure, or of one of its groups, in expressions.
func valueName(m, group string) string {
	if group == "" {
		return m
	}
	return m + "." + group
}

// Conditions returns the keys of the sweep that vary the conditions for schemes: the network, the offered load, times
// and events. Points that differ in one of them are not compared, since they have no better one. The other keys vary
// alternatives.
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

// findDiffering returns the first two points that differ only in key k: one has its first value and the other has value
// i. further is the distance of their combinations. It returns nil, nil if there are no such points. With numbers, the
// sweep's omissions, it searches for a pair.
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

// maxCompared limits the flows that are compared individually.
const maxCompared = 100000

// sameConditions reports whether two points have the same network, flows, times and events. The parameters of
// transports without a controller count, since they define the offered load. Of many flows it compares only the first
// maxCompared.
func sameConditions(p, q *Point) bool {
	if p.measured.Duration != q.measured.Duration || p.measured.Warmup != q.measured.Warmup ||
		len(p.entries) != len(q.entries) ||
		p.flows.count != q.flows.count || !reflect.DeepEqual(p.stalls, q.stalls) || p.repeats != q.repeats ||
		p.restartsDraws != q.restartsDraws || !reflect.DeepEqual(p.measured.Events, q.measured.Events) ||
		p.measured.Network != q.measured.Network && !reflect.DeepEqual(p.measured.Network, q.measured.Network) {
		return false
	}
	for i := range p.entries {
		a, b := &p.entries[i], &q.entries[i]
		if a.measured.Name != b.measured.Name || a.startLow != b.startLow || a.startHigh != b.startHigh || a.stop != b.stop ||
			!reflect.DeepEqual(a.generator, b.generator) || !sameJob(a, b) {
			return false
		}
		if a.cc == nil && b.cc == nil && a.measured.Transport == b.measured.Transport && !a.measured.Transport.Gauged &&
			!reflect.DeepEqual(a.transportConfig, b.transportConfig) {
			return false
		}
	}
	for i := range min(p.flows.count, maxCompared) {
		a, b := p.flows.flowAt(i), q.flows.flowAt(i)
		if a.Traffic != b.Traffic || a.Src != b.Src || a.Dst != b.Dst || a.Size != b.Size || a.Start != b.Start {
			return false
		}
	}
	return true
}

// Listing has the columns of result tables in their order, and the keys that sort their rows. An empty list selects
// the default.
type Listing struct {
	Columns []string // measures, or measures with a group; * matches any characters
	Sort    []string // keys of the sweep, or names as in Columns; with the suffix Descending the largest is first
}

// Descending is the suffix of a name in Sort that sorts the largest value first.
const Descending = ":desc"

// tables has the keys of a Listing.
var tables = &document.Table{KeyNoun: "tables key", Doc: "default columns and order of tables",
	Keys: []document.Key{
		{Name: "columns", Form: namesForm, Doc: "measures, or `measure.group`, in this order; `*` stands for any characters",
			Without: "all"},
		{Name: "sort", Form: namesForm, Doc: "keys of the sweep or columns; with `:desc`, the largest value first",
			Without: "in the order of the sweep"},
	}}

// Listing returns the columns and the order of tables that the file defines.
func (s *Spec) Listing() Listing {
	return Listing{slices.Clone(s.listing.Columns), slices.Clone(s.listing.Sort)}
}

// readTables reads into s.listing how tables are listed; t may be nil. The names of measures must be known. Unknown
// names are errors, and are kept.
func (s *Spec) readTables(d *reader, t *document.Node) {
	if t == nil {
		return
	}
	x, ok := d.ReadMap(t, tables)
	if !ok {
		return
	}
	var measures, names []string // allowed names of columns, and of Sort
	for i := range s.shape().Measures {
		measures = append(measures, s.shape().Measures[i].Name)
	}
	for _, dim := range s.sweep {
		names = append(names, dim.Key)
	}
	names = append(names, s.valueNames()...)
	for _, v := range d.readWords(x.Get("columns")) {
		if !slices.ContainsFunc(s.shape().Measures, func(m measure.Measured) bool { return matchesMeasure(v.Text, &m) }) {
			s.view.FailMeasure(d.Reader, v.Position, v.Text, measures)
		}
		s.listing.Columns = append(s.listing.Columns, v.Text)
	}
	for _, v := range d.readWords(x.Get("sort")) {
		name := strings.TrimSuffix(v.Text, Descending)
		if !slices.Contains(names, name) {
			d.FailUnknown(v.Position, "sort key", name, names)
		}
		s.listing.Sort = append(s.listing.Sort, v.Text)
	}
}

// matchesMeasure reports whether a word names a measure or one of its groups.
func matchesMeasure(word string, m *measure.Measured) bool {
	return MatchesValue(word, m.Name, "") || slices.ContainsFunc(m.Groups, func(g measure.GroupValue) bool {
		return MatchesValue(word, m.Name, g.Group)
	})
}

// MatchesValue reports whether a word names a value: its measure, or measure and group. * matches any characters.
func MatchesValue(word, measure, group string) bool {
	return matchesPattern(word, measure) || group != "" && matchesPattern(word, measure+"."+group)
}

// matchesPattern reports whether a name matches a pattern. * matches any characters.
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
