//go:build lab

package e2e

import (
	"strings"
	"testing"
)

// TestP4TEOnLab runs P4TE between unmodified hosts of Linux. The leaf rewrites windows in passing ACKs, which holds
// a class at the committed rate. Traffic leaves a spine's failed link at the same rate as in the simulator.
func TestP4TEOnLab(t *testing.T) {
	for _, x := range []domainPoint{
		{"p4te/lab", []string{"scheme=ecmp", "load=heavy"}, []string{"bulk"}},
		{"p4te/lab", []string{"scheme=enforced", "load=heavy"}, []string{"bulk"}},
		{"p4te/lab", []string{"scheme=share", "load=heavy"}, []string{"bulk"}},
		{"p4te/lab-failure", []string{"scheme=p4te", "failure=link"}, []string{"udp"}},
		{"p4te/lab-failure", []string{"scheme=p4te", "failure=spine"}, []string{"udp"}},
	} {
		t.Run(x.name+" "+strings.Join(x.set, " "), func(t *testing.T) {
			x.agreeOnLab(t, "4s")
			if left := namespaces(t); left != "" {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}
