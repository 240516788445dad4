//go:build slow

package hpcc_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/runtest"
	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestFlowCompletionTimes checks HPCC §5.3 with a tenth to a fifth of the arrivals: every claim holds. HPCC's short
// flows are the fastest and its queues the shortest, and no packet is dropped; windows shorten the queues of DCQCN and
// TIMELY, and their pauses. HPCC causes no pauses with PFC's trigger as in the authors' simulator, and with incast some
// if the trigger is 11 % at every port.
func TestFlowCompletionTimes(t *testing.T) {
	for _, name := range []string{"websearch-50", "hadoop-30-incast", "hadoop-50-incast"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.ExecuteAll(t, library(), "hpcc/"+name, experiment.Options{Quick: true}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// TestFlowControl checks that flow control makes no difference for HPCC (HPCC §5.3).
func TestFlowControl(t *testing.T) {
	for _, c := range runtest.ExecuteAll(t, library(), "hpcc/flow-control", experiment.Options{Quick: true}).Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// TestTheory_EveryClaimHolds compares HPCC's appendix A with packets, in full: every claim holds.
func TestTheory_EveryClaimHolds(t *testing.T) {
	for _, name := range []string{"capture", "fairness", "fairness-beside", "convergence", "parking-lot", "mixed-nics",
		"clocks", "every-nth"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.ExecuteAll(t, library(), "hpcc/"+name, experiment.Options{}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// TestExperimentsFull runs the paper's testbed and single-switch cases, in full: every claim but those named here
// holds.
func TestExperimentsFull(t *testing.T) {
	otherwise := map[string]claim.Verdict{
		// 3.9 ± 1.2 kB with 5 B and 3.5 ± 1.5 kB with 25 B, which add so little that single packets show
		"incast16.short-queue": claim.Undecided,
		// it depends on the seed: the vendor's target rate is not clamped, so that fast recovery may
		// bring the long flow back at once; long-short.clamped-slow holds
		"long-short.dcqcn-slow": claim.Undecided,
		// 25 us: the queue of Weir's DCQCN is 70 kB on average. The testbed's must have been above 100 kB, as here with the
		// increase timer of DCQCN's paper: mice.dcqcn-timer holds
		"mice.dcqcn": claim.Fails,
	}
	for _, name := range []string{"incast16", "incast16-reaction", "rates", "joins", "long-short", "incast-long",
		"elephant-mice"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.ExecuteAll(t, library(), "hpcc/"+name, experiment.Options{}).Claims {
				want, ok := otherwise[c.ID]
				if !ok {
					want = claim.Holds
				}
				if c.Verdict != want {
					t.Errorf("%s %s, want %s: %s", c.ID, c.Verdict, want, c.Measured)
				}
			}
		})
	}
}

// TestOwnExperimentsFull checks Weir's additions to the paper: every claim of the quick variants holds.
func TestOwnExperimentsFull(t *testing.T) {
	for _, name := range []string{"thinning", "parameters", "collectives", "collectives-chosen", "paths-incast",
		"paths-half", "paths-failure", "paths-stage", "paths-relative", "lab-kernel", "short-paths"} {
		t.Run(name, func(t *testing.T) {
			for _, c := range runtest.ExecuteAll(t, library(), "hpcc/"+name, experiment.Options{Quick: true}).Claims {
				if c.Verdict != claim.Holds {
					t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
				}
			}
		})
	}
}

// TestExperimentsLoad checks that every experiment is valid, also its quick variant, which keeps every scheme.
func TestExperimentsLoad(t *testing.T) {
	for _, e := range library().Experiments() {
		src, err := library().OpenExperiment(e.Name)
		if err != nil {
			t.Fatal(err)
		}
		points := map[bool]int{}
		for _, quick := range []bool{false, true} {
			s, err := plan.Load(library(), src, experiment.Options{Quick: quick})
			if err != nil {
				t.Fatalf("%s: %v", e.Name, err)
			}
			points[quick] = len(plan.ListRuns(s)) / s.Repeat()
			if strings.HasPrefix(e.Name, "hpcc/websearch") || strings.HasPrefix(e.Name, "hpcc/hadoop") {
				want := 6
				if strings.HasSuffix(e.Name, "-incast") || e.Name == "hpcc/websearch-50" {
					want = 7 // HPCC also with PFC's trigger as the paper's text has it, or with the drafts' maxStage
				}
				if points[quick] != want {
					t.Errorf("%s: %d schemes", e.Name, points[quick])
				}
			}
		}
	}
}
