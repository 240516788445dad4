package sim

import "weir/core/unit"

// stalling is when hosts stand still.
type stalling struct {
	every  float64 // mean gap, in ps
	at     unit.Time
	random unit.Random
}

func newStalling(c *Config) *stalling {
	s := &stalling{every: float64(c.Stalls.Every), at: unit.Never}
	if c.Stalls.Length > 0 {
		s.random, s.at = unit.NewRandom(c.Wiring.Seed, "stalls"), 0
		s.next()
	}
	return s
}

// next goes on to the next stall, at least 1 ps later.
func (s *stalling) next() { s.at += 1 + unit.Time(s.random.ExpFloat64()*s.every) }

// standStill has all hosts stand still from now until a time.
func (r *Simulation) standStill(now, until unit.Time) {
	for _, h := range r.hosts {
		if h != nil {
			h.beginStall(until)
			r.fabric.Wake(int(h.node), now)
		}
	}
}
