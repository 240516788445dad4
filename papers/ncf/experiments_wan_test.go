package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

// NDP's flight does not fall, since its receivers pace by PULLs: reaction.ndp is undecided.
// Claims at a round trip of 10 ms, and the way of NACKs at 200 ms. TestReactionFull has all round trips.
func TestReaction_MechanismsHoldAtTwoRoundTrips(t *testing.T) {
	mechanisms(t, "reaction", experiment.Options{Quick: true, Set: []string{"rtt=10ms", "duration=2s"}},
		"reaction.drop", "reaction.ecn", "reaction.ecn-early", "reaction.cnp", "reaction.fast-cnp",
		"reaction.early", "reaction.early-supply")
	mechanisms(t, "reaction", experiment.Options{Quick: true, Set: []string{"rtt=200ms",
		"scheme=[ncf_early, ncf_rdma_early]",
		"duration=2s"}}, "reaction.way")
}

// Of controllers two claims are open: BBR's pacing falls with the recovery that a loss brings, and DCQCN goes on from
// what is offered where others do from what was delivered.
func TestControllers_MechanismsHold(t *testing.T) {
	mechanisms(t, "controllers", experiment.Options{Quick: true},
		"controllers.loss", "controllers.loss-window", "controllers.resend", "controllers.resend-full",
		"controllers.flood", "controllers.supply", "controllers.supply-full", "controllers.twice",
		"controllers.timeouts")
}
