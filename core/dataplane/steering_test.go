package dataplane

import (
	"math"
	"testing"

	"weir/core/unit"
)

// TestSteering_SubtractsEarlierShares checks that earlier shares are subtracted: a port that was in group a all of the
// first second and a quarter of the next three was there for a quarter of these.
func TestSteering_SubtractsEarlierShares(t *testing.T) {
	groups := func(a, b float64) []Occupancy { return []Occupancy{{"a", a}, {"b", b}} }
	before := Steering{Events: 5, Lost: 1, Writes: 4, Busy: 40, Groups: groups(1, 0)}
	now := Steering{Events: 25, Lost: 2, Writes: 10, Busy: 100, Groups: groups(1.75/4, 2.25/4)}
	s := now.SubtractUntil(before, unit.Second, 4*unit.Second)
	if s.Events != 20 || s.Lost != 1 || s.Writes != 6 || s.Busy != 60 || len(s.Groups) != 2 ||
		math.Abs(s.Groups[0].Share-0.25) > 1e-9 || math.Abs(s.Groups[1].Share-0.75) > 1e-9 || s.Groups[1].Group != "b" {
		t.Errorf("%+v", s)
	}
	if now.Groups[0].Share != 1.75/4 {
		t.Error("the groups themselves have changed")
	}
	if s := now.SubtractUntil(Steering{}, 0, 4*unit.Second); s.Groups[0] != now.Groups[0] || s.Writes != 10 {
		t.Errorf("since time 0: %+v", s)
	}
}
