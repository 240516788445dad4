package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/study/experiment"
	"weir/study/plan"
)

const timesHead = `# Estimated seconds of each experiment, which weir list shows: on the two cores of the reference
# machine, or in the lab if the experiment is made for it. The second column is the digest of its file. Written by
#     go test ./app/internal/cli -run TestDocsTimesAreCurrent -update              of files that have changed
#     go test -tags slow ./app/internal/cli -run TestTimesAreRight -update     of all
`

// digestOf returns the digest of an experiment's file.
func digestOf(t *testing.T, r *experiment.Registry, name string) string {
	t.Helper()
	src, err := r.OpenExperiment(name)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(src.Data)
	return hex.EncodeToString(sum[:6])
}

// estimateTime estimates the seconds of an experiment, to two digits: on the reference machine, or in the lab.
func estimateTime(t *testing.T, r *experiment.Registry, e experiment.LibraryEntry) float64 {
	t.Helper()
	src, err := r.OpenExperiment(e.Name)
	if err != nil {
		t.Fatal(err)
	}
	s, err := experiment.Load(r, src, experiment.Options{}, untried{})
	if err != nil {
		t.Fatal(err)
	}
	seconds := 0.0
	if e.Lab {
		for _, run := range plan.ListRunsOn(s, experiment.Lab) {
			_, each := plan.EstimateLab(run)
			seconds += each
		}
	} else {
		c := plan.EstimateCost(plan.ListRuns(s))
		seconds = c.Elapsed(plan.ReferenceCores, 1)
	}
	return roundUp(seconds*1000) / 1000
}

// timesLine returns the line of an experiment in times.txt.
func timesLine(name, digest string, seconds float64) string {
	return fmt.Sprintf("%-26s  %s  %g\n", name, digest, seconds)
}

// TestDocsTimesAreCurrent checks that no experiment in times.txt has changed since its time was written. With -update
// it adds new experiments. Untracked ones need no time; lint checks that each tracked one has one.
func TestDocsTimesAreCurrent(t *testing.T) {
	r := Registry()
	var b strings.Builder
	b.WriteString(timesHead)
	for _, e := range r.Experiments() {
		if !strings.Contains(timesFile, "\n"+e.Name+" ") && !testkit.IsUpdating() {
			continue
		}
		digest := digestOf(t, r, e.Name)
		line := timesLine(e.Name, digest, e.Time)
		if e.Time <= 0 || !strings.Contains(timesFile, line) {
			line = timesLine(e.Name, digest, estimateTime(t, r, e))
		}
		b.WriteString(line)
	}
	testkit.GoldenFile(t, "times.txt", b.String())
}

// TestLabExperiments checks that each experiment that a library declares as made for the lab exists.
func TestLabExperiments(t *testing.T) {
	r := Registry()
	lab := map[string]bool{}
	for _, e := range r.Experiments() {
		lab[e.Name] = e.Lab
	}
	for _, l := range r.Library {
		for _, name := range l.Lab {
			if !lab[l.Name+"/"+name] {
				t.Errorf("library %s: there is no experiment %s", l.Name, name)
			}
		}
	}
	for name := range lab { // the name promises it
		if _, short, _ := strings.Cut(name, "/"); (short == "lab" || strings.HasPrefix(short, "lab-")) && !lab[name] {
			t.Errorf("%s is not declared as made for the lab (Library.Lab)", name)
		}
	}
}
