package transport

import (
	"testing"

	"weir/unit"
)

func TestNackGate(t *testing.T) {
	var g NackGate
	for _, s := range []struct {
		now, rtt unit.Time
		want     bool
	}{{5, 0, true}, {6, 0, false}, {1000, 0, false}, {1000, 995, true}, {1994, 995, false}, {1995, 995, true}, {1996, 1, true}} {
		if got := g.Reduce(s.now, s.rtt); got != s.want {
			t.Errorf("at %d with a round trip of %d: %t", s.now, s.rtt, got)
		}
	}
}
