package claim

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// confidence is that of reports and verdicts.
const confidence = 0.95

// MeanInterval returns the mean of a sample and half the width of its 95 %
// interval by Student's t; NaN for the width of a sample of one.
func MeanInterval(x []float64) (mean, half float64) {
	mean, deviation := meanError(x)
	return mean, Quantile(len(x), confidence) * deviation
}

// sample is what a quantile depends on.
type sample struct {
	n          int
	confidence float64
}

// quantiles holds the quantiles computed so far, by sample: a report needs the same few for every mean.
var quantiles sync.Map

// Quantile is by how many standard errors the interval of a mean goes to either side of it, for a sample of so many
// and a confidence: the quantile of Student's t at (1 + confidence)/2, with n − 1 degrees of freedom; NaN below two.
func Quantile(n int, confidence float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	key := sample{n, confidence}
	if known, ok := quantiles.Load(key); ok {
		return known.(float64)
	}
	q := StudentQuantile((1+confidence)/2, float64(n-1))
	quantiles.Store(key, q)
	return q
}

// StudentQuantile returns the quantile of Student's t at p, between 0.5 and 1, with that many degrees of freedom. It is
// that of gonum's package distuv to the last bit, with which a program would link gonum's linear algebra, too.
func StudentQuantile(p, freedom float64) float64 {
	t := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-p))
	return math.Sqrt(freedom * (1 - t) / t)
}

// Share is half of the interval of a sample's mean over its absolute value, with the sample's Quantile: 0 if all of
// the sample is 0, infinite if only the mean is, and NaN if a value is not defined.
func Share(x []float64, quantile float64) float64 {
	mean, deviation := meanError(x)
	half := quantile * deviation
	if half == 0 && mean == 0 {
		return 0
	}
	return half / math.Abs(mean)
}

// meanError returns the mean of a sample and its standard error; NaN for that of a sample of one.
func meanError(x []float64) (mean, deviation float64) {
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
	return mean, math.Sqrt(squares / (n - 1) / n)
}
