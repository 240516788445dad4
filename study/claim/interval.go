package claim

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/mathext"
)

// confidence is the confidence level of reports and verdicts.
const confidence = 0.95

// MeanInterval returns the mean of a sample and half the width of its 95 % interval by Student's t. The width is NaN
// for fewer than two values, and the mean without values.
func MeanInterval(x []float64) (mean, half float64) {
	mean, deviation := meanError(x)
	return mean, IntervalQuantile(len(x), confidence) * deviation
}

// quantileKey has what a quantile depends on: the size of the sample and the confidence.
type quantileKey struct {
	n          int
	confidence float64
}

// quantiles caches computed quantiles by quantileKey: a report needs the same few for every mean.
var quantiles sync.Map

// IntervalQuantile returns half the width of the interval of a mean, in standard errors, with a sample of n values and
// a confidence. It is the quantile of Student's t at (1 + confidence)/2, with n − 1 degrees of freedom; NaN for n below
// 2.
func IntervalQuantile(n int, confidence float64) float64 {
	if n < 2 {
		return math.NaN()
	}
	key := quantileKey{n, confidence}
	if known, ok := quantiles.Load(key); ok {
		return known.(float64)
	}
	q := StudentQuantile((1+confidence)/2, float64(n-1))
	quantiles.Store(key, q)
	return q
}

// StudentQuantile returns the quantile of Student's t at p, between 0.5 and 1, with the given degrees of freedom. It
// is equal to the result of gonum's package distuv to the last bit, but does not link gonum's linear algebra.
func StudentQuantile(p, freedom float64) float64 {
	t := mathext.InvRegIncBeta(freedom/2, 0.5, 2*(1-p))
	return math.Sqrt(freedom * (1 - t) / t)
}

// RelativeWidth returns half the width of the interval of a sample's mean divided by the mean's absolute value.
// quantile is the sample's IntervalQuantile. The result is 0 if the whole sample is 0, infinite if only the mean is 0,
// and NaN if a value is NaN or there are fewer than two values.
func RelativeWidth(x []float64, quantile float64) float64 {
	mean, deviation := meanError(x)
	half := quantile * deviation
	if half == 0 && mean == 0 {
		return 0
	}
	return half / math.Abs(mean)
}

// meanError returns the mean of a sample and its standard error, which is NaN for fewer than two values. Without
// values, the mean is NaN too.
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
