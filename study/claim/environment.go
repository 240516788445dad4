package claim

import (
	"strings"

	"weir/study/measure"
)

// environment is what an expression can name at a point: sweep keys and measures.
// A measure by flow size is slowdown_bins.traffic[0].p99.
func environment(point []measure.Coordinate, run *measure.Values) map[string]any {
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
		of, ok := env[b.Name+"_bins"].(map[string][]map[string]float64)
		if !ok {
			of = map[string][]map[string]float64{}
			env[b.Name+"_bins"] = of
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
		of[b.Traffic] = rows
	}
	return env
}

// sample is an environment with every name that a run of this spec has; the values
// do not matter.
func (s *View) sample() map[string]any {
	at := append([]measure.Coordinate(nil), s.Points[0]...)
	return environment(at, s.Shape())
}

// measures are the names of measures that an expression can name.
func (s *View) measures() map[string]any {
	out := map[string]any{}
	for _, m := range s.Shape().Measures {
		out[m.Name] = nil
	}
	for _, b := range s.Shape().Bins {
		out[b.Name+"_bins"] = nil
	}
	return out
}
