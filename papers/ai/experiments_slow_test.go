//go:build slow

package ai_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/measure"
	"weir/study/results"
	"weir/study/run"
)

// TestExperiments_QuickVariantsLeaveNoOperations runs the quick variant of every experiment and evaluates its claims.
// All operations are executed: only a dead link leaves operations of a job.
func TestExperiments_QuickVariantsLeaveNoOperations(t *testing.T) {
	for _, e := range library().Experiments() {
		t.Run(strings.TrimPrefix(e.Name, "ai/"), func(t *testing.T) {
			o := runtest.ExecuteAll(t, library(), e.Name, experiment.Options{Quick: true})
			judged(t, o)
			for _, r := range o.Runs {
				name := measure.PointName(r.Point)
				dead := strings.Contains(name, "fault=dead_link") || strings.Contains(name, "fault=failover")
				if n := value(r, "job_left"); n > 0 && !dead {
					t.Errorf("%s: %v operations are left", name, n)
				}
			}
		})
	}
}

// TestReceiversInStep checks that Rx-HPCC takes as long as HPCC++ at the sender, within a fifth, while ranks are in
// lockstep, as in a first iteration, and behind a straggler, where neither is. In two iterations of ai/all-reduce the
// difference depends on which of the two is still in lockstep in the second.
func TestReceiversInStep(t *testing.T) {
	for _, x := range []struct {
		name, slow, iterations string
	}{{"lockstep", "", "1"}, {"straggler", ", slow: {h8: 1.1}", "2"}} {
		t.Run(x.name, func(t *testing.T) {
			var took []float64
			for _, scheme := range []string{"hpcc", "rx_hpcc"} {
				src, err := library().OpenExperiment("ai/all-reduce")
				if err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(string(src.Data), "compute: 100us}}", "compute: 100us"+x.slow+"}}")
				if x.slow != "" && text == string(src.Data) {
					t.Fatal("the job is not slowed down")
				}
				src.Data = []byte(text)
				s := plantest.LoadSource(t, library(), src, experiment.Options{Quick: true,
					Set: []string{"balance=spray", "scheme=" + scheme, "iterations=" + x.iterations}})
				out, err := run.Execute(context.Background(), s, run.Options{})
				if err != nil || len(out.Runs) != 1 {
					t.Fatal(err, out.Failed)
				}
				took = append(took, value(out.Runs[0], "job_iteration"))
			}
			if took[0] <= 0 || took[1] > 1.2*took[0] || took[0] > 1.2*took[1] {
				t.Errorf("hpcc takes %.3g s, rx_hpcc %.3g s", took[0], took[1])
			}
		})
	}
}

// TestExperimentsLoad checks that every experiment is valid, whole and quick, and that the quick variant keeps every
// scheme and every way to spread flows. The only warnings are about the timer of ai/faults.
func TestExperimentsLoad(t *testing.T) {
	all := library().Experiments()
	if len(all) != 8 {
		t.Errorf("%d experiments", len(all))
	}
	for _, e := range all {
		t.Run(strings.TrimPrefix(e.Name, "ai/"), func(t *testing.T) {
			whole, quick := runtest.Load(t, library(), e.Name, experiment.Options{}), runtest.Load(t, library(), e.Name,
				experiment.Options{Quick: true})
			for _, s := range []*experiment.Spec{whole, quick} {
				for _, w := range s.Warnings() {
					if e.Name != "ai/faults" || w.Kind.ID != "timeout-below-path" {
						t.Error(w)
					}
				}
			}
			for _, key := range []string{"scheme", "balance", "algorithm", "fault", "placement",
				"writing", "control", "pattern", "room"} {
				if a, b := valuesOf(whole, key), valuesOf(quick, key); !slices.Equal(a, b) {
					t.Errorf("of %s %v, --quick keeps %v", key, a, b)
				}
			}
			if a := valuesOf(whole, "scheme"); a != nil && !slices.Equal(a, schemes) {
				t.Errorf("schemes %v", a)
			}
		})
	}
}

// TestSizesFull runs every scheme, with 128 and 1,024 GPUs.
func TestSizesFull(t *testing.T) {
	for _, name := range []string{"ai/all-reduce", "ai/all-to-all"} {
		estimates(t, name, runtest.Load(t, library(), name, experiment.Options{}))
	}
}

// TestLongTrimmedRDMAFull runs 1,050 flows to one host (150 on several paths).
func TestLongTrimmedRDMAFull(t *testing.T) {
	longTrimmed(t, map[string]longIncast{
		"go back n": {"size: 300kB, flows: 70", 3, "{rdma: {trimmable: true}}, cc: dcqcn"},
		"repeat":    {"size: 100kB, flows: 70", 0, "{rdma: {recovery: selective_repeat, trimmable: true}}, cc: dcqcn"},
		"paths": {"size: 100kB, flows: 10", 0,
			"{rdma: {recovery: selective_repeat, reordering: adaptive, trimmable: true, paths: 8}}, cc: hpcc"},
	})
}

// TestCellsAreNamedFull checks the cells of every experiment that compares schemes.
func TestCellsAreNamedFull(t *testing.T) {
	var names []string
	for _, e := range library().Experiments() {
		if sweep, _ := runtest.ReadVariants(t, library(), e.Name); sweep["scheme"] != nil {
			names = append(names, e.Name)
		}
	}
	cellsAreNamed(t, names...)
}

// judged checks that the claims of a fresh run are judged by numbers. No claim has to hold.
func judged(t *testing.T, o *results.Outcome) {
	t.Helper()
	for _, c := range o.Claims {
		if c.N == 0 || strings.Contains(c.Measured, "runs are missing") || strings.Contains(c.Measured, "NaN") {
			t.Errorf("%s %s (n = %d): %s", c.ID, c.Verdict, c.N, c.Measured)
		}
		t.Logf("%s %s: %s", c.Verdict, c.ID, c.Measured)
	}
}
