package cli

import (
	"strings"
	"testing"

	"weir/internal/testkit"
	"weir/internal/testkit/plantest"
	"weir/study/experiment"
)

// TestTrimmingWarnings checks that a warning names the parameter where switches lack a function that uet, ndp or
// rdma need, or where times do not fit. A fitting configuration gives no warning.
func TestTrimmingWarnings(t *testing.T) {
	const (
		trims = "switches: {\"*\": {queues: 2, programs: [ecmp, trimming]}}"
		plain = "switch: [ecmp, {ecn: {kmin: 30kB, kmax: 100kB, pmax: 100%}}]"
		ends  = ", buffer: 200kB"
	)
	for name, x := range map[string]struct{ switches, buffer, transport, want string }{
		"all fits":    {trims, "", "uet", ""},
		"no trimming": {plain, ends, "uet", "sleek: no switch trims packets (program trimming)"},
		"with sleek":  {plain, ends, "{uet: {sleek: true}}", ""},
		"both":        {trims, "", "{uet: {sleek: true}}", "sleek: switches trim packets"},
		"trim: false": {strings.Replace(trims, "trimming", "{trimming: {trim: false}}", 1), "", "uet",
			"no switch trims packets"},
		"reps":             {plain, ends, "{uet: {sleek: true, balance: reps}}", "balance: no switch trims packets"},
		"no marks":         {"switch: [ecmp]", ends, "{uet: {sleek: true}}", "control: no switch marks packets"},
		"credit, unmarked": {"switch: [ecmp]", ends, "{uet: {control: rccc, rto: estimated}}", "sleek: no switch trims"},
		"sprayed": {strings.Replace(trims, "ecmp", "spray", 1), "", "uet",
			"balance: a program of the switches spreads"},
		"one, sprayed":  {strings.Replace(trims, "ecmp", "spray", 1), "", "{uet: {balance: one}}", ""},
		"short network": {trims, "", "{uet: {network_rtt: 1us}}", "network_rtt: the round trip of the longest path"},
		"short timeout": {trims, "", "{uet: {rto_base: 1ns, rto_queues: 0}}", "rto_base: the timeout, 1ns"},
		"long queues": {strings.Replace(trims, "trimming", "{trimming: {rtt: 50us}}", 1), "", "uet",
			"t.yaml:14:11: traffic x: transport uet: network_rtt: the timeout is "},
		"long queues, given": {strings.Replace(trims, "trimming", "{trimming: {rtt: 50us}}", 1), "",
			"{uet: {network_rtt: 30us}}", ""},
		"rdma": {plain, ends, "{rdma: {recovery: selective_repeat, trimmable: true}}, cc: dcqcn",
			"trimmable: no switch trims packets (program trimming or ndp)"},
		"rdma, trimmed": {trims, "", "{rdma: {recovery: selective_repeat, reordering: adaptive, trimmable: true}}, cc: dcqcn",
			""},
		"ndp": {"switch: [ecmp]", ends, "ndp", "no switch trims packets (program ndp or trimming)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := plantest.LoadSource(t, Registry(), plantest.NewSource("t.yaml", `duration: 1ms
mtu: 4096 B payload
topology:
  hosts: [a, b]
  switches: [s, u, v, w]
  links:
    - {ends: [a, s], rate: 100Gbps, delay: 1us}
    - {ends: [s, u], rate: 100Gbps, delay: 1us`+x.buffer+`}
    - {ends: [s, v], rate: 100Gbps, delay: 1us`+x.buffer+`}
    - {ends: [u, w], rate: 100Gbps, delay: 1us`+x.buffer+`}
    - {ends: [v, w], rate: 100Gbps, delay: 1us`+x.buffer+`}
    - {ends: [w, b], rate: 100Gbps, delay: 1us`+x.buffer+`}
`+x.switches+`
traffic: [{name: x, from: a, to: b, transport: `+x.transport+`, size: 1MB, start: 0s}]
`), experiment.Options{})
			all := strings.Join(testkit.FormatAll(s.Warnings()), "\n")
			if x.want == "" && all != "" || !strings.Contains(all, x.want) {
				t.Errorf("%q\nwant %q", all, x.want)
			}
		})
	}
}
