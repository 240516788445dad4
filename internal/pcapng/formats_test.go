package pcapng_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/cc/dcqcn"
	"weir/core/dataplane/aqm/ecn"
	"weir/core/dataplane/feedback/fastcnp"
	"weir/core/dataplane/feedback/inband"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/trace"
	"weir/internal/pcapng"
	"weir/internal/testkit/plantest"
	"weir/papers/hpcc"
	"weir/papers/p4abc"
)

// traced has HPCC over three switches, with telemetry in a given format.
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
	r := plantest.NewRegistry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, inband.Scheme())
	r.Controllers = append(r.Controllers, hpcc.Scheme())
	text := strings.NewReplacer("FORMAT", format, "TRANSPORT", transport, "VERSION", version).Replace(traced)
	f := capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.RunTracedSpec(t, r, text, sinks, "*")
	})
	name, sojourn := strings.CutSuffix(format, ", sojourn: on")
	x, err := telemetry.NewFormat(name, 1, 1.05, nil)
	if err == nil {
		err = x.SetShape(0, sojourn)
	}
	if err != nil {
		t.Fatal(err)
	}
	return f, &x
}

// parsed parses a record's frame, which may lack its payload.
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

// queuePairs has RDMA with both kinds of recovery, over IPv4 and IPv6, with one packet or many. There are losses,
// marks, CNPs of receivers and switches, and padded last packets.
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

// queuePairFiles runs queuePairs.
func queuePairFiles(t *testing.T) *files {
	t.Helper()
	r := plantest.NewRegistry(p4abc.Scheme(), ".")
	r.Programs = append(r.Programs, fastcnp.Scheme(), ecn.Scheme())
	r.Controllers = append(r.Controllers, dcqcn.Scheme())
	return capture(t, func(sinks func(ports []string) []trace.Sink) []trace.Record {
		return plantest.RunTracedSpec(t, r, queuePairs, sinks, "*")
	})
}

// sameByDissector parses the file as weir trace does, and compares the packets with the transmitted ones.
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

// TestDissect_ReadsRDMAAndIOAM checks that the dissector of weir trace finds the transmitted packets of RDMA and
// IOAM.
func TestDissect_ReadsRDMAAndIOAM(t *testing.T) {
	sameByDissector(t, queuePairFiles(t))
	for _, format := range []string{"ioam", "ioam, sojourn: on", "ioam-gafni"} {
		f, _ := traceOf(t, format, "rdma", "6")
		sameByDissector(t, f)
	}
}

// TestTracedFormats checks that weir trace finds the transmitted packets with any format of telemetry between
// transport and payload. Frames of all formats are as long as the simulator counts.
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
