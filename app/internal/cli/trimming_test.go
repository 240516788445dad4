package cli

import (
	"fmt"
	"testing"

	"weir/core/dataplane"
	"weir/core/outcome"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
	"weir/study/plan"
)

// TestOverTrimming checks that other transports and controllers also work over a trimming switch with packets on
// all paths: HPCC++ on many paths, Swift, DCQCN and NDP next to uet. Packets that are not trimmable may be dropped,
// and their senders retransmit them.
func TestOverTrimming(t *testing.T) {
	for name, x := range map[string]struct {
		programs, traffic string
		trims             bool
	}{
		"hpcc on paths": {"ecmp, {trimming: {rtt: 14us}}, telemetry",
			"transport: {rdma: {recovery: selective_repeat, paths: 8}}, cc: hpcc", false},
		"swift": {"ecmp, {trimming: {rtt: 14us}}", "transport: {rdma: {recovery: selective_repeat}}, cc: swift", false},
		"dcqcn": {"ecmp, {trimming: {rtt: 14us}}", "transport: {rdma: {recovery: selective_repeat}}, cc: dcqcn", false},
		"ndp":   {"spray, {trimming: {rtt: 14us, queue: 0.2}}", "transport: ndp", true},
		"uet": {"ecmp, {trimming: {rtt: 14us}}",
			"transport: {uet: {control: both, ack_delay: 500ns, nack_delay: 200ns}}", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.Load(t, Registry(), fmt.Sprintf(`
duration: 50ms
mtu: 4000 B
topology: {fat_tree: {k: 4, rate: 100Gbps, delay: 1us}}
switches: {"*": {queues: 2, programs: [%s]}}
traffic:
  - {name: perm, from: "*", to: permutation, size: 300kB, %s}
  - {name: incast, from: {random: 8}, to: {random: 1}, size: 200kB, %s}
measure: [fct]
`, x.programs, x.traffic, x.traffic), experiment.Options{})
			c, err := plan.Config(s.Points()[0], 1)
			if err != nil {
				t.Fatal(err)
			}
			r := plantest.Simulate(t, c)
			again := int64(0)
			for i := range r.Flows {
				again += r.Flows[i].Sender.Retransmitted
			}
			if r.End != outcome.AllDone || x.trims && (again == 0 || r.Drops[dataplane.QueueByteLimit] > 0) {
				t.Errorf("%v, %d packets again, drops %v", r.End, again, r.Drops)
			}
		})
	}
}
