//go:build slow

package ai_test

import (
	"context"
	"strings"
	"testing"

	"weir/study/measure"
	"weir/study/plan"
	"weir/study/run"
	"weir/study/run/runtest"
	"weir/study/spec"
)

// The quick variant of every experiment runs, and its claims are judged. What is carried out is all there is: only a
// link that is dead leaves operations of a job.
func TestQuick(t *testing.T) {
	for _, e := range library().Experiments() {
		t.Run(strings.TrimPrefix(e.Name, "ai/"), func(t *testing.T) {
			o := runtest.CarryOut(t, library(), e.Name, spec.Options{Quick: true})
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

// Rx-HPCC takes as long as HPCC++ at the sender, within a fifth, while ranks go in lockstep, as in a first iteration,
// and behind a straggler, where neither does. What lies between them in two iterations of ai/all-reduce is which of
// the two is still in lockstep in the second.
func TestReceiversInStep(t *testing.T) {
	for _, x := range []struct {
		name, slow, iterations string
	}{{"lockstep", "", "1"}, {"straggler", ", slow: {h8: 1.1}", "2"}} {
		t.Run(x.name, func(t *testing.T) {
			var took []float64
			for _, scheme := range []string{"hpcc", "rx_hpcc"} {
				src, err := library().Open("ai/all-reduce")
				if err != nil {
					t.Fatal(err)
				}
				text := strings.ReplaceAll(string(src.Data), "compute: 100us}}", "compute: 100us"+x.slow+"}}")
				if x.slow != "" && text == string(src.Data) {
					t.Fatal("the job is not slowed down")
				}
				src.Data = []byte(text)
				s, err := plan.Load(library(), src, spec.Options{Quick: true,
					Set: []string{"balance=spray", "scheme=" + scheme, "iterations=" + x.iterations}})
				if err != nil {
					t.Fatal(err)
				}
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
