package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

// TestReaction_MechanismsHoldAtTwoRoundTrips checks the claims at a round trip of 10 ms, and the path of NACKs at 200
// ms. NDP's flight does not fall, because its receivers pace by PULLs, so reaction.ndp is undecided. TestReactionFull
// has all round trips.
func TestReaction_MechanismsHoldAtTwoRoundTrips(t *testing.T) {
	mechanisms(t, "reaction", experiment.Options{Quick: true, Set: []string{"rtt=10ms", "duration=2s"}},
		"reaction.drop", "reaction.ecn", "reaction.ecn-early", "reaction.cnp", "reaction.fast-cnp",
		"reaction.early", "reaction.early-supply")
	mechanisms(t, "reaction", experiment.Options{Quick: true, Set: []string{"rtt=200ms",
		"scheme=[ncf_early, ncf_rdma_early]",
		"duration=2s"}}, "reaction.way")
}

// TestControllers_MechanismsHold checks the controllers' claims, except two open ones: BBR's pacing falls in the
// recovery after a loss, and DCQCN continues from the offer where others continue from the delivered rate.
func TestControllers_MechanismsHold(t *testing.T) {
	mechanisms(t, "controllers", experiment.Options{Quick: true},
		"controllers.loss", "controllers.loss-window", "controllers.resend", "controllers.resend-full",
		"controllers.flood", "controllers.supply", "controllers.supply-full", "controllers.twice",
		"controllers.timeouts")
}
