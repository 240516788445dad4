package e2e

import (
	"slices"
	"strings"
	"testing"
)

// queueing is an experiment with a path a -> s -> t -> b: 1 Gb/s, and 100 Mb/s at its end. A full buffer takes 80 ms
// at t->b, and 8 ms at all other ports. The round trip is 6.2 ms.
const queueing = `duration: 1s
topology:
  hosts: [a, b, c, d, e]
  switches: [s, t]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 1ms, buffer: 1MB}
    - {ends: [c, s], rate: 1Gbps, delay: 1ms, buffer: 1MB}
    - {ends: [s, t], rate: 1Gbps, delay: 1ms, buffer: 1MB}
    - {ends: [t, b], rate: 100Mbps, delay: 1ms, buffer: 1MB}
    - {ends: [d, t], rate: 1Gbps, delay: 1ms, buffer: 1MB}
    - {ends: [e, t], rate: 1Gbps, delay: 1ms, buffer: 1MB}
switch: [forward]
traffic:
  - {name: x, from: a, to: b, transport: {rdma: {rto_min: #}}, cc: reno, start: 0s}
  - {name: y, from: FROM, to: TO, transport: rdma, cc: reno, start: 0s}
measure: [goodput]
`

// TestWarningsOfTimers checks that the timeout of a traffic is compared with the queues of the ports at which data
// can queue, on its own path and on the path of its acknowledgements.
func TestWarningsOfTimers(t *testing.T) {
	for _, x := range []struct{ name, from, to, fires, quiet string }{
		{"acknowledgements alone come back", "a", "b", "85ms", "88ms"},
		{"a host sends back less than all links carry", "b", "a", "85ms", "88ms"},
		{"two hosts send to t", "c", "d", "93ms", "96ms"},
		{"two hosts send to a", "[d, e]", "a", "101ms", "105ms"},
	} {
		t.Run(x.name, func(t *testing.T) {
			for _, timeout := range []string{x.fires, x.quiet} {
				text := strings.NewReplacer("#", timeout, "FROM", x.from, "TO", x.to).Replace(queueing)
				all, loads := issued(text)
				if !loads || slices.ContainsFunc(all, func(w string) bool {
					return strings.HasPrefix(w, "timeout-below-path ")
				}) != (timeout == x.fires) {
					t.Errorf("with %s: loads %v, %v", timeout, loads, all)
				}
			}
		})
	}
}
