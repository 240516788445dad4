package cctest

import (
	"weir/core/cc"
	"weir/core/unit"
)

// NewDatacentreFlow returns a flow on a path of a data centre: 40 Gb/s of payload, 10 µs, three switches.
func NewDatacentreFlow(seed uint64) cc.Flow {
	return NewFlow(seed, SetPath(cc.Path{LineRate: 40 * unit.Gbps, BaseRTT: 10 * unit.Microsecond, Hops: 3}))
}

// BuildController builds a scheme's controller with its defaults except for the given parameters: name, value, name,
// value, as in an experiment file.
func BuildController(s cc.Scheme, f cc.Flow, given ...string) (cc.Controller, error) {
	c, err := s.Configure(given...)
	if err != nil {
		return nil, err
	}
	return s.Build(f, c)
}
