//go:build slow

package experiment_test

import (
	"testing"

	"weir/study/experiment"
)

// TestLimitsOfManyPoints checks the limits of a sweep's points, with the maximum number for a machine.
func TestLimitsOfManyPoints(t *testing.T) {
	o := experiment.Options{Machine: 600e6}
	refused(t, flowing(1000000), "9 of the sweep's 10 points have 9000081 nodes, links and listed flows already", o)
	refused(t, differing(4000), "points take 300 MB of memory already", o)
}
