//go:build !race

// Left out of race: long simulations that start no goroutines of their own.

package cli

import (
	"testing"

	"weir/core/dataplane/dataplanetest"
	"weir/internal/testkit/fusedtest"
)

// TestEveryFusedList checks that every list of the binary's fusible programs gives the same results as by hooks.
func TestEveryFusedList(t *testing.T) {
	programs := Registry().Programs
	r := fusedtest.CompareFused(t, dataplanetest.RunDirect, programs, 4)
	if n := len(fusedtest.SortRoles(programs).Offers); n < 5 || len(r.Fused) < 50 {
		t.Errorf("%d programs have a part, and %d lists of them are fused", n, len(r.Fused))
	}
}
