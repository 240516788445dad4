package claim

import (
	"fmt"
	"testing"
)

// A comparison holds if all of the interval of its difference does, fails if none does, and is
// undecided between: both ends count, and a difference of 0 meets bounds that include it.
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
			if value, margin := byInterval(c.op, c.mean, c.half); value != c.value || margin != c.margin {
				t.Errorf("%v by %g, want %v by %g", value, margin, c.value, c.margin)
			}
		})
	}
}
