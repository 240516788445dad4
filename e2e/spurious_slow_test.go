//go:build slow

package e2e

import "testing"

// TestTimers_CauseNoSpuriousRetransmissionsLong checks 400 of all combinations.
func TestTimers_CauseNoSpuriousRetransmissionsLong(t *testing.T) { drawWaits(t, 2, 400) }
