//go:build lab

package e2e

import (
	"strings"
	"testing"
)

// P4TE between unmodified hosts of Linux: windows that the leaf rewrites in passing ACKs hold a class at the committed
// rate, and traffic moves off a spine's link that goes down, by as much as in the simulator.
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
