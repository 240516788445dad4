package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/worlds/sim"
)

// twoWay runs flows of a dumbbell of 100 Gb/s in both directions. Their acknowledgements queue with the other
// direction's data. It returns the bottleneck's utilisation and the 95th percentile of its queue.
func twoWay(t *testing.T, flows int, control, transport string, warmup, duration unit.Time) (used float64,
	queue int64) {
	t.Helper()
	port := 0
	r := runNetwork(t, fmt.Sprintf(`
duration: %v
warmup: %v
topology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps, buffer: 64MB}}
mtu: 1000 B payload
switches: {"*": {programs: [ecmp, telemetry]}}
traffic: [{name: x, from: "*", to: {stride: %[3]d}, transport: %[5]s, cc: %[4]s, start: 0s..10us}]
`, duration, warmup, flows, control, transport), func(c *sim.Config) {
		port = 2 * (len(c.Wiring.Network.Links) - 1)
		c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: port, Every: us})
	})
	return float64(r.Ports[port].TxBytes) * 8 / (100e9 * r.Measured.Seconds()), percentile(r.Watched[0], 95)
}

// TestTwoWay checks that feedback that waits behind data of the other direction makes no law oscillate: HPCC++ with
// additive stages, and Rx-HPCC with them and without.
func TestTwoWay(t *testing.T) {
	for _, control := range []string{"{hpcc: {max_stage: 5}}", "{rx_hpcc: {max_stage: 5}}", "{rx_hpcc: {max_stage: 0}}"} {
		for _, flows := range []int{1, 2, 8} {
			t.Run(fmt.Sprint(control, " ", flows), func(t *testing.T) {
				if used, queue := twoWay(t, flows, control, "rdma", 2*ms, ms); used < 0.93 || queue > 20_000 {
					t.Errorf("utilisation %.3f, p95 of the queue %d bytes", used, queue)
				}
			})
		}
	}
}

// TestTwoWayFewRecords checks that a window is committed on a measurement of data sent under the last one, also where
// few packets have records: no other window is sent in between. With telemetry: rtt and no additive stages the timer
// sent one for each packet with records that arrived more than 2T after the previous one, and eight flows filled .77 of
// the link.
func TestTwoWayFewRecords(t *testing.T) {
	for _, transport := range []string{"{rdma: {telemetry: rtt}}",
		"{rdma: {telemetry: packets, telemetry_packets: 64 packets}}"} {
		for _, flows := range []int{2, 8} {
			t.Run(fmt.Sprint(transport, " ", flows), func(t *testing.T) {
				used, queue := twoWay(t, flows, "{rx_hpcc: {max_stage: 0}}", transport, 2*ms, ms)
				if used < 0.93 || queue > 20_000 {
					t.Errorf("utilisation %.3f, p95 of the queue %d bytes", used, queue)
				}
			})
		}
	}
}
