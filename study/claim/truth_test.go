package claim

import (
	"fmt"
	"math"
	"testing"
)

// TestByInterval checks that a comparison holds if all of the interval of its difference does, fails if no part of it
// does, and is undecided between. Both ends count, and a difference of 0 meets bounds that include it.
func TestByInterval(t *testing.T) {
	for _, c := range []struct {
		op         string
		mean, half float64
		value      ternary
		margin     float64
	}{
		{"<", -2, 1, yes, 2}, {"<", -1, 1, maybe, 1}, {"<", 1, 1, no, -1}, {"<", 0, 0, no, 0},
		{"<=", -1, 1, yes, 1}, {"<=", 1, 1, maybe, -1}, {"<=", 2, 1, no, -2}, {"<=", 0, 0, yes, 0},
		{">", 2, 1, yes, 2}, {">", 1, 1, maybe, 1}, {">", -1, 1, no, -1}, {">", 0, 0, no, 0},
		{">=", 1, 1, yes, 1}, {">=", -1, 1, maybe, -1}, {">=", -2, 1, no, -2}, {">=", 0, 0, yes, 0},
		{"==", 0, 0, yes, 0}, {"==", 0, 1, maybe, 0}, {"==", 2, 1, no, -2}, {"==", -2, 1, no, -2},
		{"!=", 0, 0, no, 0}, {"!=", 0, 1, maybe, 0}, {"!=", 2, 1, yes, 2}, {"!=", -2, 1, yes, 2},
	} {
		t.Run(fmt.Sprintf("%g ± %g %s 0", c.mean, c.half, c.op), func(t *testing.T) {
			if value, margin := judgeInterval(c.op, c.mean, c.half); value != c.value || margin != c.margin {
				t.Errorf("%v by %g, want %v by %g", value, margin, c.value, c.margin)
			}
		})
	}
}

// TestPlainNumbers checks that a plain number is never written as if it had a unit: 7.219 m would be metres.
func TestPlainNumbers(t *testing.T) {
	for _, c := range []struct {
		v          float64
		unit, want string
	}{
		{0.007219, "", "0.007219"}, {-0.0001234567, "", "-0.0001235"}, {0, "", "0"}, {0.92, "", "0.92"},
		{1.25, "", "1.25"}, {12345, "", "12.35 k"}, {0.004, "packets", "0.004 packets"}, {0.004, "s", "4 ms"},
		{0.25, "bytes", "0.25 B"}, {3e6, "bps", "3 Mb/s"}, {math.NaN(), "", "NaN"},
	} {
		if got := formatValue(c.v, c.unit); got != c.want {
			t.Errorf("%v in %q is %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}
