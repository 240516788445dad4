package softswitch

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
	"weir/papers/p4te"
)

// segment returns a frame of TCP between hosts 10.0.0.src and 10.0.0.dst or, over IPv6, fd00::src and fd00::dst.
func segment(t testing.TB, version int, src, dst byte, h packet.SegmentHeader, payload int) []byte {
	t.Helper()
	a, b := netip.AddrFrom4([4]byte{10, 0, 0, src}), netip.AddrFrom4([4]byte{10, 0, 0, dst})
	kind := uint16(packet.EtherIPv4)
	if version == 6 {
		a, b = netip.AddrFrom16([16]byte{0: 0xfd, 15: src}), netip.AddrFrom16([16]byte{0: 0xfd, 15: dst})
		kind = packet.EtherIPv6
	}
	s, err := packet.AppendTCP(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	s = append(s, make([]byte, payload)...)
	packet.SealTCP(s, a, b)
	f := packet.AppendEthernet(nil, [6]byte{2, 0, 0, 0, 0, dst}, [6]byte{2, 0, 0, 0, 0, src}, kind)
	if version == 6 {
		f, err = packet.AppendIPv6(f, a, b, packet.ProtoTCP, 0, 64, len(s))
	} else {
		f, err = packet.AppendIPv4(f, a, b, packet.ProtoTCP, 0, 64, len(s))
	}
	if err != nil {
		t.Fatal(err)
	}
	return append(f, s...)
}

// talk is a conversation of TCP through a bench, at 8 Mb/s from the left.
type talk struct {
	t       *testing.T
	b       *bench
	version int
	seq     uint32
}

// say sends a segment in at a port now, and returns the segment that departs from the other one.
func (x *talk) say(port int, h packet.SegmentHeader, payload int) packet.TCP {
	x.t.Helper()
	src, dst := byte(1+port), byte(2-port)
	h.SrcPort, h.DstPort = 1000+uint16(port), 1001-uint16(port)
	g := x.b.gates[1-port]
	g.out = nil
	x.b.send(port, x.b.time, segment(x.t, x.version, src, dst, h, payload))
	x.b.stepUntil(x.t, x.b.time+unit.Millisecond)
	if len(g.out) != 1 {
		x.t.Fatalf("%d frames came out", len(g.out))
	}
	f := g.out[0][packet.EthernetHeader:]
	var out packet.TCP
	var from, to netip.Addr
	if x.version == 6 {
		out, from, to = packet.TCP(f[packet.IPv6Header:][:be.Uint16(f[4:])]), packet.IPv6(f).Src(), packet.IPv6(f).Dst()
	} else {
		out, from, to = packet.TCP(f[packet.IPv4Header:be.Uint16(f[2:])]), packet.IPv4(f).Src(), packet.IPv4(f).Dst()
	}
	if !out.ChecksumOK(from, to) {
		x.t.Errorf("the checksum is wrong: %x", out)
	}
	return out
}

// send sends data of a flow with scale 7 at the receiver until the given number of segments has passed, with only
// the first byte acknowledged. It returns the window of an acknowledgement that passes then.
func (x *talk) send(segments int) uint16 {
	x.t.Helper()
	for range segments {
		x.say(0, packet.SegmentHeader{Seq: x.seq, Ack: 501, Flags: packet.ACK, Window: 60000}, 1000)
		x.seq += 1000
	}
	return x.ack()
}

func (x *talk) ack() uint16 {
	x.t.Helper()
	return x.say(1, packet.SegmentHeader{Seq: 501, Ack: 101, Flags: packet.ACK, Window: 60000}, 0).Window()
}

func (x *talk) open() {
	scale := func(n int8) []byte {
		return packet.TCPOptions{MSS: 1460, WindowScale: n}.Append(nil)
	}
	x.seq = 101
	x.say(0, packet.SegmentHeader{Seq: 100, Flags: packet.SYN, Window: 50000, Options: scale(3)}, 0)
	if w := x.say(1, packet.SegmentHeader{Seq: 500, Ack: 101, Flags: packet.SYN | packet.ACK, Window: 64000,
		Options: scale(7)}, 0).Window(); w != 64000 {
		x.t.Errorf("a SYN's window is %d", w)
	}
	if w := x.ack(); w != 60000 {
		x.t.Errorf("before a rate changes a window is %d", w)
	}
}

func heldSwitch(t *testing.T, program string) *Config {
	t.Helper()
	s := schemes()
	s.Programs = append(s.Programs, p4te.Scheme())
	c, err := Decode(s, "switch.yaml", []byte("ports: {left: {interface: a, rate: 10Mbps}, right: {interface: b, rate: "+
		"10Mbps}}\nswitch: [forward, {p4te: {"+program+"}}]\nmetrics: none\n"))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const heldProgram = "paths: false, rate: enforced, classes: {0x00: high_throughput}, safe_high_throughput: 10%, " +
	"committed: 20%, peak: 90%, burst: 1ms, bytes: 5000 B, flows: 1024"

// TestHeldWindows checks P4TE in a standalone switch, over both versions of IP. A class above its safe rate at an
// over-utilised port has the windows of its flows lowered in passing acknowledgements, in units of the receiver's
// scale, with the checksum. A reload with other parameters keeps the flows; one with fewer cells restarts, because no
// packet carries the scale again.
func TestHeldWindows(t *testing.T) {
	for _, version := range []int{4, 6} {
		t.Run(map[int]string{4: "IPv4", 6: "IPv6"}[version], func(t *testing.T) {
			c := heldSwitch(t, heldProgram)
			x := &talk{t: t, b: newBench(t, c), version: version}
			x.open()
			// 7000 bytes are on their way at the sixth segment, behind the first 5000 bytes; 1/4 less in units of 128
			w := x.send(8)
			if w >= 60000 || w < 4000/128 || w > 8000/128 {
				t.Fatalf("a window of %d units of 128 bytes", w)
			}
			metrics := func() (m []float64) {
				var all [16]dataplane.Sample
				for i := range x.b.running {
					if r := &x.b.running[i]; r.metered != nil {
						for _, s := range all[:r.metered.Sample(x.b.time, all[:])] {
							m = append(m, s.Value)
						}
					}
				}
				return m
			}
			if got := metrics(); len(got) != 6 || got[0] != 1 || got[1] != 0 || got[2] != 1 || got[3] != 1 {
				t.Errorf("metrics %v: want one change, one window, one flow", got)
			}
			for _, r := range []struct {
				program, note string
				held          bool
			}{
				{strings.Replace(heldProgram, "10%", "15%", 1), "p4te has other parameters and keeps its flows", true},
				{strings.Replace(heldProgram, "1024", "512", 1), "p4te has other parameters and restarts", false},
			} {
				c := heldSwitch(t, r.program)
				list, notes, err := replacePrograms(x.b.time, x.b.Site(c.bridgePorts()), x.b.running, c.Programs)
				if err != nil || !slices.Equal(notes, []string{r.note}) {
					t.Fatalf("%q, %v", notes, err)
				}
				x.b.running = list
				if err := x.b.SetPrograms(x.b.time, listPrograms(list)); err != nil {
					t.Fatal(err)
				}
				if w := x.ack(); (w < 60000) != r.held {
					t.Errorf("after %q a window of %d", r.note, w)
				}
			}
		})
	}
}

// TestHeldNeeds checks that parts that need a fabric are refused, and parts without effect give a warning.
func TestHeldNeeds(t *testing.T) {
	s := schemes()
	s.Programs = append(s.Programs, p4te.Scheme())
	for _, x := range []struct{ program, rates, refused, warned string }{
		{"{}", "20Mbps", "it chooses among paths, but a bridge has one path; a standalone switch requires " +
			"paths: false with rate: enforced", ""},
		{"{paths: false}", "20Mbps", "fake ACKs do not slow a sender down; a standalone switch", ""},
		{"{paths: false, rate: next_byte}", "20Mbps", "fake ACKs do not slow a sender down", ""},
		{"{paths: false, rate: enforced, monitoring: false}", "20Mbps", "without monitoring it has no effect", ""},
		{"{paths: false, rate: enforced}", "20Mbps", "", "frames without a DSCP belong to no class"},
		{"{paths: false, rate: enforced, classes: {0: low_delay}}", "100Mbps", "",
			"safe_low_delay: at port a that is 65Mbps, but no other port sends more than 20Mbps"},
		{"{paths: false, rate: enforced, classes: {0: low_delay}}", "20Mbps", "", ""},
	} {
		t.Run(x.program+" "+x.rates, func(t *testing.T) {
			c, err := Decode(s, "switch.yaml", []byte("ports: {a: {interface: a, rate: "+x.rates+
				"}, b: {interface: b, rate: 20Mbps}}\nswitch: [forward, {p4te: "+x.program+"}]\n"))
			if (err != nil) != (x.refused != "") || err != nil && !strings.Contains(err.Error(), x.refused) {
				t.Fatalf("%v, want %q", err, x.refused)
			}
			if err != nil {
				return
			}
			warned := strings.Join(testkit.FormatAll(c.Warnings(func(int) int { return fullFrame })), "\n")
			if x.warned == "" && warned != "" || !strings.Contains(warned, x.warned) {
				t.Errorf("warned of %q, want %q", warned, x.warned)
			}
		})
	}
}
