//go:build slow

package softswitch

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weir/core/unit"
)

// TestEveryAbuse checks that for any attack at 80 Mb/s, a TCP user that the file names keeps 0.8 of its half of the
// link. Without names it does, too, unless the attacker uses many addresses, each of them a user then.
func TestEveryAbuse(t *testing.T) {
	for _, in := range abused {
		t.Run(in.name, func(t *testing.T) {
			for _, x := range Attacks() {
				if !regexp.MustCompile(in.only).MatchString(x.Name) || x.Third && !in.third {
					continue
				}
				t.Run(strings.ReplaceAll(x.Name, "/", "_"), func(t *testing.T) { in.kept(t, &x) })
			}
		})
	}
}

// TestAbuseElsewhere checks the same at a tenth and at ten times the rate, and with a tenth and fifty times the
// round trip. At 100 ms ABC needs thresholds for it (round_trip) and a buffer of that size, as in
// docs/switch-users.md. The defaults limit a single flow even without an attack, and leave it a half of its part
// against steady traffic.
//
// The test measures the flow after it has recovered from its start. Bursts still cost a flow with such a round trip
// half of its part, although the attacker has less than its own. A user that was silent has precedence, and CUBIC
// needs seconds to recover.
func TestAbuseElsewhere(t *testing.T) {
	for _, at := range []struct {
		scale float64
		way   unit.Time
		from  unit.Time
		lasts unit.Time
		most  float64 // frames a second: more take too long here
	}{{0.1, unit.Millisecond, attackFrom, 5 * unit.Second, 1e6},
		{10, unit.Millisecond, attackFrom, 5 * unit.Second, 1e5},
		{1, 100 * unit.Microsecond, attackFrom, 5 * unit.Second, 1e6},
		{1, 50 * unit.Millisecond, 10 * unit.Second, 12 * unit.Second, 1e4}} {
		t.Run(fmt.Sprintf("%g of 50 Mb_s, %v", at.scale, at.way), func(t *testing.T) {
			rate := unit.Rate(at.scale * 50e6)
			arena := func(x *Attack) (got unit.Rate, a *arena) {
				file := stageAt(rate, "aggregates: {10.9.0.1: 10kbps}", "")
				if at.way > 10*unit.Millisecond {
					fitted := fmt.Sprintf("abc: {round_trip: %v, ", 2*at.way)
					file = strings.NewReplacer("100 packets", "412 packets", "abc: {", fitted).Replace(file)
				}
				a = newArena(t, file, x, 4)
				a.scale, a.way = at.scale, at.way
				a.next, a.end = at.from, at.from+at.lasts
				a.until(at.from)
				return a.until(a.end), a
			}
			alone, _ := arena(nil)
			part := min(Part*float64(rate), float64(alone))
			for _, x := range Attacks() {
				few := []string{"UDP", "small solicitations, hop limit 255", "idle, then a burst"}
				if !slices.Contains(few, x.Name) || at.scale*float64(AttackRate)/8/float64(len(x.Frame(0))) > at.most {
					continue
				}
				t.Run(x.Name, func(t *testing.T) {
					got, a := arena(&x)
					t.Logf("%v, and alone %v; %d of %d frames of the attack came through", got, alone, a.passed, a.attacked)
					kept := Kept
					if x.On > 0 && at.way > 10*unit.Millisecond {
						kept = 0.4
					}
					if float64(got) < kept*part {
						t.Errorf("the victim keeps %v of %v", got, unit.Rate(part))
					}
				})
			}
		})
	}
}
