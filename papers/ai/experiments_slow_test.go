//go:build slow

package ai_test

import (
	"strings"
	"testing"

	"weir/study/measure"
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
