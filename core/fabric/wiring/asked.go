package wiring

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// Usage is what switches take of a pipeline, by node; nil: a host, or a program does not report it.
func (w *Wiring) Usage() []*dataplane.Usage {
	return asked(w, (*dataplane.Switch).Usage)
}

// Steering is what control planes of switches have done until now, by node; nil: a host, or none that tells.
func (w *Wiring) Steering(now unit.Time) []*dataplane.Steering {
	return asked(w, func(s *dataplane.Switch) (dataplane.Steering, bool) { return s.Steering(now) })
}

// asked asks all switches.
func asked[T any](w *Wiring, what func(*dataplane.Switch) (T, bool)) []*T {
	all := make([]*T, len(w.Switches))
	for i, s := range w.Switches {
		if s == nil {
			continue
		}
		if t, ok := what(s); ok {
			all[i] = &t
		}
	}
	return all
}
