package ncf_test

import (
	"context"
	"fmt"
	"testing"

	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/run"
)

// TestElephantsBeginInFlood checks a case beyond NCF §4.4: flows that respond to NACKs and start in a flood of
// datagrams, at two and ten times the port's rate, leave the mice's queue and get most of the elephants' half, also by
// loss. Each has a quarter of its part or more. Without the room that the flood leaves to other mice, they have a
// thousandth of the port.
func TestElephantsBeginInFlood(t *testing.T) {
	for _, c := range []struct {
		flows int
		cc    string
		each  string // of 100 flows
		ip    int
	}{{1, "cubic", "2Mbps", 4}, {1, "bbr", "10Mbps", 6}, {4, "cubic", "10Mbps", 4}} {
		t.Run(fmt.Sprintf("%d %s, %s, IPv%d", c.flows, c.cc, c.each, c.ip), func(t *testing.T) {
			text := fmt.Sprintf("duration: 1s\nwarmup: 300ms\n"+
				"topology:\n  hosts: [h0, h1, h2, h5]\n  switches: [s]\n  links:\n"+
				"    - {ends: [h0, s], rate: 1Gbps, delay: 250us, buffer: 1MB}\n"+
				"    - {ends: [h1, s], rate: 1Gbps, delay: 250us, buffer: 1MB}\n"+
				"    - {ends: [h2, s], rate: 1Gbps, delay: 250us, buffer: 1MB}\n"+
				"    - {ends: [s, h5], rate: 100Mbps, delay: 250us, buffer: 100kB}\n"+
				"switches: {s: {queues: 3, scheduler: ncf, programs: [forward, {ncf: {round_trip: 1ms}}]}}\n"+
				"traffic: [{name: elephants, from: h0, to: h5, ip: %d, flows: %d, transport: {tcp: {nacks: loss}}, cc: %s, "+
				"start: 200ms}, {name: attack, from: [h1, h2], to: h5, ip: %d, flows: 50, transport: udp, rate: %s, "+
				"start: 0s..1ms}]\nmeasure: [{goodput: {}}]\n", c.ip, c.flows, c.cc, c.ip, c.each)
			s := plantest.Load(t, library(), text, experiment.Options{})
			out, err := run.Execute(context.Background(), s, run.Options{Threads: 1})
			if err != nil || len(out.Failed) > 0 {
				t.Fatal(err, out.Failed)
			}
			if got := megabits(t, out, "elephants"); got < 0.4*100 {
				t.Errorf("elephants have %.1f Mb/s", got)
			}
		})
	}
}
