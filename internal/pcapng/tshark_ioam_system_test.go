//go:build system

package pcapng_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"weir/core/dataplane/inband"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/trace"
	"weir/core/unit"
	"weir/internal/pcapng"
	"weir/papers/hpcc"
	"weir/papers/p4abc"
	"weir/study/plan/plantest"
)

// traced is HPCC over three switches, with telemetry in a format.
const traced = `title: a trace
duration: 1ms
mtu: 1000 B payload
topology:
  hosts: [a, b, c]
  switches: [s, u, v]
  links:
    - {ends: [a, s], rate: 10Gbps, delay: 2us}
    - {ends: [b, u], rate: 10Gbps, delay: 1us}
    - {ends: [s, u], rate: 10Gbps, delay: 2us}
    - {ends: [u, v], rate: 10Gbps, delay: 2us}
    - {ends: [v, c], rate: 10Gbps, delay: 2us}
switch: [forward, {telemetry: {format: FORMAT}}]
traffic:
  - {name: far, from: a, to: c, transport: TRANSPORT, cc: hpcc, ip: 6, size: 30000 B, start: 0s}
  - {name: near, from: b, to: c, transport: TRANSPORT, cc: hpcc, ip: VERSION, size: 20000 B, start: 0s}
measure: [goodput]
`

func traceOf(t *testing.T, format, transport, version string) (*files, *telemetry.Format) {
	t.Helper()
	r := plantest.Registry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, inband.Scheme())
	r.Controllers = append(r.Controllers, hpcc.Scheme())
	text := strings.NewReplacer("FORMAT", format, "TRANSPORT", transport, "VERSION", version).Replace(traced)
	f := capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.TraceOf(t, r, text, sinks, "*")
	})
	name, sojourn := strings.CutSuffix(format, ", sojourn: on")
	x, err := telemetry.NewFormat(name, 1, 1.05, nil)
	if err == nil {
		err = x.Shape(0, sojourn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, &x
}

// parsed reads a record's frame, of which the payload may be missing.
func parsed(t *testing.T, r *trace.Record) *packet.Packet {
	t.Helper()
	frame := append(append([]byte(nil), r.Frame...), make([]byte, r.Size-int64(len(r.Frame)))...)
	book := packet.NewBook()
	for i := range byte(3) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, 1 + i}), netip.AddrFrom16([16]byte{0xfd, 15: 1 + i}))
	}
	p := &packet.Packet{}
	if err := p.Parse(book, frame); err != nil {
		t.Fatalf("%v: %s", err, trace.AppendText(nil, r))
	}
	return p
}

var traceFields = []string{"ipv6.opt.type", "ipv6.opt.ioam.opt_type", "ipv6.opt.ioam.trace.ns",
	"ipv6.opt.ioam.trace.nodelen", "ipv6.opt.ioam.trace.flag.o", "ipv6.opt.ioam.trace.remlen",
	"ipv6.opt.ioam.trace.type", "ipv6.opt.ioam.trace.node.hlim", "ipv6.opt.ioam.trace.node.id",
	"ipv6.opt.ioam.trace.node.eif", "ipv6.opt.ioam.trace.node.tss", "ipv6.opt.ioam.trace.node.tsf",
	"ipv6.opt.ioam.trace.node.trdelay", "ipv6.opt.ioam.trace.node.qdepth", "ipv6.opt.ioam.trace.node.nsdata_wide",
	"ipv6.opt.ioam.trace.node.undefined", "ipv6.opt.ioam.trace.invalid_nodelen", "ipv6.opt.ioam.trace.invalid_remlen",
	"ipv6.opt.ioam.trace.invalid_type"}

// tshark dissects IOAM in the hop-by-hop options of a traced run, and shows each field as switches wrote it; it finds
// nothing malformed. draft-gafni's bits are undefined to it, in their place.
func TestTsharkIOAM(t *testing.T) {
	needTshark(t)
	for _, format := range []string{"ioam", "ioam, sojourn: on", "ioam-gafni"} {
		t.Run(format, func(t *testing.T) {
			f, x := traceOf(t, format, "rdma", "6")
			want, deepest := f.transmitted(), 0
			_, got := dissections(t, faultless(t, f), traceFields, len(want))
			for i := range want {
				deepest = max(deepest, checkTrace(t, x, parsed(t, &want[i]), got[i]))
			}
			if deepest != 3 {
				t.Errorf("at most %d hops", deepest)
			}
			sameByDissector(t, f)
		})
	}
}

// checkTrace compares what tshark shows of a packet with its records, and returns how many there are.
func checkTrace(t *testing.T, x *telemetry.Format, p *packet.Packet, got map[string]string) int {
	t.Helper()
	var r telemetry.Records
	if what, _ := x.ReadAsked(p, &r); !p.Asks(telemetry.Stacked) {
		if what, _ := x.Read(p, &r); what != telemetry.Recorded || !strings.Contains(got["ipv6.opt.type"], "0x11") {
			t.Fatalf("an answer: %d, option %s", what, got["ipv6.opt.type"])
		}
		return 0 // of which tshark 4.0 shows the bytes only
	} else if what != telemetry.Recorded {
		t.Fatalf("no records: %v", got)
	}
	words, bits, lists := 7, "0xf22000", map[string][]string{}
	switch {
	case x.Sojourn:
		words, bits = 8, "0xfa2000"
	case x.Profile.Name == "ioam-gafni":
		bits = "0xf20c00"
	}
	for i := r.Len() - 1; i >= 0; i-- { // the newest first
		h := r.At(i)
		add := func(field string, v int64) {
			lists[field] = append(lists[field], strconv.FormatInt(v, 10))
		}
		add("node.id", int64(h.Switch))
		add("node.eif", int64(h.Port))
		add("node.tss", int64(h.Time/unit.Second))
		add("node.tsf", int64(h.Time%unit.Second/unit.Nanosecond))
		add("node.qdepth", int64(h.Queue))
		if x.Sojourn {
			add("node.trdelay", int64(h.Sojourn/unit.Nanosecond))
		}
		if x.Profile.Name == "ioam-gafni" { // 10 Gb/s has code 0
			lists["node.undefined"] = append(lists["node.undefined"], fmt.Sprint(h.TxBytes), "0")
		} else { // 10 Gb/s are 10000 · 10^6
			add("node.nsdata_wide", int64(h.TxBytes<<20|6<<16|10000))
		}
	}
	for field, want := range map[string]string{"ns": "87", "nodelen": fmt.Sprint(words), "flag.o": "0",
		"remlen": fmt.Sprint(words * (5 - r.Len())), "type": bits} {
		if v := number(got["ipv6.opt.ioam.trace."+field]); v != number(want) {
			t.Fatalf("%s is %s, want %s", field, v, want)
		}
	}
	for field, want := range lists {
		shown := strings.Split(got["ipv6.opt.ioam.trace."+field], ",")
		for i := range want {
			if i >= len(shown) || number(shown[i]) != want[i] {
				t.Fatalf("%s is %v, want %v", field, shown, want)
			}
		}
	}
	if !strings.Contains(got["ipv6.opt.type"], "0x31") || got["ipv6.opt.ioam.opt_type"] != "0" {
		t.Fatalf("option %s of type %s, want 0x31", got["ipv6.opt.type"], got["ipv6.opt.ioam.opt_type"])
	}
	for _, bad := range traceFields[len(traceFields)-3:] {
		if got[bad] != "" {
			t.Fatalf("%s: %s", bad, got[bad])
		}
	}
	return r.Len()
}

// number is a number in decimal, whatever tshark's form.
func number(s string) string {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		return s
	}
	return strconv.FormatUint(v, 10)
}

// weir trace reads what happened, whatever the telemetry between transport and payload; and frames of all formats are
// as long as the simulator counts.
func TestTracedFormats(t *testing.T) {
	for _, x := range []struct{ format, transport, version string }{
		{"int-md", "rdma", "4"}, {"int-md", "tcp", "6"}, {"ifa-ext", "rdma", "6"},
		{"ifa-ext", "tcp", "4"}, {"ioam", "tcp", "4"}, {"hpcc", "rdma", "4"},
	} {
		t.Run(fmt.Sprint(x), func(t *testing.T) {
			f, _ := traceOf(t, x.format, x.transport, x.version)
			want, n := f.transmitted(), 0
			_, err := pcapng.Read(strings.NewReader(f.pcapng.String()), func(r *trace.Record) error {
				w := &want[n]
				if r.Proto != w.Proto || r.Seq != w.Seq && w.Proto != packet.ProtoUDP || r.SrcPort != w.SrcPort ||
					r.DstPort != w.DstPort || r.Payload != w.Payload || r.TOS != w.TOS {
					t.Fatalf("packet %d: %s, want\n%s", n+1, trace.AppendText(nil, r), trace.AppendText(nil, w))
				}
				p := parsed(t, w)
				if length := int64(p.Headers() + p.ExtensionBytes() + p.Payload); length != w.Size {
					t.Fatalf("packet %d: %d bytes, counted as %d", n+1, length, w.Size)
				}
				n++
				return nil
			})
			if err != nil || n != len(want) || n < 100 {
				t.Errorf("%d of %d packets: %v", n, len(want), err)
			}
		})
	}
}
