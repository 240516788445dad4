//go:build slow

package hpcc_test

import (
	"testing"

	"weir/study/experiment"
	"weir/study/experiment/experimenttest"
)

// HPCC §5.3 with a millisecond of arrivals: HPCC's queues are the shortest, nothing is
// dropped, HPCC pauses nobody; windows shorten the queues of DCQCN and TIMELY.
func TestFlowCompletionTimes(t *testing.T) {
	for _, name := range []string{"websearch-50", "hadoop-50-incast"} {
		t.Run(name, func(t *testing.T) {
			o := experimenttest.CarryOut(t, library(), "hpcc/"+name, experiment.Options{Quick: true})
			for _, c := range o.Claims {
				if c.Verdict == experiment.Fails {
					t.Errorf("%s: %s", c.ID, c.Measured)
				}
			}
		})
	}
}

// Flow control does not matter for HPCC (§5.3).
func TestFlowControl(t *testing.T) {
	for _, c := range experimenttest.CarryOut(t, library(), "hpcc/flow-control", experiment.Options{Quick: true}).Claims {
		if c.Verdict != experiment.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}
