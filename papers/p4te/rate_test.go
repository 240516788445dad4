package p4te

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
)

// TestFlowSelection checks P4TE §6.4.1: the class's colour at the ingress port, the egress port's, and the flags
// decide. Only a flow over its class's safe rate is changed: lowered and marked where the egress port is over-utilised,
// raised where it is not. It never changes within B bytes, nor twice by one packet.
func TestFlowSelection(t *testing.T) {
	const green, yellow, red = dataplane.Green, dataplane.Yellow, dataplane.Red
	for _, s := range []struct {
		name          string
		class, egress dataplane.Colour
		change        func(h *Header, p *packet.Packet)
		want          string
		ecn           uint8
	}{
		{"within its rate", green, green, nil, "nothing", packet.ECT0},
		// the other classes' flows will be lowered
		{"within its rate, egress over-utilised", green, yellow, nil, "nothing", packet.ECT0},
		{"within its rate, egress red", green, red, nil, "nothing", packet.ECT0},
		{"over its rate, egress free", yellow, green, nil, "raise", packet.ECT0},
		{"over its rate, egress over-utilised", yellow, yellow, nil, "lower", packet.CE},
		{"over its rate, egress red", yellow, red, nil, "lower", packet.CE},
		{"ECT(1)", yellow, red, func(_ *Header, p *packet.Packet) { p.TOS = packet.ECT1 }, "lower", packet.CE},
		{"CE", yellow, red, func(_ *Header, p *packet.Packet) { p.TOS = packet.CE }, "lower", packet.CE},
		{"not ECT", yellow, red, func(_ *Header, p *packet.Packet) { p.TOS = packet.NotECT }, "lower", packet.NotECT},
		{"within B bytes, would lower", yellow, red, func(h *Header, _ *packet.Packet) { h.Allowed = false }, "nothing",
			packet.ECT0},
		{"within B bytes, would raise", yellow, green, func(h *Header, _ *packet.Packet) { h.Allowed = false }, "nothing",
			packet.ECT0},
		{"applied before, would lower", yellow, red, func(h *Header, _ *packet.Packet) { h.Applied = true }, "nothing",
			packet.ECT0},
		{"applied before, would raise", yellow, green, func(h *Header, _ *packet.Packet) { h.Applied = true }, "nothing",
			packet.ECT0},
		{"before the first ACK", yellow, red, func(h *Header, _ *packet.Packet) { *h = Header{Allowed: true} }, "nothing",
			packet.ECT0},
		{"an ACK", yellow, red, func(_ *Header, p *packet.Packet) { p.Payload, p.Kind = 0, packet.Ack }, "nothing",
			packet.ECT0},
		{"UDP", yellow, red, func(_ *Header, p *packet.Packet) { p.Proto = packet.ProtoUDP }, "nothing", packet.ECT0},
		{"a fake ACK is not answered", yellow, red, func(h *Header, p *packet.Packet) {
			p.Payload, p.Kind, h.Fake = 0, packet.Ack, true
		}, "nothing", packet.ECT0},
	} {
		t.Run(s.name, func(t *testing.T) {
			x := newStation(t, 2)
			x.class, x.egress = s.class, s.egress
			p := x.segment(a, c, 5000, 1, 1000, packet.ACK)
			h := Header{Allowed: true, Rated: true, Stamped: true, Ack: 2000, Seq: 7, Window: 400, Scale: 7}
			if s.change != nil {
				s.change(&h, p)
			}
			h.WriteTo(p)
			left := x.pass(0, p)
			if len(left[1]) != 1 {
				t.Fatalf("%v: %d packets go on", s, len(left[1]))
			}
			got, window := "nothing", uint16(0)
			if len(left[0]) > 0 {
				if window = left[0][0].TCP.Window; window < 400 {
					got = "lower"
				} else {
					got = "raise"
				}
			}
			var after Header
			after.ReadFrom(left[1][0])
			if got != s.want || len(left[0]) > 1 || left[1][0].TOS&packet.ECN != s.ecn {
				t.Errorf("class %v, egress %v, header %+v: %s (%d fake ACKs, window %d), ECN %d; want %s, ECN %d",
					s.class, s.egress,
					h, got, len(left[0]), window, left[1][0].TOS&packet.ECN, s.want, s.ecn)
			}
			if after.Applied != (h.Applied || got != "nothing") {
				t.Errorf("class %v, egress %v, header %+v: goes on with %+v", s.class, s.egress, h, after)
			}
		})
	}
}

// TestNoMarks checks that the option mark off gives no congestion marks.
func TestNoMarks(t *testing.T) {
	x := newStation(t, 2, "mark", "false")
	p := x.segment(a, c, 5000, 1, 1000, packet.ACK)
	(&Header{Allowed: true, Rated: true, Window: 400}).WriteTo(p)
	if left := x.pass(0, p); len(left[0]) != 1 || left[1][0].TOS&packet.ECN != packet.ECT0 {
		t.Errorf("%d fake ACKs, ECN %d", len(left[0]), left[1][0].TOS&packet.ECN)
	}
}

// TestFakeACK checks P4TE §6.4.2 and §7.2.1. The fake ACK has the endpoints swapped, the leaf's last acknowledgement
// with its sequence number and time stamps, and the window less a quarter or plus 1/256 of the field, for any scale. On
// the wire its checksums are right.
func TestFakeACK(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		for _, stamped := range []bool{true, false} {
			for _, lower := range []bool{true, false} {
				x := newStation(t, 2)
				if !lower {
					x.egress = dataplane.Green
				}
				p := x.segment(a, c, 5000, 1, 1000, packet.ACK|packet.PSH)
				p.Version, p.TOS, p.HopLimit = version, 0x10|packet.ECT0, 7
				h := Header{Allowed: true, Rated: true, Stamped: stamped, Ack: 2000, Seq: 0xdeadbeef, Window: 512, Scale: 7}
				if stamped {
					h.TSVal, h.TSEcho = 70, 60
				}
				h.WriteTo(p)
				f := x.pass(0, p)[0][0]
				want := uint16(512 - 128)
				if !lower {
					want = 512 + 2
				}
				frame, err := f.Emit(x.book, nil)
				if err != nil {
					t.Fatal(err)
				}
				var q packet.Packet
				if err := q.Parse(x.book, frame); err != nil {
					t.Fatal(err)
				}
				for form, g := range map[string]*packet.Packet{"fields": f, "wire": &q} {
					s := g.TCP
					ok := g.Src == c && g.Dst == a && g.SrcPort == 1000+uint16(c) && g.DstPort == 1000+uint16(a) &&
						g.Proto == packet.ProtoTCP && g.Kind == packet.Ack && g.Version == version &&
						uint32(g.Seq) == 0xdeadbeef && g.Ack == 2000 && g.Payload == 0 && s.Flags == packet.ACK && s.Window == want &&
						s.Blocks == 0 && s.MSS == 0 && g.TOS == 0x10
					if stamped {
						ok = ok && s.Present == packet.HasTimestamps && s.TSVal == 70 && s.TSEcho == 60
					} else {
						ok = ok && s.Present == 0
					}
					if !ok || g.Hash != packet.FlowHash(c, a, 1000+uint16(c), 1000+uint16(a), packet.ProtoTCP) {
						t.Errorf("IPv%d, stamped %v, lower %v, %s: %+v", version, stamped, lower, form, g)
					}
					var note Header
					if !note.ReadFrom(g) || !note.Fake || note.Applied != lower || note.Ack != 5000 {
						t.Errorf("IPv%d, %s: the header tells the leaf %+v", version, form, note)
					}
				}
				if int(f.Size) != len(frame) { // framing l2
					t.Errorf("IPv%d, stamped %v: counts %d bytes, the frame has %d", version, stamped, f.Size, len(frame))
				}
				checksums(t, frame)
			}
		}
	}
}

// checksums verifies the checksums of IPv4 and TCP in a frame with extensions.
func checksums(t *testing.T, frame []byte) {
	t.Helper()
	e, _ := packet.ParseEthernet(frame)
	var rest []byte
	var src, dst netip.Addr
	if frame[14]>>4 == 4 {
		ip, err := packet.ParseIPv4(e.Payload())
		if err != nil || !ip.ChecksumOK() {
			t.Errorf("IPv4: %v, checksum %v", err, ip.ChecksumOK())
		}
		rest, src, dst = ip.Payload(), ip.Src(), ip.Dst()
	} else {
		ip, err := packet.ParseIPv6(e.Payload())
		if err != nil {
			t.Error(err)
		}
		rest, src, dst = ip.Payload(), ip.Src(), ip.Dst()
	}
	tcp, err := packet.ParseTCP(rest[8*(int(rest[1])+1):])
	if err != nil || !tcp.ChecksumOK(src, dst) {
		t.Errorf("TCP: %v, checksum %v", err, tcp.ChecksumOK(src, dst))
	}
}

// TestFakeACKOfTheCode checks the P4TE code: it acknowledges the byte after the packet's first, with the sequence
// number that the sender expects and the sender's own window.
func TestFakeACKOfTheCode(t *testing.T) {
	x := newStation(t, 2, "rate", "next_byte")
	p := x.segment(a, c, 5000, 77, 1000, packet.ACK)
	(&Header{Allowed: true, Rated: true, Ack: 2000, Seq: 7, Window: 400}).WriteTo(p)
	if f := x.pass(0, p)[0][0]; f.Ack != 5001 || f.Seq != 77 || f.TCP.Window != 99-99>>2 {
		t.Errorf("ack %d, seq %d, window %d; want 5001, 77, %d", f.Ack, f.Seq, f.TCP.Window, 99-99>>2)
	}
}

// TestWindowChange checks a window field after a change: shifts as P4 has them, which round down. With round: up a
// change below a unit is one. The field stays within 1 … 65535.
func TestWindowChange(t *testing.T) {
	for _, s := range []struct {
		window                         uint16
		down, downUp, raised, raisedUp uint16
	}{
		{0, 0, 0, 0, 0},
		{1, 1, 1, 1, 2},
		{2, 2, 1, 2, 3},
		{3, 3, 2, 3, 4},
		{4, 3, 3, 4, 5},
		{255, 192, 192, 255, 256},
		{256, 192, 192, 257, 257},
		{512, 384, 384, 514, 514},
		{65279, 48960, 48960, 65533, 65533},
		{65535, 49152, 49152, 65535, 65535},
	} {
		down, up := &rater{config: RateConfig{Lower: 2, Raise: 8}}, &rater{config: RateConfig{Lower: 2, Raise: 8,
			RoundUp: true}}
		if got := [4]uint16{down.changedWindow(s.window, true), up.changedWindow(s.window, true),
			down.changedWindow(s.window, false),
			up.changedWindow(s.window, false)}; got != [4]uint16{s.down, s.downUp, s.raised, s.raisedUp} {
			t.Errorf("%d: %v, want %v", s.window, got, s)
		}
	}
}

// TestLeafStamps checks the sender's leaf: no stamp before the first ACK. Then the header carries the last ACK's
// values, until a newer one passes. An older, overtaken one is not recorded.
func TestLeafStamps(t *testing.T) {
	x := newStation(t, 1)
	x.class = dataplane.Green
	x.handshake(100, 900)
	p, h := x.up(x.pass(0, x.segment(a, c, 101, 901, 1000, packet.ACK)))
	if h.Rated || h.Allowed || p.Size != 14+40+32+1000+16 {
		t.Errorf("before the first ACK: %+v, %d bytes", h, p.Size)
	}
	if left := x.pass(2, x.ack(901, 1101, 300, 21, 22)); len(left[0]) != 1 || left[0][0].TCP.Window != 300 {
		t.Fatalf("the ACK did not pass: %v", left)
	}
	want := Header{Rated: true, Stamped: true, Ack: 1101, Seq: 901, TSVal: 21, TSEcho: 22, Window: 300, Scale: 7}
	p, h = x.up(x.pass(0, x.segment(a, c, 1101, 901, 1000, packet.ACK)))
	if h.Source = 0; h != want || p.Size != 14+40+32+1000+32 {
		t.Errorf("after it: %+v, %d bytes; want %+v", h, p.Size, want)
	}
	x.pass(2, x.ack(901, 1051, 200, 19, 20))
	if _, h = x.up(x.pass(0, x.segment(a, c, 2101, 901, 1000, packet.ACK))); h.Ack != 1101 || h.Window != 300 {
		t.Errorf("an old ACK was taken down: %+v", h)
	}
	x.pass(2, x.ack(901, 1101, 250, 23, 24)) // a window update
	if _, h = x.up(x.pass(0, x.segment(a, c, 3101, 901, 1000, packet.ACK))); h.Ack != 1101 || h.Window != 250 ||
		h.TSVal != 23 {
		t.Errorf("a window update was not: %+v", h)
	}
	if p, h = x.up(x.pass(0, x.segment(a, c, 4101, 901, 0, packet.ACK))); h.Rated || p.Size != 14+40+32+16 {
		t.Errorf("a packet without payload carries %+v", h)
	}
}

// TestOnceInB checks P4TE §6.4.1: the leaf allows a change when B bytes were sent since the last, which it detects by
// the fake ACK on its way to the host. One for a packet within them ends there.
func TestOnceInB(t *testing.T) {
	for _, repeats := range []bool{false, true} {
		x := newStation(t, 1, "bytes", "5000 B", "repeats", fmt.Sprint(repeats))
		x.class = dataplane.Green
		x.handshake(100, 900)
		x.pass(2, x.ack(901, 101, 300, 1, 1))
		allowed := func(seq uint32) bool {
			_, h := x.up(x.pass(0, x.segment(a, c, seq, 901, 1000, packet.ACK)))
			return h.Allowed
		}
		fake := func(seq uint32) bool {
			f := x.ack(901, 101, 225, 1, 1)
			(&Header{Fake: true, Applied: true, Rated: true, Ack: seq}).WriteTo(f)
			f.Size += f.ExtensionBytes()
			left := x.pass(3, f)
			if len(left[0]) == 1 && (left[0][0].HasExtensions() || left[0][0].Size != 86) {
				t.Error("a fake ACK reaches the host with P4TE's header")
			}
			return len(left[0]) == 1
		}
		for _, s := range []struct {
			seq  uint32
			want bool
		}{{101, false}, {5099, false}, {5100, true}, {6100, true}, {7100, true}} {
			if got := allowed(s.seq); got != s.want {
				t.Errorf("at %d: allowed %v, want %v", s.seq, got, s.want)
			}
		}
		if !fake(5100) { // all three were answered; the first comes
			t.Error("a fake ACK does not reach the sender")
		}
		if fake(6100) != repeats || fake(7100) != repeats || x.Counts().Repeated != 2 {
			t.Errorf("fake ACKs within B bytes: %d, repeats %v", x.Counts().Repeated, repeats)
		}
		last := uint32(5100)
		if repeats {
			last = 7100
		}
		if allowed(last+4999) || !allowed(last+5000) {
			t.Errorf("repeats %v: not allowed from %d on", repeats, last+5000)
		}
		if got := fake(last + 5000); !got {
			t.Error("the next one does not reach the sender")
		}
		if allowed(last + 4000) { // sent again
			t.Error("a packet from before the change is allowed")
		}
	}
}

// TestSequenceWrap checks that sequence numbers wrap, and a flow without a rate change for 4 GB can still be changed.
func TestSequenceWrap(t *testing.T) {
	x := newStation(t, 1, "bytes", "5000 B")
	x.class = dataplane.Green
	isn := uint32(0xfffff000)
	x.handshake(isn, 0xffffffff)
	x.pass(2, x.ack(0, isn+1, 300, 1, 1))
	allowed := func(seq uint32) bool {
		_, h := x.up(x.pass(0, x.segment(a, c, seq, 0, 1000, packet.ACK)))
		if !h.Rated || h.Seq != 0 {
			t.Fatalf("at %#x: %+v", seq, h)
		}
		return h.Allowed
	}
	if allowed(isn+4999) || !allowed(isn+5000) { // beyond 2³²
		t.Error("over the wrap B bytes are not B bytes")
	}
	for sent := uint64(5000); sent < 9<<30; sent += 1 << 27 {
		if !allowed(isn + uint32(sent)) {
			t.Fatalf("after %d bytes no change is allowed", sent)
		}
	}
}

// TestRater_LatestSYNOwnsCell checks that a cell belongs to the flow with the last SYN. A flow that lost it is not
// controlled, and writes no other flow's cell. FIN and RST release it; without a SYN there is none.
func TestRater_LatestSYNOwnsCell(t *testing.T) {
	x := newStation(t, 1, "flows", "1", "bytes", "1 B")
	x.class = dataplane.Green
	if _, h := x.up(x.pass(0, x.segment(a, c, 1, 1, 1000, packet.ACK))); h.Rated {
		t.Error("a flow without a SYN has a cell")
	}
	x.handshake(100, 900)
	x.pass(2, x.ack(901, 101, 300, 1, 1))
	if _, h := x.up(x.pass(0, x.segment(a, c, 101, 901, 1000, packet.ACK))); !h.Rated || !h.Allowed {
		t.Fatalf("the flow has no cell: %+v", h)
	}
	x.pass(1, x.segment(b, d, 5000, 0, 0, packet.SYN)) // the only cell
	x.pass(2, x.ack(901, 1101, 300, 1, 1))
	if _, h := x.up(x.pass(0, x.segment(a, c, 1101, 901, 1000, packet.ACK))); h.Rated {
		t.Errorf("the flow lost its cell: %+v", h)
	}
	f := x.ack(901, 101, 225, 1, 1)
	(&Header{Fake: true, Rated: true, Ack: 101}).WriteTo(f)
	if left := x.pass(3, f); len(left[0]) != 1 {
		t.Error("a fake ACK of a flow without a cell does not pass")
	}
	back := x.segment(d, b, 900, 5001, 0, packet.ACK)
	x.pass(2, back)
	if _, h := x.up(x.pass(1, x.segment(b, d, 5001, 901, 1000, packet.ACK))); !h.Rated || h.Ack != 5001 {
		t.Errorf("the flow that has it: %+v", h)
	}
	for _, flag := range []uint8{packet.FIN, packet.RST} {
		x.pass(1, x.segment(b, d, 5000, 0, 0, packet.SYN))
		x.pass(2, x.segment(d, b, 900, 5001, 0, packet.ACK))
		x.pass(1, x.segment(b, d, 6001, 901, 1000, packet.ACK|flag))
		if _, h := x.up(x.pass(1, x.segment(b, d, 7001, 901, 1000, packet.ACK))); h.Rated {
			t.Errorf("after flag %d the flow has its cell still", flag)
		}
	}
}

// TestRegisterSize checks P4TE §6.6: "requires only 4 bytes. For 1M flows total stateful memory requirement is 4MB".
// That is only the sequence number of the last change. A fake ACK needs the last acknowledgement, and a cell that must
// not be shared by mistake a tag: 28 bytes, and 48 to hold a window; 28 MB and 48 MB for 1 M flows.
func TestRegisterSize(t *testing.T) {
	for mode, want := range map[Mode]int{RateOff: 0, LastAck: 28, NextByte: 28, Marks: 28, Enforced: 48} {
		t.Run(fmt.Sprint("mode ", mode), func(t *testing.T) {
			sum := 0
			if mode != RateOff {
				(&rater{config: RateConfig{Mode: mode}}).addRegisters(func(_ string, bits int) { sum += bits })
			}
			if got := (sum + 7) / 8; got != want {
				t.Errorf("%d bytes a flow, want %d", got, want)
			}
		})
	}
	x := newStation(t, 1, "flows", "1000")
	if len(x.rate.flows) != 1024 {
		t.Errorf("%d cells", len(x.rate.flows))
	}
	if x = newStation(t, 2); len(x.rate.flows) != 0 {
		t.Errorf("a spine has %d cells; it keeps no state of flows", len(x.rate.flows))
	}
}

// TestWithinALeaf checks that a flow between two hosts of one leaf is not controlled. With the option it is controlled
// as others are, and its header is on no link.
func TestWithinALeaf(t *testing.T) {
	for _, within := range []bool{false, true} {
		testWithinALeaf(t, within)
	}
}

func testWithinALeaf(t *testing.T, within bool) {
	x := newStation(t, 1, "bytes", "1 B", "within_leaf", fmt.Sprint(within))
	x.pass(0, x.segment(a, b, 100, 0, 0, packet.SYN))
	x.pass(1, x.segment(b, a, 900, 101, 0, packet.SYN|packet.ACK))
	x.pass(1, x.segment(b, a, 901, 101, 0, packet.ACK))
	left := x.pass(0, x.segment(a, b, 101, 901, 1000, packet.ACK))
	if !within {
		if len(left[1]) != 1 || len(left[0]) != 0 || left[1][0].HasExtensions() || left[1][0].Size != 1086 ||
			left[1][0].TOS&packet.ECN != packet.ECT0 {
			t.Errorf("it is not left alone: %v", left)
		}
		for _, c := range x.rate.flows {
			if c.used {
				t.Errorf("it has a cell: %+v", c)
			}
		}
		return
	}
	if len(left[1]) != 1 || len(left[0]) != 1 {
		t.Fatalf("%d packets and %d fake ACKs, want 1 and 1", len(left[1]), len(left[0]))
	}
	if p := left[1][0]; p.HasExtensions() || p.Size != 1086 || p.TOS&packet.ECN != packet.CE {
		t.Errorf("the packet has %d bytes of extensions, size %d, ECN %d", p.ExtensionBytes(), p.Size, p.TOS&packet.ECN)
	}
	if f := left[0][0]; f.HasExtensions() || f.Size != 86 || f.Ack != 101 || f.TCP.Window != 99-99>>2 {
		t.Errorf("the fake ACK: %d bytes of extensions, size %d, %+v", f.ExtensionBytes(), f.Size, f)
	}
	if x.leavingNothing(); x.pool.LiveCount() != 5 {
		t.Errorf("%d packets are out", x.pool.LiveCount())
	}
}

// TestMarks_LeaveWindowsUnchanged checks marks: a packet for which the rate is lowered is marked, once in B bytes, and
// the sender sees no other effect. Fake ACKs end at its leaf, and windows stay unchanged.
func TestMarks_LeaveWindowsUnchanged(t *testing.T) {
	x := newStation(t, 1, "bytes", "3000 B", "within_leaf", "true", "rate", "marks")
	x.pass(0, x.segment(a, b, 100, 0, 0, packet.SYN))
	x.pass(1, x.segment(b, a, 900, 101, 0, packet.SYN|packet.ACK))
	x.pass(1, x.segment(b, a, 901, 101, 0, packet.ACK))
	marked := ""
	for i := range 9 {
		left := x.pass(0, x.segment(a, b, uint32(101+1000*i), 901, 1000, packet.ACK))
		if len(left[0]) != 0 || len(left[1]) != 1 {
			t.Fatalf("packet %d: %d go to the sender, %d to the receiver", i, len(left[0]), len(left[1]))
		}
		if left[1][0].TOS&packet.ECN == packet.CE {
			marked += fmt.Sprint(i)
		}
	}
	if marked != "36" {
		t.Errorf("marked are packets %q of 1000 bytes each, want one in 3000 bytes", marked)
	}
	if left := x.pass(1, x.segment(b, a, 901, 9101, 0, packet.ACK)); len(left[0]) != 1 || left[0][0].TCP.Window != 99 {
		t.Errorf("a window of 99 leaves as %v", left[0])
	}
}

// TestHostsHeader checks that a header that a host sends does not count: it is removed, and its bytes with it.
func TestHostsHeader(t *testing.T) {
	for _, to := range []packet.Addr{b, c} {
		x := newStation(t, 1, "bytes", "1 B", "within_leaf", "true")
		p := x.segment(a, to, 101, 901, 1000, packet.ACK)
		(&Header{Allowed: true, Rated: true, Ack: 7, Window: 99}).WriteTo(p)
		p.Size += p.ExtensionBytes()
		left := x.pass(0, p)
		if to == b {
			if len(left[0]) != 0 || len(left[1]) != 1 || left[1][0].Size != 1086 {
				t.Errorf("within the leaf: %v", left)
			}
			continue
		}
		if q, h := x.up(left); h.Rated || h.Allowed || q.Size != 1086+16 || len(left[0]) != 0 {
			t.Errorf("to another leaf: %+v, size %d", h, q.Size)
		}
	}
}

// TestOptions_ValidateRejectsOutOfRange checks that values set by code have the ranges of the parameters, before a
// switch is made.
func TestOptions_ValidateRejectsOutOfRange(t *testing.T) {
	for _, c := range []struct {
		param, says string
		change      func(o *Options)
	}{
		{"depth_delta", "negative", func(o *Options) { o.DepthDelta = -1 }},
		{"delay_delta", "too short", func(o *Options) { o.DelayDelta = 1 }},
		{"burst", "too short", func(o *Options) { o.Burst = minTime - 1 }},
		{"round_trip", "too long", func(o *Options) { o.RoundTrip = 11e12 }},
		{"tell", "without detect", func(o *Options) { o.ReportsFailures, o.LinkCheckInterval = true, 0 }},
		{"committed", "above peak", func(o *Options) { o.Committed, o.Peak = 0.9, 0.7 }},
		{"safe_low_delay", "0", func(o *Options) { o.Safe[LowDelay] = 0 }},
		{"safe_peak", "0", func(o *Options) { o.SafePeak = 0 }},
		{"delay_groups", "0", func(o *Options) { o.Control.Groups[Delay] = 0 }},
		{"depth_range", "negative", func(o *Options) { o.DepthRange = -1 }},
		{"delay_range", "negative", func(o *Options) { o.DelayRange = -1 }},
		{"control_latency", "negative", func(o *Options) { o.Control.Latency = -1 }},
		{"table_write", "negative", func(o *Options) { o.Control.WriteTime = -1 }},
		{"control_queue", "0", func(o *Options) { o.Control.Queue = 0 }},
		{"gap", "negative", func(o *Options) { o.FlowletGap = -1 }},
		{"flowlet_cells", "too many", func(o *Options) { o.FlowletCells = 1<<24 + 1 }},
		{"bytes", "negative", func(o *Options) { o.Rate.Bytes = -1 }},
		{"bytes", "too many", func(o *Options) { o.Rate.Bytes = MaxBytes }},
		{"lower", "too much", func(o *Options) { o.Rate.Lower = 16 }},
		{"raise", "0", func(o *Options) { o.Rate.Raise = 0 }},
		{"flows", "0", func(o *Options) { o.Rate.Flows = 0 }},
		{"flows", "too many", func(o *Options) { o.Rate.Flows = 1<<24 + 1 }},
	} {
		t.Run(c.param+" "+c.says, func(t *testing.T) {
			o := scheme.Defaults[Options]()
			if err := scheme.Validate(&o); err != nil {
				t.Fatal(err)
			}
			c.change(&o)
			var wrong *scheme.Error
			if err := scheme.Validate(&o); !errors.As(err, &wrong) || wrong.Param != c.param {
				t.Errorf("%v", err)
			}
		})
	}
}
