package experiment

import (
	"slices"
	"strings"

	"weir/internal/document"
	"weir/study/measure"
)

// directions are the words of the key best, with what they mean.
var directions = map[string]measure.Better{"higher": measure.Higher, "lower": measure.Lower, "none": measure.Neither}

// direction is the form of a value of best.
var direction = document.OneOf("higher", "lower", "none")

// decodeBest reads which value of a measure is the best. It needs the names of measures and groups.
func (s *Spec) decodeBest(d *decoder) {
	t := top.Of(s.root).Get("best")
	if t == nil {
		return
	}
	if t.Kind != document.Mapping {
		d.Fail(t.Place, "{goodput.a: higher, queue: none}", "best is %v", t.Kind)
		return
	}
	var names []string
	for i := range s.shape().Measures {
		names = append(names, s.shape().Measures[i].Name)
	}
	for _, name := range s.valueNames() {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	s.best = map[string]measure.Better{}
	for _, k := range t.Keys {
		if !slices.Contains(names, k.Name) {
			d.Unknown(k.Place, "measure", k.Name, names)
			continue
		}
		if word := d.Word(k.Value, "direction", direction.Words); slices.Contains(direction.Words, word) {
			s.best[k.Name] = directions[word]
		}
	}
}

// Better decides which of two values of a measure and group is the better one; "" is the group of a measure without
// groups. What the file says of the group or else of the measure comes first. Otherwise the kind of measure decides. A
// value of one traffic among several, or of one group of hosts among several, has no best direction: what one gains,
// another may lose.
func (s *Spec) Better(name, group string) measure.Better {
	if group != "" {
		if b, ok := s.best[nameOf(name, group)]; ok {
			return b
		}
	}
	if b, ok := s.best[name]; ok {
		return b
	}
	if s.competes(group) {
		return measure.Neither
	}
	return s.direction(name)
}

// direction decides by the kind of measure which of two values is the better one. A ratio has the direction of the
// measure that it divides.
func (s *Spec) direction(name string) measure.Better {
	for i := range s.ratios {
		if s.ratios[i].Name == name {
			return s.direction(s.ratios[i].Of)
		}
	}
	kind := s.KindOf(name)
	return kind.Of(name)
}

// competes reports whether a group of values belongs to one traffic or one group of hosts, and a point has others that
// share the network with it.
func (s *Spec) competes(group string) bool {
	name, _, _ := strings.Cut(group, " ") // "a p99" is a percentile of a
	if name == "" {
		return false
	}
	for _, p := range s.points {
		if len(p.entries) > 1 && slices.ContainsFunc(p.entries, func(t Traffic) bool { return t.Name() == name }) ||
			len(p.seen.Groups) > 1 && slices.ContainsFunc(p.seen.Groups, func(g measure.Group) bool { return g.Name == name }) {
			return true
		}
	}
	return false
}
