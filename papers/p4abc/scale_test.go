package p4abc_test

import (
	"testing"

	"weir/study/claim"
	"weir/study/experiment"
)

// TestScale_FittedThresholdsShareLink checks that thresholds by round_trip fill the link and share it, at two other
// links than the paper's. At 1 Gb/s shares are fair from 8 s on: after 5 s Jain's index is 0.98 ± 0.03 with either
// average.
func TestScale_FittedThresholdsShareLink(t *testing.T) {
	holds(t, "p4abc/scale", "link=10M_100ms", "scheme=[documented, fitted]")
	holds(t, "p4abc/scale", "link=1G_10ms", "scheme=[documented, fitted]", "warmup=8s", "duration=2s")
}

// TestScaleUsers checks that thresholds may fall with the root of the number of users.
func TestScaleUsers(t *testing.T) {
	holds(t, "p4abc/scale-users", "hosts=[3, 33]", "assumed=[2, 32]", "warmup=3s", "duration=2s")
}

// TestSensitivity_ClaimsHoldPerParameter checks the effect of each parameter at the paper's point. TestSensitivityFull
// has all of them.
func TestSensitivity_ClaimsHoldPerParameter(t *testing.T) {
	holds(t, "p4abc/sensitivity", "repeat=1", "duration=4s", "warmup=3s",
		"parameter=[paper, q_min_20, gamma_1, gamma_64, reference_1bps, average_memory_3s]")
}

// holds runs an experiment with changes; of the claims that it still decides, every one holds.
func holds(t *testing.T, name string, set ...string) {
	t.Helper()
	o := carryOut(t, name, experiment.Options{Set: set})
	decided := 0
	for _, c := range o.Claims {
		switch c.Verdict {
		case claim.Holds:
			decided++
		case claim.Fails:
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
	if decided == 0 {
		t.Error("nothing was decided")
	}
}
