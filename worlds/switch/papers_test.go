package softswitch

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane/feedback/inband"
	"weir/core/packet"
	"weir/core/telemetry"
	"weir/core/unit"
	"weir/internal/testkit/wiretest"
	"weir/papers/p4te"
	"weir/worlds/switch/control"
)

// papers returns the schemes of the papers that a standalone switch accepts, and a user's own.
func papers() Schemes {
	s := withOwn()
	s.Programs = append(slices.Clone(s.Programs), inband.Scheme(), p4te.Scheme())
	return s
}

const paper = `
ports: {left: {interface: a, rate: 40Mbps}, right: {interface: b, rate: 10Mbps, buffer: 50 packets}}
switch: [forward, PROGRAM]
users: {new: 0s}
metrics: none
`

// TestProgramsOfPapers checks that each program for a standalone switch works on real frames, has metrics where it
// counts, and keeps them over a reload that changes a rate.
func TestProgramsOfPapers(t *testing.T) {
	for _, x := range []struct {
		program string
		metrics []string // their names
		kept    bool     // over a reload, what is counted
	}{
		{"abc: {}", []string{"weir_abc_"}, true},
		{"ecn: {kmin: 2 packets, kmax: 2 packets, pmax: 100%}", []string{"weir_ecn_marked_total"}, true},
		{"telemetry: {format: int-md}", []string{"weir_telemetry_records_total", "weir_telemetry_without_room_total"}, true},
		{"p4te: {paths: false, rate: enforced, classes: {0x00: high_throughput}, safe_high_throughput: 1%}",
			[]string{"weir_p4te_rate_changes_total", "weir_p4te_windows_lowered_total", "weir_p4te_port_colour"}, true},
		{"ncf: {form: ece}", []string{"weir_ncf_notices_total", "weir_ncf_untold_total", "weir_ncf_reclaimed_total",
			"weir_ncf_ignored_total", "weir_ncf_lost_notices_total", "weir_ncf_elephants", "weir_ncf_memory",
			"weir_ncf_memory_elephants", "weir_ncf_congested"}, true},
		{"counter: {}", []string{"own_frames_total", "own_hosts"}, true},
	} {
		name, _, _ := strings.Cut(x.program, ":")
		t.Run(name, func(t *testing.T) {
			read := func(rate string) *Config {
				c, err := Decode(papers(), "switch.yaml", []byte(strings.NewReplacer("PROGRAM", "{"+x.program+"}",
					"10Mbps", rate).Replace(paper)))
				if err != nil {
					t.Fatal(err)
				}
				return c
			}
			c := read("10Mbps")
			b := newBench(t, c)
			book, f := two(t, "int-md")
			for i := range int64(20) {
				b.send(0, unit.Time(i)*unit.Microsecond, carrying(t, book, f, packet.ProtoTCP, 4, 700*i, name == "telemetry"))
			}
			b.stepUntil(t, 60*unit.Millisecond)
			marked, recorded := 0, 0
			for _, frame := range b.gates[1].out {
				d, err := wiretest.Decode(frame, wiretest.Options{})
				if err != nil {
					t.Fatal(err)
				}
				marked, recorded = marked+int(d.TOS&3)/3, recorded+len(d.Hops)
			}
			if len(b.gates[1].out) != 20 || (marked > 0) != (name == "ecn") || (recorded == 20) != (name == "telemetry") {
				t.Errorf("%d frames, %d marks, %d records", len(b.gates[1].out), marked, recorded)
			}
			before := values(b)
			for _, want := range x.metrics {
				if !slices.ContainsFunc(before, func(s string) bool { return strings.HasPrefix(s, want) }) {
					t.Errorf("no metric %s: %q", want, before)
				}
			}
			list, notes, err := replacePrograms(b.time, b.Site(read("20Mbps").bridgePorts()), b.running, read("20Mbps").Programs)
			if err != nil {
				t.Fatal(err)
			}
			b.running = list
			if after := values(b); x.kept && name != "abc" && !slices.Equal(after, before) {
				t.Errorf("after a reload %q, before %q; %q", after, before, notes)
			}
		})
	}
}

// values returns the metrics of a bench's programs.
func values(b *bench) (text []string) {
	var n control.Counters
	var s sampler
	for i := range b.running {
		s.addSamples(b.time, &b.running[i], &n)
	}
	for _, x := range n.Sample[:n.Samples] {
		text = append(text, fmt.Sprintf("%s %d %g", x.Name.String(), x.Port, x.Value))
	}
	return text
}

// two returns the addresses of two hosts, and a format.
func two(t *testing.T, format string) (*packet.Book, *telemetry.Format) {
	t.Helper()
	book := packet.NewBook()
	for i := byte(1); i < 3; i++ {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i}), netip.AddrFrom16([16]byte{0xfd, 15: i}))
	}
	f, err := telemetry.NewFormat(format, 1, 1.05, []unit.Rate{10 * unit.Mbps, 40 * unit.Mbps})
	if err != nil {
		t.Fatal(err)
	}
	return book, &f
}

// carrying returns a packet of a transport with ECN that may request telemetry.
func carrying(t *testing.T, book *packet.Book, f *telemetry.Format, proto, version uint8, seq int64, asks bool) []byte {
	t.Helper()
	p := packet.Packet{Src: 1, Dst: 2, Version: version, HopLimit: 64, TOS: packet.ECT0, SrcPort: 1000, DstPort: 2000,
		Seq: seq, Payload: 700, Proto: proto}
	if p.TCP.Flags = packet.ACK; proto == packet.ProtoRDMA {
		p.TCP.Flags = 0
	}
	if asks && !f.AddRequest(&p, telemetry.HopRecords, false) {
		t.Fatal("no room")
	}
	frame, err := p.Emit(book, nil)
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// TestTelemetryOfBridge checks that the standalone switch writes every format of telemetry into frames over IPv4
// and IPv6, of TCP, UDP and RDMA, with and without a tag. By the specification the values are the port's, lengths
// and checksums are right, and the rest of the frame is unchanged. Where a record would make a frame longer than
// the port's MTU there is none, and the metric counts it.
func TestTelemetryOfBridge(t *testing.T) {
	for _, format := range []string{"hpcc", "int-md", "ioam", "ioam-gafni", "ifa", "ifa-ext"} {
		for _, proto := range []uint8{packet.ProtoTCP, packet.ProtoUDP, packet.ProtoRDMA} {
			for _, version := range []uint8{4, 6} {
				for _, tagged := range []bool{false, true} {
					t.Run(fmt.Sprint(format, proto, version, tagged), func(t *testing.T) {
						bridged(t, format, proto, version, tagged)
					})
				}
			}
		}
	}
}

func bridged(t *testing.T, format string, proto, version uint8, tagged bool) {
	program := "{telemetry: {identity: 77, format: " + format + "}}"
	c, err := Decode(papers(), "switch.yaml", []byte(strings.Replace(paper, "PROGRAM", program, 1)))
	if err != nil {
		t.Fatal(err)
	}
	book, f := two(t, format)
	sent, plain := carrying(t, book, f, proto, version, 5, true), carrying(t, book, f, proto, version, 5, false)
	most := len(sent) - packet.EthernetHeader
	for _, mtu := range []int{1500, most} { // with room for a record, and without
		c.mtus = []int{mtu, mtu}
		b := newBench(t, c)
		tag := []byte{0x81, 0, 0, 42}
		for range 3 {
			frame := slices.Clone(sent)
			if tagged {
				frame = slices.Insert(frame, 12, tag...)
			}
			b.send(0, unit.Microsecond, frame)
		}
		b.stepUntil(t, 10*unit.Millisecond)
		if len(b.gates[1].out) != 3 {
			t.Fatalf("%d frames", len(b.gates[1].out))
		}
		grows := f.Bytes(1) > f.Bytes(0)
		for i, frame := range b.gates[1].out {
			if tagged {
				if string(frame[12:16]) != string(tag) {
					t.Fatalf("% x", frame)
				}
				frame = slices.Delete(slices.Clone(frame), 12, 16)
			}
			speeds := []int64{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9, 10e6, 40e6}
			if format == "hpcc" {
				speeds = []int64{25e9, 50e9, 100e9, 200e9, 400e9, 10e6, 40e6}
			}
			x, err := wiretest.Decode(frame, wiretest.Options{IFA: true, Rates: speeds})
			if err != nil {
				t.Fatalf("%v: % x", err, frame)
			}
			was, err := wiretest.Decode(plain, wiretest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := 1
			if grows && mtu == most {
				want = 0
			}
			if x.Format != format || len(x.Hops) != want || len(frame)-14 > mtu || string(x.Payload) != string(was.Payload) ||
				x.DstPort != was.DstPort || x.TOS != was.TOS || x.HopLimit != was.HopLimit || x.Summed != was.Summed {
				t.Fatalf("%s, %d records, %d bytes: %+v\nwant %+v", x.Format, len(x.Hops), len(frame), x, was)
			}
			if want == 0 {
				continue
			}
			h := &x.Hops[0]
			waits := h.Queue >= int64(len(sent)-80)
			if h.Rate != 10e6 || format != "hpcc" && h.Node != 77 || waits != (i == 1) ||
				format != "ifa" && (h.Sent > 0) != (i > 0) {
				t.Errorf("packet %d: %+v", i, *h)
			}
		}
		name := "weir_telemetry_records_total 1 3"
		if grows && mtu == most {
			name = "weir_telemetry_without_room_total 1 3"
		}
		if got := values(b); !slices.Contains(got, name) {
			t.Errorf("%q, not %s", got, name)
		}
	}
}
