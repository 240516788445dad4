package run

import (
	"strings"
	"testing"

	"weir/study/report"
)

// TestUnfinishedAndRatio checks that a flow that the duration cuts off counts as unfinished, and not in the mean.
// The ratio to a reference point has a separate column, whose title names the reference.
func TestUnfinishedAndRatio(t *testing.T) {
	o := execute(t, line+`traffic:
  - {name: x, from: a, to: c, transport: udp, rate: 1Mbps, size: $size}
sweep: {size: [25kB, 50kB, 10MB]}
measure: [fct, unfinished]
ratio: [{of: [fct, unfinished], over: {size: 25kB}}]
`, Options{})
	for i, want := range []float64{0, 0, 1} {
		if got := valueOf(o.Runs[i], t, "unfinished", "x"); got != want {
			t.Errorf("%s: %g unfinished, want %g", o.Runs[i].Point[0].Text, got, want)
		}
	}
	if got := o.Runs[1].Ratios[0].Groups[0].Value; got < 1.9 || got > 2.1 {
		t.Errorf("twice the bytes take %g times as long", got)
	}
	table := report.FormatResults(o.Spec, report.SummarizePoints(o.Runs))
	for _, want := range []string{"fct ratio", "over 25kB", " 2.0"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table has no %q:\n%s", want, table)
		}
	}
}
