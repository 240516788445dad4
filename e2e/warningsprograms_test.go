package e2e

import (
	"fmt"
	"strings"

	"weir/internal/testkit/warntest"
)

// switched is an experiment whose bottleneck, of 50 Mb/s with 1 MB of buffer, is behind a switch with these lines.
func switched(lines, buffer string, flows int) string {
	return fmt.Sprintf(`duration: 1ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 10ms, buffer: 1MB}
    - {ends: [s, b], rate: 50Mbps, delay: 10ms, buffer: %s}
switches: {s: {%s}}
traffic: [{name: x, from: a, to: b, transport: tcp, cc: cubic, flows: %d}]
measure: [goodput]
`, buffer, lines, flows)
}

// domain is an experiment with two switches of an ABC domain.
func domain(parameters, transport string) string {
	return `duration: 1ms
topology:
  hosts: [a, b]
  switches: [s, t]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 100us}
    - {ends: [s, t], rate: 50Mbps, delay: 100us, buffer: 1MB}
    - {ends: [t, b], rate: 1Gbps, delay: 100us, buffer: 1MB}
switch: [forward, {abc: {domain: part, ` + parameters + `}}]
traffic: [{name: x, from: a, to: b, transport: ` + transport + `}]
measure: [goodput]
`
}

// fatTree is a fat tree with P4TE.
func fatTree(parameters string) string {
	return `duration: 1ms
topology: {fat_tree: {k: 4, rate: 10Gbps, delay: 1us, buffer: 1MB}}
addresses: hierarchical
switch: [{p4te: {` + parameters + `}}]
traffic: [{name: x, from: h0, to: h15, transport: tcp, cc: cubic}]
measure: [goodput]
`
}

func ncf(parameters string, queues, buffer string, flows int) string {
	return switched("queues: "+queues+", scheduler: ncf, programs: [forward, {ncf: {"+parameters+"}}]", buffer, flows)
}

// warnedPrograms are the kinds of warnings about programs and schedulers of switches.
var warnedPrograms = []warntest.Row{
	{ID: "user-divided", Text: twoLinks("1Gbps", "50Mbps", "10ms", "1MB",
		"{plan: {rates: ¦{10.0.0.1: 10Mbps, \"fd00::#/128\": 20Mbps, 10.0.0.0/8: 30Mbps}}}, forward", "tcp", "cubic"),
		Fires: "1", Quiet: "9"},
	{ID: "abc-q-base", Text: twoLinks("1Gbps", "50Mbps", "10ms", "1MB", "forward, {abc: {q_base: ¦#}}", "tcp", "cubic"),
		Fires: "16 packets", Quiet: "18 packets", Port: "s->b"},
	{ID: "abc-buffer", Text: twoLinks("1Gbps", "50Mbps", "5ms", "30 packets", "forward, {abc: {q_base: ¦#}}", "tcp",
		"cubic"),
		Fires: "30 packets", Quiet: "29 packets", Port: "s->b"},
	{ID: "abc-no-rate", Text: twoLinks("1Gbps", "#", "1ms", "1MB", "forward, {abc: ¦{round_trip: 4ms}}", "tcp", "cubic"),
		Fires: "4000pps", Quiet: "50Mbps", Port: "s->b"},
	{ID: "abc-mtu-rigid", Text: domain("mtu: ¦#", "udp, rate: 1Mbps"), Fires: "1500 B", Quiet: "1510 B"},
	{ID: "abc-mtu-ipv6", Text: domain("mtu: ¦#", "tcp, cc: cubic"), Fires: "1280 B", Quiet: "1300 B"},
	{ID: "afq-buffer", Text: switched("queues: 16, scheduler: calendar, programs: [forward, {afq: {round: ¦#}}]",
		"256kB", 1),
		Fires: "16 kB", Quiet: "15.9 kB", Port: "s->b"},
	{ID: "afq-round", Text: switched("queues: 16, scheduler: calendar, programs: [forward, {afq: {round: ¦#}}]", "1MB", 1),
		Fires: "15 kB", Quiet: "16.5 kB", Port: "s->b"},
	{ID: "bolt-slow", Text: twoLinks("100Mbps", "#", "1us", "1MB", "forward, ¦bolt", "udp, rate: 1Mbps", ""),
		Fires: "9500kbps", Quiet: "10500kbps", Port: "s->b"},
	{ID: "bolt-threshold", Text: fabric("forward, {bolt: {threshold: ¦#}}", "rdma", "bolt"), Fires: "80us", Quiet: "76us",
		Port: "s->b"},
	{ID: "bolt-crowded", Text: twoLinks("100Gbps", "100Gbps", "2us", "#", "forward, ¦bolt", "rdma", "bolt, flows: 100"),
		Fires: "99 packets", Quiet: "101 packets", Port: "s->b"},
	{ID: "rainbow-colours", Text: switched("programs: [forward, {rainbow: {colours: ¦#}}]", "1MB", 1), Fires: "20",
		Quiet: "64"},
	{ID: "rainbow-from", Text: switched("programs: [forward, {rainbow: {from: ¦#}}]", "1MB", 1), Fires: "525kbps",
		Quiet: "475kbps", Port: "s->b"},
	{ID: "rainbow-to", Text: switched("programs: [forward, {rainbow: {to: ¦#}}]", "1MB", 1), Fires: "47Mbps",
		Quiet: "53Mbps",
		Port:  "s->b"},
	{ID: "rainbow-high", Text: switched("programs: [forward, {rainbow: {low: 1ms, high: ¦#}}]", "1MB", 1), Fires: "107ms",
		Quiet: "106ms", Port: "s->b"},
	{ID: "rainbow-interval", Text: switched("programs: [forward, {rainbow: {interval: ¦#}}]", "1MB", 1), Fires: "1.9ms",
		Quiet: "2.1ms", Port: "s->b"},
	{ID: "ncf-memory", Text: ncf("round_trip: 50ms, memory: ¦#", "3", "500kB", 1), Fires: "525kB", Quiet: "475kB",
		Port: "s->b"},
	{ID: "ncf-top", Text: ncf("round_trip: 50ms, senders: 200, threshold: 1%, top: ¦#", "3", "500kB", 50),
		Fires: "47", Quiet: "50", Port: "s->b"},
	{ID: "ncf-elephants", Text: strings.Replace(ncf("round_trip: 50ms, senders: 200, threshold: 6%, top: ¦#", "3", "250kB",
		20), "traffic: [", "traffic: [{name: flood, from: a, to: b, transport: udp, rate: 1Mbps, flows: 100}, ", 1),
		Fires: "19", Quiet: "20", Port: "s->b"},
	{ID: "ncf-windows", Text: ncf("duration: ¦#", "3", "250kB", 1), Fires: "29ms", Quiet: "33ms", Port: "s->b"},
	{ID: "ncf-memory-idle", Text: ncf("round_trip: 50ms, senders: 200, tilt: ¦100%", "#", "250kB", 1), Fires: "2",
		Quiet: "3"},
	{ID: "ncf-early-late", Text: ncf("round_trip: 50ms, senders: 200, early: ¦#", "3", "250kB", 1), Fires: "96%",
		Quiet: "94%"},
	{ID: "ncf-early-idle", Text: ncf("round_trip: 50ms, senders: 200, early: ¦#", "3", "250kB", 200), Fires: "30%",
		Quiet: "0%"},
	{ID: "ncf-early-wait", Text: ncf("round_trip: 50ms, early: 30%, change: flowlet, change_wait: ¦#", "3", "250kB", 1),
		Fires: "380ms", Quiet: "340ms", Port: "s->b"},
	{ID: "ncf-deaf-idle", Text: ncf("round_trip: 50ms, senders: 200, windows: ¦#", "3", "250kB", 1), Fires: "1",
		Quiet: "4"},
	{ID: "p4te-round-trip", Text: fatTree("round_trip: ¦#"), Fires: "200us", Quiet: "100us"},
	{ID: "p4te-delay-delta", Text: fatTree("delay_delta: ¦#"), Fires: "1ms", Quiet: "100us"},
	{ID: "p4te-burst", Text: fatTree("burst: ¦#"), Fires: "1ms", Quiet: "100us"},
	{ID: "p4te-gap", Text: fatTree("gap: ¦#"), Fires: "1ms", Quiet: "100us"},
	{ID: "p4te-drift", Text: fatTree("monitoring: ¦true") + `switches: {"edge*": {clock: {drift: #}}, ` +
		`"agg*": {clock: {drift: -100ppm}}}` + "\n", Fires: "150ppm", Quiet: "140ppm",
		Port: "edge0->agg0"},
	{ID: "p4te-bytes", Text: fatTree("bytes: ¦#"), Fires: "1 MB", Quiet: "100kB"},
	{ID: "uet-rto-queues", Text: trimmed("forward, ecn, {trimming: {rtt: #}}", "{uet: {network_rtt: 9us, rto_queues: "+
		"¦5}}", ""),
		Fires: "100us", Quiet: "9us", Port: "s->b"},
	{ID: "flow-classes", Text: `duration: 1ms
topology: {star: {hosts: 2, rate: 1Gbps, delay: 1us, buffer: 1MB}}
switch: [forward]
traffic: [{name: x, file: flows#, format: hpcc, offset: 0s, transport: tcp, cc: cubic}]
measure: [goodput]
`, Fires: "4", Quiet: "3"},
}
