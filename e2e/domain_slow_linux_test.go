//go:build slow

package e2e

import "testing"

// TestNarrowDomainsOnLab runs the remaining directions of TestDomainsOnLab's narrow domain.
func TestNarrowDomainsOnLab(t *testing.T) {
	for _, direction := range []string{"down", "six"} {
		t.Run(direction, func(t *testing.T) {
			x := domainPoint{"p4abc/domain", []string{"warmup=2s", "scheme=narrow", "direction=" + direction},
				[]string{"client0", "client1"}}
			x.agreeOnLab(t, "6s")
		})
	}
}
