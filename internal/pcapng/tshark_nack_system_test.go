//go:build system

package pcapng_test

import (
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/trace"
	"weir/internal/testkit/plantest"
	"weir/papers/ncf"
	"weir/papers/p4abc"
)

// nacked is an incast of TCP, over IPv4 and IPv6. Switches make NACKs of its packets.
const nacked = `title: NACKs
duration: 20ms
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 5us}
    - {ends: [b, s], rate: 1Gbps, delay: 5us}
    - {ends: [s, c], rate: 100Mbps, delay: 5us, buffer: 20kB}
switch: [forward, {ncf: {memory: 20kB, signed: SIGNED, coalesce: 20us, form: FORM}}]
traffic:
  - {name: four, from: a, to: c, transport: {tcp: {nacks: loss}}, cc: cubic, size: 200kB, start: 0s}
  - {name: six, from: b, to: c, transport: {tcp: {nacks: loss}}, cc: cubic, ip: 6, size: 200kB, start: 0s}
measure: [goodput]
`

// nackFiles runs nacked with NACKs in a form, signed or not.
func nackFiles(t *testing.T, form, signed string) *files {
	t.Helper()
	r := plantest.NewRegistry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, ncf.Scheme())
	text := strings.NewReplacer("FORM", form, "SIGNED", signed).Replace(nacked)
	return capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.RunTracedSpec(t, r, text, sinks, "*")
	})
}

// TestTsharkNack checks that tshark accepts a NACK in a TCP option as a pure ACK of the flow, with timestamps and
// an experimental option with Weir's identifier. The checksum is right, no packet is malformed, and its analysis
// finds no duplicate ACK. As an extension, a NACK is no segment of TCP over IPv4, and is one over IPv6.
func TestTsharkNack(t *testing.T) {
	needTshark(t)
	for _, form := range []string{"tcp_option", "extension"} {
		for _, signed := range []string{"false", "true"} {
			t.Run(form+", signed "+signed, func(t *testing.T) {
				f := nackFiles(t, form, signed)
				checkNacks(t, f.transmitted(), faultless(t, f), form == "tcp_option", signed == "true")
			})
		}
	}
}

// checkNacks compares tshark's fields of NACKs with the events.
func checkNacks(t *testing.T, want []trace.Record, file string, option, signed bool) {
	names := []string{"tcp.flags", "tcp.len", "tcp.option_kind", "tcp.options.experimental.exid", "tcp.checksum.status",
		"tcp.analysis.duplicate_ack", "tcp.srcport", "tcp.dstport", "tcp.window_size_value", "ip.proto",
		"tcp.options.experimental.data"}
	lines, fields := dissections(t, file, names, len(want))
	seen := map[string]int{}
	for i := range want {
		w, got := &want[i], fields[i]
		if w.Packet != packet.Nack {
			if got["tcp.options.experimental.exid"] != "" {
				t.Fatalf("packet %d has an option for experiments: %s", i+1, lines[i])
			}
			continue
		}
		if seen["of protocol "+got["ip.proto"]]++; !option {
			continue
		}
		for field, x := range map[string]string{"tcp.flags": "0x0010", "tcp.len": "0",
			"tcp.options.experimental.exid": "0x4e4b", "tcp.checksum.status": "1", "tcp.analysis.duplicate_ack": "",
			"tcp.srcport": fmt.Sprint(w.SrcPort), "tcp.dstport": fmt.Sprint(w.DstPort), "tcp.window_size_value": "0"} {
			if got[field] != x {
				t.Fatalf("packet %d: %s is %q, want %s: %s\n%s", i+1, field, got[field], x, trace.AppendText(nil, w), lines[i])
			}
		}
		if !strings.Contains(","+got["tcp.option_kind"]+",", ",253,") {
			t.Fatalf("packet %d: options %s", i+1, got["tcp.option_kind"])
		}
		data, err := hex.DecodeString(got["tcp.options.experimental.data"])
		if err != nil || len(data) < 7 || data[0]>>5 != 1 || (data[0]&1 == 1) != signed {
			t.Fatalf("packet %d: the option has %x, %v", i+1, data, err)
		}
	}
	v4, v6 := "of protocol 6", "of protocol "
	if !option {
		v4 = "of protocol 253"
	}
	if seen[v4] < 3 || seen[v6] < 3 || len(seen) != 2 {
		t.Errorf("NACKs %v, signed %t", seen, signed)
	}
}
