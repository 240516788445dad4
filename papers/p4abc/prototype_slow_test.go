//go:build slow

package p4abc_test

import (
	"fmt"
	"strings"
	"testing"
)

// The search: of these capacities and rings, under Linux 4.4 that sends segment by segment and Linux 6.18 that sends
// bursts, none is nearer to the paper than the configuration of the prototype experiments by more than 0.1,
// which is what other seeds change.
func TestPrototypeSearch(t *testing.T) {
	least, found := 100.0, 100.0
	for _, ring := range []int{32, 64, 128} {
		for _, capacity := range []string{"10.4kpps", "10.8kpps", "11.2kpps"} {
			for _, linux := range []string{"linux-4.4", "linux"} {
				instead := strings.NewReplacer("10.8kpps", capacity, "64 packets", fmt.Sprintf("%d packets", ring))
				if linux == "linux" {
					instead = strings.NewReplacer("10.8kpps", capacity, "64 packets", fmt.Sprintf("%d packets", ring),
						"compressed_ack: 0s, receive_buffer: 6MiB, bursts: false", "bursts: true", "linux-4.4", "linux")
				}
				all := prototypeResiduals(t, instead, capacity)
				d := distance(all)
				t.Logf("%.2f: %d packets, %s, %s: %v", d, ring, capacity, linux, all)
				least = min(least, d)
				if ring == 64 && capacity == "10.8kpps" && linux == "linux-4.4" {
					found = d
				}
			}
		}
	}
	if found > least+0.1 || found > 1 {
		t.Errorf("the experiments' configuration is at %.2f, the nearest at %.2f", found, least)
	}
}
