package hpcc_test

import (
	"fmt"
	"slices"
	"testing"

	"weir/core/outcome"
	"weir/worlds/sim"
)

// TestThinnedWindows checks draft-miao §6.2, an ACK for a few packets. Where a window has fewer than ack_every packets,
// the receiver answers a round trip after the first of them. With a fixed time of 20 µs, which is four round trips
// here, 16 flows had a Jain index of 0.27 at 8 packets, and two flows 41 Gb/s at 64.
func TestThinnedWindows(t *testing.T) { thinnedWindows(t, 1, 16) }

// thinnedWindows runs the given numbers of flows.
func thinnedWindows(t *testing.T, numbers ...int) {
	t.Helper()
	for _, every := range []int{1, 8, 16, 64} {
		for _, flows := range numbers {
			t.Run(fmt.Sprintf("%d flows, %d packets", flows, every), func(t *testing.T) {
				r := runNetwork(t, fmt.Sprintf(`
duration: 1ms
warmup: 5ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 17, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 8MB}}
mtu: 1000 B payload
switch: [ecmp, telemetry]
traffic:
  - {name: x, from: [%s], to: h0, transport: {rdma: {ack_every: %d packets}}, cc: {hpcc: {census: on}}, start: 0s..10us}
measure: [goodput]`, hostNames(17, flows), every), func(c *sim.Config) {
					c.Watches = append(c.Watches, outcome.Watch{What: outcome.QueueBytes, Index: 1, Every: us})
				})
				sum, squares := 0., 0.
				for i := range r.Flows {
					g := float64(r.Flows[i].Receiver.ReceivedBytes)
					sum, squares = sum+g, squares+g*g
				}
				queue := slices.Clone(r.Watched[0])
				slices.Sort(queue)
				p95, used := queue[len(queue)*95/100], float64(r.Ports[1].TxBytes)*8/(100e9*r.Measured.Seconds())
				jain := sum * sum / squares / float64(flows)
				t.Logf("Jain %.3f, queue %d B, the link is %.3f full", jain, p95, used)
				if used < 0.93 || jain < 0.97 || p95 > 105_000/8 { // of W_init
					t.Errorf("Jain %.3f, the queue's 95th percentile is %d B, the link is %.3f full", jain, p95, used)
				}
			})
		}
	}
}

// hostNames lists n hosts from this one on.
func hostNames(first, n int) (s string) {
	for i := range n {
		s += fmt.Sprintf("h%d, ", first+i)
	}
	return s[:len(s)-2]
}
