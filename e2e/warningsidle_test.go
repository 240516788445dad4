package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestWarningsOfIdleLinks checks that links without data give no warning about the units of telemetry.
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

// TestWarningsWithoutQueues checks that no warning about a missing signal of a queue occurs if each port receives
// from one sender at the rate of all links. It occurs with a second sender, a slower link, a rate that an event
// lowers, and with PFC.
func TestWarningsWithoutQueues(t *testing.T) {
	const star = "topology: {star: {hosts: 3, rate: 10Gbps, delay: 1us, buffer: 100kB}}"
	for _, x := range []struct {
		name, network, programs, second, events string
		want                                    bool
	}{
		{"one sender a port", star, "[ecmp]", "h1->h2", "", false},
		{"two senders", star, "[ecmp]", "h2->h1", "", true},
		{"a slower link", "topology: {hosts: [h0, h1, h2], switches: [s], links: [" +
			"{ends: [h0, s], rate: 10Gbps, delay: 1us}, " +
			"{ends: [h1, s], rate: 1Gbps, delay: 1us, buffer: 100kB}, " +
			"{ends: [h2, s], rate: 1Gbps, delay: 1us, buffer: 100kB}]}", "[ecmp]", "h1->h2", "", true},
		{"a rate that falls", star, "[ecmp]", "h1->h2", "events: [{at: 1ms, link: [h1, s], rate: 1Gbps}]", true},
		{"PFC", star, "[ecmp, {shared_buffer: {size: 1MB}}, {pfc: {headroom: size, headroom_size: 20kB}}]", "h1->h2", "",
			true},
	} {
		from, to, _ := strings.Cut(x.second, "->")
		all, loads := issued("duration: 5ms\n" + x.network + "\nswitch: " + x.programs + "\n" + x.events + "\ntraffic:\n" +
			"  - {name: x, from: h0, to: h1, transport: rdma, cc: dcqcn, start: 0s}\n" +
			"  - {name: y, from: " + from + ", to: " + to + ", transport: ndp, size: 1MB, start: 0s}\nmeasure: [goodput]\n")
		if silent := slices.ContainsFunc(all, func(w string) bool {
			return strings.HasPrefix(w, "cc-no-signal ")
		}); !loads || silent != x.want {
			t.Errorf("%s: loads %v, %v", x.name, loads, all)
		}
		if untrimmed := slices.ContainsFunc(all, func(w string) bool {
			return strings.HasPrefix(w, "ndp-untrimmed ")
		}); !x.want && untrimmed {
			t.Errorf("%s: %v", x.name, all)
		}
	}
}
