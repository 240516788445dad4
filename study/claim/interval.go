package claim

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MeanInterval returns the mean of a sample and half the width of its 95 %
// interval by Student's t; NaN for the width of a sample of one.
func MeanInterval(x []float64) (mean, half float64) {
	n := float64(len(x))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range x {
		mean += v
	}
	mean /= n
	if n < 2 {
		return mean, math.NaN()
	}
	squares := 0.0
	for _, v := range x {
		squares += float64((v - mean) * (v - mean))
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 1}.Quantile(0.975)
	return mean, t * math.Sqrt(squares/(n-1)/n)
}
