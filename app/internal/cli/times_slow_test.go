//go:build slow

package cli

import (
	"flag"
	"strings"
	"testing"

	"weir/internal/testkit"
)

// TestTimesAreRight estimates the time of every experiment, and compares it with times.txt. The tolerance is for
// other processors, whose sums may differ in the last digit that is kept.
func TestTimesAreRight(t *testing.T) {
	const tolerance = 0.1
	r := Registry()
	var b strings.Builder
	b.WriteString(timesHead)
	for _, e := range r.Experiments() {
		seconds := estimateTime(t, r, e)
		if ratio := e.Time / seconds; ratio < 1-tolerance || ratio > 1+tolerance {
			if flag.Lookup("update").Value.String() != "true" {
				t.Errorf("%s: times.txt has %g s, the estimate is %g s", e.Name, e.Time, seconds)
			}
		} else {
			seconds = e.Time
		}
		b.WriteString(timesLine(e.Name, digestOf(t, r, e.Name), seconds))
	}
	if flag.Lookup("update").Value.String() == "true" {
		testkit.GoldenFile(t, "times.txt", b.String())
	}
}
