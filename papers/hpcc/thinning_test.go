package hpcc_test

import (
	"fmt"
	"testing"
)

// draft-miao §6.2: an ACK for a few packets. Where a window holds fewer than ack_every, the receiver answers when a
// round trip has passed since the first of them: with a fixed time of 20 µs, which is four round trips here, 16 flows
// had a Jain index of 0.27 at 8 packets, and two flows 41 Gb/s at 64.
func TestThinnedWindows(t *testing.T) {
	for _, x := range []struct {
		flows, every int
		jain         float64 // at least
	}{{1, 1, 1}, {1, 8, 1}, {2, 8, 0.98}, {2, 64, 0.9}, {16, 1, 0.98}, {16, 8, 0.7}, {16, 64, 0.65}} {
		t.Run(fmt.Sprintf("%d flows, %d packets", x.flows, x.every), func(t *testing.T) {
			r := run(t, fmt.Sprintf(`
duration: 8ms
warmup: 2ms
topology: {star: {hosts: 17, rate: 100Gbps, delay: 1us, buffer: 32MB}}
mtu: 1000 B payload
switch: [ecmp, telemetry]
traffic: [{name: x, from: [%s], to: h0, transport: {rdma: {ack_every: %d packets}}, cc: hpcc, start: 0s}]
measure: [goodput]`, hostNames(x.flows), x.every), nil)
			sum, squares := 0., 0.
			for i := range r.Flows {
				g := float64(r.Flows[i].Receiver.ReceivedBytes)
				sum, squares = sum+g, squares+g*g
			}
			used := float64(r.Ports[1].TxBytes) * 8 / (100e9 * r.Measured.Seconds())
			if jain := sum * sum / squares / float64(x.flows); used < 0.84 || jain < x.jain {
				t.Errorf("Jain %.2f, the link is %.3f full", jain, used)
			}
		})
	}
}

// hostNames lists h1 … hn.
func hostNames(n int) (s string) {
	for i := range n {
		s += fmt.Sprintf("h%d, ", i+1)
	}
	return s[:len(s)-2]
}
