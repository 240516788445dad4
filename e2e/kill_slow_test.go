//go:build slow

package e2e

import "testing"

// TestKillEverywhere kills a sweep with traces at each moment of each of its operations.
func TestKillEverywhere(t *testing.T) {
	c := newKilledCommand(t, traced(writeKinds(t, "2")))
	all := make([]int, len(c.points))
	for i := range all {
		all[i] = i
	}
	c.killAt(t, all)
}

// TestKillEverywhereByNeed checks that decisions after a kill equal those of the undisturbed command if the number
// of seeds follows from the measured values.
func TestKillEverywhereByNeed(t *testing.T) {
	c := newKilledCommand(t, traced(writeKinds(t, fourByNeed)))
	var points []int
	for i := 0; i < len(c.points); i += 5 { // a prime: all moments of all kinds of operations
		points = append(points, i)
	}
	c.killAt(t, points)
}
