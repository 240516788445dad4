package main

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/warntest"
)

// bothWays is a dumbbell with flows from each host to one of the other side, of which switches classify packets.
func bothWays(hosts int, cc, transport string) string {
	return fmt.Sprintf(`
duration: 1ms
topology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}
switches: {"*": {programs: [classify, forward, telemetry], queues: 2}}
measure: [goodput]
traffic: [{name: x, from: "*", to: {stride: %[1]d}, tos: 32, transport: {rdma: {%[3]s}}, cc: %[2]s, start: 0s}]
`, hosts, cc, transport)
}

// The warning of flows in both directions depends on the preset, the class of acknowledgements, and the flows of each
// direction.
func TestTwoWayWarnings(t *testing.T) {
	warntest.Run(t, []warntest.Row{
		{ID: "hpcc-two-way", Text: bothWays(8, "{rx_hpcc: {preset: agent, max_stage: ¦#}}", ""), Fires: "4", Quiet: "5",
			Port: "left->right"},
		{ID: "hpcc-two-way", Text: bothWays(8, "{hpcc: {max_stage: ¦0}}", "class: 1, ack_tos: #"), Fires: "32",
			Quiet: "0", Port: "left->right"},
		{ID: "hpcc-two-way", Text: strings.Replace(bothWays(8, "{hpcc: {max_stage: ¦0}}", ""), "stride: 8",
			"stride: #", 1), Fires: "8", Quiet: "1", Port: "left->right"},
		{ID: "hpcc-two-way", Text: strings.ReplaceAll(bothWays(8, "{hpcc: {max_stage: ¦0}}", ""), ": 8", ": #"),
			Fires: "4", Quiet: "3", Port: "left->right"},
	}, experimentWarnings)
}
