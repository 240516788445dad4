package p4abc_test

import (
	"math"
	"testing"

	"weir/study/claim"
	"weir/study/results"
	"weir/study/spec"
)

// Figures 4, 5 and 6 in integers, a few points with ten paired seeds: at every point the mean difference to exact
// arithmetic is below 2 % of the link, or its 95 % interval contains 0. The full experiment has all points.
func TestIntegerFigures(t *testing.T) {
	o := carryOut(t, "p4abc/integer", spec.Options{Quick: true, Set: []string{"duration=10s"}})
	type key struct{ load, group string }
	of := map[key]map[uint64][2]float64{}
	for _, r := range o.Runs {
		load, arithmetic := value(t, r, "load"), value(t, r, "arithmetic")
		for _, group := range []string{"client0", "client1"} {
			k, side := key{load, group}, 0
			if arithmetic == "integer" {
				side = 1
			}
			if of[k] == nil {
				of[k] = map[uint64][2]float64{}
			}
			pair := of[k][r.Seed]
			pair[side] = goodput(t, r, group)
			of[k][r.Seed] = pair
		}
	}
	for k, pairs := range of {
		var d []float64
		for _, x := range pairs {
			d = append(d, x[1]-x[0])
		}
		mean, half := claim.MeanInterval(d)
		if len(d) < 10 || math.Abs(mean) >= 0.02*50e6 && math.Abs(mean) > half {
			t.Errorf("%v: integers differ by %.0f ± %.0f bit/s over %d seeds", k, mean, half, len(d))
		}
	}
	if len(of) != 14 {
		t.Errorf("%d points, want 14", len(of))
	}
}

// value is a run's value of a sweep key.
func value(t *testing.T, r *results.Run, key string) string {
	for _, c := range r.Point {
		if c.Key == key {
			return c.Text
		}
	}
	t.Fatalf("a run without %s", key)
	return ""
}

// goodput is a run's of a traffic.
func goodput(t *testing.T, r *results.Run, group string) float64 {
	for _, m := range r.Measures {
		for _, g := range m.Groups {
			if m.Name == "goodput" && g.Group == group {
				return g.Value
			}
		}
	}
	t.Fatalf("a run without the goodput of %s", group)
	return 0
}

// The warning of §2, and what the fair activity meter is good for: every claim of the experiment holds.
func TestFairMeter(t *testing.T) {
	o := carryOut(t, "p4abc/fair-meter", spec.Options{Quick: true, Set: []string{"duration=20s"}})
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// 1 to 100 users on links that grow with them: the full experiment goes to 10,000.
func TestAggregateNumbers(t *testing.T) {
	o := carryOut(t, "p4abc/aggregates", spec.Options{Quick: true})
	for _, c := range o.Claims {
		if c.Verdict != claim.Holds {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}

// Users join and leave, in the quick variant: fair again, and full.
func TestJoins(t *testing.T) {
	o := carryOut(t, "p4abc/joins", spec.Options{Quick: true})
	for _, c := range o.Claims {
		if c.Verdict == claim.Fails || c.Verdict != claim.Holds && c.ID != "joins.time" {
			t.Errorf("%s %s: %s", c.ID, c.Verdict, c.Measured)
		}
	}
}
