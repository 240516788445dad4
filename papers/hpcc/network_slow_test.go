//go:build slow

package hpcc_test

import (
	"testing"

	"weir/core/unit"
)

// TestCensusNetworkFull runs every controller at both round trips, for twice the time.
func TestCensusNetworkFull(t *testing.T) {
	censusNetwork(t, func(delay unit.Time) unit.Time { return 2000*delay + 8*ms },
		func(unit.Time, string) bool { return true })
}

// TestThinnedWindowsFull runs windows with other numbers of flows, too.
func TestThinnedWindowsFull(t *testing.T) { thinnedWindows(t, 1, 2, 8, 16) }

// TestReceiverDrainsFull runs 20 seeds with the count and without.
func TestReceiverDrainsFull(t *testing.T) {
	receiverDrains(t, map[string]int{"{}": 20, "{census: off}": 20})
}

// TestChosenPathsFull runs chosen paths for a millisecond.
func TestChosenPathsFull(t *testing.T) { chosenPaths(t, ms, 500*us) }

// TestPermutationOnManyPathsFull runs a sprayed permutation for three milliseconds.
func TestPermutationOnManyPathsFull(t *testing.T) { permutationOnManyPaths(t, "1ms", "3ms") }

// TestAttacksFull runs attacks on longer flows, each also without a key.
func TestAttacksFull(t *testing.T) { attacks(t, "4MB", "forge", "replay", "alter") }

// TestFormsFull runs every form with longer flows.
func TestFormsFull(t *testing.T) {
	sameForms(t, 300)
	sealedForms(t, 300)
}
