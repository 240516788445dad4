//go:build lab

package e2e

import (
	"strings"
	"testing"
)

// TestDomainsOnLab runs domains of P4-ABC between unmodified hosts of Linux. TCP crosses them in both directions,
// over IPv4, and links inside have no more headroom than those outside. Each user gets the goodput that it gets in
// the simulator. TestNarrowDomainsOnLab checks the other directions.
func TestDomainsOnLab(t *testing.T) {
	clients := []string{"client0", "client1"}
	for _, x := range []domainPoint{
		{"p4abc/domain", []string{"warmup=2s", "scheme=abc", "direction=up"}, clients},
		{"p4abc/domain", []string{"warmup=2s", "scheme=abc", "direction=down"}, clients},
		{"p4abc/domain", []string{"warmup=2s", "scheme=narrow", "direction=up"}, clients},
		{"p4abc/domain-two", []string{"warmup=2s", "scheme=abc"}, []string{"far", "near1", "near2"}},
		{"p4abc/domain-edges", []string{"warmup=2s", "scheme=abc"}, []string{"eight", "one"}},
	} {
		t.Run(x.name+" "+strings.Join(x.set[1:], " "), func(t *testing.T) { x.agreeOnLab(t, "6s") })
	}
}
