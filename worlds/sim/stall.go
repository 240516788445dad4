package sim

import "weir/core/unit"

// stalling is the schedule of stalls.
type stalling struct {
	every     float64 // mean gap, in ps
	nextStall unit.Time
	random    unit.Random
}

// newStalling returns the schedule with the first stall; nextStall is unit.Never without stalls.
func newStalling(c *Config) *stalling {
	s := &stalling{every: float64(c.Stalls.Every), nextStall: unit.Never}
	if c.Stalls.Length > 0 {
		s.random, s.nextStall = unit.NewRandom(c.Wiring.Seed, "stalls"), 0
		s.scheduleNext()
	}
	return s
}

// scheduleNext moves on to the next stall, at least 1 ps later.
func (s *stalling) scheduleNext() { s.nextStall += 1 + unit.Time(s.random.ExpFloat64()*s.every) }

// standStill stalls all hosts from now until a time, and wakes them so that their timers are set.
func (r *Simulation) standStill(now, until unit.Time) {
	for _, h := range r.hosts {
		if h != nil {
			h.beginStall(until)
			r.fabric.WakeNode(int(h.node), now)
		}
	}
}
