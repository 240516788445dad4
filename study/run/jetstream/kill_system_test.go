//go:build system

package jetstream

import (
	"fmt"
	"testing"
)

// TestSweep_SurvivesKilledProcesses kills each kind of process at random times, and checks that no run is lost,
// duplicated or wrong.
func TestSweep_SurvivesKilledProcesses(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own server %v", own), func(t *testing.T) { killed(t, 1, 200, 3, 2, own) })
	}
}
