package experiment

import (
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/claim"
	"weir/study/measure"
)

// measuredSection is what runs have, and how they are judged: ratios, claims, and which values are best.
type measuredSection struct {
	kinds       []measure.Kind
	names       measure.Values // what runs have, without values
	view        claim.View     // of claims
	ratios      []claim.Ratio
	claims      []*claim.Compiled
	best        map[string]measure.Better // by measure or measure.group
	competitors map[string]bool           // by traffic and group of hosts: others share the network with it
}

// Kind is the kind of measure whose name a recorded value bears; the zero Kind for what a kind
// records under a name that is not its own, such as fct_written.
func (m *measuredSection) Kind(name string) measure.Kind {
	for _, k := range m.kinds {
		if k.Name == name {
			return k
		}
	}
	return measure.Kind{}
}

// Judged are the measures whose values are compared between simulator and lab.
func (m *measuredSection) Judged() (names []string) {
	for _, k := range m.kinds {
		if k.Near.Given() {
			names = append(names, k.Name)
		}
	}
	return names
}

// shape is what runs of the spec have, with nothing in it but names.
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

// Ratios are the measures of runs over those of their reference points, by run.
func (m *measuredSection) Ratios(runs []claim.Sample) [][]measure.Measured {
	return m.view.Ratios(m.ratios, runs)
}

// Over says which point a measure that is a ratio has as its reference; "" for others.
func (m *measuredSection) Over(name string) string {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.ratios[i].Over()
		}
	}
	return ""
}

// Measures are the names of what its runs have.
func (m *measuredSection) Measures() []measure.Measured { return slices.Clone(m.shape().Measures) }

// valueNames are the measures that are one number, and the groups of the others.
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

// KindOf is the kind of measure that records values of a name, also of such as fct_p99; a ratio's is that of what it
// divides. It is the zero Kind if none does.
func (m *measuredSection) KindOf(name string) (kind measure.Kind) {
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

// Parts are the names of how many things a mean is of, and of how many it was to be; false: it is of all there are.
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
		d.Fail(t.Place, "{goodput.a: higher, queue: none}", "best is %v", t.Kind)
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
			d.Unknown(k.Place, "measure", k.Name, names)
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
	if m.competes(group) {
		return measure.Neither
	}
	return m.direction(name)
}

// direction decides by the kind of measure which of two values is the better one. A ratio has the direction of the
// measure that it divides.
func (m *measuredSection) direction(name string) measure.Better {
	for i := range m.ratios {
		if m.ratios[i].Name == name {
			return m.direction(m.ratios[i].Of)
		}
	}
	kind := m.KindOf(name)
	return kind.Of(name)
}

// competes reports whether a group of values belongs to one traffic or one group of hosts, and a point has others that
// share the network with it.
func (m *measuredSection) competes(group string) bool {
	name, _, _ := strings.Cut(group, " ") // "a p99" is a percentile of a
	if name == "" {
		return false
	}
	return m.competitors[name]
}

// nameOf is a measure, or one of its groups, as expressions have it.
func nameOf(m, group string) string {
	if group == "" {
		return m
	}
	return m + "." + group
}
