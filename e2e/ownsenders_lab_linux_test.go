//go:build lab

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weir/internal/testkit/realtime"
)

// TestOwnSendersOnLab checks the measures of Weir's own senders on real packets in the lab. These are the maximum
// in flight, the time of the reduction after a queue had grown, which only the switch measures, and the fate of its
// NACKs.
func TestOwnSendersOnLab(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "senders.yaml")
	text := fmt.Sprintf(pairOfHosts, "1s", "[forward, {ncf: {memory: 90KB}}]", "  - {name: x, from: a, to: b, transport: "+
		"{tcp: {stack: weir, nacks: loss}}, cc: reno, start: 0s}\n")
	text = strings.Replace(text, "drops]", "drops, overshoot, nacks, {reduction: {port: s->b, above: 30 packets, after: "+
		"10ms}}, {cwnd: {every: 10ms}}]", 1)
	text = strings.Replace(text, "warmup: 200ms", "warmup: 5ms", 1) // the first loss is that of slow start
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	realtime.Test(t, func(try *realtime.Try) {
		doc := runOnLab(try, try.TempDir(), file)
		if len(doc.Runs) != 1 || len(doc.Simulator.Runs) != 1 {
			try.Fatalf("%d runs, %d in the simulator", len(doc.Runs), len(doc.Simulator.Runs))
		}
		for _, x := range []struct {
			measure, group string
			low, high      float64 // of the simulator's
		}{
			{"overshoot", "x", 0.8, 1.25}, {"nacks_packets", "delivered", 0.5, 2}, {"nacks_packets", "taken", 0.5, 2},
			{"nacks_delay_s", "mean", 0.9, 1.1}, {"cwnd_bytes", "x", 0.7, 1.4}, {"reduction_from_s", "x", 0.5, 2},
			{"reduction_s", "x", 0.2, 5},
		} {
			got, there := doc.Runs[0].values(try, x.measure)[x.group]
			want, thereToo := doc.Simulator.Runs[0].values(try, x.measure)[x.group]
			if !there || !thereToo || got < x.low*want || got > x.high*want {
				try.Errorf("%s %s: %.6g, in the simulator %.6g", x.measure, x.group, got, want)
			}
		}
	})
}
