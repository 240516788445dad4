package ncf_test

import (
	"testing"

	"weir/study/run/runtest"
	"weir/study/spec"
)

// Each is valid; its quick variant has every scheme and both ends of each sweep, once.
func TestWideExperimentsLoad(t *testing.T) {
	for _, name := range []string{"internet", "reaction", "internet-lot", "controllers", "partial", "partial-path",
		"attack", "attack-budget"} {
		whole, quick := runtest.Load(t, library(), "ncf/"+name, spec.Options{Quick: false}),
			runtest.Load(t, library(), "ncf/"+name, spec.Options{Quick: true})
		if quick.Repeat() != 1 {
			t.Errorf("%s: quick has %d seeds", name, quick.Repeat())
		}
		for i, d := range quick.Sweep() {
			all := whole.Sweep()[i].Values
			if d.Values[0] != all[0] || d.Values[len(d.Values)-1] != all[len(all)-1] || d.Key == "scheme" &&
				len(d.Values) != len(all) {
				t.Errorf("%s: quick has %v of %v", name, d.Values, all)
			}
		}
	}
}

func TestReaction(t *testing.T) {
	mechanisms(t, "reaction", spec.Options{Quick: true},
		"reaction.way", "reaction.drop", "reaction.ndp", "reaction.ecn", "reaction.ecn-early", "reaction.cnp",
		"reaction.fast-cnp", "reaction.early", "reaction.early-supply")
}

// Of controllers two claims are open: BBR's pacing falls with the recovery that a loss brings, and DCQCN goes on from
// what is offered where others do from what was delivered.
func TestControllers(t *testing.T) {
	mechanisms(t, "controllers", spec.Options{Quick: true},
		"controllers.loss", "controllers.loss-window", "controllers.resend", "controllers.resend-full",
		"controllers.flood", "controllers.supply", "controllers.supply-full", "controllers.twice",
		"controllers.timeouts")
}
