//go:build slow

package hpcc_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// HPCC §5.3 with a tenth to a fifth of the arrivals: every claim holds. HPCC's short flows are the fastest
// and its queues the shortest, and nothing is dropped; windows shorten the queues of DCQCN and TIMELY, and
// their pauses. HPCC pauses nobody with PFC's trigger as in the authors' simulator, and with incast somebody
// if the trigger is 11 % at every port.
func TestFlowCompletionTimes(t *testing.T) {
	for _, name := range []string{"websearch-50", "hadoop-30-incast", "hadoop-50-incast"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.CarryOut(t, library(), "hpcc/"+name, spec.Options{Quick: true}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// Flow control does not matter for HPCC (§5.3).
func TestFlowControl(t *testing.T) {
	for _, c := range runtest.CarryOut(t, library(), "hpcc/flow-control", spec.Options{Quick: true}).Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// Appendix A beside packets, in full: every claim holds.
func TestTheory(t *testing.T) {
	for _, name := range []string{"capture", "fairness", "fairness-beside", "convergence", "parking-lot", "mixed-nics",
		"clocks", "every-nth"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.CarryOut(t, library(), "hpcc/"+name, spec.Options{}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}
