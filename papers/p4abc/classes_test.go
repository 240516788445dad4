package p4abc_test

import (
	"slices"
	"testing"

	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/results"
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

// TestFlowsOfOneUser checks that flows of one user share its part fairly, also TCP next to a blast of the same user,
// and other users keep theirs.
func TestFlowsOfOneUser(t *testing.T) {
	hold(t, carryOut(t, "p4abc/flows", experiment.Options{Set: []string{"repeat=1", "duration=5s", "warmup=3s",
		"scheme=[abc, abc_flows]", "user1=[tcp_1_8, tcp_8_1, blast_1]"}}))
}

// TestReferencesShare checks P4-ABC §3.4: reference rates share as weights, at 100 Mb/s and 20 ms and at 10 Mb/s and
// 100 ms, with many flows against few. TestReferencesShareFull has short round trips, 1 Gb/s and other numbers of
// flows.
func TestReferencesShare(t *testing.T) {
	for path, set := range map[string][]string{"100Mbps_20ms": {"duration=10s", "warmup=6s"}, "10Mbps_100ms": nil} {
		t.Run(path, func(t *testing.T) {
			hold(t, carryOut(t, "p4abc/references", experiment.Options{Set: append(set, "repeat=1", "references=1_2_4",
				"path="+path, "flows=against")}), "references.shares", "references.far", "references.equal")
		})
	}
}

// TestDelayClasses checks delay classes (P4-ABC §3.4): the first is fast, starves no class and gives no throughput,
// with TCP and a blast, near and far.
func TestDelayClasses(t *testing.T) {
	hold(t, carryOut(t, "p4abc/delay-classes", experiment.Options{Quick: true, Set: []string{"warmup=8s", "duration=20s",
		"scheme=[one_class, deadline]", "chooses=[slow, fast]"}}),
		"delay.all-fast", "delay.cost", "delay.strict-starves", "delay.no-abc-gains")
	for _, x := range []struct{ set, claims []string }{
		{[]string{"load=near", "scheme=[one_class, deadline, cost_2]"}, []string{"delay.all-fast", "delay.cost"}},
		{[]string{"load=blast", "scheme=strict", "chooses=fast"}, []string{"delay.strict-starves"}},
		{[]string{"load=near", "scheme=no_abc", "chooses=[slow, fast]"}, []string{"delay.no-abc-gains"}},
	} {
		for _, c := range carryOut(t, "p4abc/delay-classes", experiment.Options{Quick: true, Set: append(x.set,
			"duration=10s",
			"warmup=8s")}).Claims {
			if slices.Contains(x.claims, c.ID) && c.Verdict != claim.Holds {
				t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
			}
		}
	}
}

// TestDelayByUser checks delay by user: under ABC all wait equally, no longer than its queue. In the first class a call
// does not wait.
func TestDelayByUser(t *testing.T) {
	hold(t, carryOut(t, "p4abc/delay-users", experiment.Options{Set: []string{"repeat=1", "duration=12s", "warmup=4s",
		"scheme=[abc, abc_classes, deep]"}}))
}
