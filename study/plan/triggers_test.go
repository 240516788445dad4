package plan_test

import (
	"fmt"
	"testing"

	"weir/core/outcome"
	"weir/core/unit"
	"weir/core/workload"
)

// TestTriggerAtZero checks a flow of one datagram that ends when it is sent, at time 0, before the network is complete.
// The flow that it triggers begins then, at hosts before and behind its own, over each transport.
func TestTriggerAtZero(t *testing.T) {
	for _, keys := range append([]string{"transport: udp, rate: 10Gbps"}, transports...) {
		t.Run(keys, func(t *testing.T) {
			for _, other := range []int{0, 1, 3} {
				list := fmt.Sprintf("traffic: [{name: x, from: h1, to: h2, size: 1kB, start: 0s, %s}, "+
					"{name: y, from: h%d, to: h2, size: 1kB, start: 0s, %s}]\n", keys, other, keys)
				c := configuredBy(t, "duration: 20ms\ntopology: {star: {hosts: 4, rate: 10Gbps, delay: 1us}}\n"+trims+
					"measure: [drops]\n"+list)
				c.Triggers = []workload.Trigger{{Kind: workload.OneShot, Sent: []int{0}, Begins: []int{1}}}
				r := ran(t, c)
				if r.End != outcome.AllDone || r.Flows[1].Receiver.ReceivedBytes != 1000 {
					t.Fatalf("from h%d: %s, %v arrived", other, r.End, r.Flows[1].Receiver.ReceivedBytes)
				}
				if begins := r.Flows[1].Start; keys == "transport: udp, rate: 10Gbps" && begins > unit.Microsecond {
					t.Errorf("from h%d: begins at %v", other, begins)
				}
			}
		})
	}
}
