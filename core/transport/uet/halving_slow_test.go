//go:build slow

package uet_test

import "testing"

// TestHalvingDoublingSeeds runs more seeds, and three operations in a row, where hosts lose their lockstep in the
// simulator, too.
func TestHalvingDoublingSeeds(t *testing.T) {
	for _, x := range []halvingRuns{{0, 1, 753, 768, 0, 17}, {20, 1, 1052, 1096, 403, 541}, {0, 3, 2283, 3347, 2, 3241}} {
		x.check(t, 5, 0.05)
	}
}
