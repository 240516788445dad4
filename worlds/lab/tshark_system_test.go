//go:build system

package lab

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/core/dataplane/feedback/inband"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// tshark prints fields of the packets of a file that a filter lets pass, one map a packet.
func tshark(t *testing.T, file, filter string, fields []string) (all []map[string]string) {
	t.Helper()
	args := []string{"-r", file, "-n", "-o", "udp.check_checksum:TRUE", "-Y", filter, "-T", "fields", "-E", "separator=|"}
	for _, x := range fields {
		args = append(args, "-e", x)
	}
	out, err := exec.Command("tshark", args...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range strings.Split(strings.TrimSuffix(string(out), "\n"), "\n") {
		of := map[string]string{}
		for k, x := range strings.Split(l, "|") {
			of[fields[k]] = x
		}
		all = append(all, of)
	}
	return all
}

const ioam = "ipv6.opt.ioam."

// Fields of IOAM that tshark 4.0 supports: those of the trace, and those of each node with the bit of the trace
// type that requests them.
var (
	ofTrace = []string{"opt_type", "rsv", "trace.ns", "trace.nodelen", "trace.flags", "trace.flag.o", "trace.flag.l",
		"trace.flag.a", "trace.flag.rsv", "trace.remlen", "trace.type", "trace.type.undef", "trace.type.rsv", "trace.rsv",
		"trace.free_space", "trace.invalid_nodelen", "trace.invalid_remlen", "trace.invalid_type"}
	ofNode = map[string]int{"hlim": 0, "id": 0, "iif": 1, "eif": 1, "tss": 2, "tsf": 3, "trdelay": 4, "nsdata": 5,
		"qdepth": 6, "csum": 7, "id_wide": 8, "iif_wide": 9, "eif_wide": 9, "nsdata_wide": 10, "bufoccup": 11,
		"undefined": 12, "oss.len": 22, "oss.scid": 22, "oss.data": 22}
)

// tsharkFields returns all fields that tests request from tshark.
func tsharkFields() []string {
	fields := []string{"frame.interface_name", "udp.srcport", "udp.checksum.status", "_ws.malformed", "_ws.expert.message"}
	for _, x := range ofTrace {
		fields = append(fields, ioam+x)
	}
	for _, bit := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22} {
		fields = append(fields, ioam+"trace.type.bit"+strconv.Itoa(bit))
	}
	for _, x := range slices.Sorted(maps.Keys(ofNode)) {
		fields = append(fields, ioam+"trace.node."+x)
	}
	return fields
}

// traced returns a datagram over IPv6 with a trace of the given type, and space for the given number of hops.
func traced(t testing.TB, c *Config, seq int64, kind uint32, words, each, hops int) []byte {
	t.Helper()
	p := packet.Packet{Src: 1, Dst: packet.Addr(len(c.Wiring.Network.Nodes)), Version: 6, HopLimit: 64,
		SrcPort: uint16(1000 + seq), DstPort: 2000, Seq: seq, Payload: 900, Proto: packet.ProtoUDP}
	be := binary.BigEndian
	b := be.AppendUint16([]byte{0, 0}, 0x57)
	b = be.AppendUint16(b, uint16(words<<11|each*hops))
	b = append(be.AppendUint32(b, kind<<8), make([]byte, 4*each*hops)...)
	if !p.SetStack(packet.HopByHop, b) {
		t.Fatal("no room for a trace")
	}
	frame, err := p.Emit(c.Wiring.Hosts, nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestTsharkReadsTheLab checks that every field of IOAM that tshark supports has the ports' values, in the frames of a
// capture of the lab's switches: for the traces that Weir's senders request, and for one with all data of RFC 9197.
// tshark finds no malformed packet and no wrong checksum.
func TestTsharkReadsTheLab(t *testing.T) {
	testkit.RequireProgram(t, "tshark", "tshark")
	for _, x := range []struct {
		name        string
		kind        uint32
		words, each int // of a node, without and with the opaque state snapshot
		room        int
	}{
		{"ioam", 0xf22000, 7, 7, 5}, {"sojourn", 0xfa2000, 8, 8, 4}, {"ioam-gafni", 0xf20c00, 7, 7, 5},
		{"everything", 0xfff002, 15, 16, 3}, {"no room", 0xf22000, 7, 7, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			format := "ioam"
			if x.name == "ioam-gafni" {
				format = x.name
			}
			c, of := chain(t, 3, inband.Config{Format: format, Multi: 1, Base: 1.05}, 0)
			c.Capture = &Capture{Switches: []string{"*"}}
			var script []Arriving
			for i := range int64(sends) {
				script = append(script, Arriving{unit.Millisecond, 0, traced(t, c, i, x.kind, x.words, x.each, x.room)})
			}
			_, data := Scripted(t, c, script, func(now unit.Time) unit.Time { return now + 10*unit.Millisecond },
				unit.Second/4)
			file := filepath.Join(t.TempDir(), "lab.pcapng")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			seen := [4]int{}
			for _, got := range tshark(t, file, "frame.len > 0", tsharkFields()) {
				if bad := got["_ws.malformed"] + got["_ws.expert.message"]; bad != "" || got["udp.checksum.status"] != "1" {
					t.Fatalf("tshark finds fault: %s, checksum %s", bad, got["udp.checksum.status"])
				}
				port, _, _ := strings.Cut(got["frame.interface_name"], "->")
				if strings.Contains(got["frame.interface_name"], " ") { // what comes in has left another port
					continue
				}
				hop, _ := strconv.Atoi(strings.TrimPrefix(port, "s"))
				seq, _ := strconv.ParseInt(got["udp.srcport"], 10, 64)
				checkTshark(t, got, of[seq-1000][:hop], x.kind, x.words, x.each, x.room)
				seen[hop]++
			}
			if seen != [4]int{0, sends, sends, sends} {
				t.Errorf("frames by switch: %v", seen)
			}
		})
	}
}

// checkTshark compares tshark's fields of a frame with the states of the ports on its path.
func checkTshark(t *testing.T, got map[string]string, want []snapshot, kind uint32, words, each, room int) {
	t.Helper()
	over := max(len(want)-room, 0)
	left, flags := each*(room-len(want)+over), 0
	if over > 0 {
		flags = 8
	}
	undefined := fmt.Sprint(kind >> 2 & 0x3ff)
	if kind>>2&0x3ff > 0 {
		undefined = "1"
	}
	scalars := map[string]string{"opt_type": "0", "rsv": "0", "trace.ns": "87", "trace.nodelen": fmt.Sprint(words),
		"trace.flags": fmt.Sprint(flags), "trace.flag.o": fmt.Sprint(flags / 8), "trace.flag.l": "0", "trace.flag.a": "0",
		"trace.flag.rsv": "0", "trace.remlen": fmt.Sprint(left), "trace.type": fmt.Sprint(kind),
		"trace.type.undef": undefined, "trace.type.rsv": "0", "trace.rsv": "0", "trace.invalid_nodelen": "",
		"trace.invalid_remlen": "", "trace.invalid_type": "", "trace.free_space": strings.Repeat("00", 4*left)}
	for _, bit := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22} {
		scalars["trace.type.bit"+strconv.Itoa(bit)] = fmt.Sprint(kind >> (23 - bit) & 1)
	}
	for field, v := range scalars {
		if field != "trace.free_space" && plain(got[ioam+field]) != v || field == "trace.free_space" && got[ioam+field] != v {
			t.Errorf("%s is %q, want %q", field, got[ioam+field], v)
		}
	}
	lists := map[string][]string{}
	for i := len(want) - over - 1; i >= 0; i-- { // the newest first
		nodeFields(&want[i], kind, func(field string, v uint64) {
			lists[field] = append(lists[field], strconv.FormatUint(v, 10))
		})
	}
	for field := range ofNode {
		shown := []string{}
		for _, x := range strings.Split(got[ioam+"trace.node."+field], ",") {
			if x != "" {
				shown = append(shown, plain(x))
			}
		}
		if !slices.Equal(shown, lists[field]) && len(shown)+len(lists[field]) > 0 {
			t.Errorf("%s is %v, want %v", field, shown, lists[field])
		}
	}
}

// plain returns a number in decimal, from any of tshark's notations.
func plain(s string) string {
	if v, err := strconv.ParseUint(s, 0, 64); err == nil {
		return strconv.FormatUint(v, 10)
	}
	return s
}

// nodeFields adds the state of a port, field by field in the order of the trace type's bits (RFC 9197 §4.4.2). A
// field that a node does not support is all ones.
func nodeFields(k *snapshot, kind uint32, add func(field string, v uint64)) {
	const none = 1<<32 - 1
	ns := uint64(k.now / unit.Nanosecond)
	mantissa, e := uint64(k.rate), uint64(0)
	for ; mantissa >= 1<<16; mantissa /= 10 {
		e++
	}
	bits := [23][]struct {
		field string
		v     uint64
	}{
		0: {{"hlim", uint64(k.hops)}, {"id", uint64(k.node)}}, 1: {{"iif", uint64(k.in)}, {"eif", uint64(k.out)}},
		2: {{"tss", ns / 1e9}}, 3: {{"tsf", ns % 1e9}}, 4: {{"trdelay", uint64((k.now - k.enqueued) / unit.Nanosecond)}},
		5: {{"nsdata", none}}, 6: {{"qdepth", uint64(k.queue)}}, 7: {{"csum", none}},
		8:  {{"hlim", uint64(k.hops)}, {"id_wide", uint64(k.node)}},
		9:  {{"iif_wide", uint64(k.in)}, {"eif_wide", uint64(k.out)}},
		10: {{"nsdata_wide", k.sent<<20 | e<<16 | mantissa}}, 11: {{"bufoccup", none}},
		12: {{"undefined", k.sent}}, 13: {{"undefined", uint64(slices.Index(tenths, k.rate)) << 26}},
		22: {{"oss.len", 0}, {"oss.scid", 1<<24 - 1}},
	}
	for bit := range bits {
		for _, x := range bits[bit] {
			if kind>>(23-bit)&1 == 1 {
				add(x.field, x.v)
			}
		}
	}
}

// tenths are the chain's rates behind the speeds of IFA and of ours, as format ioam-gafni has codes for them.
var tenths = []unit.Rate{0, 0, 0, 0, 0, 0, 0, 0, 0, 25 * unit.Mbps, 40 * unit.Mbps, 50 * unit.Mbps}
