package claim

import (
	"strings"

	"weir/study/measure"
)

// newEnvironment returns what an expression can name at a point: sweep keys and measures. A measure by flow size is
// slowdown_bins.traffic[0].p99, for example. A measure with groups is a map by group. run may be nil: then it has only
// sweep keys.
func newEnvironment(point []measure.Coordinate, run *measure.Values) map[string]any {
	env := map[string]any{}
	for _, c := range point {
		if c.IsNum {
			env[c.Key] = c.Value
		} else {
			env[c.Key] = c.Text
		}
	}
	if run == nil {
		return env
	}
	for _, m := range run.Measures {
		if m.Groups == nil {
			env[m.Name] = m.Value
			continue
		}
		groups := map[string]float64{}
		for _, g := range m.Groups {
			groups[g.Group] = g.Value
		}
		env[m.Name] = groups
	}
	for i := range run.Bins {
		b := &run.Bins[i]
		byTraffic, ok := env[b.Name+"_bins"].(map[string][]map[string]float64)
		if !ok {
			byTraffic = map[string][]map[string]float64{}
			env[b.Name+"_bins"] = byTraffic
		}
		rows := []map[string]float64{}
		for _, x := range b.Bins {
			row := map[string]float64{"from": float64(x.FromBytes), "to": float64(x.ToBytes), "n": float64(x.N),
				"mean": float64(x.Mean)}
			for k, p := range b.Percentiles {
				row[strings.TrimPrefix(measure.PercentileName("", p), "_")] = float64(x.Percentiles[k])
			}
			rows = append(rows, row)
		}
		byTraffic[b.Traffic] = rows
	}
	return env
}

// sampleEnvironment returns an environment with every name that a run of this experiment has. Its values have no
// meaning. s.Points must not be empty.
func (s *View) sampleEnvironment() map[string]any {
	point := append([]measure.Coordinate(nil), s.Points[0]...)
	return newEnvironment(point, s.Shape())
}

// measureNames returns the set of measures that an expression can name.
func (s *View) measureNames() map[string]any {
	out := map[string]any{}
	for _, m := range s.Shape().Measures {
		out[m.Name] = nil
	}
	for _, b := range s.Shape().Bins {
		out[b.Name+"_bins"] = nil
	}
	return out
}
