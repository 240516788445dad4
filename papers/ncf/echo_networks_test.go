package ncf_test

import (
	"testing"

	"weir/internal/testkit/runtest"
	"weir/study/claim"
	"weir/study/experiment"
)

// TestEchoNetworks checks that TCP senders without NACK support respond to copies of acknowledgements with ECE, at
// round trips from 0.2 to 50 ms, 1, 8 and 64 of them. No sender resends because of a copy, or is reduced so often that
// the link becomes idle, and those notified before memory is full lose no packet. TestEchoNetworksFull has all of them;
// here are two round trips with eight flows.
func TestEchoNetworks(t *testing.T) { echoNetworks(t, 2, "trip=[200us, 20ms]", "number=eight") }

// echoNetworks runs the experiment with the given settings. All claims that have runs have to hold; without is how
// many have no runs.
func echoNetworks(t *testing.T, without int, set ...string) {
	t.Helper()
	out := runtest.ExecuteAll(t, library(), "testdata/echoes.yaml", experiment.Options{Set: set})
	for _, c := range out.Claims {
		if c.N == 0 {
			without--
		} else if c.Verdict != claim.Holds {
			t.Errorf("%s: %v: %s", c.ID, c.Verdict, c.Measured)
		}
	}
	if len(out.Claims) != 7 || without != 0 {
		t.Errorf("%d claims, want 7; %d too many have no runs", len(out.Claims), -without)
	}
}
