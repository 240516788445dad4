package collective

import (
	"testing"

	"weir/core/jobs/job"
	"weir/core/unit"
)

// TestJob_AlignsIterationsToMultiples checks that members begin each iteration at a multiple of the time that they
// align to, for any begin of the job.
func TestJob_AlignsIterationsToMultiples(t *testing.T) {
	for _, start := range []unit.Time{0, 7 * us, 50 * us} {
		j, err := New(Config{Operation: AllReduce, Algorithm: Ring, Members: 4, Size: 10007, Iterations: 3, Compute: 10 * us,
			Align: 50 * us})
		if err != nil {
			t.Fatal(err)
		}
		o, _, err := model().Run(j, job.Watch{Start: start})
		if err != nil || len(o.Operations) != 3 {
			t.Fatal(o.Operations, err)
		}
		first := (start + 50*us - 1) / (50 * us)
		for i, x := range o.Operations {
			if want := (first+unit.Time(i))*50*us + 10*us; x.Begin != want {
				t.Errorf("from %v on, iteration %d has computed at %v, not %v", start, i, x.Begin, want)
			}
		}
	}
}

// TestAlignTogether checks that with Align all members begin an iteration at one time, although some end the previous
// one much later than others. For any period, an iteration and each member's computing and communicating in it are as
// in a single iteration. Only Waited has the waiting.
func TestAlignTogether(t *testing.T) {
	for name, c := range map[string]Config{
		"straggler": {Operation: AllReduce, Members: 4, Size: 10007, Compute: 10 * us, Slow: map[int]float64{1: 17}},
		"chain":     {Operation: Broadcast, Members: 5, Size: 1 << 20, Chunks: 4, Compute: 3 * us},
		"stages":    {Operation: Pipeline, Members: 4, Size: 1 << 20, Batches: 3, Forward: 20 * us},
		"gather":    {Operation: Gather, Members: 6, Size: 6 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			one := runJob(t, c)
			took := one.Iterations[0].Last
			if one.Iterations[0].Begin != unit.Never {
				t.Errorf("without Align an iteration begins at %v", one.Iterations[0].Begin)
			}
			c.Iterations = 4
			for _, c.Align = range []unit.Time{us, took / 7, took, took + 1, 2 * took, 10 * took} {
				aligned(t, c, &one)
			}
		})
	}
}

// aligned checks the iterations of an aligned job against a single iteration.
func aligned(t *testing.T, c Config, one *job.Outcome) {
	t.Helper()
	o := runJob(t, c)
	took, n := one.Iterations[0].Last, unit.Time(c.Iterations)
	for i, x := range o.Iterations {
		earliest := unit.Time(0)
		if i > 0 {
			earliest = o.Iterations[i-1].Last
		}
		if x.Last-x.Begin != took || x.Begin%c.Align != 0 || x.Begin < earliest || x.Begin >= earliest+c.Align {
			t.Errorf("period %v: iteration %d is from %v to %v, the one before ends at %v, and alone it takes %v", c.Align, i,
				x.Begin, x.Last, earliest, took)
		}
	}
	for m := range o.Ranks {
		got, want := &o.Ranks[m], &one.Ranks[m]
		if got.Exposed() != n*want.Exposed() || got.Computing != n*want.Computing ||
			got.End != got.Waited+n*want.End {
			t.Errorf("period %v: member %d: %+v, alone %+v", c.Align, m, got, want)
		}
	}
	for i, x := range o.Operations {
		if y := one.Operations[i%len(one.Operations)]; x.End-x.Begin != y.End-y.Begin {
			t.Errorf("period %v: operation %d takes %v, alone %v", c.Align, i, x.End-x.Begin, y.End-y.Begin)
		}
	}
}
