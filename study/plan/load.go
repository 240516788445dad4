package plan

import (
	"slices"

	"weir/study/measure"
	"weir/study/spec"
	"weir/worlds/sim"
)

// Load reads an experiment and tries each of its points: what only constructors can know is an
// error of the file. Everything that is wrong comes back together as document.InputErrors.
func Load(r *spec.Registry, src *spec.Source, o spec.Options) (*spec.Spec, error) {
	return spec.Load(r, src, o, trial{})
}

// trial makes the first run of points.
type trial struct{}

func (trial) Build(p *spec.Point, whole bool) (samples float64, err error) {
	c, err := configure(p, 1, true)
	if err != nil {
		return 0, err
	}
	samples = measure.Samples(p.Measured(), c)
	if err = reduce(p, c); err == nil && whole {
		_, err = sim.New(c)
	}
	return samples, err
}

// reduce leaves the flows that have endpoints, and what is observed of them.
func reduce(p *spec.Point, c *sim.Config) error {
	all := len(c.Flows)
	c.Flows = slices.DeleteFunc(c.Flows, func(f sim.Flow) bool { return f.Receiver == nil })
	if len(c.Flows) == all {
		return nil
	}
	return p.Measures().Observe(p.Measured(), c)
}

func (trial) Shape(p *spec.Point) (names measure.Values) {
	if c, err := configure(p, 1, true); err == nil && reduce(p, c) == nil {
		names = p.Measures().Shape(p.Measured(), c)
	}
	return names
}
