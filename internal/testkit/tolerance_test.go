package testkit

import (
	"math"
	"testing"
)

// failureCounter counts the errors of a check.
type failureCounter struct {
	testing.TB
	count int
}

func (*failureCounter) Helper()                 {}
func (f *failureCounter) Errorf(string, ...any) { f.count++ }

// TestIsNear has values at and beyond both limits, on both sides.
func TestIsNear(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, x := range []struct {
		got, want float64
		tolerance Tolerance
		near      bool
	}{
		{1, 1, Tolerance{}, true},
		{1, 1.0000001, Tolerance{}, false},
		{9, 8, Tolerance{Relative: 0.125}, true},
		{7, 8, Tolerance{Relative: 0.125}, true},
		{9.001, 8, Tolerance{Relative: 0.125}, false},
		{6.999, 8, Tolerance{Relative: 0.125}, false},
		{-9, -8, Tolerance{Relative: 0.125}, true},
		{9, -8, Tolerance{Relative: 0.125}, false},
		{0.5, 0, Tolerance{Relative: 0.125}, false},
		{0.5, 0, Tolerance{Absolute: 0.5}, true},
		{-0.5001, 0, Tolerance{Absolute: 0.5}, false},
		{9, 8, Tolerance{Relative: 0.125, Absolute: 0.5}, true},
		{2.5, 2, Tolerance{Relative: 0.125, Absolute: 0.5}, true},
		{2.75, 2, Tolerance{Relative: 0.125, Absolute: 0.5}, false}, // the limits do not add up
		{nan, 1, Tolerance{Relative: 1, Absolute: 1}, false},
		{1, nan, Tolerance{Relative: 1, Absolute: 1}, false},
		{nan, nan, Tolerance{Relative: 1, Absolute: 1}, false},
		{inf, inf, Tolerance{}, true},
		{-inf, inf, Tolerance{Relative: 1}, false},
		{1, inf, Tolerance{Relative: 1}, false},
		{inf, 1, Tolerance{Relative: 1}, false},
	} {
		if near := IsNear(x.got, x.want, x.tolerance); near != x.near {
			t.Errorf("%v and %v, %+v: near %v, want %v", x.got, x.want, x.tolerance, near, x.near)
		}
		f := &failureCounter{TB: t}
		if CheckNear(f, "value", x.got, x.want, x.tolerance); (f.count == 0) != x.near {
			t.Errorf("%v and %v, %+v: %d errors, near %v", x.got, x.want, x.tolerance, f.count, x.near)
		}
	}
}
