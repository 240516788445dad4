//go:build slow

package p4te_test

import (
	"strings"
	"testing"

	"weir/internal/testkit/runtest"
	"weir/study/experiment"
)

// TestOptionsFull runs all scenarios of table 1's options, with five seeds.
func TestOptionsFull(t *testing.T) { optionsShow(t) }

// TestDisabledParts_EqualECMPFull runs both distributions of sizes, with five seeds.
func TestDisabledParts_EqualECMPFull(t *testing.T) { checkEqualsECMP(t) }

func TestVariantsFull(t *testing.T) {
	allFlowsEnd(t, map[string][]string{
		"ablation": {"arrivals=[1ms]", "load=[50%]",
			"scheme=[full, no_monitoring, path_only, rate_only, enforced, nothing]"},
		"compose":       {"arrivals=[300us]", "load=[50%]", "scheme=[ecmp, p4te]"},
		"gains":         {"repeat=1", "arrivals=[1ms]"},
		"gains-sweep":   {"repeat=1", "arrivals=[1ms]", "scheme=[ecmp, letflow, paths_1us, all_100us]"},
		"gains-factors": {"repeat=1", "scheme=[ecmp, quick_marks]", "cell=[slow, rate_100g, fat_tree, incast]"},
		"failure":       {"scheme=[ecmp, p4te]", "cc=dctcp", "traffic.leaving.stop=12ms", "traffic.coming.stop=12ms"},
	})
}

// TestAppendixFull runs appendix A's quick variant, in full.
func TestAppendixFull(t *testing.T) { appendixEnds(t, 48) }

// TestMarksGainFull runs TestMarksGain with five seeds.
func TestMarksGainFull(t *testing.T) { marksGain(t, 5) }

// TestCommittedRateFull runs the committed share with twenty seeds.
func TestCommittedRateFull(t *testing.T) { committedRate(t, "repeat=20") }

// TestExperimentsLoad checks that every experiment is valid, also its quick variant, which keeps every scheme.
func TestExperimentsLoad(t *testing.T) {
	for _, e := range library().Experiments() {
		t.Run(strings.TrimPrefix(e.Name, "p4te/"), func(t *testing.T) {
			schemes := func(quick bool) int {
				for _, d := range runtest.Load(t, library(), e.Name, experiment.Options{Quick: quick}).Sweep() {
					if d.Key == "scheme" {
						return len(d.Values)
					}
				}
				return 0
			}
			if whole, quick := schemes(false), schemes(true); whole != quick {
				t.Errorf("%d schemes, and %d in the quick variant", whole, quick)
			}
		})
	}
}

// TestMovesOffFull runs failures in the lab's network with three seeds.
func TestMovesOffFull(t *testing.T) { movesOff(t, "repeat=3") }
