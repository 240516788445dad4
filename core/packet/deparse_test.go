package packet

import (
	"bytes"
	"fmt"
	"testing"
)

// deparseQuickly reports in quick whether refresh rewrites p in place, and fails if the result then differs from
// rewrite's. plain reports whether it should, except for payload and addresses.
func deparseQuickly(t *testing.T, p *Packet, b *Book) (plain, quick bool) {
	t.Helper()
	one, two := *p, *p
	one.Data, two.Data = bytes.Clone(p.Data), bytes.Clone(p.Data)
	if quick = one.updateInPlace(b); !quick {
		if !bytes.Equal(one.Data, p.Data) {
			t.Fatalf("refresh declined, but made % x of % x", one.Data, p.Data)
		}
	} else if err := two.rewriteFrame(b); err != nil || !bytes.Equal(one.Data, two.Data) {
		t.Fatalf("%v: refresh made % x, rewrite % x", err, one.Data, two.Data)
	}
	var old Packet
	return old.Parse(b, p.Data) == nil && old.extLen == 0 && p.extLen == 0 && (p.Proto == ProtoTCP || p.Proto == ProtoUDP),
		quick
}

// TestDeparseKeepsTheFrame checks that a foreign frame that gets an extension, or loses its end, keeps all the rest:
// MAC addresses, IP options, TCP options and flags, payload.
func TestDeparseKeepsTheFrame(t *testing.T) {
	b := book()
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			options := TCPOptions{WindowScale: -1, Timestamps: true, TSVal: 1, TSEcr: 2}.Append(nil)
			tcp, _ := AppendTCP(nil, SegmentHeader{SrcPort: 5, DstPort: 6, Seq: 7, Ack: 8, Flags: PSH | ACK | ECE, Window: 9,
				Options: options})
			tcp = append(tcp, "the payload of this segment"...)
			frame := AppendEthernet(nil, [6]byte{1}, [6]byte{2}, EtherIPv4)
			var err error
			if version == 4 {
				SealTCP(tcp, a4, b4)
				frame, err = DatagramHeader{ID: 3, TTL: 64, Protocol: ProtoTCP, Src: a4, Dst: b4, Options: []byte{0x94, 4, 0,
					0}}.Append(frame, len(tcp))
			} else {
				SealTCP(tcp, a6, b6)
				frame = AppendEthernet(nil, [6]byte{1}, [6]byte{2}, EtherIPv6)
				frame, err = AppendIPv6(frame, a6, b6, ProtoTCP, 0, 64, len(tcp))
				IPv6(frame[EthernetHeader:]).SetFlowLabel(0xabcde)
			}
			if err != nil {
				t.Fatal(err)
			}
			frame = append(frame, tcp...)
			original := append([]byte(nil), frame...)
			p := Packet{Data: frame}
			if err := p.Parse(b, frame); err != nil {
				t.Fatal(err)
			}
			p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
			if err := p.Deparse(b); err != nil {
				t.Fatal(err)
			}
			checksums(t, p.Data)
			if len(p.Data) != len(original)+8 || !bytes.HasSuffix(p.Data, tcp) || !bytes.Equal(p.Data[:14], original[:14]) {
				t.Errorf("with an extension\n% x, it was\n% x", p.Data, original)
			}
			p.RemoveExtension(ExtActivity)
			if err := p.Deparse(b); err != nil || !bytes.Equal(p.Data, original) {
				t.Errorf("%v: without it\n% x, it was\n% x", err, p.Data, original)
			}
			p.Payload = 11
			if err := p.Deparse(b); err != nil {
				t.Fatal(err)
			}
			checksums(t, p.Data)
			if !bytes.HasSuffix(p.Data, []byte("the payload")) {
				t.Errorf("cut: % x", p.Data)
			}
			p.Payload = 12
			if err := p.Deparse(b); err == nil {
				t.Error("a payload that the frame does not have is taken")
			}
			p.Payload, p.Src, p.Dst = 11, p.Dst, p.Src // turned round
			if err := p.Deparse(b); err != nil {
				t.Fatal(err)
			}
			var q Packet
			if err := q.Parse(b, p.Data); err != nil || q.Src != 2 || q.Dst != 1 {
				t.Errorf("turned round: %v, %s", err, essence(&q))
			}
		})
	}
}

// TestDeparseCutsADatagram checks a datagram that loses its end: later bytes in the packet go too, and one that was
// sent without a checksum (RFC 768) gets none.
func TestDeparseCutsADatagram(t *testing.T) {
	b := book()
	for _, sum := range []bool{true, false} {
		t.Run(fmt.Sprint("checksum ", sum), func(t *testing.T) {
			u, err := AppendUDP(nil, a4, b4, 5, 6, []byte("twenty bytes of data"))
			if err != nil {
				t.Fatal(err)
			}
			if !sum {
				u[6], u[7] = 0, 0
			}
			frame, err := AppendIPv4(AppendEthernet(nil, MAC(2), MAC(1), EtherIPv4), a4, b4, ProtoUDP, 0, 9, len(u)+3)
			if err != nil {
				t.Fatal(err)
			}
			frame = append(append(append(frame, u...), 1, 2, 3), 0, 0, 0, 0) // in the packet; Ethernet's padding
			p := Packet{Data: frame}
			if err := p.Parse(b, frame); err != nil || p.Payload != 20 {
				t.Fatalf("%v, payload %d", err, p.Payload)
			}
			p.Payload = 6
			if err := p.Deparse(b); err != nil {
				t.Fatal(err)
			}
			h, err := ParseIPv4(p.Data[EthernetHeader:])
			if err != nil || !h.ChecksumOK() || len(p.Data) != EthernetHeader+IPv4Header+UDPHeader+6 {
				t.Fatalf("%v: % x", err, p.Data)
			}
			v, err := ParseUDP(h.Payload())
			if err != nil || string(v.Payload()) != "twenty" || !v.ChecksumOK(a4, b4) || sum != (be.Uint16(v[6:]) != 0) {
				t.Errorf("%v: % x", err, v)
			}
		})
	}
}
