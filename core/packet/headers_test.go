package packet

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"strings"
	"testing"
)

// TestChecksumRFC1071 follows RFC 1071 §3: the example's words 0001 f203 f4f5 f6f7 sum to ddf2.
func TestChecksumRFC1071(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	if s := Sum(0, b); s != 0xddf2 {
		t.Errorf("sum %#x, want 0xddf2", s)
	}
	if Checksum(Sum(Sum(0, b[:4]), b[4:])) != ^uint16(0xddf2) {
		t.Error("a sum in parts differs")
	}
}

// TestUpdateChecksumRFC1624 follows RFC 1624 §4: HC = DD2F, m = 5555, m' = 3285 gives 0000 by equation 3 (FFFF by the
// wrong equation 2).
func TestUpdateChecksumRFC1624(t *testing.T) {
	if got := UpdateChecksum(0xdd2f, 0x5555, 0x3285); got != 0 {
		t.Errorf("%#04x, want 0x0000", got)
	}
}

// FuzzUpdateChecksum checks that an update equals a new computation, for any header and change.
func FuzzUpdateChecksum(f *testing.F) {
	f.Add([]byte("\x45\x00\x00\x1c\x00\x00\x40\x00\x40\x11\x00\x00\x0a\x00\x00\x01\x0a\x00\x00\x02"), uint8(63), uint8(2))
	f.Fuzz(func(t *testing.T, b []byte, ttl, tos uint8) {
		if len(b) < 20 {
			return
		}
		b = append([]byte(nil), b[:20]...)
		b[0], b[2], b[3] = 0x45, 0, 20
		be.PutUint16(b[10:], 0)
		be.PutUint16(b[10:], Checksum(Sum(0, b)))
		h, err := ParseIPv4(b)
		if err != nil {
			t.Fatal(err)
		}
		h.SetTTL(ttl)
		h.SetTOS(tos)
		if !h.ChecksumOK() || h.TTL() != ttl || h.TOS() != tos {
			t.Errorf("after SetTTL(%d), SetTOS(%d): % x", ttl, tos, b)
		}
	})
}

var (
	a4, b4 = netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	a6, b6 = netip.MustParseAddr("fd00::1"), netip.MustParseAddr("fd00::2")
)

// TestIPv4ByHand checks a header by hand: the well-known example of an IPv4 header checksum, b861.
func TestIPv4ByHand(t *testing.T) {
	b, _ := hex.DecodeString("45000073000040004011b861c0a80001c0a800c7")
	b = append(b, make([]byte, 0x73-20)...)
	h, err := ParseIPv4(b)
	if err != nil || !h.ChecksumOK() || h.TTL() != 64 || h.Protocol() != ProtoUDP ||
		h.Src() != netip.MustParseAddr("192.168.0.1") ||
		h.Dst() != netip.MustParseAddr("192.168.0.199") || len(h.Payload()) != 95 || h.Fragment() || len(h.Options()) != 0 {
		t.Errorf("%v: %v", err, h)
	}
	h.SetTTL(63)
	if !h.ChecksumOK() || be.Uint16(h[10:]) != 0xb961 {
		t.Errorf("with TTL 63 the checksum is %#04x, want 0xb961", be.Uint16(h[10:]))
	}
	made, err := AppendIPv4(nil, h.Src(), h.Dst(), ProtoUDP, 0, 64, 95)
	if err != nil || hex.EncodeToString(made) != "45000073000040004011b861c0a80001c0a800c7" {
		t.Errorf("emitted %x, %v", made, err)
	}
}

func TestParse_RejectsMalformedHeaders(t *testing.T) {
	parse := map[string]func([]byte) error{
		"ethernet": func(b []byte) error { _, err := ParseEthernet(b); return err },
		"ipv4":     func(b []byte) error { _, err := ParseIPv4(b); return err },
		"ipv6":     func(b []byte) error { _, err := ParseIPv6(b); return err },
		"udp":      func(b []byte) error { _, err := ParseUDP(b); return err },
		"tcp":      func(b []byte) error { _, err := ParseTCP(b); return err },
		"options":  func(b []byte) error { _, err := parseTCPOptions(b); return err },
	}
	for _, c := range []struct{ kind, bytes, want string }{
		{"ethernet", "00", "14 bytes needed"}, {"ipv4", "45", "20 bytes needed"}, {"ipv4", "65000014" +
			strings.Repeat("00", 16), "version is 6"},
		{"ipv4", "44000014" + strings.Repeat("00", 16), "length 16"}, {"ipv4", "45000013" + strings.Repeat("00", 16),
			"total length 19"},
		{"ipv4", "45000015" + strings.Repeat("00", 16), "total length 21"}, {"ipv4", "4f000014" + strings.Repeat("00", 16),
			"length 60"},
		{"ipv6", "60", "40 bytes needed"}, {"ipv6", "45" + strings.Repeat("00", 39), "version is 4"},
		{"ipv6", "60000000000100" + strings.Repeat("00", 33), "1 bytes needed"},
		{"udp", "0001000200", "8 bytes needed"}, {"udp", "0001000200070000", "length 7"}, {"udp", "0001000200090000",
			"length 9"},
		{"tcp", "00", "20 bytes needed"}, {"tcp", strings.Repeat("00", 12) + "40" + strings.Repeat("00", 7), "offset 16"},
		{"tcp", strings.Repeat("00", 12) + "60" + strings.Repeat("00", 7), "offset 24"},
		{"options", "02", "length is wrong"}, {"options", "0203ff", "length is wrong"},
		{"options", "0800", "length is wrong"}, {"options", "050a00", "length is wrong"},
	} {
		t.Run(c.kind+" "+c.bytes[:min(len(c.bytes), 26)], func(t *testing.T) {
			b, _ := hex.DecodeString(c.bytes)
			if err := parse[c.kind](b); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %s: error %v, want one with %q", c.kind, c.bytes, err, c.want)
			}
		})
	}
	if _, err := AppendIPv4(nil, a4, b6, 6, 0, 1, 0); err == nil {
		t.Error("IPv4 with an IPv6 address")
	}
	if _, err := AppendIPv6(nil, a6, b6, 6, 0, 1, 65536); err == nil {
		t.Error("an IPv6 payload of 65536 bytes")
	}
	if _, err := AppendTCP(nil, SegmentHeader{Options: make([]byte, 41)}); err == nil {
		t.Error("41 bytes of TCP options")
	}
}

// TestUDPChecksum checks UDP: the checksum covers the pseudo header, 0 is sent as ones (RFC 768), and none is allowed
// over IPv4 but not over IPv6 (RFC 8200 §8.1).
func TestUDPChecksum(t *testing.T) {
	for _, pair := range [][2]netip.Addr{{a4, b4}, {a6, b6}} {
		t.Run(pair[0].String(), func(t *testing.T) {
			u := []byte{0, 1, 0, 2, 0, 0, 0, 0, 'x', 'y', 'z'}
			SealUDP(u, pair[0], pair[1])
			v, err := ParseUDP(u)
			if err != nil || !v.ChecksumOK(pair[0], pair[1]) || v.ChecksumOK(pair[0], pair[0]) {
				t.Errorf("%v: % x, %v", pair, u, err)
			}
			u[9]++
			if v.ChecksumOK(pair[0], pair[1]) {
				t.Error("a damaged datagram passes")
			}
			u[6], u[7] = 0, 0
			if v.ChecksumOK(pair[0], pair[1]) != pair[0].Is4() {
				t.Errorf("%v: a datagram without checksum: %v", pair[0], !pair[0].Is4())
			}
			// look for data with a checksum of 0: it must be sent as ffff
			for x := range 1 << 16 {
				be.PutUint16(u[8:], uint16(x))
				be.PutUint16(u[4:], uint16(len(u)))
				be.PutUint16(u[6:], 0)
				if transportChecksum(pair[0], pair[1], ProtoUDP, u) == 0 {
					SealUDP(u, pair[0], pair[1])
					if be.Uint16(u[6:]) != 0xffff || !v.ChecksumOK(pair[0], pair[1]) {
						t.Errorf("a checksum of 0 is sent as %#04x", be.Uint16(u[6:]))
					}
					break
				}
			}
		})
	}
}

func TestTCPOptions_RoundTripOnWire(t *testing.T) {
	// a SYN as Linux sends it: MSS, SACK permitted, time stamps, window scale
	o := TCPOptions{MSS: 1460, WindowScale: 7, SACKPermitted: true, Timestamps: true, TSVal: 0x01020304, TSEcr: 0}
	wire := o.Append(nil)
	if got := hex.EncodeToString(wire); got != "020405b40402080a010203040000000001030307" {
		t.Errorf("a SYN's options are %s", got)
	}
	sack := TCPOptions{WindowScale: -1, Timestamps: true, TSVal: 1, TSEcr: 2, SACKBlocks: 3}
	sack.SACK = [4][2]uint32{{10, 20}, {30, 40}, {50, 60}}
	if n := len(sack.Append(nil)); n != 40 {
		t.Errorf("time stamps and three SACK blocks take %d bytes, 40 is the most", n)
	}
	for name, want := range map[string]TCPOptions{
		"SYN": o, "SACK": sack, "none": {WindowScale: -1}, "MSS": {WindowScale: 0, MSS: 1},
		"SACK permitted": {WindowScale: -1, SACKPermitted: true}, "time stamps": {WindowScale: 14, Timestamps: true},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := parseTCPOptions(want.Append(nil)); err != nil || got != want {
				t.Errorf("%+v comes back as %+v, %v", want, got, err)
			}
		})
	}
	// RFC 7323 §2.3: a shift above 14 counts as 14; unknown options are skipped; 0 ends
	if got, err := parseTCPOptions([]byte{3, 3, 77, 254, 4, 9, 9, 0, 2, 9}); err != nil || got.WindowScale != 14 ||
		got.MSS != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	h := SegmentHeader{SrcPort: 1, DstPort: 2, Seq: 0xfffffff0, Ack: 5, Flags: SYN | ECE | CWR, Window: 29200, Urgent: 3,
		Options: wire}
	b, err := AppendTCP(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, "data"...)
	SealTCP(b, a4, b4)
	s, err := ParseTCP(b)
	if err != nil || !s.ChecksumOK(a4, b4) || s.ChecksumOK(a6, b6) || s.SrcPort() != 1 || s.DstPort() != 2 ||
		s.Seq() != h.Seq || s.Ack() != 5 ||
		s.Flags() != h.Flags || s.Window() != 29200 || !bytes.Equal(s.Options(), wire) || string(s.Payload()) != "data" {
		t.Errorf("%v: % x", err, b)
	}
}

// FuzzTCPOptions checks emit(parse(b)) == b for TCP options that emit could have made, without a panic.
func FuzzTCPOptions(f *testing.F) {
	f.Add([]byte("\x02\x04\x05\xb4\x04\x02\x08\x0a\x01\x02\x03\x04\x00\x00\x00\x00\x01\x03\x03\x07"))
	f.Add([]byte{5, 10, 0, 0, 0, 1, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := parseTCPOptions(b)
		if err != nil {
			return
		}
		again, err := parseTCPOptions(o.Append(nil))
		if err != nil || again != o {
			t.Errorf("% x is %+v, comes back as %+v, %v", b, o, again, err)
		}
	})
}

// FuzzParse_HeadersRoundTrip checks that emit(parse(b)) is b for valid headers, except bytes after the packet and the
// reserved bits of TCP, which a view does not keep. No input panics.
func FuzzParse_HeadersRoundTrip(f *testing.F) {
	four, _ := hex.DecodeString("4600002c00004000401194d0c0a80001c0a800c701010000" + "0001000200080000" +
		strings.Repeat("00", 12))
	f.Add(four)
	six, _ := AppendIPv6(nil, a6, b6, ProtoUDP, 3, 64, 8)
	f.Add(append(six, 0, 1, 0, 2, 0, 8, 0, 0))
	tcp, _ := AppendTCP(nil, SegmentHeader{SrcPort: 1, DstPort: 2, Seq: 0x10002, Ack: 0x30004, Flags: SYN,
		Options: []byte{2, 4, 5, 0xb4, 254, 4, 1, 2}})
	f.Add(tcp)
	f.Add([]byte{0, 1, 0, 2, 0, 11, 0, 0, 'x', 'y', 'z'})
	f.Fuzz(func(t *testing.T, b []byte) {
		if e, err := ParseEthernet(b); err == nil {
			if again := append(AppendEthernet(nil, e.Dst(), e.Src(), e.Type()), e.Payload()...); !bytes.Equal(again, b) {
				t.Errorf("Ethernet % x, again % x", b, again)
			}
		}
		if h, err := ParseIPv4(b); err == nil {
			again, err := h.Header().Append(nil, len(h.Payload()))
			if err != nil {
				t.Fatal(err)
			}
			want := append([]byte(nil), h[:h.headerLength()]...)
			if be.PutUint16(want[10:], be.Uint16(again[10:])); !bytes.Equal(again, want) {
				t.Errorf("IPv4 % x, again % x", want, again)
			}
			if h.ChecksumOK() && be.Uint16(h[10:]) != be.Uint16(again[10:]) && be.Uint16(h[10:]) != 0xffff { // 0 has two forms
				t.Errorf("IPv4 checksum of % x, again %x", h, again[10:12])
			}
		}
		if h, err := ParseIPv6(b); err == nil {
			again, err := AppendIPv6(nil, h.Src(), h.Dst(), h.NextHeader(), h.TOS(), h.HopLimit(), len(h.Payload()))
			if err != nil {
				t.Fatal(err)
			}
			if IPv6(again).SetFlowLabel(h.FlowLabel()); !bytes.Equal(again, h[:IPv6Header]) {
				t.Errorf("IPv6 % x, again % x", h, again)
			}
		}
		if u, err := ParseUDP(b); err == nil {
			for _, pair := range [][2]netip.Addr{{a4, b4}, {a6, b6}} {
				again, err := AppendUDP(nil, pair[0], pair[1], u.SrcPort(), u.DstPort(), u.Payload())
				if err != nil || !UDP(again).ChecksumOK(pair[0], pair[1]) {
					t.Fatalf("UDP: %v % x", err, again)
				}
				if be.PutUint16(again[6:], be.Uint16(u[6:])); !bytes.Equal(again, u) {
					t.Errorf("UDP % x, again % x", u, again)
				}
			}
		}
		if s, err := ParseTCP(b); err == nil {
			again, err := AppendTCP(nil, s.Header())
			if err != nil {
				t.Fatal(err)
			}
			again = append(again, s.Payload()...)
			again[12] |= s[12] & 15
			if be.PutUint16(again[16:], be.Uint16(s[16:])); !bytes.Equal(again, s) {
				t.Errorf("TCP % x, again % x", s, again)
			}
			// setters keep the checksum
			c := append(TCP(nil), again...)
			SealTCP(c, a4, b4)
			c.SetSeq(s.Ack())
			c.SetAck(s.Seq())
			c.SetFlags(^s.Flags())
			c.SetWindow(^s.Window())
			if !c.ChecksumOK(a4, b4) || c.Seq() != s.Ack() || c.Ack() != s.Seq() || c.Flags() != ^s.Flags() ||
				c.Window() != ^s.Window() || c.Urgent() != s.Urgent() {
				t.Errorf("TCP setters: % x became % x", s, c)
			}
		}
	})
}

// TestTCPUnknownOptions checks that unknown TCP options are kept, after the others.
func TestTCPUnknownOptions(t *testing.T) {
	o, err := parseTCPOptions([]byte{254, 4, 9, 9, 2, 4, 5, 0xb4, 30, 3, 7, 0})
	if err != nil || o.MSS != 1460 || !bytes.Equal(o.Unknown(), []byte{254, 4, 9, 9, 30, 3, 7}) {
		t.Errorf("%v: %+v", err, o)
	}
	if got := o.Append([]byte{0xaa}); !bytes.Equal(got, []byte{0xaa, 2, 4, 5, 0xb4, 254, 4, 9, 9, 30, 3, 7, 0}) {
		t.Errorf("% x", got)
	}
	// four SACK blocks, unpadded, and an option of 6 bytes are 40; with Linux's padding they would not fit
	full := append(append([]byte{5, 34}, make([]byte, 32)...), 254, 6, 1, 2, 3, 4)
	if o, err = parseTCPOptions(full); err != nil || len(o.Append(nil)) != 40 {
		t.Errorf("%v: %d bytes", err, len(o.Append(nil)))
	}
	if _, err := parseTCPOptions(make([]byte, 41)); err == nil {
		t.Error("41 bytes of options are taken")
	}
}

// TestIPv4Options checks IPv4 with options (RFC 791 §3.1: router alert, RFC 2113 §2.1).
func TestIPv4Options(t *testing.T) {
	h := DatagramHeader{TOS: 0x28, ID: 7, Fragment: DontFragment, TTL: 9, Protocol: 2, Src: a4, Dst: b4,
		Options: []byte{0x94, 4, 0, 0, 1}}
	b, err := h.Append(nil, 0)
	if err != nil || hex.EncodeToString(b) != "4728001c000740000902c6aa0a0000010a0000029404000001000000" {
		t.Fatalf("%v: %x", err, b)
	}
	v, err := ParseIPv4(b)
	if err != nil || !v.ChecksumOK() || !bytes.Equal(v.Options(), []byte{0x94, 4, 0, 0, 1, 0, 0, 0}) || v.ID() != 7 ||
		v.Fragment() {
		t.Errorf("%v: % x", err, v)
	}
	for want, bad := range map[string]func(*DatagramHeader) int{
		"41 bytes of options": func(h *DatagramHeader) int { h.Options = make([]byte, 41); return 0 },
		"0 to 65507":          func(*DatagramHeader) int { return 65508 },
		"payload of -1":       func(*DatagramHeader) int { return -1 },
		"not both IPv4":       func(h *DatagramHeader) int { h.Src = a6; return 0 },
	} {
		t.Run(want, func(t *testing.T) {
			c := h
			n := bad(&c)
			if _, err := c.Append(nil, n); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		})
	}
}
