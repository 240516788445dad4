//go:build slow

package ncf_test

import (
	"testing"

	"weir/study/experiment"
)

func TestInternet_MechanismsHold(t *testing.T) {
	mechanisms(t, "internet", experiment.Options{Quick: true},
		"internet.way-of-nacks", "internet.slower-than-fast-cnp", "internet.throughput-supply",
		"internet.fair-unequal-supply", "internet.no-starvation", "internet.top")
}

func TestInternetLot(t *testing.T) {
	mechanisms(t, "internet-lot", experiment.Options{Quick: true},
		"lot.no-starvation-early", "lot.mice", "lot.mice-fq", "lot.timeouts")
}

// TestPartial_RespondingFlowsKeepTheirHalf checks that a flow that responds to NACKs keeps at least 0.9 of its fair
// half next to flows that ignore them, and they keep theirs. Without trimming first, and with notices to all of the
// heaviest, it has less.
func TestPartial_RespondingFlowsKeepTheirHalf(t *testing.T) {
	mechanisms(t, "partial", experiment.Options{Set: []string{"cc=[cubic, reno]", "who=[half_loss, half_loss_literal]"}},
		"partial.knowing-loss", "partial.unmodified", "partial.trimmed-first")
}

func TestPartialPath(t *testing.T) {
	mechanisms(t, "partial-path", experiment.Options{Quick: true},
		"path.first", "path.second", "path.throughput", "path.queue")
}

// TestMiceAttack checks NCF §4.4 at four round trips: half of the port, with a flood of twice as much.
func TestMiceAttack(t *testing.T) {
	mechanisms(t, "attack", experiment.Options{Quick: true}, "attack.half", "attack.half-supply", "attack.sound",
		"attack.drop",
		"attack.mice", "attack.idle", "attack.top")
}

func TestReactionFull(t *testing.T) {
	mechanisms(t, "reaction", experiment.Options{Quick: true},
		"reaction.way", "reaction.drop", "reaction.ecn", "reaction.ecn-early", "reaction.cnp",
		"reaction.fast-cnp", "reaction.early", "reaction.early-supply")
}
