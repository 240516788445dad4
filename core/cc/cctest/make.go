package cctest

import (
	"fmt"

	"weir/core/cc"
	"weir/core/scheme"
	"weir/core/unit"
)

// Datacentre is a flow on a path that a data centre could have: 40 Gb/s of payload, 10 µs,
// three switches.
func Datacentre(seed uint64) cc.Flow {
	f := Flow(seed)
	f.LineRate, f.BaseRTT, f.Hops = 40*unit.Gbps, 10*unit.Microsecond, 3
	return f
}

// Make builds a scheme's controller with its defaults but for what given names:
// parameter, value, parameter, value, as an experiment file would write them.
func Make(s cc.Scheme, f cc.Flow, given ...string) (cc.Controller, error) {
	if len(given)%2 > 0 {
		return nil, fmt.Errorf("%s: a parameter without a value", s.Name)
	}
	values := map[string]any{}
	for _, p := range s.Params {
		v, err := scheme.Parse(p.Kind, p.Default)
		if err != nil {
			return nil, fmt.Errorf("%s: default of %s: %w", s.Name, p.Name, err)
		}
		values[p.Name] = v
		for i := 0; i < len(given); i += 2 {
			if given[i] != p.Name {
				continue
			}
			if values[p.Name], err = scheme.Parse(p.Kind, given[i+1]); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.Name, p.Name, err)
			}
		}
	}
	for i := 0; i < len(given); i += 2 {
		if _, ok := values[given[i]]; !ok {
			return nil, fmt.Errorf("%s has no parameter %s", s.Name, given[i])
		}
	}
	return s.Build(f, scheme.NewValues(s.Name, values))
}
