package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/internal/testkit/warntest"
)

// bothWays is a dumbbell with flows from each host to a host of the other side. Its switches classify packets.
func bothWays(hosts int, cc, transport string) string {
	return fmt.Sprintf(`
duration: 1ms
topology: {dumbbell: {hosts: %d, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}
switches: {"*": {programs: [classify, forward, telemetry], queues: 2}}
measure: [goodput]
traffic: [{name: x, from: "*", to: {stride: %[1]d}, tos: 32, transport: {rdma: {%[3]s}}, cc: %[2]s, start: 0s}]
`, hosts, cc, transport)
}

// replaced returns a text with pairs of old and new strings replaced.
func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

// ownClass is the part of bothWays that gives each kind of packet a class at the switches.
const ownClass = "switches: {\"*\": {programs: [classify, forward, telemetry], queues: 2}}"

// TestTwoWayWarnings checks when flows in both directions cause a warning. It depends on the preset, on the class
// of acknowledgements and their number per packet, on the number and length of flows per direction, and on the
// round trip.
func TestTwoWayWarnings(t *testing.T) {
	const zero = "{hpcc: {max_stage: ¦0}}"
	eight := bothWays(8, zero, "")
	var rows []warntest.Row
	add := func(text, fires, quiet, port string) {
		rows = append(rows, warntest.Row{ID: "hpcc-two-way", Text: text, Fires: fires, Quiet: quiet, Port: port})
	}
	add(bothWays(8, "{rx_hpcc: {preset: agent, max_stage: ¦#}}", ""), "4", "5", "left->right")
	add(bothWays(8, zero, "class: 1, ack_tos: #"), "32", "0", "left->right")
	add(replaced(eight, "stride: 8", "stride: #"), "8", "1", "left->right")
	add(replaced(eight, ": 8", ": #"), "4", "3", "left->right")
	// acknowledgements of several packets
	add(bothWays(2, zero, "ack_every: #"), "2 packets", "1 packet", "left->right")
	add(replaced(bothWays(2, zero, ""), "{rdma: {}}", "#"), "tcp", "rdma", "left->right")
	add(replaced(bothWays(2, zero, ""), "{rdma: {}}", "{udp_controlled: {report_every: #}}"), "2 packets", "1 packet",
		"left->right")
	// patterns, jobs and finite flows
	add(replaced(eight, "hosts: 8", "hosts: #", "{stride: 8}", "permutation"), "8", "4", "left->right")
	add(replaced(eight, "start: 0s", "start: 0s, size: #"), "1MB", "100kB", "left->right")
	add(replaced(eight, "start: 0s", "start: 0s, size: 1MB#"), "", ", load: 10%", "left->right")
	add(replaced(eight, "from: \"*\", to: {stride: 8}", "#"), "from: \"*\", to: {stride: 8}",
		"hosts: \"*\", job: {all_to_all: {size: 16MB}}", "left->right")
	add(replaced(eight, "from: \"*\", to: {stride: 8}", "#"), "from: \"*\", to: {stride: 8}",
		"hosts: \"*\", job: {all_reduce_flows: {algorithm: ring, size: 16MB}}", "left->right")
	// windows below a packet, and round trips of very many packets
	add(replaced(eight, "100Gbps", "10Gbps", "{stride: 8}", "{stride: 8}, flows: #"), "1", "2", "left->right")
	add(replaced(eight, ": 8", ": #", "delay: 1us", "delay: 50us", "1ms", "10ms"), "8", "4", "left->right")
	// ports that links of one rate share, and ports that links of several rates share
	fabric := replaced(bothWays(16, zero, "recovery: selective_repeat, reordering: adaptive"),
		ownClass, "switch: [#, telemetry]",
		"{dumbbell: {hosts: 16, rate: 100Gbps, delay: 1us, bottleneck: 100Gbps}}",
		"{leaf_spine: {leaves: 4, spines: 2, hosts: 16, rate: 100Gbps, delay: 1us}}")
	add(fabric, "spray", "ecmp", "leaf0->spine0")
	add(replaced(fabric, "#", "forward", "spines: 2", "spines: 1, uplink: #"), "400Gbps", "1600Gbps", "leaf0->spine0")
	// flowlets, which change their path if a round trip is several gaps
	add(replaced(fabric, "#", "letflow", "100Gbps", "1Gbps", "delay: 1us", "delay: #"), "1ms", "100us", "leaf0->spine0")
	add(replaced(fabric, "100Gbps", "1Gbps", "delay: 1us", "delay: 1ms", "spines: 2", "spines: 4"), "letflow", "ecmp",
		"leaf0->spine0")
	warntest.Run(t, rows, experimentWarnings)
}
