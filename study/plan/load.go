package plan

import (
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
	c, err := Config(p, 1)
	if err != nil {
		return 0, err
	}
	if whole {
		_, err = sim.New(c)
	}
	return measure.Samples(p.Measured(), c), err
}

func (trial) Shape(p *spec.Point) (names measure.Values) {
	if c, err := Config(p, 1); err == nil {
		names = p.Measures().Shape(p.Measured(), c)
	}
	return names
}
