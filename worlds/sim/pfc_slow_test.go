//go:build slow

package sim

import "testing"

// TestLosslessFull checks more random networks with headroom.
func TestLosslessFull(t *testing.T) { losslessRuns(t, 150) }

// TestDeadlockIsOneFull checks more random networks that may lock up.
func TestDeadlockIsOneFull(t *testing.T) { deadlockIsOne(t, 120) }
