package p4abc_test

import (
	"math"
	"testing"

	"weir/study/experiment"
)

// TestDomainsShare checks that in any form of domain each user gets its part of a link: with edge, core and exit, up
// and down, over IPv6, with links inside without room for a mark in a full packet, with two edges at one core, and over
// all paths of a fat tree. The other user's eight flows do not delay the user with one flow.
func TestDomainsShare(t *testing.T) { domainsShare(t, "duration=2s", "warmup=6s") }

// domainsShare runs the domains' quick variants with the given settings.
func domainsShare(t *testing.T, set ...string) {
	t.Helper()
	for name, points := range map[string]int{"p4abc/domain": 6, "p4abc/domain-edges": 1, "p4abc/domain-tree": 1} {
		t.Run(name, func(t *testing.T) {
			scheme, groups := "scheme=abc", []string{"eight", "one"}
			if name == "p4abc/domain" {
				scheme, groups = "scheme=[abc, narrow]", []string{"client0", "client1"}
			}
			o := carryOut(t, name, experiment.Options{Quick: true, Set: append([]string{scheme, "repeat=1"}, set...)})
			if len(o.Runs) != points {
				t.Errorf("%d runs, want %d", len(o.Runs), points)
			}
			for _, r := range o.Runs {
				for _, group := range groups {
					if got := goodput(t, r, group); math.Abs(got-23.8e6) > 4e6 {
						t.Errorf("%v: %s gets %.1f Mb/s", r.Point, group, got/1e6)
					}
				}
			}
		})
	}
}
