package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestWarningsOfSweeps checks that warnings about points of a sweep that differ only in their numbers are counted,
// and that a warning about one point stays.
func TestWarningsOfSweeps(t *testing.T) {
	for _, points := range []int{1, 3, 4, 40} {
		var rates []string
		for i := range points {
			rates = append(rates, fmt.Sprintf("%dMbps", 800+i))
		}
		text := strings.Replace(twoLinks("1Gbps", "$rate", "1ms", "1MB", "forward", "{tcp: {send_buffer: 380kB}}", "cubic"),
			"measure:", "sweep: {rate: [1Mbps, "+strings.Join(rates, ", ")+"]}\nmeasure:", 1)
		s := plantest.Load(t, app.Registry(), text, experiment.Options{})
		all := testkit.FormatAll(s.Warnings())
		if len(all) != min(points, 3) {
			t.Fatalf("%d warnings about %d points: %q", len(all), points, all)
		}
		count := fmt.Sprintf("; %d more warnings of this kind concern the same place (tcp-send-buffer)", points-3)
		if points == 4 {
			count = "; 1 more warning of this kind concerns the same place (tcp-send-buffer)"
		}
		if last := all[len(all)-1]; strings.HasSuffix(last, count) != (points > 3) {
			t.Errorf("%d points: %s", points, last)
		}
	}
}
