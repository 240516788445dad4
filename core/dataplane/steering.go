package dataplane

import "weir/core/unit"

// Steered is a program whose control plane moves ports between groups.
type Steered interface {
	Program
	// Steering is what it has done until now.
	Steering(now unit.Time) Steering
}

// Steering is a control plane's work, and what came of it.
type Steering struct {
	Events, Lost, Writes uint64    // events that came; those that it had no room for; changes of tables
	Busy                 unit.Time // spent with writes
	Groups               []Occupancy
}

// Occupancy is the share of the time that ports have been in a group, on average over the ports.
type Occupancy struct {
	Group string
	Share float64
}

// Steering is that of the first of the switch's programs that is Steered.
func (s *Switch) Steering(now unit.Time) (x Steering, ok bool) {
	for _, p := range s.config.Programs {
		if steered, is := p.(Steered); is {
			return steered.Steering(now), true
		}
	}
	return x, false
}
