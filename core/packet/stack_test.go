package packet

import (
	"bytes"
	"testing"
)

// someStack gives p a stack of one of the three places, or none, and makes it an answer or not.
func someStack(p *Packet, which uint8) {
	switch StackPosition(which & 3) {
	case BehindTransport: // shim, header of version 2 with 2 words a hop, one hop
		p.SetStack(BehindTransport, []byte{0x10, 5, 0, 0, 0x20, 0, 2, 7, 0x90, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0,
			0, 0, which})
	case HopByHop: // namespace 1, 1 word a hop, room for one more
		p.SetStack(HopByHop, []byte{0, 0, 0, 1, 8, 1, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, which})
	case AroundTransport: // header, metadata header, a word
		p.SetStack(AroundTransport, []byte{0x20, 0, 4, 255, 0, 0, 254, 1, 9, 8, 7, which})
	}
	if which&4 != 0 {
		p.RenameExtension(ExtStack, AnswerStack)
	}
}

// TestStacksByHand checks the places of stacks byte by byte: INT after UDP's header with the port in the shim, after
// TCP's with the DSCP in it; IOAM as an option that begins at a multiple of 4; IFA around the transport's header, with
// a length that does not count it.
func TestStacksByHand(t *testing.T) {
	b := book()
	for _, c := range []struct {
		name           string
		proto, version uint8
		which          uint8
		size           int
		at             int
		want           []byte
	}{
		{"INT over UDP", ProtoUDP, 4, 1, 14 + 20 + 8 + 24 + 20, 34 + 2, // port, length, checksum
			[]byte{0xd4, 0x17, 0, 8 + 24 + 20}},
		{"INT's shim over UDP", ProtoUDP, 4, 1, 14 + 20 + 8 + 24 + 20, 34 + 8, []byte{0x14, 5, 2000 >> 8, 2000 & 255, 0x20}},
		{"INT over TCP", ProtoTCP, 4, 1, 14 + 20 + 20 + 24 + 20, 14, []byte{0x45, 0x17<<2 | 1}},
		{"INT's shim over TCP", ProtoTCP, 4, 1, 14 + 20 + 20 + 24 + 20, 34 + 20, []byte{0x10, 5, 0, 0xa8, 0x20}},
		{"an answer of INT", ProtoTCP, 4, 5, 14 + 20 + 20 + 24 + 20, 34 + 20, []byte{0x20, 5, 0, 0xa8, 0x20}},
		{"IOAM", ProtoUDP, 6, 2, 14 + 40 + 24 + 8 + 20, 14 + 40, []byte{17, 2, 1, 0, 0x31, 18, 0, 0, 0, 1, 8, 1}},
		{"an answer of IOAM", ProtoUDP, 6, 6, 14 + 40 + 24 + 8 + 20, 14 + 40, []byte{17, 2, 1, 0, 0x11, 18, 0, 0}},
		{"IFA", ProtoUDP, 4, 3, 14 + 20 + 4 + 8 + 8 + 20, 34, []byte{0x20, 17, 4, 255, 1000 >> 8, 1000 & 255, 2000 >> 8,
			2000 & 255, 0, 28}},
		{"IFA's protocol", ProtoUDP, 4, 3, 14 + 20 + 4 + 8 + 8 + 20, 23, []byte{251}},
		{"an answer of IFA", ProtoUDP, 4, 7, 14 + 20 + 4 + 8 + 8 + 20, 34, []byte{0x20, 17, 0x84, 255}},
		{"IFA's metadata", ProtoUDP, 6, 3, 14 + 40 + 4 + 8 + 8 + 20, 14 + 40 + 4 + 8, []byte{0, 0, 254, 1, 9, 8, 7, 3}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := Packet{Kind: Data, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: c.proto, Version: c.version, TOS: 0xa9,
				HopLimit: 9, Payload: 20}
			someStack(&p, c.which)
			wire, err := p.Emit(b, nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(wire) != c.size || !bytes.HasPrefix(wire[c.at:], c.want) {
				t.Errorf("%d bytes, from %d on % x; want %d, % x", len(wire), c.at, wire[c.at:], c.size, c.want)
			}
			var q Packet
			if err := q.Parse(b, wire); err != nil || !bytes.Equal(q.Stack(), p.Stack()) || q.TOS != p.TOS ||
				q.DstPort != 2000 || q.Payload != 20 || q.HasHotExtension(ExtStack) != p.HasHotExtension(ExtStack) {
				t.Errorf("%v: % x came back, TOS %#x, port %d, payload %d", err, q.Stack(), q.TOS, q.DstPort, q.Payload)
			}
		})
	}
}

// TestNoINT checks that a frame that only resembles one with INT has none: the port or the DSCP may have another use.
func TestNoINT(t *testing.T) {
	b := book()
	for _, proto := range []uint8{ProtoUDP, ProtoTCP} {
		p := Packet{Kind: Data, Src: 1, Dst: 2, SrcPort: 1000, DstPort: INTPort, Proto: proto, Version: 4, TOS: INTDSCP << 2,
			HopLimit: 9, Payload: 40, Seq: 1}
		wire, err := p.Emit(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		var q Packet
		if err := q.Parse(b, wire); err != nil || q.Stack() != nil || q.Payload != 40 || q.DstPort != INTPort ||
			q.TOS != INTDSCP<<2 {
			t.Errorf("protocol %d: %v, stack % x, payload %d", proto, err, q.Stack(), q.Payload)
		}
	}
}

// TestStackKeepsDamage checks that a switch's record does not give a damaged segment a right checksum, and a datagram
// without a checksum gets none (P4 INT v2.1, "Checksum Update").
func TestStackKeepsDamage(t *testing.T) {
	b := book()
	for _, proto := range []uint8{ProtoUDP, ProtoTCP} {
		for _, damage := range []string{"nothing", "payload", "no checksum"} {
			if damage == "no checksum" && proto == ProtoTCP {
				continue
			}
			t.Run(damage, func(t *testing.T) {
				p := Packet{Kind: Data, Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: 4, HopLimit: 9,
					Payload: 40}
				someStack(&p, 1)
				wire, err := p.Emit(b, nil)
				if err != nil {
					t.Fatal(err)
				}
				switch damage {
				case "payload":
					wire[len(wire)-1] ^= 1
				case "no checksum":
					be.PutUint16(wire[34+6:], 0)
				}
				var q Packet
				if err := q.Parse(b, wire); err != nil {
					t.Fatal(err)
				}
				q.Data = wire
				q.GrowStack(minINTBytes, 8)[1] += 2
				if err := q.Deparse(b); err != nil {
					t.Fatal(err)
				}
				if len(q.Data) != len(wire)+8 {
					t.Errorf("%d bytes became %d", len(wire), len(q.Data))
				}
				x := q.Data[34:]
				switch ok := transportChecksum(b.V4(1), b.V4(2), proto, x) == 0; {
				case damage == "no checksum" && be.Uint16(x[6:]) != 0:
					t.Error("a datagram without a checksum gets one")
				case damage != "no checksum" && ok != (damage == "nothing"):
					t.Errorf("with damage to %s the checksum is right: %v", damage, ok)
				}
			})
		}
	}
}

// TestCopyStack checks that a packet's copy has a separate stack, and an acknowledgement its data's.
func TestCopyStack(t *testing.T) {
	var p, q, r Packet
	p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
	someStack(&p, 2)
	q.CopyFrom(&p)
	r.CopyExtensions(&p)
	for _, x := range []*Packet{&q, &r} {
		x.Stack()[0] = 77
		if p.Stack()[0] != 0 || !bytes.Equal(x.Stack()[1:], p.Stack()[1:]) {
			t.Errorf("% x, and its copy % x", p.Stack(), x.Stack())
		}
		if b, ok := x.Extension(ExtActivity); !ok || b[3] != 4 {
			t.Error("the other extension is gone")
		}
	}
	if p.GrowStack(0, StackRoom) != nil || p.GrowStack(99, 1) != nil || p.SetStack(HopByHop, make([]byte, StackRoom+1)) {
		t.Error("a stack grows out of its room")
	}
	if p.RemoveExtension(ExtStack); p.Stack() != nil || p.HasHotExtension(ExtStack) || p.ExtensionBytes() != 8 {
		t.Errorf("removed, but % x, %d bytes", p.Stack(), p.ExtensionBytes())
	}
	if p.SetExtension(ExtStack, []byte{1}) || p.GrowStack(0, 1) != nil {
		t.Error("a stack that is none")
	}
}
