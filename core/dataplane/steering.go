package dataplane

import "weir/core/unit"

// ControlPlane is a program with a control plane that moves ports between groups.
type ControlPlane interface {
	Program
	// Steering returns the work of the control plane until now.
	Steering(now unit.Time) Steering
}

// Steering is the work of a control plane, and its result.
type Steering struct {
	Events, Lost, Writes uint64    // events that arrived; events dropped for lack of room; changes of tables
	Busy                 unit.Time // time spent with writes
	Groups               []Occupancy
}

// Occupancy is the share of time that ports have spent in a group, on average over the ports.
type Occupancy struct {
	Group string
	Share float64
}

// SubtractUntil returns the part of the work until now that was done after startTime. priorWork is the work until
// startTime. If now is not after startTime, the shares of the groups stay those of s.
func (s Steering) SubtractUntil(priorWork Steering, startTime, now unit.Time) Steering {
	s.Events, s.Lost, s.Writes = s.Events-priorWork.Events, s.Lost-priorWork.Lost, s.Writes-priorWork.Writes
	s.Busy -= priorWork.Busy
	if now <= startTime {
		return s
	}
	all := make([]Occupancy, len(s.Groups))
	for i, g := range s.Groups {
		spent := float64(g.Share * now.Seconds())
		if i < len(priorWork.Groups) { // at time 0 a control plane may have no groups yet
			spent -= float64(priorWork.Groups[i].Share * startTime.Seconds())
		}
		all[i] = Occupancy{Group: g.Group, Share: spent / (now - startTime).Seconds()}
	}
	s.Groups = all
	return s
}

// Steering returns the work of the switch's first program that is a ControlPlane; ok is false if there is no such
// program.
func (s *Switch) Steering(now unit.Time) (x Steering, ok bool) {
	for _, p := range s.config.Programs {
		if steered, is := p.(ControlPlane); is {
			return steered.Steering(now), true
		}
	}
	return x, false
}
