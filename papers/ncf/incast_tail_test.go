package ncf_test

import (
	"context"
	"fmt"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/run"
)

// TestIncastTail checks NCF §4.3, incast: in each seed the last flow ends within 1.5 times the link's time for all
// flows. So no sender waits for a delayed ACK of 40 ms after its complete flight was NACKed.
func TestIncastTail(t *testing.T) {
	for _, c := range []struct {
		rate, delay, trip string
		gbps              float64
		senders, kilobyte int
		threshold, nacks  string
		seeds             int
	}{
		{"25Gbps", "5us", "20us", 25, 100, 200, "45KB", "loss", 40}, // all within 10 ms
		{"25Gbps", "5us", "20us", 25, 100, 200, "30KB", "loss", 5},
		{"25Gbps", "5us", "20us", 25, 100, 200, "150KB", "loss", 5},
		{"25Gbps", "5us", "20us", 25, 100, 200, "45KB", "supply", 5},
		{"25Gbps", "5us", "20us", 25, 250, 200, "45KB", "loss", 3},
		{"100Gbps", "2us", "8us", 100, 100, 400, "97KB", "loss", 3},
		{"10Gbps", "50us", "200us", 10, 100, 100, "97KB", "loss", 3},
		{"10Gbps", "5us", "23us", 10, 64, 500, "20KB", "loss", 2},
		{"10Gbps", "5us", "23us", 10, 256, 500, "97KB", "loss", 2},
	} {
		t.Run(fmt.Sprintf("%s, %s, %d of %d kB, %s, %s", c.rate, c.trip, c.senders, c.kilobyte, c.threshold, c.nacks),
			func(t *testing.T) {
				text := fmt.Sprintf("duration: 3s\nrepeat: %d\ntopology: {star: {hosts: 257, rate: %s, delay: %s, buffer: 3MB}}\n"+
					"switch: [forward]\nswitches: {s: {queues: 3, scheduler: ncf, programs: [forward, {ncf: {memory: %s, round_trip: "+
					"%s, senders: %d}}]}}\ntraffic: [{name: incast, from: {random: %d}, to: h256, transport: {tcp: {nacks: %s}}, "+
					"cc: cubic, size: %dkB, start: 0s..10us}]\nmeasure: [fct_last, timeouts]\n", c.seeds, c.rate, c.delay,
					c.threshold, c.trip, c.senders, c.senders, c.nacks, c.kilobyte)
				s := plantest.Load(t, library(), text, experiment.Options{})
				out, err := run.Execute(context.Background(), s, run.Options{Threads: 1})
				if err != nil || len(out.Failed) > 0 || len(out.Runs) != c.seeds {
					t.Fatal(err, out.Failed)
				}
				const framing = 1538. / 1448
				limit := 1.5 * framing * 8e3 * float64(c.senders*c.kilobyte) / (c.gbps * 1e9)
				if c.gbps == 25 && c.senders == 100 {
					limit = 10e-3
				}
				for _, r := range out.Runs {
					last, timeouts := r.FindMeasure("fct_last").Groups[0].Value, r.FindMeasure("timeouts").Groups[0].Value
					if !(last <= limit) || timeouts > 0 {
						t.Errorf("seed %d: the last flow ends after %.4g s, above %.4g s; %.0f timeouts", r.Seed, last, limit, timeouts)
					}
				}
			})
	}
}
