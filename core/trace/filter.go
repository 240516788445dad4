package trace

import (
	"path"

	"weir/core/unit"
)

// Filter picks records: those that have all that it asks for. The zero value asks
// for nothing and picks all.
type Filter struct {
	Kinds    []EventKind
	Ports    []string  // patterns, * stands for any characters
	Nodes    []string  // patterns
	Flows    []int64   // numbers
	Hosts    []string  // patterns; source or destination
	From, To unit.Time // From ≤ time < To; To = 0: no end
}

// Match reports whether the filter picks r.
func (f *Filter) Match(r *Record) bool {
	if r.At < f.From || f.To > 0 && r.At >= f.To {
		return false
	}
	return one(f.Kinds, func(k EventKind) bool { return k == r.Kind }) &&
		one(f.Ports, func(p string) bool { return like(p, r.Port) }) &&
		one(f.Nodes, func(p string) bool { return like(p, r.Node) }) &&
		one(f.Flows, func(n int64) bool { return n == r.Flow }) &&
		one(f.Hosts, func(p string) bool { return like(p, r.Src) || like(p, r.Dst) })
}

// one reports whether one of the list matches; an empty list matches everything.
func one[T any](list []T, right func(T) bool) bool {
	for _, x := range list {
		if right(x) {
			return true
		}
	}
	return len(list) == 0
}

func like(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil || pattern == name
}
