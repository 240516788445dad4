package cli

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"weir/core/unit"
	"weir/study/report"
	"weir/study/run"
)

// TestProgressLine checks that the line of progress has packet-hops, simulated time and the remaining time, and
// fits into a terminal even with large numbers.
func TestProgressLine(t *testing.T) {
	for _, x := range []struct {
		name    string
		p       run.Progress
		found   int
		elapsed float64
		want    string
	}{
		{"one large run", run.Progress{Runs: 1, Share: 0.25, PacketHops: 41_250_000, Time: 2_345_600 * unit.Nanosecond}, 0,
			15,
			"[######..................]  25 %  0 of 1 run  41.25 M hops, 2.75 M/s  at 2.35ms  45 s left"},
		{"many small ones", run.Progress{Runs: 100, Done: 50, Share: 0.4, PacketHops: 1e6, Time: 3 * unit.Second}, 40, 10,
			"  40 %  50 of 100 runs  1 M hops, 100 k/s  at 3s  15 s left"},
		{"the lab", run.Progress{Runs: 10, Done: 2, Share: 0.2}, 0, 100, "  20 %  2 of 10 runs  0.0 runs/s  7 min left"},
		{"the beginning", run.Progress{Runs: 1}, 0, 0.1, "   0 %  0 of 1 run"},
		{"the end", run.Progress{Runs: 3, Done: 3, Share: 1, PacketHops: 12}, 0, 2,
			"] 100 %  3 of 3 runs  12 hops, 6/s  0 s left"},
		{"as large as can be", run.Progress{Runs: 99999, Done: 88888, Share: 0.8888, PacketHops: 123_456_789_012_345,
			Time: 123456 * unit.Microsecond}, 0, 1e7, "88888 of 99999 runs  123.5 T hops, 12.35 M/s  at 123ms  14 days left"},
	} {
		t.Run(x.name, func(t *testing.T) {
			got := progressLine(x.p, x.found, x.elapsed, "", report.DefaultWidth)
			if !strings.Contains(got, strings.TrimPrefix(x.want, "[######..................]")) {
				t.Errorf("%q, want %q", got, x.want)
			}
			if n := utf8.RuneCountInString(got); n >= report.DefaultWidth {
				t.Errorf("%d columns of %d: %q", n, report.DefaultWidth, got)
			}
		})
	}
	for _, x := range []struct{ also, want string }{
		{"8 workers, 496 queued", "  8 workers, 496 queued"},
		{"8 workers, 12 failed, 496 queued", "  8 workers, 12 failed"},
		{"waits", "  waits"},
	} {
		t.Run(x.also, func(t *testing.T) {
			p := run.Progress{Runs: 2000, Done: 1500, Share: 0.75, PacketHops: 41_250_000, Time: unit.Second}
			want := "75 %  1500 of 2000 runs  4.125 M hops/s  3 s left" + x.want
			if got := progressLine(p, 0, 10, x.also, report.DefaultWidth); !strings.HasSuffix(got, want) ||
				len(got) >= report.DefaultWidth {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

// TestProgressWidth checks that the line of progress adds the workers on a wide terminal and ends before the edge
// on a narrow one. A line that wraps could not be overwritten.
func TestProgressWidth(t *testing.T) {
	p := run.Progress{Runs: 2000, Done: 1500, Share: 0.75, PacketHops: 41_250_000, Time: unit.Second}
	const also = "8 workers, 12 failed, 496 queued"
	for columns, want := range map[int]string{132: also, 80: "8 workers, 12 failed", 60: "3 s left", 30: "75 %",
		20: "75 %"} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			got := progressLine(p, 0, 10, also, columns)
			if n := utf8.RuneCountInString(got); n >= columns || !strings.Contains(got, want) {
				t.Errorf("%d columns of %d: %q", n, columns, got)
			}
		})
	}
}
