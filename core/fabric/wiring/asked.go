package wiring

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// Usage returns the resources of a pipeline that switches use, by node; nil: a host, or a program does not report
// them.
func (w *Wiring) Usage() []*dataplane.Usage {
	return askSwitches(w, (*dataplane.Switch).Usage)
}

// Steering returns the work of switches' control planes until now, by node; nil: a host, or no control plane reports.
func (w *Wiring) Steering(now unit.Time) []*dataplane.Steering {
	return askSwitches(w, func(s *dataplane.Switch) (dataplane.Steering, bool) { return s.Steering(now) })
}

// askSwitches calls read for each switch and returns the results by node; nil for hosts and where read returns false.
func askSwitches[T any](w *Wiring, read func(*dataplane.Switch) (T, bool)) []*T {
	all := make([]*T, len(w.Switches))
	for i, s := range w.Switches {
		if s == nil {
			continue
		}
		if t, ok := read(s); ok {
			all[i] = &t
		}
	}
	return all
}
