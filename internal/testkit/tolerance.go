package testkit

import (
	"math"
	"testing"
)

// Tolerance limits the difference between a measured and an expected value. The larger one of the two limits applies.
// The zero value allows no difference.
type Tolerance struct {
	Relative float64 // as a share of the expected value's magnitude
	Absolute float64 // in the values' unit
}

// IsNear reports whether got differs from want by at most the tolerance. NaN is near no value, and an infinite value
// is near itself only.
func IsNear(got, want float64, tolerance Tolerance) bool {
	if math.IsInf(got, 0) || math.IsInf(want, 0) {
		return got == want
	}
	return math.Abs(got-want) <= max(tolerance.Relative*math.Abs(want), tolerance.Absolute)
}

// CheckNear reports an error if got differs from want by more than the tolerance. The argument what names the value,
// with its unit where the type has none.
func CheckNear[Value ~int64 | ~float64](t testing.TB, what string, got Value, want float64, tolerance Tolerance) {
	t.Helper()
	if !IsNear(float64(got), want, tolerance) {
		t.Errorf("%s is %.12g, want %.12g ± %.3g", what, float64(got), want,
			max(tolerance.Relative*math.Abs(want), tolerance.Absolute))
	}
}
