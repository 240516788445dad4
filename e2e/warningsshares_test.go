package e2e

import (
	"slices"
	"strings"
	"testing"
)

// shared is an experiment of 100 Mb/s and a round trip of 20 ms, which has 240 kB.
const shared = `duration: 1s
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 5ms, buffer: 1MB}
    - {ends: [c, s], rate: CLINK, delay: 5ms, buffer: 1MB}
    - {ends: [s, b], rate: 100Mbps, delay: 5ms, buffer: 1MB}
switch: [forward]
traffic:
  - {name: x, from: a, to: b, transport: {tcp: {send_buffer: 100kB}}, cc: cubic OWN}
  - {name: y, from: c, to: b, transport: tcp, cc: cubic OTHER}
measure: [goodput]
`

// TestWarningsOfShares checks that a buffer or window is compared with the share that all flows of any traffic at
// the same link leave to a flow, and with the largest flow.
func TestWarningsOfShares(t *testing.T) {
	for _, x := range []struct {
		name, own, other, link string
		fires                  bool
	}{
		{"another flow", "", "", "1Gbps", true},
		{"two other flows", "", ", flows: 2", "1Gbps", false},
		{"two own flows and another", ", flows: 2", "", "1Gbps", false},
		{"other flows that end", "", ", flows: 9, size: 1kB", "1Gbps", true},
		{"other flows that their own link limits", "", ", flows: 9", "10Mbps", true},
		{"a large flow", ", size: 101kB", "", "1Gbps", true},
		{"a small flow", ", size: 100kB", "", "1Gbps", false},
		{"a large flow among others", ", size: 1MB", ", flows: 2", "1Gbps", false},
		{"drawn sizes", ", sizes: alistorage, load: 1%", "", "1Gbps", true},
		{"drawn flows of one size", ", size: 50kB, load: 1%", "", "1Gbps", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			text := strings.NewReplacer(" OWN", x.own, " OTHER", x.other, "CLINK", x.link).Replace(shared)
			all, loads := issued(text)
			if !loads || slices.Contains(all, "tcp-send-buffer s->b") != x.fires || len(all) > 1 {
				t.Errorf("loads %v, %v", loads, all)
			}
		})
	}
}
