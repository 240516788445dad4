package run

import (
	"math"
	"testing"

	"weir/study/claim"
)

// TestIdealFCT checks that a single flow, with an unlimited window and no handshake, has a slowdown of 1 for any
// size, path and framing. The formula is for store and forward.
func TestIdealFCT(t *testing.T) {
	for _, size := range []string{"1 B", "1000 B", "1001 B", "5kB", "1MB"} {
		for _, set := range []string{"framing=l2", "framing=wire", "framing=hpcc", "traffic.x.ip=6", "traffic.x.to=h1",
			"topology.leaf_spine.uplink=4Gbps", "traffic.x.from=h1"} {
			o := execute(t, `title: t
duration: 100ms
mtu: 1000 B payload
framing: l2
topology: {leaf_spine: {leaves: 2, spines: 1, hosts: 2, rate: 10Gbps, delay: 3us, uplink: 40Gbps}}
switch: [ecmp]
traffic:
  - {name: x, from: h0, to: h3, transport: window, window: 10000 packets, timeout: 50ms, size: `+size+
				`, start: 0s, ip: 4}
measure: [slowdown]
`, Options{}, set)
			x := o.Runs[0].Measures[0].Groups[0].Value
			if math.Abs(x-1) > 1e-3 {
				t.Errorf("%s, %s: slowdown %.5f", size, set, x)
			}
		}
	}
}

// TestSlowdown_PercentilesAscend checks that slowdown and its percentiles can be claimed and plotted, and cover
// finished flows.
func TestSlowdown_PercentilesAscend(t *testing.T) {
	o := execute(t, `title: t
duration: 2s
topology: {leaf_spine: {leaves: 2, spines: 2, hosts: 4, rate: 1Gbps, delay: 1us, buffer: 500 packets}}
switch: [ecmp]
traffic:
  - {name: web, from: "*", to: random, transport: tcp, sizes: hadoop, load: 20%, stop: 200ms}
measure: [{slowdown: {percentiles: [50, 90]}}, {fct: {percentiles: [50]}}]
expect:
  - {id: order, says: percentiles ascend,
      that: 1 <= slowdown_p50.web and slowdown_p50.web < slowdown_p90.web and fct_p50.web < fct_max.web}
`, Options{})
	if c := o.Claims[0]; c.Verdict != claim.Holds {
		t.Errorf("%s: %s", c.Verdict, c.Measured)
	}
}
