package p4abc_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/results"
	"weir/study/spec"
)

// hold fails for every claim of an outcome that does not hold.
func hold(t *testing.T, o *results.Outcome) {
	t.Helper()
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// Flows of one user share its part fairly, TCP beside a blast of its own user included, and other users keep theirs.
func TestFlowsOfOneUser(t *testing.T) {
	hold(t, carryOut(t, "p4abc/flows", spec.Options{Set: []string{"repeat=1", "duration=20s"}}))
}
