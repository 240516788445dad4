package plan_test

import (
	"math"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/papers/p4abc"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestEstimateCost checks that the cost of an experiment is the sum of its runs, and the largest of them.
func TestEstimateCost(t *testing.T) {
	s := plantest.Load(t, plantest.NewRegistry(p4abc.Scheme(), "../../papers/p4abc"), "duration: 1s\nswitch: [forward]\n"+
		"topology: {star: {hosts: 3, rate: $rate, delay: 1us}}\nrepeat: 2\nsweep: {rate: [10Mbps, 100Mbps]}\n"+
		"traffic: [{name: x, from: h0, to: h1, transport: tcp, cc: cubic, start: 0s}]\n", experiment.Options{})
	runs := plan.ListRuns(s)
	var want plan.Cost
	for _, r := range runs {
		want.PacketHops += plan.EstimateHops(r)
		want.CPUTime += plan.EstimateTime(r)
		want.LongestRun = max(want.LongestRun, plan.EstimateTime(r))
		want.Memory = max(want.Memory, plan.EstimateMemory(r))
	}
	want.Runs = len(runs)
	if got := plan.EstimateCost(runs); len(runs) != 4 || got != want {
		t.Errorf("%d runs: %+v, not %+v", len(runs), got, want)
	}
	if got := plan.EstimateCost(nil); got != (plan.Cost{}) {
		t.Errorf("without runs: %+v", got)
	}
}

// TestCost_ElapsedSharesCores checks that cores share the runs, that no run is shorter than on one core, and that a
// faster machine takes less.
func TestCost_ElapsedSharesCores(t *testing.T) {
	c := plan.Cost{Runs: 5, CPUTime: 12, LongestRun: 4}
	for _, x := range []struct {
		name  string
		cores int
		speed float64
		want  float64
	}{
		{"one core", 1, 1, 12}, {"two cores", 2, 1, 6}, {"more cores than work", 16, 1, 4},
		{"twice as fast", 2, 2, 3}, {"cores are unknown", 0, 1, 12},
	} {
		t.Run(x.name, func(t *testing.T) {
			if got := c.Elapsed(x.cores, x.speed); math.Abs(got-x.want) > 1e-12 {
				t.Errorf("%v s, not %v s", got, x.want)
			}
		})
	}
}
