//go:build slow

package cli

import (
	"slices"
	"strings"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestThreadsSameEverywhere checks that the quick variant of every experiment of the catalogue gives the same
// results on three threads as on one. It skips experiments with jobs only, which run on one thread.
func TestThreadsSameEverywhere(t *testing.T) {
	r := Registry()
	for _, e := range r.Experiments() {
		t.Run(strings.ReplaceAll(e.Name, "/", " "), func(t *testing.T) {
			src, err := r.OpenExperiment(e.Name)
			if err != nil {
				t.Fatal(err)
			}
			s := plantest.LoadSource(t, r, src, experiment.Options{Quick: true})
			if !slices.ContainsFunc(s.Points(), func(p *experiment.Point) bool { return !hasJob(p) }) {
				t.Skip("runs with jobs have one thread")
			}
			onThreads(t, r, src, experiment.Options{Quick: true})
		})
	}
}

// hasJob reports whether a traffic of a point is a job.
func hasJob(p *experiment.Point) bool {
	for i := range p.Entries() {
		if p.Entry(i).Job() != nil {
			return true
		}
	}
	return false
}
