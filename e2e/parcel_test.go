package e2e

import (
	"slices"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/plan"
	"weir/study/run/remote"
)

// packs packs and unpacks an experiment. Both have runs with the same ids.
func packs(t *testing.T, name string) {
	t.Helper()
	r := app.Registry()
	s := runtest.Load(t, r, name, experiment.Options{Quick: true})
	manifest, files := remote.PackParcel(s)
	u, err := remote.UnpackParcel(r, manifest, func(digest string) ([]byte, error) { return files[digest], nil })
	if err != nil {
		t.Fatal(err)
	}
	ids := func(s *experiment.Spec) (all []string) {
		for _, r := range plan.ListRuns(s) {
			all = append(all, r.ID("e"))
		}
		return all
	}
	if !slices.Equal(ids(s), ids(u)) {
		t.Error("the unpacked experiment has other runs")
	}
}

// TestParcelOfEachPaper checks that a packed experiment unpacks to runs with the same ids. It packs the first small
// experiment of each paper; the slow stage packs the whole catalogue.
func TestParcelOfEachPaper(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range app.Registry().Experiments() {
		if paper, _, _ := strings.Cut(e.Name, "/"); !seen[paper] {
			seen[paper] = true
			t.Run(e.Name, func(t *testing.T) { packs(t, e.Name) })
		}
	}
}
