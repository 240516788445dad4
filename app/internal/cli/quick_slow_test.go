//go:build slow

package cli

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"weir/internal/command"
	"weir/internal/testkit/runtest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestQuickRuns checks that every short quick variant draws all of its plots, and gives each claim its numbers.
func TestQuickRuns(t *testing.T) {
	const most = 20 // seconds on one core
	undefined := regexp.MustCompile(`(?m)^(?:holds|fails|undecided) +(\S+) \(0 runs\)|not defined|` +
		`runs? (?:is|are) missing`)
	r := Registry()
	for _, x := range r.Experiments() {
		t.Run(x.Name, func(t *testing.T) {
			s := runtest.Load(t, r, x.Name, experiment.Options{Quick: true})
			seconds := 0.0
			for _, run := range plan.ListRuns(s) {
				seconds += plan.EstimateTime(run)
			}
			if seconds > most {
				t.Skipf("about %.0f s", seconds)
			}
			dir := t.TempDir()
			var out, failures strings.Builder
			if code := Run(Registry(), []string{"run", x.Name, "--quick", "--out", dir}, &out, &failures,
				false); code != command.Done {
				t.Fatalf("exit code %d\n%s\n%s", code, out.String(), failures.String())
			}
			// a measure that no point of so few flows defines is no claim
			if m := undefined.FindString(strings.ReplaceAll(out.String(), "undefined at all points", "")); m != "" {
				t.Errorf("a claim without numbers: %s\n%s", m, out.String())
			}
			if drawn, _ := filepath.Glob(filepath.Join(dir, "*", "plots", "*.svg")); len(drawn) != len(s.Plots()) {
				t.Errorf("%d plots of %d are drawn: %v", len(drawn), len(s.Plots()), drawn)
			}
		})
	}
}
