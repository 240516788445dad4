package dataplane

import (
	"math"
	"slices"

	"weir/core/unit"
)

// maxSamples limits the samples that are read from a program; the most important ones come first.
const maxSamples = 4096

// MetricNames returns the names of the metrics of the switch's programs, each once, in the programs' order.
func (s *Switch) MetricNames() (names []string) {
	for _, p := range s.config.Programs {
		if x, ok := p.(Metered); ok {
			for _, m := range x.Metrics() {
				if !slices.Contains(names, m.Name) {
					names = append(names, m.Name)
				}
			}
		}
	}
	return names
}

// MetricBits returns the sum of the programs' samples of a metric, as bits of a floating-point number; NaN if no
// program has the metric. Only the first maxSamples samples of a program count.
func (s *Switch) MetricBits(name string, now unit.Time) int64 {
	sum, found := 0.0, false
	for _, p := range s.config.Programs {
		x, ok := p.(Metered)
		if !ok {
			continue
		}
		metrics := x.Metrics()
		if !slices.ContainsFunc(metrics, func(m Metric) bool { return m.Name == name }) {
			continue
		}
		found = true
		if s.samples == nil {
			s.samples = make([]Sample, maxSamples)
		}
		for _, v := range s.samples[:x.Sample(now, s.samples)] {
			if metrics[v.Metric].Name == name {
				sum += v.Value
			}
		}
	}
	if !found {
		sum = math.NaN()
	}
	return int64(math.Float64bits(sum))
}
