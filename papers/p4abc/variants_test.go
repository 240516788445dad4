package p4abc_test

import (
	"math"
	"testing"

	"weir/study/claim"
	"weir/study/experiment"
	"weir/study/results"
)

// TestIntegerFigures runs one point each of figures 4, 5 and 6 in integers, with ten paired seeds. The mean difference
// to exact arithmetic is below 2 % of the link, or its 95 % interval contains 0. TestIntegerFiguresFull has more points
// and longer runs.
func TestIntegerFigures(t *testing.T) {
	integersAreExact(t, 6, experiment.Options{Quick: true, Set: []string{"load=[cbr-60, tcp-1, mix-20]", "duration=2s",
		"warmup=2s"}})
}

// integersAreExact compares the goodput in integers with exact arithmetic's, at the given number of points.
func integersAreExact(t *testing.T, points int, options experiment.Options) {
	t.Helper()
	o := carryOut(t, "p4abc/integer", options)
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
	if len(of) != points {
		t.Errorf("%d points, want %d", len(of), points)
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

// TestFairMeter checks the warning of P4-ABC §2, and the benefit of the fair activity meter: every claim of the
// experiment holds.
func TestFairMeter(t *testing.T) {
	hold(t, carryOut(t, "p4abc/fair-meter", experiment.Options{Quick: true, Set: []string{"repeat=1", "duration=8s",
		"warmup=12s"}}))
}

// TestAggregateNumbers checks ten users on a link that grows with them: TestAggregateNumbersFull goes to 100, the full
// experiment to 10,000.
func TestAggregateNumbers(t *testing.T) {
	hold(t, carryOut(t, "p4abc/aggregates", experiment.Options{Set: []string{"users=[10]", "duration=5s", "warmup=5s"}}))
}

// TestJoins_ClaimsHoldWithEight checks a user that joins eight: the link is fair again, and full. The 20 s have room
// for the 15 s of joins.time and the 5 s for which shares stay fair. TestJoinsFull has users that leave, too.
func TestJoins_ClaimsHoldWithEight(t *testing.T) {
	hold(t, carryOut(t, "p4abc/joins", experiment.Options{Set: []string{"repeat=1", "change=one-joins-eight",
		"scheme=[without, memory-3s, memory-10s]", "duration=20s"}}))
}
