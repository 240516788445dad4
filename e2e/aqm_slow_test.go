//go:build slow

package e2e

import (
	"fmt"
	"testing"

	"weir/core/unit"
)

// TestStandingQueues checks that each scheme keeps the queue near its target and the link busy when flows of CUBIC
// fill one link. The link has up to a hundred times the rate, and many flows per host. Tail drop keeps its buffer
// full.
func TestStandingQueues(t *testing.T) {
	for _, m := range schemes {
		for _, x := range []struct {
			rate    unit.Rate
			flows   int // of three hosts each
			seconds float64
		}{{10 * unit.Mbps, 5, 20}, {100 * unit.Mbps, 5, 10}, {unit.Gbps, 16, 8}} {
			t.Run(fmt.Sprintf("%s, %v, %d flows", m.name, x.rate, 3*x.flows), func(t *testing.T) {
				m.holds(t, x.rate, x.flows, x.seconds)
			})
		}
	}
}
