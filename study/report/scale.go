package report

import (
	"math"
	"slices"

	"weir/study/experiment"
)

// Scale is the unit in which a column or axis is shown.
type Scale struct {
	Unit   string // as people write it: Mb/s
	Factor float64
}

// scaleFor chooses the unit of a quantity whose largest value is most.
func scaleFor(unit string, most float64) Scale {
	prefixed := func(steps []Scale) Scale {
		if most == 0 { // nothing, or nothing defined: no prefix
			for _, s := range steps {
				if s.Factor == 1 {
					return s
				}
			}
		}
		for _, s := range steps {
			if most >= 1/s.Factor {
				return s
			}
		}
		return steps[len(steps)-1]
	}
	switch unit {
	case "bps":
		return prefixed([]Scale{{"Gb/s", 1e-9}, {"Mb/s", 1e-6}, {"kb/s", 1e-3}, {"b/s", 1}})
	case "pps":
		return prefixed([]Scale{{"Mpps", 1e-6}, {"kpps", 1e-3}, {"pps", 1}})
	case "s":
		return prefixed([]Scale{{"s", 1}, {"ms", 1e3}, {"µs", 1e6}, {"ns", 1e9}})
	case "bytes":
		return prefixed([]Scale{{"GB", 1e-9}, {"MB", 1e-6}, {"kB", 1e-3}, {"bytes", 1}})
	case "":
		return Scale{"", 1}
	case "share": // of a sweep, which is written in percent
		return Scale{"%", 100}
	}
	return Scale{unit, 1}
}

// scales are the units of a report: one for all values of a kind of measure, in all columns and tables, so that they
// can be compared.
type scales struct {
	spec *experiment.Spec
	of   map[string][]float64 // what there is of each, by kind and unit
}

func newScales(s *experiment.Spec) *scales { return &scales{s, map[string][]float64{}} }

func (s *scales) key(measureName, unit string) string {
	kind := measureName
	if s.spec != nil {
		if k := s.spec.KindOf(measureName); k.Name != "" {
			kind = k.Name
		}
	}
	return kind + "\n" + unit
}

// see counts a value of a measure.
func (s *scales) see(measureName, unit string, v float64) {
	if v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		key := s.key(measureName, unit)
		s.of[key] = append(s.of[key], math.Abs(v))
	}
}

// seeAll counts the values of points.
func (s *scales) seeAll(points []PointSummary) *scales {
	for i := range points {
		for _, v := range points[i].Values {
			s.see(v.Measure, v.Unit, v.Mean)
		}
	}
	return s
}

// scale is a measure's unit: one in which half of its values have a digit before the point.
func (s *scales) scale(measureName, unit string) Scale {
	all := s.of[s.key(measureName, unit)]
	if len(all) == 0 {
		return scaleFor(unit, 0)
	}
	sorted := slices.Sorted(slices.Values(all))
	return scaleFor(unit, sorted[(len(sorted)-1)/2])
}

// Units chooses the units of values as reports do: one for all values of a kind of measure, of all points of all
// results that are shown together.
func Units(s *experiment.Spec, results ...[]PointSummary) func(measureName, unit string) Scale {
	x := newScales(s)
	for _, points := range results {
		x.seeAll(points)
	}
	return x.scale
}
