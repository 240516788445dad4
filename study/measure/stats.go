package measure

import (
	"math"
	"strconv"
	"strings"
)

// jainIndex returns (Σx)²/(n·Σx²); NaN if all are 0, and without a value.
func jainIndex(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += v
		squares += float64(v * v)
	}
	return sum * sum / (float64(len(x)) * squares)
}

// standardDeviation returns the sample's standard deviation, with n−1; NaN for fewer than two values.
func standardDeviation(x []float64) float64 {
	middle, squares := mean(x), 0.0
	for _, v := range x {
		squares += float64((v - middle) * (v - middle))
	}
	if len(x) < 2 {
		return math.NaN()
	}
	return math.Sqrt(squares / float64(len(x)-1))
}

// mean returns the arithmetic mean; NaN without a value.
func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// PercentileName returns the name of a measure's p-th percentile, p from 0 to 100: fct_p99, fct_p99_9.
func PercentileName(measure string, p float64) string {
	return measure + "_p" + strings.ReplaceAll(strconv.FormatFloat(p, 'f', -1, 64), ".", "_")
}

// percentileGroup returns the name of a percentile's group: p99_9.
func percentileGroup(p float64) string { return PercentileName("", p)[1:] }

// percentile returns the p-th percentile of ascending values by nearest rank, p from 0 to 100; NaN with fewer than ten
// values beyond it, on the side where there are fewer.
func percentile(sorted []float64, p float64) float64 {
	k := percentileRank(uint64(len(sorted)), p)
	if k == 0 {
		return math.NaN()
	}
	return sorted[k-1]
}

// percentileRank returns the p-th percentile's place among n sorted values, counted from 1; 0 if there are too few
// values. It allows for rounding: of 10,000 values ten are beyond the 99.9th percentile.
func percentileRank(n uint64, p float64) uint64 {
	const rounding = 1e-9
	if float64(n)*min(p, 100-p)/100 < 10-rounding {
		return 0
	}
	return min(uint64(math.Ceil(float64(n)*p/100-rounding)), n)
}
