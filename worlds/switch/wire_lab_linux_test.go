//go:build lab

package softswitch_test

import (
	"slices"
	"strings"
	"testing"

	softswitch "weir/worlds/switch"
)

// worst are attacks that a busy machine can send. They left the victim almost no goodput while frames outside all
// users had no owner. The slow tests have the others.
var worst = []string{"IPv4 longer than its frame", "solicitations of 1500 bytes, hop limit 64", "Ethernet type 0x88b5",
	"sources within a /64", "changing sources of IPv4"}

// TestAbuseOnTheWire checks on a real switch that a TCP user that the file names keeps 0.8 of its half of the link
// from an attacker.
func TestAbuseOnTheWire(t *testing.T) {
	for _, x := range softswitch.Attacks() {
		if slices.Contains(worst, x.Name) {
			t.Run(strings.ReplaceAll(x.Name, "/", "_"), func(t *testing.T) { attacked(t, &x) })
		}
	}
}
