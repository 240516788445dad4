//go:build system

package jetstream

import (
	"fmt"
	"testing"
)

// Whoever of those who take part is killed, and whenever: nothing is lost, nothing is twice, nothing is wrong.
func TestSweep_SurvivesKilledProcesses(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own server %v", own), func(t *testing.T) { killed(t, 1, 200, 3, 2, own) })
	}
}
