package experiment_test

import (
	"strings"
	"testing"

	"weir/core/unit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestDefaultStart checks that the default start fits the flows' time. Runs of more than a second keep their start, and
// so their ids.
func TestDefaultStart(t *testing.T) {
	for _, x := range []struct {
		name, head, traffic string
		high                unit.Time
	}{
		{"a long run", "duration: 2s\n", "", unit.Second},
		{"with its warm-up", "duration: 0.6s\nwarmup: 0.5s\n", "", unit.Second},
		{"just over a second", "duration: 1000001us\n", "", unit.Second},
		{"a second", "duration: 1s\n", "", 100 * unit.Millisecond},
		{"milliseconds", "duration: 2ms\nwarmup: 1ms\n", "", 300 * unit.Microsecond},
		{"a picosecond", "duration: 1ps\n", "", 0},
		{"a stop", "duration: 20s\n", ", stop: 500ms", 50 * unit.Millisecond},
		{"a late stop", "duration: 20s\n", ", stop: 5s", unit.Second},
	} {
		t.Run(x.name, func(t *testing.T) {
			const rest = `topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1us}}
switch: [forward]
measure: [goodput]
`
			s := plantest.Load(t, room(),
				x.head+rest+"traffic: [{name: x, from: left0, to: right0, transport: udp, rate: 1Mbps"+x.traffic+"}]\n",
				experiment.Options{})
			if low, high := s.Points()[0].Entry(0).Start(); low != 0 || high != x.high {
				t.Errorf("from %v to %v, not up to %v", low, high, x.high)
			}
			for _, p := range s.Parameters() {
				if strings.HasSuffix(p.Path, ".start") && p.Value != "0s.."+x.high.String() {
					t.Errorf("%s is shown as %s", p.Path, p.Value)
				}
			}
			again := plantest.Load(t, room(), string(s.Resolved()), experiment.Options{Resolved: true})
			if _, high := again.Points()[0].Entry(0).Start(); high != x.high {
				t.Errorf("the resolved file has %v", high)
			}
		})
	}
}

// TestNoWindowAfterAnError checks that measures of senders report no error about a traffic with another error.
func TestNoWindowAfterAnError(t *testing.T) {
	const text = `duration: 2ms
topology: {dumbbell: {hosts: 1, rate: 100Mbps, bottleneck: 10Mbps, delay: 1us}}
switch: [forward]
traffic: [{name: x, from: left0, to: right0, transport: rdma, cc: none, start: 3ms}]
measure: [{cwnd: {every: 1us}}, {rate: {every: 1us}}, in_flight]
`
	if all := wrong(t, text, experiment.Options{}); len(all) != 1 || !strings.Contains(all[0].Msg,
		"after the end of the run") {
		t.Errorf("%v", all)
	}
}
