package e2e

import (
	"fmt"
	"strings"
	"testing"

	"weir/app"
	"weir/internal/document"
	"weir/internal/testkit/plantest"
	"weir/internal/testkit/warntest"
	"weir/study/experiment"
)

// narrowPath is an experiment with one flow whose path is narrow behind the switch: 1 Gb/s, and a round trip of 4
// ms. The host's link has 100 Gb/s.
func narrowPath(programs, transport, cc string) string {
	return twoLinks("100Gbps", "1Gbps", "1ms", "1MB", programs, transport, cc)
}

// fabric is narrowPath with 100 Gb/s behind the switch and a round trip of 8 us, where buffers hold many round
// trips. The host's link has 200 Gb/s, so that queues form.
func fabric(programs, transport, cc string) string {
	return twoLinks("200Gbps", "100Gbps", "2us", "1MB", programs, transport, cc)
}

// trimmed is fabric with the two queues that trimming needs.
func trimmed(programs, transport, cc string) string {
	return strings.Replace(fabric(programs, transport, cc), "switch: ["+programs+"]",
		"switches: {s: {queues: 2, programs: ["+programs+"]}}", 1)
}

func twoLinks(host, narrow, delay, buffer, programs, transport, cc string) string {
	if cc != "" {
		cc = ", cc: " + cc
	}
	return fmt.Sprintf(`duration: 1ms
topology:
  hosts: [a, b]
  switches: [s]
  links:
    - {ends: [a, s], rate: %s, delay: %s}
    - {ends: [s, b], rate: %s, delay: %s, buffer: %s}
switch: [%s]
traffic: [{name: x, from: a, to: b, transport: %s%s}]
measure: [goodput]
`, host, delay, narrow, delay, buffer, programs, transport, cc)
}

// leaves is an experiment with a flow that has a choice of four spines.
func leaves(programs, transport, cc string) string {
	if cc != "" {
		cc = ", cc: " + cc
	}
	return `duration: 1ms
topology: {leaf_spine: {leaves: 2, spines: 4, hosts: 2, rate: 100Gbps, uplink: 100Gbps, delay: 1us, buffer: 1MB}}
switch: [` + programs + `]
traffic: [{name: x, from: h0, to: h2, transport: ` + transport + cc + `, start: 0s}]
measure: [goodput]
`
}

// warned are the kinds of warnings about experiments.
var warned = []warntest.Row{
	// windows and buffers: the path's narrowest link is decisive, not the host's
	{ID: "tcp-send-buffer", Text: narrowPath("forward", "{tcp: {send_buffer: ¦#}}", "cubic"), Fires: "450kB",
		Quiet: "500kB", Port: "s->b"},
	{ID: "tcp-receive-buffer", Text: narrowPath("forward", "{tcp: {receive_buffer: ¦#}}", "cubic"), Fires: "920kB",
		Quiet: "1MB", Port: "s->b"},
	{ID: "swift-max-cwnd", Text: narrowPath("forward", "tcp", "{swift: {base_target: 10ms, max_cwnd: ¦#}}"), Fires: "300",
		Quiet: "330", Port: "s->b"},
	{ID: "swift-target", Text: narrowPath("forward", "tcp", "{swift: {max_cwnd: 1000, hops: 1, hop_delay: 1ms, "+
		"base_target: ¦#}}"),
		Fires: "2.9ms", Quiet: "3.2ms"},
	{ID: "bolt-max-cwnd", Text: narrowPath("forward, bolt", "rdma", "{bolt: {max_cwnd: ¦#}}"), Fires: "430kB",
		Quiet: "480kB", Port: "s->b"},
	{ID: "rdma-bound-bytes", Text: narrowPath("forward", "{rdma: {bound: bytes, bound_bytes: ¦#}}", "reno"),
		Fires: "430kB", Quiet: "480kB", Port: "s->b"},
	{ID: "telemetry-asks", Text: narrowPath("forward, telemetry", "{rdma: {telemetry: packets, telemetry_packets: "+
		"¦#}}", "hpcc"),
		Fires: "10900 packets", Quiet: "9900 packets", Port: "s->b"},
	{ID: "hpcc-w-ai", Text: narrowPath("forward, telemetry", "rdma", "{hpcc: {w_ai: ¦#}}"), Fires: "27kB", Quiet: "24kB",
		Port: "s->b"},
	{ID: "hpcc-increases", Text: strings.Replace(fabric("forward, telemetry", "rdma", "¦hpcc"), "to: b", "to: b, flows: #",
		1), Fires: "150", Quiet: "135", Port: "s->b"},
	{ID: "hpcc-small-window", Text: twoLinks("#", "1Gbps", "1us", "1MB", "forward, telemetry", "rdma", "¦hpcc"),
		Fires: "1Gbps", Quiet: "100Gbps", Port: "s->b"},
	{ID: "min-rate-above-path", Text: narrowPath("forward, ecn", "rdma", "{dcqcn: {min_rate: ¦#}}"), Fires: "1050Mbps",
		Quiet: "950Mbps", Port: "s->b"},
	{ID: "dcqcn-increases", Text: twoLinks("1Gbps", "#", "20us", "1MB", "forward, {ecn: {kmin: 20kB, kmax: 60kB}}",
		"rdma", "{dcqcn: {min_rate: 1Mbps, ai: ¦40Mbps}}"), Fires: "140Mbps", Quiet: "150Mbps", Port: "s->b"},
	// timers and round trips
	{ID: "rdma-base-rtt", Text: fabric("forward, telemetry", "{rdma: {first_window: line_rate, base_rtt: ¦#}}", "hpcc"),
		Fires: "7.5us", Quiet: "8.2us"},
	{ID: "rdma-rto-fixed", Text: strings.Replace(twoLinks("100Gbps", "100Gbps", "2us", "1MB",
		"forward, telemetry", "{rdma: {rto: fixed, rto_min: ¦#}}", "hpcc"), ", buffer: 1MB", "", 1), Fires: "8us",
		Quiet: "9us"},
	{ID: "timeout-below-path", Text: strings.Replace(narrowPath("forward", "{rdma: {rto_min: ¦#}}", "reno"),
		"delay: 1ms}", "delay: 1ms, buffer: 1MB}", 1), Fires: "11900us", Quiet: "12500us", Port: "s->b"},
	{ID: "hpcc-t-short", Text: fabric("forward, telemetry", "rdma", "{hpcc: {t: ¦#}}"), Fires: "7.5us", Quiet: "8.2us"},
	{ID: "hpcc-t-long", Text: fabric("forward, telemetry", "rdma", "{hpcc: {t: ¦#}}"), Fires: "27us", Quiet: "24us"},
	{ID: "hpcc-load-short", Text: fabric("forward, {telemetry: {format: relative, t: #}}", "rdma", "¦hpcc"), Fires: "3us",
		Quiet: "3.5us"},
	{ID: "hpcc-load-long", Text: fabric("forward, {telemetry: {t: #}}", "rdma", "¦hpcc_pint"), Fires: "43us",
		Quiet: "40us"},
	{ID: "hpcc-congested-load", Text: fabric("forward, {telemetry: {t: 8us, congested_load: #}}",
		"{rdma: {telemetry: congestion}}", "{hpcc: {eta: ¦94%}}"), Fires: "95%", Quiet: "94%", Port: "s->b"},
	{ID: "hpcc-two-way", Text: bothWays(8, "{hpcc: {max_stage: ¦#}}", ""), Fires: "0", Quiet: "1", Port: "left->right"},
	{ID: "timely-t-high-low", Text: fabric("forward", "{rdma: {recovery: selective_repeat}}",
		"{timely: {t_low: 1us, t_high: ¦#}}"), Fires: "8us", Quiet: "9us"},
	{ID: "timely-t-high-wait", Text: fabric("forward", "{rdma: {recovery: selective_repeat}}", "{timely: {t_high: ¦#}}"),
		Fires: "90us", Quiet: "86us", Port: "s->b"},
	{ID: "ndp-rto-nic", Text: trimmed("forward, trimming", "{ndp: {nic_ack_delay: 100us, rto_min: ¦#}}", ""),
		Fires: "108us", Quiet: "112us"},
	{ID: "uet-network-rtt", Text: trimmed("forward, ecn, trimming", "{uet: {network_rtt: ¦#}}", ""), Fires: "7.5us",
		Quiet: "8.2us"},
	{ID: "uet-rto-base", Text: trimmed("forward, ecn, {trimming: {rtt: 100ns}}", "{uet: {rto_base: ¦#, rto_queues: "+
		"0}}", ""), Fires: "8us", Quiet: "9us"},
	// signals
	{ID: "cc-no-signal", Text: fabric("forward#", "rdma", "¦dcqcn"), Fires: "", Quiet: ", ecn", Port: "s->b"},
	{ID: "dctcp-unmarked", Text: fabric("forward#", "tcp", "¦dctcp"), Fires: "", Quiet: ", ecn", Port: "s->b"},
	{ID: "bolt-unanswered", Text: fabric("forward#", "rdma", "¦bolt"), Fires: "", Quiet: ", bolt", Port: "s->b"},
	{ID: "bolt-paths", Text: leaves("#, bolt", "{rdma: {recovery: selective_repeat, reordering: adaptive}}",
		"¦bolt"), Fires: "spray", Quiet: "ecmp"},
	{ID: "tcp-uneven-paths", Text: uneven("spray", "¦tcp", "cubic"), Fires: "74Gbps", Quiet: "76Gbps", Port: slowPort},
	{ID: "hpcc-uneven-loads", Text: uneven("spray, {telemetry: {t: 9us}}", "udp_controlled", "¦hpcc_pint"),
		Fires: "89Gbps", Quiet: "91Gbps", Port: slowPort},
	{ID: "hpcc-uneven-hops", Text: uneven("spray, telemetry", "udp_controlled", "{hpcc: {mode: ¦per_hop}}"),
		Fires: "49Gbps", Quiet: "51Gbps", Port: slowPort},
	{ID: "hpcc-uneven-stages", Text: uneven("spray, telemetry", "udp_controlled", "{hpcc: {max_stage: ¦0}}"),
		Fires: "60Gbps", Quiet: "70Gbps", Port: slowPort},
	{ID: "hpcc-uneven-increases", Text: strings.Replace(uneven("spray, telemetry", "udp_controlled",
		"{hpcc: {w_ai: ¦80 B}}"), "to: [h4,", "flows: 8, to: [h4,", 1), Fires: "25Gbps", Quiet: "60Gbps", Port: slowPort},
	{ID: "powertcp-uneven-paths", Text: uneven("drill, telemetry", "udp_controlled", "¦powertcp"), Fires: "49Gbps",
		Quiet: "51Gbps", Port: slowPort},
	{ID: "hpcc-agent-moves", Text: leaves("#, telemetry", "udp_controlled", "{rx_hpcc: {preset: ¦agent}}"),
		Fires: "letflow", Quiet: "ecmp", Port: "leaf1->h2"},
	{ID: "rdma-recovery-delay", Text: fabric("forward", "{rdma: {recovery: ¦#}}", "{timely: {t_high: 60us}}"),
		Fires: "go_back_n", Quiet: "selective_repeat"},
	{ID: "rdma-ack-every", Text: fabric("forward, bolt", "{rdma: {ack_every: ¦#}}", "bolt"), Fires: "2 packets",
		Quiet: "1 packet"},
	{ID: "rdma-trimmable", Text: trimmed("forward#", "{rdma: {recovery: selective_repeat, trimmable: ¦true}}", "reno"),
		Fires: "", Quiet: ", trimming", Port: "s->b"},
	{ID: "rdma-ack-priority", Text: fabric("forward", "{rdma: {class: #, ack_priority: ¦true}}", "reno"), Fires: "0",
		Quiet: "1"},
	{ID: "rdma-reorder-window", Text: fabric("forward",
		"{rdma: {recovery: selective_repeat, reordering: #, reorder_window: ¦5us}}", "reno"), Fires: "none", Quiet: "fixed"},
	{ID: "rdma-nacks-keyed", Text: fabric("forward", "{rdma: {integrity: #, nacks: ¦resend}}", "reno"), Fires: "keyed",
		Quiet: "none"},
	{ID: "udp-phase", Text: fabric("forward", "{udp: {rate: 1Gbps, gap_jitter: ¦#}}", ""), Fires: "0%", Quiet: "1%"},
	{ID: "ndp-untrimmed", Text: trimmed("forward#", "¦ndp", ""), Fires: "", Quiet: ", trimming", Port: "s->b"},
	{ID: "uet-sleek-needed", Text: fabric("forward, ecn", "{uet: {balance: oblivious, rto_base: 1ms, sleek: ¦#}}", ""),
		Fires: "false", Quiet: "true", Port: "s->b"},
	{ID: "uet-sleek-twice", Text: trimmed("forward, ecn, trimming", "{uet: {sleek: ¦#}}", ""), Fires: "true",
		Quiet: "false"},
	{ID: "uet-reps", Text: fabric("forward, ecn", "{uet: {sleek: true, rto_base: 1ms, balance: ¦#}}", ""), Fires: "reps",
		Quiet: "oblivious", Port: "s->b"},
	{ID: "uet-unmarked", Text: fabric("forward#", "{uet: ¦{sleek: true, rto_base: 1ms, balance: oblivious}}", ""),
		Fires: "", Quiet: ", ecn", Port: "s->b"},
	{ID: "uet-balance", Text: leaves("#, ecn", "{uet: {sleek: true, balance: ¦oblivious, rto_base: 1ms}}", ""),
		Fires: "spray", Quiet: "ecmp"},
	{ID: "order-needed", Text: leaves("#", "¦rdma", "reno"), Fires: "spray", Quiet: "ecmp"},
	{ID: "paths-no-choice", Text: leaves("#, telemetry", "{rdma: {recovery: selective_repeat, paths: ¦8}}", "hpcc"),
		Fires: "forward", Quiet: "ecmp"},
	{ID: "job-nic", Text: `duration: 1ms
topology: {rails: {servers: 2, gpus: 2, planes: 2, spines: 2, rate: 10Gbps, delay: 1us, nvlink: 100Gbps, buffer: 1MB}}
switch: [ecmp]
traffic:
  - {name: train, nic: ¦rail, job: {all_reduce: {size: 1MB, channels: 4, nics: #}}, transport: tcp}
measure: [job]
`, Fires: "2", Quiet: "1"},
	{ID: "collective-key", Text: `duration: 1ms
topology: {star: {hosts: 2, rate: 10Gbps, delay: 1us, buffer: 1MB}}
switch: [forward]
traffic: [{name: reduce, #, hosts: "*", transport: tcp}]
measure: [collective]
`, Fires: "collective: ¦ring, size: 1MB", Quiet: "job: {all_reduce_flows: {size: 1MB}}"},
	{ID: "telemetry-hops", Text: leaves("ecmp, {telemetry: {format: int-md, hops: #}}", "rdma", "¦hpcc"), Fires: "2",
		Quiet: "3"},
	{ID: "telemetry-multi", Text: fabric("forward, ¦{telemetry: {multi: #}}", "rdma", "hpcc"), Fires: "5", Quiet: "4",
		Port: "s->b"},
	{ID: "hpcc-census-idle", Text: fabric("forward, {telemetry: {format: #, t: 9us}}", "rdma", "{hpcc: {census: ¦on}}"),
		Fires: "relative", Quiet: "hpcc"},
	{ID: "hpcc-census-n", Text: fabric("forward, telemetry", "rdma", "{hpcc: {census: #, n: ¦16}}"), Fires: "on",
		Quiet: "off"},
	{ID: "hpcc-agent-silent", Text: fabric("forward#", "tcp", "{rx_hpcc: {preset: ¦agent}}"), Fires: "",
		Quiet: ", {telemetry: {format: ioam}}", Port: "s->b"},
	{ID: "switch-no-forwarding", Issue: opaqueWarnings},
	{ID: "idle-parameter", Text: fabric("forward, telemetry", "rdma", "{hpcc: {n: #, w_ai: ¦100 B}}"), Fires: "16",
		Quiet: "0"},
	// ports
	{ID: "marks-beyond-buffer", Text: fabric("forward, ¦{ecn: {kmin: #, kmax: 2MB}}", "rdma", "dcqcn"), Fires: "1MB",
		Quiet: "950kB", Port: "s->b"},
	{ID: "aqm-below-frame", Text: narrowPath("forward, {codel: {target: ¦#, interval: 1ms}}", "tcp", "cubic"),
		Fires: "12us", Quiet: "13us", Port: "s->b"},
	{ID: "aqm-beyond-buffer", Text: narrowPath("forward, {codel: {target: ¦#, interval: 100ms}}", "tcp", "cubic"),
		Fires: "8ms", Quiet: "7.9ms", Port: "s->b"},
	{ID: "aqm-pace", Text: narrowPath("forward, {pie: {target: 5ms, update: ¦#}}", "tcp", "cubic"), Fires: "14ms",
		Quiet: "15ms"},
	{ID: "ppv-target", Text: narrowPath("forward, {ppv: {target: ¦#}}", "tcp", "cubic"), Fires: "8ms", Quiet: "7.9ms",
		Port: "s->b"},
}

// experimentWarnings loads an experiment.
func experimentWarnings(t *testing.T, text string) []document.Warning {
	t.Helper()
	s := plantest.LoadSource(t, app.Registry(), &experiment.Source{Name: "test", File: "test.yaml", Data: []byte(text),
		Open: func(name string) ([]byte, error) { // two flows, of class 3 and of one that the name has
			return []byte("2\n0 1 3 100 1000 0.0\n0 1 " + strings.TrimPrefix(name, "flows") + " 100 1000 0.0\n"), nil
		}}, experiment.Options{})
	return s.Warnings()
}

// TestWarnings_FireAndStayQuiet checks that each kind of warning about an experiment fires in one file and not in
// another, which differs in a single value.
func TestWarnings_FireAndStayQuiet(t *testing.T) {
	warntest.Run(t, append(warned, warnedPrograms...), experimentWarnings)
}

// strided has a middle link that # flows of a generator share.
func strided(cc string) string {
	return `duration: 1ms
topology: {dumbbell: {hosts: 2, rate: 100Gbps, delay: 1us, bottleneck: 50Gbps}}
switch: [forward, telemetry]
traffic: [{name: x, from: "*", to: {stride: 2}, flows: #, transport: rdma, cc: ` + cc + `, start: 0s}]
measure: [goodput]
`
}

// TestIncreasesOfGenerators checks that flows of a generator count like flows of a list. Increases act at a middle
// link although the census is on.
func TestIncreasesOfGenerators(t *testing.T) {
	const kind = "hpcc-increases" // its row is in warned
	for _, law := range []string{"¦hpcc", "¦rx_hpcc", "¦powertcp"} {
		warntest.Run(t, []warntest.Row{{ID: kind, Text: strided(law), Fires: "70", Quiet: "15", Port: "left->right"}},
			experimentWarnings)
	}
}
