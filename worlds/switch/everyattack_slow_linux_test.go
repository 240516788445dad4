//go:build slow

package softswitch_test

import (
	"strings"
	"testing"

	softswitch "weir/worlds/switch"
)

// TestEveryAbuseOnTheWire checks on a real switch that for any attack a TCP user that the file names keeps 0.8 of its
// half of the link.
func TestEveryAbuseOnTheWire(t *testing.T) {
	for _, x := range softswitch.Attacks() {
		t.Run(strings.ReplaceAll(x.Name, "/", "_"), func(t *testing.T) { attacked(t, &x) })
	}
}
