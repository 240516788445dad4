package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/unit"
	"weir/worlds/sim"
)

// twoWay runs flows of a dumbbell of 100 Gb/s in both directions, of which acknowledgements queue with the other
// direction's data, and returns the bottleneck's utilisation and the 95th percentile of its queue.
func twoWay(t *testing.T, flows int, control string, warmup, duration unit.Time) (used float64, queue int64) {
	t.Helper()
	port := 0
	r := run(t, fmt.Sprintf(`
duration: %v
warmup: %v
topology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps, buffer: 64MB}}
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic: [{name: x, from: "*", to: {stride: %[3]d}, transport: rdma, cc: %[4]s, start: 0s..10us}]
`, duration, warmup, flows, control), func(c *sim.Config) {
		port = 2 * (len(c.Network.Links) - 1)
		c.Watches = append(c.Watches, sim.Watch{What: sim.QueueBytes, Index: port, Every: us})
	})
	return float64(r.Ports[port].TxBytes) * 8 / (100e9 * r.Measured.Seconds()), percentile(r.Watched[0], 95)
}

// Feedback that waits behind the data of the other direction makes no law swing: HPCC++ with additive stages, and
// Rx-HPCC with them and without.
func TestTwoWay(t *testing.T) {
	for _, control := range []string{"{hpcc: {max_stage: 5}}", "{rx_hpcc: {max_stage: 5}}", "{rx_hpcc: {max_stage: 0}}"} {
		for _, flows := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(control, " ", flows), func(t *testing.T) {
				if used, queue := twoWay(t, flows, control, 2*ms, ms); used < 0.93 || queue > 20_000 {
					t.Errorf("utilisation %.3f, p95 of the queue %d bytes", used, queue)
				}
			})
		}
	}
}
