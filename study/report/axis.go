package report

import (
	"math"
	"slices"
)

// axisLabel returns the label of an axis, with the unit in brackets if there is one.
func axisLabel(name, unit string) string {
	if unit == "" {
		return name
	}
	return name + " [" + unit + "]"
}

// maxMagnitude returns the largest magnitude of the defined values; 0 without values.
func maxMagnitude(x []float64) float64 {
	m := 0.0
	for _, v := range x {
		if !math.IsNaN(v) {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

// minMax returns the smallest and the largest value; 0, 0 without values. If a value is NaN, both are.
func minMax(x []float64) (low, high float64) {
	if len(x) == 0 {
		return 0, 0
	}
	return slices.Min(x), slices.Max(x)
}

// baseUnit returns the readable form of a unit without a prefix.
func baseUnit(unit string) string {
	if unit == "bps" {
		return "b/s"
	}
	return unit
}

// growsByFactors reports whether values grow by factors rather than by steps, such as 1, 2, 4, 8, 16: their logarithms
// are more evenly spaced than the values. It is false for fewer than three different values, a value up to 0, and a
// range below a factor of 8.
func growsByFactors(x []float64) bool {
	x = slices.Compact(slices.Sorted(slices.Values(x)))
	if len(x) < 3 || x[0] <= 0 || x[len(x)-1] < 8*x[0] {
		return false
	}
	uneven := func(transform func(float64) float64) float64 {
		low, high := math.Inf(1), 0.0
		for i := 1; i < len(x); i++ {
			gap := transform(x[i]) - transform(x[i-1])
			low, high = min(low, gap), max(high, gap)
		}
		return high / low
	}
	return uneven(math.Log)*1.5 < uneven(func(v float64) float64 { return v })
}
