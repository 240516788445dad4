//go:build slow

package jetstream

import (
	"fmt"
	"testing"
)

// TestManyKills checks that twenty kills of each kind of process lose none of 2,000 runs.
func TestManyKills(t *testing.T) {
	for _, own := range []bool{false, true} {
		t.Run(fmt.Sprintf("own server %v", own), func(t *testing.T) { killed(t, 2, 2000, 8, 20, own) })
	}
}
