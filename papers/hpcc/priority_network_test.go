package hpcc_test

import (
	"fmt"
	"testing"

	"weir/core/unit"
)

// TestStrictClassNetwork checks that a flow in strict priority over DWRR has the link's rate in its records, and one in
// a class below it the class's share, for any link rate. By its weight a flow in strict priority would have a ninth.
func TestStrictClassNetwork(t *testing.T) {
	for _, rate := range []unit.Rate{10 * unit.Gbps, 100 * unit.Gbps, 400 * unit.Gbps, unit.Tbps} {
		for class, share := range []float64{1, 1, 2. / 7, 5. / 7} {
			t.Run(fmt.Sprintf("class %d of %v", class, rate), func(t *testing.T) {
				r := runNetwork(t, fmt.Sprintf(`
duration: 400us
warmup: 600us
mtu: 1000 B payload
topology: {star: {hosts: 2, rate: %v, delay: 1us}}
switches: {"*": {programs: [classifier, ecmp, {telemetry: {format: int-md}}], queues: 4,
  scheduler: {dwrr: {priority: 2, weights: {1: 1, 2: 2, 3: 5}}}}}
traffic: [{name: a, from: h1, to: h0, transport: {rdma: {ack_tos: 0}}, tos: %d, cc: hpcc, start: 0s}]
measure: [goodput]`, rate, class<<5), nil)
				used := float64(r.Ports[1].TxBytes) * 8 / r.Measured.Seconds() / float64(rate)
				least := 0.92
				if rate == 10*unit.Gbps { // windows are a few packets
					least = 0.88
				}
				if used < least*share || used > share {
					t.Errorf("the flow has %.3f of the link, want .95 of %.3f", used, share)
				}
			})
		}
	}
}
