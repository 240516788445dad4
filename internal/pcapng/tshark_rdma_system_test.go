//go:build system

package pcapng_test

import (
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/trace"
)

// opcode returns the opcode that tshark should show for a packet.
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

// TestTsharkRDMA checks that tshark identifies the packets as RoCEv2 (InfiniBand). Opcodes, packet sequence
// numbers, queue pairs, messages and acknowledgements agree with the events, and no packet is malformed.
func TestTsharkRDMA(t *testing.T) {
	needTshark(t)
	f := queuePairFiles(t)
	checkQueuePairs(t, f.transmitted(), faultless(t, f, undecoded))
}

// checkQueuePairs compares tshark's fields with the events.
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
