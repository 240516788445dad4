package report

import (
	"math"
	"slices"

	"weir/study/experiment"
)

// Scale is the unit of a column or axis.
type Scale struct {
	Unit   string  // readable form, such as Mb/s
	Factor float64 // from base units
}

// scaleFor returns the unit with the prefix that fits the value highest. 0 means no defined value, and gets no prefix.
// unit is a measure's: bps, s, …, or share; an unknown one is returned unchanged.
func scaleFor(unit string, highest float64) Scale {
	prefixed := func(steps []Scale) Scale {
		if highest == 0 { // no defined value: no prefix
			for _, s := range steps {
				if s.Factor == 1 {
					return s
				}
			}
		}
		for _, s := range steps {
			if highest >= 1/s.Factor {
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
	case "share": // a share of a sweep, written in percent
		return Scale{"%", 100}
	}
	return Scale{unit, 1}
}

// unitScales chooses the units of a report: the same for all values of a kind of measure in all columns and tables,
// so that they are comparable.
type unitScales struct {
	spec       *experiment.Spec
	magnitudes map[string][]float64 // magnitudes of the values, by kind and unit
}

// newScales returns unitScales without values.
func newScales(s *experiment.Spec) *unitScales { return &unitScales{s, map[string][]float64{}} }

// kindKey returns the key of a kind of measure and a unit.
func (s *unitScales) kindKey(measureName, unit string) string {
	kind := measureName
	if s.spec != nil {
		if k := s.spec.KindOf(measureName); k.Name != "" {
			kind = k.Name
		}
	}
	return kind + "\n" + unit
}

// addValue records a value of a measure. It ignores 0 and undefined values.
func (s *unitScales) addValue(measureName, unit string, v float64) {
	if v != 0 && !math.IsNaN(v) && !math.IsInf(v, 0) {
		key := s.kindKey(measureName, unit)
		s.magnitudes[key] = append(s.magnitudes[key], math.Abs(v))
	}
}

// addPoints records the values of points, and returns s.
func (s *unitScales) addPoints(points []PointSummary) *unitScales {
	for i := range points {
		for _, v := range points[i].Values {
			s.addValue(v.Measure, v.Unit, v.Mean)
		}
	}
	return s
}

// chooseScale returns the unit of a measure, chosen so that the median of its values has a digit before the point.
// Without values the unit has no prefix.
func (s *unitScales) chooseScale(measureName, unit string) Scale {
	all := s.magnitudes[s.kindKey(measureName, unit)]
	if len(all) == 0 {
		return scaleFor(unit, 0)
	}
	sorted := slices.Sorted(slices.Values(all))
	return scaleFor(unit, sorted[(len(sorted)-1)/2])
}

// ChooseUnits returns a function that chooses units like reports do: the same for all values of a kind of measure in
// all given results.
func ChooseUnits(s *experiment.Spec, results ...[]PointSummary) func(measureName, unit string) Scale {
	x := newScales(s)
	for _, points := range results {
		x.addPoints(points)
	}
	return x.chooseScale
}
