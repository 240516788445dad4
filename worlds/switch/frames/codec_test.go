package frames

import (
	"bytes"
	"net/netip"
	"testing"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/internal/testkit/frametest"
)

// rules returns the rules of a switch with two ports whose file has no users.
func rules(change func(u *Rules)) *Rules {
	u := scheme.Defaults[Rules]()
	u.Behind, u.Unnamed, u.Ports = -1, Each, []string{"left", "right"}
	if change != nil {
		change(&u)
	}
	return &u
}

func anyCodec() *Codec { return NewCodec(NewUsers(rules(nil), 1)) }

// TestDeparse_FixesLengthsAfterCut checks that a program's cut corrects all lengths and checksums, below tags and
// PPPoE.
func TestDeparse_FixesLengthsAfterCut(t *testing.T) {
	full := frametest.NewDatagram(t, 1, 2, 0, 200)
	under := func(head ...byte) []byte { return append(append(bytes.Clone(full[:12]), head...), full[14:]...) }
	session := under(0x88, 0x64, 0x11, 0, 0, 1, 0, 188, 0, 0x21)
	for name, f := range map[string][]byte{"plain": full, "tagged": under(0x81, 0, 0, 5, 8, 0), "PPPoE": session} {
		t.Run(name, func(t *testing.T) {
			c := anyCodec()
			p := &packet.Packet{Data: bytes.Clone(f)}
			if err := c.Parse(0, 0, p); err != nil || p.Payload != 158 || p.Version != 4 || p.Proto != packet.ProtoUDP ||
				p.DstPort != 7 {
				t.Fatalf("%s: %v, %+v", name, err, p)
			}
			p.Payload = 40
			if err := c.Deparse(p); err != nil {
				t.Fatal(err)
			}
			d, ok := parseLayout(p.Data)
			if !ok || d.end-d.payload != 40 || len(p.Data) != len(f)-118 || !packet.IPv4(p.Data[d.ip:]).ChecksumOK() {
				t.Errorf("%s: %x", name, p.Data)
			}
			u, err := packet.ParseUDP(p.Data[d.transport:d.end])
			if err != nil || len(u) != 48 || !u.ChecksumOK(netip.AddrFrom4([4]byte{10, 0, 0, 1}),
				netip.AddrFrom4([4]byte{10, 0, 0, 2})) {
				t.Errorf("%s: %v, %x", name, err, u)
			}
			if d.session > 0 && be.Uint16(p.Data[d.session+4:]) != 188-118 {
				t.Errorf("the session's length is %d", be.Uint16(p.Data[d.session+4:]))
			}
		})
	}
}

// mayBeExempt reports whether a frame is ARP, or ICMPv6 with hop limit 255 that no extension header precedes, of at
// most 512 bytes. It looks for the required bytes at every place that tags allow.
func mayBeExempt(f []byte) bool {
	for at := typeOffset; at <= typeOffset+MaxTagged && at+2 <= len(f); at += tagBytes {
		if be.Uint16(f[at:]) == etherARP {
			return len(f) <= 512
		}
	}
	for at := typeOffset + 2; at <= typeOffset+2+MaxTagged+pppoeHeader+2 && at+41 <= len(f); at += 2 {
		if f[at]>>4 == 6 && f[at+6] == packet.ProtoICMPv6 && f[at+7] == 255 && f[at+40] >= 133 && f[at+40] <= 137 {
			return len(f) <= 512
		}
	}
	return false
}

// FuzzCodec_CarriesAnyFrame checks that the codec carries any frame, and unchanged parts stay. Every frame has a user,
// or is exempt by the written rule.
func FuzzCodec_CarriesAnyFrame(f *testing.F) {
	for _, x := range frametest.AllFrames() {
		f.Add(x.Bytes, uint8(0))
		f.Add(x.Bytes, uint8(3))
	}
	f.Fuzz(func(t *testing.T, frame []byte, tos uint8) {
		if len(frame) < packet.EthernetHeader {
			return
		}
		c := anyCodec()
		p := &packet.Packet{Data: bytes.Clone(frame)}
		if err := c.Parse(0, 0, p); err != nil {
			t.Fatal(err)
		}
		if nobody := p.Meta.Flags&packet.Internal != 0; nobody == (p.Src != 0) || nobody && !mayBeExempt(frame) {
			t.Fatalf("user %d, exempt: %v\n%x", p.Src, nobody, frame)
		}
		if err := c.Deparse(p); err != nil || !bytes.Equal(p.Data, frame) {
			t.Fatalf("%v\n%x\nbecame\n%x", err, frame, p.Data)
		}
		if p.Version == 0 {
			return
		}
		// A mark is read again, and taking it back leaves the frame as it was, but for the
		// two zeros of ones' complement in the checksum.
		was := p.TOS
		p.TOS = tos
		if err := c.Deparse(p); err != nil {
			t.Fatal(err)
		}
		q := &packet.Packet{Data: p.Data}
		if c.Parse(0, 0, q); q.TOS != tos || q.Payload != p.Payload {
			t.Fatalf("TOS %d came as %d", tos, q.TOS)
		}
		p.TOS, p.Payload = was, 0
		if err := c.Deparse(p); err != nil {
			t.Fatal(err)
		}
		if d, ok := parseLayout(p.Data); !ok || d.end != d.payload {
			t.Fatalf("trimmed: %x", p.Data)
		}
		if len(p.Data) > len(frame) {
			t.Fatalf("%d bytes became %d", len(frame), len(p.Data))
		}
	})
}
