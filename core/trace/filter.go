package trace

import (
	"path"

	"weir/core/unit"
)

// Filter selects the records that match all of its fields. An empty field matches every record, and so does the zero
// Filter.
type Filter struct {
	Kinds    []EventKind
	Ports    []string  // patterns, * stands for any characters
	Nodes    []string  // patterns
	Flows    []int64   // numbers
	Hosts    []string  // patterns; source or destination
	From, To unit.Time // From ≤ time < To; To = 0: no end
}

// Match reports whether the filter selects r. A pattern of Hosts may match either end.
func (f *Filter) Match(r *Record) bool {
	if r.At < f.From || f.To > 0 && r.At >= f.To {
		return false
	}
	return matchesAny(f.Kinds, func(k EventKind) bool { return k == r.Kind }) &&
		matchesAny(f.Ports, func(p string) bool { return matchesName(p, r.Port) }) &&
		matchesAny(f.Nodes, func(p string) bool { return matchesName(p, r.Node) }) &&
		matchesAny(f.Flows, func(n int64) bool { return n == r.Flow }) &&
		matchesAny(f.Hosts, func(p string) bool { return matchesName(p, r.Src) || matchesName(p, r.Dst) })
}

// matchesAny reports whether matches is true for one item of the list. It is true for an empty list.
func matchesAny[T any](list []T, matches func(T) bool) bool {
	for _, x := range list {
		if matches(x) {
			return true
		}
	}
	return len(list) == 0
}

// matchesName reports whether name matches pattern (path.Match) or equals it.
func matchesName(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil || pattern == name
}
