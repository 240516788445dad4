package p4abc_test

import (
	"slices"
	"testing"

	"weir/study/claim"
	"weir/study/results"
	"weir/study/spec"
)

// hold fails for every claim of an outcome that does not hold, but for those that its points do not bear on.
func hold(t *testing.T, o *results.Outcome, beside ...string) {
	t.Helper()
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds && !(c.N == 0 && slices.Contains(beside, c.ID)) {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// Flows of one user share its part fairly, TCP beside a blast of its own user included, and other users keep theirs.
func TestFlowsOfOneUser(t *testing.T) {
	hold(t, carryOut(t, "p4abc/flows", spec.Options{Set: []string{"repeat=1", "duration=20s"}}))
}

// §3.4: reference rates share as weights, at rates and round trips from 10 Mb/s to 1 Gb/s and from 2 to 100 ms, with
// one flow each and with many against few.
func TestReferencesShare(t *testing.T) {
	paths := []string{"100Mbps_20ms", "10Mbps_100ms"}
	if thorough {
		paths = append(paths, "10Mbps_2ms", "1Gbps_2ms")
	}
	for _, path := range paths {
		t.Run(path, func(t *testing.T) {
			hold(t, carryOut(t, "p4abc/references", spec.Options{Set: []string{"repeat=1", "references=1_2_4", "path=" + path}}),
				"references.shares", "references.far", "references.equal")
		})
	}
}

// Delay classes, §3.4: the first is fast, starves none and gives no throughput, with TCP and a blast, near and far.
func TestDelayClasses(t *testing.T) {
	if !thorough {
		hold(t, carryOut(t, "p4abc/delay-classes", spec.Options{Quick: true}))
		return
	}
	hold(t, carryOut(t, "p4abc/delay-classes", spec.Options{Set: []string{"repeat=1", "duration=20s"}}))
	hold(t, carryOut(t, "p4abc/delay-classes-scaled", spec.Options{Set: []string{"repeat=1", "path=far"}}),
		"delay-scaled.call.slow", "delay-scaled.call.fast")
}

// Delay by user: under ABC all wait alike, no longer than its queue; in the first class a call does not wait.
func TestDelayByUser(t *testing.T) {
	hold(t, carryOut(t, "p4abc/delay-users", spec.Options{Set: []string{"repeat=1", "duration=20s"}}))
}
