package packet

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"testing"
)

// unhex reads bytes that are written with spaces.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ICRCs of others (scapy, test/contrib/roce.uts): a CNP that a ConnectX-4 Lx has sent, and a message of an
// unreliable connection.
var foreign = map[string]string{
	"CNP of a NIC": `e41d2dab2bc2 7cfe90643b32 0800 45c2003c718c4000401191610a0011010a001201
		000012b700280000 8100ffff 40000118 00000000 00000000000000000000000000000000 82fd002a`,
	"UC SEND": `248a07a8fa22 248a07a8fa22 0800 4501004004784000 4011b4d5 c0a80007c0a80007
		c00012b7002caca2 2460ffff 000000d3 00cf1710 4630818be28935d90e9a95505401be885e500000 78f353f3`,
}

// TestInvariantCRC_CoversOnlyInvariantBytes checks that the four bytes are CRC-32's, the least significant first.
// Fields that routers change leave them unchanged, and any other change does not.
func TestInvariantCRC_CoversOnlyInvariantBytes(t *testing.T) {
	for name, text := range foreign {
		t.Run(name, func(t *testing.T) {
			frame := unhex(t, text)
			ip := frame[EthernetHeader:]
			udp := ip[IPv4Header:]
			sum := func() string {
				crc := invariantCRC(ip, udp)
				return fmt.Sprintf("%02x%02x%02x%02x", crc&0xff, crc>>8&0xff, crc>>16&0xff, crc>>24)
			}
			want := hex.EncodeToString(udp[len(udp)-4:])
			if got := sum(); got != want {
				t.Errorf("ICRC %s, the frame has %s", got, want)
			}
			for at := range ip[:len(ip)-4] {
				ip[at] ^= 0x14
				// TOS, TTL, checksums, FECN and BECN; both lengths and IP's protocol follow from the datagram
				free := at == 1 || at == 8 || at == 10 || at == 11 || at == 26 || at == 27 || at == 32
				follows := at == 2 || at == 3 || at == 9
				if got := sum(); at > 0 && !follows && (got == want) != free {
					t.Errorf("byte %d of IP was changed: %s, was %s", at, got, want)
				}
				ip[at] ^= 0x14
			}
		})
	}
}

// TestForeignCNP checks that the CNP of another vendor's NIC is a CNP here, and is sent unchanged.
func TestForeignCNP(t *testing.T) {
	frame := unhex(t, foreign["CNP of a NIC"])
	b := NewBook()
	from := b.Add(netip.MustParseAddr("10.0.17.1"), netip.Addr{})
	to := b.Add(netip.MustParseAddr("10.0.18.1"), netip.Addr{})
	var p Packet
	if err := p.Parse(b, frame); err != nil || p.Proto != ProtoRDMA || p.Kind != Notice || p.DstPort != 0x118 ||
		p.SrcPort != 0 || p.Payload != 0 || p.Src != from || p.Dst != to {
		t.Fatalf("%v: %+v", err, p)
	}
	again, err := p.Emit(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := again[EthernetHeader+IPv4Header:], frame[EthernetHeader+IPv4Header:]; string(got[:len(got)-4]) !=
		string(want[:len(want)-4]) { // IP's identification differs, and so does the ICRC
		t.Errorf("% x, not\n% x", got, want)
	}
}

// wired is a packet of RDMA from host 1 to host 2, by IPv4.
func wired(kind Kind, change func(p *Packet)) Packet {
	p := Packet{Kind: kind, Src: 1, Dst: 2, SrcPort: 0x1122, DstPort: 0x3344, Version: 4, Proto: ProtoRDMA, HopLimit: 9,
		TOS: 0x2e, Seq: 0x010203}
	if change != nil {
		change(&p)
	}
	p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	return p
}

// TestRDMAByHand checks every kind of packet, byte by byte, from UDP's header on and without the ICRC.
func TestRDMAByHand(t *testing.T) {
	for name, x := range map[string]struct {
		p    Packet
		want string
	}{
		"WRITE First": {wired(Data, func(p *Packet) {
			p.Payload, p.TCP.Flags, p.Message, p.Ack = 4, FirstOfMessage, 0x00a1b2c3, 0x7f
		}), `112212b7002c0000 0600ffff 00003344 ff010203 0000000000000000 00003344 00a1b2c3 00000000`},
		"WRITE Middle": {wired(Data, func(p *Packet) { p.Payload = 4 }),
			`112212b7001c0000 0700ffff 00003344 80010203 00000000`},
		"WRITE Last, padded": {wired(Data, func(p *Packet) { p.Payload, p.TCP.Flags = 3, LastOfMessage }),
			`112212b7001c0000 0810ffff 00003344 80010203 00000000`},
		"WRITE Only": {wired(Data, func(p *Packet) {
			p.Payload, p.TCP.Flags, p.Message = 1, FirstOfMessage|LastOfMessage,
				1
		}),
			`112212b7002c0000 0a30ffff 00003344 80010203 0000000000000000 00003344 00000001 00000000`},
		"ACK": {wired(Ack, func(p *Packet) { p.Ack, p.Message, p.TCP.Flags = 0x010204, 5, ECE }),
			`112212b7001c0000 1100ffff 40003344 00010203 1f000005`},
		"ACK of all for an earlier packet": {wired(Ack, func(p *Packet) { p.Ack = 0x010304 }),
			`112212b700200000 1100ffff 00003344 00010303 1f000000 00010203`},
		"ACK of nothing": {wired(Ack, func(p *Packet) { p.Seq, p.Ack = PSNMask, 0 }),
			`112212b7001c0000 1100ffff 00003344 00ffffff 1f000000`},
		"NAK of the expected packet": {wired(Nack, func(p *Packet) { p.Ack = p.Seq }),
			`112212b7001c0000 1100ffff 00003344 00010203 60000000`},
		"NAK with the packet that came": {wired(Nack, func(p *Packet) { p.Ack = 0x010200 }),
			`112212b700200000 1100ffff 00003344 00010200 60000000 00010203`},
		"CNP": {wired(Notice, nil),
			`112212b700280000 8100ffff 40003344 00010203 00000000000000000000000000000000`},
		"probe": {wired(Probe, func(p *Packet) { p.Ack = 0x0708 }),
			`112212b7001c0000 c000ffff 00003344 00010203 00000708`},
	} {
		t.Run(name, func(t *testing.T) {
			frame, err := x.p.Emit(book(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if n := x.p.Headers() + x.p.Payload; len(frame) != int(n) {
				t.Errorf("%d bytes, headers and payload are %d", len(frame), n)
			}
			if frame[23] != ProtoUDP {
				t.Errorf("IP protocol %d", frame[23])
			}
			udp := frame[EthernetHeader+IPv4Header:]
			if got, want := udp[:len(udp)-4], unhex(t, x.want); string(got) != string(want) {
				t.Errorf("got\n% x, want\n% x", got, want)
			}
			checkICRC(t, frame)
			var q Packet
			if err := q.Parse(book(), frame); err != nil || essence(&q) != essence(&x.p) {
				t.Errorf("%v: came as\n%swas\n%s", err, essence(&q), essence(&x.p))
			}
		})
	}
}

// checkICRC fails if the frame's ICRC is wrong; the extensions in front of UDP do not count.
func checkICRC(t *testing.T, frame []byte) {
	t.Helper()
	ip := frame[EthernetHeader:]
	rest, next := ip[IPv4Header:], ip[9]
	if ip[0]>>4 == 6 {
		rest, next = ip[IPv6Header:], ip[6]
	}
	if next == protoShim || next == protoHopByHop {
		rest, next = rest[8*(int(rest[1])+1):], rest[0]
	}
	crc := invariantCRC(ip, rest)
	end := rest[len(rest)-4:]
	if next != ProtoUDP || end[0] != uint8(crc) || end[1] != uint8(crc>>8) || end[2] != uint8(crc>>16) ||
		end[3] != uint8(crc>>24) {
		t.Fatalf("ICRC % x, want %08x, the least significant byte first: % x", end, crc, frame)
	}
}

// TestRDMAReturned checks that a header that the network sends back keeps the number of its transmission.
func TestRDMAReturned(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		t.Run(fmt.Sprint("IPv", version), func(t *testing.T) {
			p := wired(Nack, func(p *Packet) { p.Ack, p.Version = 99, version })
			if !p.SetNotification(&Notification{Cause: CauseTrimmed, Lost: 1000}) {
				t.Fatal("no room")
			}
			frame, err := p.Emit(book(), nil)
			if err != nil {
				t.Fatal(err)
			}
			checksums(t, frame)
			checkICRC(t, frame)
			var q Packet
			if err := q.Parse(book(), frame); err != nil || essence(&q) != essence(&p) || int32(len(frame)) !=
				p.Headers()+p.ExtensionBytes() {
				t.Errorf("%v: came as\n%swas\n%s", err, essence(&q), essence(&p))
			}
		})
	}
}

// TestRDMACrossesSwitch checks a switch's changes to a frame: telemetry before UDP leaves the ICRC unchanged, and after
// a trim of the payload it is computed again.
func TestRDMACrossesSwitch(t *testing.T) {
	for _, version := range []uint8{4, 6} {
		for _, cut := range []bool{false, true} {
			t.Run(fmt.Sprintf("IPv%d, cut %v", version, cut), func(t *testing.T) {
				p := wired(Data, func(p *Packet) {
					p.Payload, p.Version, p.TCP.Flags, p.Message = 1001, version, FirstOfMessage, 1001
				})
				var err error
				if p.Data, err = p.Emit(book(), nil); err != nil {
					t.Fatal(err)
				}
				p.HopLimit--
				p.TOS |= CE
				p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
				if cut {
					p.Payload = 2
				}
				if err := p.Deparse(book()); err != nil {
					t.Fatal(err)
				}
				checksums(t, p.Data)
				checkICRC(t, p.Data)
				var q Packet
				if err := q.Parse(book(), p.Data); err != nil || essence(&q) != essence(&p) {
					t.Errorf("%v: came as\n%swas\n%s", err, essence(&q), essence(&p))
				}
			})
		}
	}
}

// TestICRCBehindTelemetry checks INT and IFA, which follow UDP's header, before the ICRC. With their bytes removed by
// hand, and their changed fields restored, the frame is the sender's, ICRC included; with them, the ICRC is wrong.
func TestICRCBehindTelemetry(t *testing.T) {
	for _, x := range []struct {
		name             string
		which, version   uint8
		front, behind    int // bytes of telemetry before UDP's header and behind it
		proto            uint8
		port             uint16
		inLength, inside int // what UDP's length counts of them; where UDP's header keeps its port, from its start on
	}{
		{"INT over IPv4", 1, 4, 0, 24, ProtoUDP, 54295, 24, UDPHeader + 2},
		{"INT over IPv6", 1, 6, 0, 24, ProtoUDP, 54295, 24, UDPHeader + 2},
		{"IFA over IPv4", 3, 4, 4, 8, 251, 4791, 0, 2},
		{"IFA over IPv6", 3, 6, 4, 8, 251, 4791, 0, 2},
	} {
		for _, by := range []string{"sender", "switch"} {
			t.Run(x.name+" by a "+by, func(t *testing.T) {
				p := wired(Data, func(p *Packet) {
					p.Payload, p.Version, p.TCP.Flags, p.Message = 101, x.version, FirstOfMessage,
						101
				})
				sent, err := p.Emit(book(), nil)
				if err != nil {
					t.Fatal(err)
				}
				p.Data = append([]byte(nil), sent...)
				if someStack(&p, x.which); by == "sender" {
					p.Data, err = p.Emit(book(), nil)
				} else {
					err = p.Deparse(book())
				}
				if err != nil {
					t.Fatal(err)
				}
				ipHeader, length, next, less := IPv4Header, 2, 9, 0
				if x.version == 6 {
					ipHeader, length, next, less = IPv6Header, 4, 6, IPv6Header
				}
				ip := append([]byte(nil), p.Data[EthernetHeader:]...)
				if ip[next] != x.proto || int(be.Uint16(ip[length:])) != len(ip)-less {
					t.Fatalf("protocol %d, length %d: % x", ip[next], be.Uint16(ip[length:]), ip)
				}
				udp := append([]byte(nil), ip[ipHeader+x.front:]...)
				if port, n := be.Uint16(udp[2:]), int(be.Uint16(udp[4:])); port != x.port || n != len(udp)-x.behind+x.inLength {
					t.Errorf("port %d, length %d: % x", port, n, udp[:UDPHeader])
				}
				own := sent[EthernetHeader+ipHeader:]
				wrong := invariantCRC(ip, udp)
				be.PutUint16(udp[2:], be.Uint16(udp[x.inside:]))
				be.PutUint16(udp[4:], be.Uint16(udp[4:])-uint16(x.inLength))
				udp = append(udp[:UDPHeader], udp[UDPHeader+x.behind:]...)
				if crc := invariantCRC(ip, udp); crc != icrcOf(udp[len(udp)-4:]) || crc == wrong {
					t.Errorf("ICRC %08x, the frame has % x; with telemetry %08x", crc, udp[len(udp)-4:], wrong)
				}
				if string(udp[8:]) != string(own[8:]) || string(udp[:6]) != string(own[:6]) {
					t.Errorf("% x was sent as\n% x", udp, own)
				}
			})
		}
	}
}

// icrcOf reads the four bytes of an ICRC, the least significant first.
func icrcOf(b []byte) uint32 {
	return uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
}

// TestNotOurRDMA checks that UDP to RoCE's port that no transport of Weir writes stays UDP: too short, of another
// service, an opcode, a queue pair or a syndrome of others, an incomplete extended header.
func TestNotOurRDMA(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        ``,
		"short":          `0700ffff 00003344 80010203 000000`,
		"UC SEND":        `2400ffff 00003344 80010203 00000000`,
		"another layout": `0701ffff 00003344 80010203 00000000`,
		"a large number": `0700ffff 00013344 80010203 00000000`,
		"no RETH":        `0600ffff 00003344 80010203 0000000000000000 00000000`,
		"no AETH":        `1100ffff 00003344 00010203 00000000`,
		"RNR NAK":        `1100ffff 00003344 00010203 20000000 00000000`,
		"padded ACK":     `1110ffff 00003344 00010203 1f000000 00000000`,
		"short CNP":      `8100ffff 00003344 00010203 00000000 00000000`,
		"not padded":     `0700ffff 00003344 80010203 000000 00000000`,
		"pad alone":      `0730ffff 00003344 80010203 00000000`,
		"short probe":    `c000ffff 00003344 00010203 00000000`,
	} {
		t.Run(name, func(t *testing.T) {
			data := unhex(t, text)
			b := book()
			frame := AppendEthernet(nil, MAC(2), MAC(1), EtherIPv4)
			frame, err := AppendIPv4(frame, b.V4(1), b.V4(2), ProtoUDP, 0, 9, UDPHeader+len(data))
			if err == nil {
				frame, err = AppendUDP(frame, b.V4(1), b.V4(2), 5, PortRoCE, data)
			}
			var p Packet
			if err == nil {
				err = p.Parse(b, frame)
			}
			if err != nil || p.Proto != ProtoUDP || p.DstPort != PortRoCE || int(p.Payload) != len(data) {
				t.Errorf("%v: %+v", err, p)
			}
		})
	}
}

func TestRDMARefuses(t *testing.T) {
	ack := wired(Ack, func(p *Packet) { p.Payload = 1 })
	if _, err := ack.Emit(book(), nil); err == nil || !strings.Contains(err.Error(), "data has payload only") {
		t.Error(err)
	}
	odd := wired(Kinds, nil)
	if _, err := odd.Emit(book(), nil); err == nil || !strings.Contains(err.Error(), "no kind") {
		t.Error(err)
	}
}
