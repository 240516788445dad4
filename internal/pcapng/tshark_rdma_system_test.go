//go:build system

package pcapng_test

import (
	"fmt"
	"strings"
	"testing"

	"weir/core/cc/dcqcn"
	"weir/core/dataplane/ecn"
	"weir/core/dataplane/fastcnp"
	"weir/core/packet"
	"weir/core/trace"
	"weir/internal/pcapng"
	"weir/papers/p4abc"
	"weir/study/plan/plantest"
)

// queuePairs is RDMA of both kinds of recovery, over IPv4 and IPv6, of one packet and of many, with losses, marks and
// CNPs of receivers and switches, and last packets that are padded.
const queuePairs = `title: queue pairs
duration: 3ms
mtu: 1001 B payload
topology:
  hosts: [a, b, c]
  switches: [s]
  links:
    - {ends: [a, s], rate: 1Gbps, delay: 2us, loss: 1%}
    - {ends: [b, s], rate: 1Gbps, delay: 1us}
    - {ends: [s, c], rate: 1Gbps, delay: 2us, buffer: 12 packets}
switch: [forward, {fast_cnp: {kmin: 4kB, kmax: 8kB, mark: true}}]
traffic:
  - {name: back, from: a, to: c, transport: {rdma: {recovery: go_back_n}}, cc: dcqcn, size: 50001 B, start: 0s}
  - {name: select, from: b, to: c, transport: {rdma: {recovery: selective_repeat}}, cc: dcqcn, size: 50002 B, start: 0s}
  - {name: six, from: a, to: c, transport: {rdma: {recovery: selective_repeat}}, cc: dcqcn, ip: 6, size: 60003 B,
     start: 0s}
  - {name: one, from: b, to: c, transport: rdma, cc: dcqcn, ip: 6, size: 3 B, start: 10us}
measure: [goodput]
`

// opcode is what tshark shows of a packet.
func opcode(r *trace.Record, first, last bool) string {
	switch {
	case r.Packet == packet.Notice:
		return "129"
	case r.Packet != packet.Data:
		return "17"
	case first && last:
		return "10"
	case first:
		return "6"
	case last:
		return "8"
	}
	return "7"
}

// tshark names what it sees RoCEv2 (InfiniBand), reads opcodes, packet sequence numbers, queue pairs, messages and
// acknowledgements as they happened, and finds nothing malformed.
func TestTsharkRDMA(t *testing.T) {
	needTshark(t)
	r := plantest.Registry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, fastcnp.Scheme(), ecn.Scheme())
	r.Controllers = append(r.Controllers, dcqcn.Scheme())
	f := capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.TraceOf(t, r, queuePairs, sinks, "*")
	})
	checkQueuePairs(t, f.transmitted(), faultless(t, f, undecoded))
	sameByDissector(t, f)
}

// checkQueuePairs compares what tshark reads with the events.
func checkQueuePairs(t *testing.T, want []trace.Record, file string) {
	names := []string{"_ws.col.Protocol", "infiniband.bth.opcode", "infiniband.bth.psn", "infiniband.bth.destqp",
		"infiniband.bth.padcnt", "infiniband.bth.p_key", "udp.dstport", "udp.srcport", "infiniband.reth.dmalen",
		"infiniband.aeth.syndrome", "ip.proto"}
	lines, fields := dissections(t, file, names, len(want))
	sizes := map[string]int64{"back": 50001, "select": 50002, "six": 60003, "one": 3}
	flows := []string{"back", "select", "six", "one"}
	seen := map[string]int{}
	for i := range want {
		w, got := &want[i], fields[i]
		if got["ip.proto"] == "253" { // a CNP of the switch, with our extension over IPv4
			seen["253"]++
			continue
		}
		size := sizes[flows[w.Flow]]
		packets := (size + 1000) / 1001
		first, last := w.Seq == 0, w.Seq == packets-1
		expected := map[string]string{"_ws.col.Protocol": "RRoCE", "infiniband.bth.opcode": opcode(w, first, last),
			"udp.dstport": "4791", "udp.srcport": fmt.Sprint(w.SrcPort),
			"infiniband.bth.destqp": fmt.Sprintf("0x%06x", w.DstPort),
			"infiniband.bth.p_key":  "65535"}
		switch w.Packet {
		case packet.Data:
			expected["infiniband.bth.psn"] = fmt.Sprint(w.Seq)
			expected["infiniband.bth.padcnt"] = fmt.Sprint(-w.Payload & 3)
			if first {
				expected["infiniband.reth.dmalen"] = fmt.Sprint(size)
			}
		case packet.Ack:
			expected["infiniband.bth.psn"] = fmt.Sprint(w.Ack - 1)
			expected["infiniband.aeth.syndrome"] = "31"
		case packet.Nack:
			expected["infiniband.bth.psn"] = fmt.Sprint(w.Ack)
			expected["infiniband.aeth.syndrome"] = "96"
		}
		seen[expected["infiniband.bth.opcode"]+" "+expected["infiniband.aeth.syndrome"]]++
		for field, x := range expected {
			if got[field] != x {
				t.Fatalf("packet %d: %s is %s, want %s: %s\n%s", i+1, field, got[field], x, trace.AppendText(nil, w), lines[i])
			}
		}
	}
	for _, kind := range []string{"6 ", "7 ", "8 ", "10 ", "17 31", "17 96", "129 ", "253"} {
		if seen[kind] == 0 {
			t.Errorf("no packet of opcode %s: %v", kind, seen)
		}
	}
}

// sameByDissector reads the file as weir trace does.
func sameByDissector(t *testing.T, f *files) {
	want := f.transmitted()
	n := 0
	_, err := pcapng.Read(strings.NewReader(f.pcapng.String()), func(r *trace.Record) error {
		if w := &want[n]; w.Reason == "" && (r.Proto != w.Proto || r.Packet != w.Packet || r.Seq != w.Seq || r.Ack != w.Ack ||
			r.SrcPort != w.SrcPort || r.DstPort != w.DstPort || r.Payload != w.Payload) {
			t.Fatalf("packet %d: %s, want\n%s", n+1, trace.AppendText(nil, r), trace.AppendText(nil, w))
		}
		n++
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%d of %d packets: %v", n, len(want), err)
	}
}
