//go:build slow

package hpcc_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// HPCC §5.3 with a millisecond of arrivals: HPCC's queues are the shortest, nothing is
// dropped, HPCC pauses nobody; windows shorten the queues of DCQCN and TIMELY.
func TestFlowCompletionTimes(t *testing.T) {
	for _, name := range []string{"websearch-50", "hadoop-50-incast"} {
		t.Run(name, func(t *testing.T) {
			o := runtest.CarryOut(t, library(), "hpcc/"+name, spec.Options{Quick: true})
			for _, c := range o.Claims {
				if c.Verdict == claim.Fails {
					t.Errorf("%s: %s", c.ID, c.Measured)
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
