package main

import (
	"slices"
	"testing"
)

// TestWarningsOfIdleLinks: links that no data passes give no warning about the units of telemetry.
func TestWarningsOfIdleLinks(t *testing.T) {
	for _, x := range []struct {
		transport, cc string
		fires         bool
	}{{"tcp", "cubic", false}, {"rdma", "hpcc", true}} {
		text := `duration: 1ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 100Gbps, delay: 2us, buffer: 1MB}
    - {ends: [s, b], rate: 100Gbps, delay: 2us, buffer: 1MB}
    - {ends: [s, c], rate: 10Gbps, delay: 2us, buffer: 1MB}
switch: [forward, {telemetry: {multi: 4}}]
traffic:
  - {name: x, from: a, to: b, transport: rdma, cc: hpcc, start: 0s}
  - {name: y, from: b, to: c, transport: ` + x.transport + `, cc: ` + x.cc + `, start: 0s}
measure: [goodput]
`
		if all, loads := issued(text); !loads || slices.Contains(all, "telemetry-multi s->c") != x.fires {
			t.Errorf("y by %s: loads %v, %v", x.cc, loads, all)
		}
	}
}
