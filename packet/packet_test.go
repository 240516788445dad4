package packet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/netip"
	"strings"
	"testing"
	"unsafe"

	"weir/unit"
)

// The layout that the engine's speed rests on: what a hop touches is one cache
// line, a packet is three.
func TestLayout(t *testing.T) {
	var p Packet
	if hot := unsafe.Offsetof(p.Sent); hot != 64 {
		t.Errorf("the hot line has %d bytes", hot)
	}
	if n := unsafe.Sizeof(p); n != 192 {
		t.Errorf("a packet has %d bytes", n)
	}
	if n := unsafe.Sizeof(p.Meta); n != 12 {
		t.Errorf("the metadata has %d bytes", n)
	}
}

func TestPool(t *testing.T) {
	var l Pool
	p := l.Get()
	p.Seq, p.Data = 7, []byte{1}
	p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
	l.Put(p)
	if q := l.Get(); q != p || q.Seq != 0 || q.Data != nil || q.ExtensionBytes() != 0 || q.Next != nil {
		t.Error("a packet from the pool is not zero")
	}
	l.Put(p)
	if n := testing.AllocsPerRun(1000, func() { l.Put(l.Get()) }); n != 0 {
		t.Errorf("%g allocations a packet", n)
	}
	for range 3000 {
		l.Get()
	}
	if l.Live() != 3000 || l.Made() != 3*1024 {
		t.Errorf("%d are out, %d were made", l.Live(), l.Made())
	}
}

// DESIGN "Bytes, queues, order": 1448 of 1514 bytes is TCP's share of a frame with
// time stamps; UDP's is 1448 of 1490; the peers' framings are facts A5 and
// notes/speed §2.
func TestFraming(t *testing.T) {
	for _, c := range []struct {
		name                   string
		headers, payload, want int32
		data                   bool
	}{
		{"l2", 14 + 20 + 32, 1448, 1514, true}, {"l2", 14 + 20 + 8, 1448, 1490, true}, {"l2", 14 + 20 + 16, 0, 50, false},
		{"wire", 14 + 20 + 8, 1448, 1514, true}, {"wire", 14 + 20 + 8, 1, 84, true},
		{"hpcc", 50, 1000, 1090, true}, {"hpcc", 50, 0, 60, false},
		{"htsim", 50, 1000, 1064, true}, {"htsim", 50, 0, 64, false},
	} {
		f, ok := FramingByName(c.name)
		if got := f.Frame(c.headers, c.payload, c.data); !ok || got != c.want {
			t.Errorf("%s: %d + %d bytes count %d, want %d", c.name, c.headers, c.payload, got, c.want)
		}
	}
	if goodput := 50e6 * 1448 / 1514; fmt.Sprintf("%.2f", goodput/1e6) != "47.82" {
		t.Error("the ceiling of TCP's goodput at 50 Mb/s is 47.82 Mb/s")
	}
	if _, ok := FramingByName("ns4"); ok {
		t.Error("an unknown framing is found")
	}
}

// RFC 1071 §3: the example's words 0001 f203 f4f5 f6f7 sum to ddf2.
func TestChecksumRFC1071(t *testing.T) {
	b := []byte{0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}
	if s := Sum(0, b); s != 0xddf2 {
		t.Errorf("sum %#x, want 0xddf2", s)
	}
	if Checksum(Sum(Sum(0, b[:4]), b[4:])) != ^uint16(0xddf2) {
		t.Error("a sum in parts differs")
	}
}

// RFC 1624 §4: HC = DD2F, m = 5555, m' = 3285 gives 0000 by equation 3 (FFFF by the
// wrong equation 2).
func TestUpdateChecksumRFC1624(t *testing.T) {
	if got := UpdateChecksum(0xdd2f, 0x5555, 0x3285); got != 0 {
		t.Errorf("%#04x, want 0x0000", got)
	}
}

// An update equals a new computation, for any header and change.
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

// A header by hand: the well-known example of an IPv4 header checksum, b861.
func TestIPv4ByHand(t *testing.T) {
	b, _ := hex.DecodeString("45000073000040004011b861c0a80001c0a800c7")
	b = append(b, make([]byte, 0x73-20)...)
	h, err := ParseIPv4(b)
	if err != nil || !h.ChecksumOK() || h.TTL() != 64 || h.Protocol() != ProtoUDP || h.Src() != netip.MustParseAddr("192.168.0.1") ||
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

func TestRefuses(t *testing.T) {
	parse := map[string]func([]byte) error{
		"ethernet": func(b []byte) error { _, err := ParseEthernet(b); return err },
		"ipv4":     func(b []byte) error { _, err := ParseIPv4(b); return err },
		"ipv6":     func(b []byte) error { _, err := ParseIPv6(b); return err },
		"udp":      func(b []byte) error { _, err := ParseUDP(b); return err },
		"tcp":      func(b []byte) error { _, err := ParseTCP(b); return err },
		"options":  func(b []byte) error { _, err := ParseTCPOptions(b); return err },
	}
	for _, c := range []struct{ kind, bytes, want string }{
		{"ethernet", "00", "14 bytes needed"}, {"ipv4", "45", "20 bytes needed"}, {"ipv4", "65000014" + strings.Repeat("00", 16), "version is 6"},
		{"ipv4", "44000014" + strings.Repeat("00", 16), "length 16"}, {"ipv4", "45000013" + strings.Repeat("00", 16), "total length 19"},
		{"ipv4", "45000015" + strings.Repeat("00", 16), "total length 21"}, {"ipv4", "4f000014" + strings.Repeat("00", 16), "length 60"},
		{"ipv6", "60", "40 bytes needed"}, {"ipv6", "45" + strings.Repeat("00", 39), "version is 4"}, {"ipv6", "60000000000100" + strings.Repeat("00", 33), "1 bytes needed"},
		{"udp", "0001000200", "8 bytes needed"}, {"udp", "0001000200070000", "length 7"}, {"udp", "0001000200090000", "length 9"},
		{"tcp", "00", "20 bytes needed"}, {"tcp", strings.Repeat("00", 12) + "40" + strings.Repeat("00", 7), "offset 16"}, {"tcp", strings.Repeat("00", 12) + "60" + strings.Repeat("00", 7), "offset 24"},
		{"options", "02", "length is wrong"}, {"options", "0203ff", "length is wrong"}, {"options", "0800", "length is wrong"}, {"options", "050a00", "length is wrong"},
	} {
		b, _ := hex.DecodeString(c.bytes)
		if err := parse[c.kind](b); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: error %v, want one with %q", c.kind, c.bytes, err, c.want)
		}
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

// UDP: checksum over the pseudo header, 0 sent as ones (RFC 768), none allowed over
// IPv4 but not over IPv6 (RFC 8200 §8.1).
func TestUDPChecksum(t *testing.T) {
	for _, pair := range [][2]netip.Addr{{a4, b4}, {a6, b6}} {
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
		// look for data whose checksum is 0: it must be sent as ffff
		for x := range 1 << 16 {
			be.PutUint16(u[8:], uint16(x))
			be.PutUint16(u[4:], uint16(len(u)))
			be.PutUint16(u[6:], 0)
			if TransportChecksum(pair[0], pair[1], ProtoUDP, u) == 0 {
				SealUDP(u, pair[0], pair[1])
				if be.Uint16(u[6:]) != 0xffff || !v.ChecksumOK(pair[0], pair[1]) {
					t.Errorf("a checksum of 0 is sent as %#04x", be.Uint16(u[6:]))
				}
				break
			}
		}
	}
}

func TestTCP(t *testing.T) {
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
	for _, want := range []TCPOptions{o, sack, {WindowScale: -1}, {WindowScale: 0, MSS: 1}, {WindowScale: -1, SACKPermitted: true}, {WindowScale: 14, Timestamps: true}} {
		if got, err := ParseTCPOptions(want.Append(nil)); err != nil || got != want {
			t.Errorf("%+v comes back as %+v, %v", want, got, err)
		}
	}
	// RFC 7323 §2.3: a shift above 14 counts as 14; unknown options are skipped; 0 ends
	if got, err := ParseTCPOptions([]byte{3, 3, 77, 254, 4, 9, 9, 0, 2, 9}); err != nil || got.WindowScale != 14 || got.MSS != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	h := SegmentHeader{SrcPort: 1, DstPort: 2, Seq: 0xfffffff0, Ack: 5, Flags: SYN | ECE | CWR, Window: 29200, Urgent: 3, Options: wire}
	b, err := AppendTCP(nil, h)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, "data"...)
	SealTCP(b, a4, b4)
	s, err := ParseTCP(b)
	if err != nil || !s.ChecksumOK(a4, b4) || s.ChecksumOK(a6, b6) || s.SrcPort() != 1 || s.DstPort() != 2 || s.Seq() != h.Seq || s.Ack() != 5 ||
		s.Flags() != h.Flags || s.Window() != 29200 || !bytes.Equal(s.Options(), wire) || string(s.Payload()) != "data" {
		t.Errorf("%v: % x", err, b)
	}
}

// emit(parse(b)) == b for TCP options that emit could have made; nothing panics.
func FuzzTCPOptions(f *testing.F) {
	f.Add([]byte("\x02\x04\x05\xb4\x04\x02\x08\x0a\x01\x02\x03\x04\x00\x00\x00\x00\x01\x03\x03\x07"))
	f.Add([]byte{5, 10, 0, 0, 0, 1, 0, 0, 0, 2})
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := ParseTCPOptions(b)
		if err != nil {
			return
		}
		again, err := ParseTCPOptions(o.Append(nil))
		if err != nil || again != o {
			t.Errorf("% x is %+v, comes back as %+v, %v", b, o, again, err)
		}
	})
}

// Extensions: a list in wire form, by kind.
func TestExtensions(t *testing.T) {
	var p Packet
	if p.ExtensionBytes() != 0 {
		t.Error("no extensions take bytes")
	}
	if !p.SetExtension(ExtActivity, []byte{1, 2, 3, 4}) || p.ExtensionBytes() != 8 {
		t.Errorf("an activity takes %d bytes, want 8 (RFC 8200: 2 + 6)", p.ExtensionBytes())
	}
	p.SetExtension(0x5e, []byte("hello"))
	if p.ExtensionBytes() != 16 {
		t.Errorf("two extensions take %d bytes", p.ExtensionBytes())
	}
	p.SetExtension(ExtActivity, []byte{9, 9, 9, 9})
	a, ok := p.Extension(ExtActivity)
	if !ok || !bytes.Equal(a, []byte{9, 9, 9, 9}) {
		t.Errorf("replaced in place: %v", a)
	}
	p.SetExtension(ExtActivity, []byte{1})
	if a, _ = p.Extension(ExtActivity); !bytes.Equal(a, []byte{1}) {
		t.Errorf("replaced by a shorter one: %v", a)
	}
	p.RemoveExtension(ExtActivity)
	if _, ok := p.Extension(ExtActivity); ok {
		t.Error("removed, and still there")
	}
	if h, ok := p.Extension(0x5e); !ok || string(h) != "hello" {
		t.Errorf("the other one is %q", h)
	}
	if p.SetExtension(0x7e, make([]byte, 80)) || p.SetExtension(0, nil) || p.SetExtension(1, nil) {
		t.Error("what does not fit, or is padding, is taken")
	}
	if h, _ := p.Extension(0x5e); string(h) != "hello" {
		t.Error("a refused extension changes something")
	}
	if n := testing.AllocsPerRun(100, func() { p.SetExtension(ExtActivity, []byte{1, 2, 3, 4}); p.RemoveExtension(ExtActivity) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func book() *Book {
	b := NewBook()
	b.Add(a4, a6)
	b.Add(b4, b6)
	return b
}

func TestBook(t *testing.T) {
	b := book()
	if b.Len() != 3 || b.V4(1) != a4 || b.V6(2) != b6 || b.Lookup(b4) != 2 || b.Lookup(a6) != 1 || b.Lookup(netip.MustParseAddr("8.8.8.8")) != 0 {
		t.Errorf("%+v", b)
	}
	if n := b.Add(a4, netip.Addr{}); n != 3 || b.Lookup(a4) != 1 {
		t.Error("an address that is entered twice must keep its first number")
	}
}

// what a hop or an endpoint uses of a packet that crosses the wire
func essence(p *Packet) string {
	return fmt.Sprintln(p.Kind, p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.Version, p.TOS, p.HopLimit, p.Seq, p.Ack, p.Payload, p.Hash, p.Sent, p.ext[:p.extLen])
}

// parse(emit(p)) is p, for packets of every kind.
func FuzzWire(f *testing.F) {
	for kind := range uint8(7) {
		f.Add(kind, uint8(ProtoRDMA), uint8(kind&1), uint8(3), uint8(64), int64(77), int64(88), uint16(100), uint8(5), []byte("ext"))
	}
	f.Add(uint8(0), ProtoUDP, uint8(0), uint8(0), uint8(1), int64(1<<40), int64(0), uint16(1448), uint8(0), []byte{})
	f.Add(uint8(0), ProtoUDP, uint8(1), uint8(0), uint8(1), int64(9), int64(0), uint16(3), uint8(0), []byte{})
	f.Add(uint8(1), ProtoTCP, uint8(1), uint8(2), uint8(9), int64(9), int64(10), uint16(0), uint8(0), []byte{1, 2, 3, 4})
	b := book()
	f.Fuzz(func(t *testing.T, kind, proto, six, tos, hops uint8, seq, ack int64, payload uint16, class uint8, ext []byte) {
		p := Packet{Kind: Kind(kind % 7), Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: 4, TOS: tos, HopLimit: hops,
			Seq: int64(uint32(seq)), Ack: int64(uint32(ack)), Payload: int32(payload % 60000)}
		if six&1 == 1 {
			p.Version = 6
		}
		if len(ext) > 0 {
			p.SetExtension(0x5e, ext)
			p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		}
		switch {
		case p.Kind == Pause || p.Kind == Resume:
			p = Packet{Kind: p.Kind, Meta: Metadata{Class: class % 8}}
		case proto == protoShim && p.Version == 4 || proto == protoHopByHop && p.Version == 6:
			return // those are the extensions' own numbers
		case proto == ProtoUDP:
			p.Kind, p.Ack = Data, 0
			if p.Payload < 8 {
				p.Seq = 0
			}
			if p.Payload >= 16 {
				p.Sent = unit.Time(ack)
			}
		case proto == ProtoTCP:
			if p.Kind = Ack; p.Payload > 0 {
				p.Kind = Data
			}
		}
		if p.Kind != Pause && p.Kind != Resume {
			p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
		}
		wire, err := p.Emit(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		var q Packet
		if err := q.Parse(b, wire); err != nil {
			t.Fatalf("%v\n% x", err, wire)
		}
		if essence(&p) != essence(&q) || p.Meta.Class != q.Meta.Class {
			t.Fatalf("sent %sgot  %s", essence(&p), essence(&q))
		}
		if p.Kind == Pause || p.Kind == Resume {
			return
		}
		// a switch changes what it may change; the frame stays valid and says so
		q.Data = wire
		q.TOS, q.HopLimit = ^tos, hops-1
		q.RemoveExtension(0x5e)
		if err := q.Deparse(b); err != nil {
			t.Fatal(err)
		}
		var r Packet
		if err := r.Parse(b, q.Data); err != nil {
			t.Fatalf("after Deparse: %v\n% x", err, q.Data)
		}
		if essence(&q) != essence(&r) {
			t.Fatalf("deparsed %sgot      %s", essence(&q), essence(&r))
		}
	})
}

// No frame makes the parser panic, and what it takes it can write again.
func FuzzParse(f *testing.F) {
	b := book()
	for _, p := range []Packet{
		{Kind: Data, Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP, Payload: 20, HopLimit: 3},
		{Kind: Data, Src: 1, Dst: 2, Version: 6, Proto: ProtoTCP, Payload: 5, HopLimit: 3},
		{Kind: Nack, Src: 1, Dst: 2, Version: 6, Proto: ProtoRDMA, HopLimit: 3},
		{Kind: Pause, Meta: Metadata{Class: 3}},
	} {
		p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		wire, err := p.Emit(b, nil)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(wire)
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		var p Packet
		if p.Parse(b, frame) != nil || p.Kind == Pause || p.Kind == Resume || p.Src == 0 || p.Dst == 0 {
			return
		}
		p.Data = append([]byte(nil), frame...)
		if err := p.Deparse(b); err != nil {
			t.Fatal(err)
		}
		var q Packet
		if err := q.Parse(b, p.Data); err != nil || essence(&p) != essence(&q) {
			t.Fatalf("%v: %s%s", err, essence(&p), essence(&q))
		}
	})
}

// Unknown addresses are 0; other Ethernet types, fragments and damaged headers are
// errors.
func TestParseRefuses(t *testing.T) {
	b := book()
	p := Packet{Kind: Data, Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP, Payload: 20, HopLimit: 3}
	good, err := p.Emit(b, nil)
	if err != nil {
		t.Fatal(err)
	}
	other := NewBook()
	if err := new(Packet).Parse(other, good); err != nil {
		t.Errorf("unknown addresses: %v", err)
	}
	for want, change := range map[string]func([]byte){
		"neither IPv4": func(f []byte) { f[12] = 0x88; f[13] = 0xcc },
		"checksum":     func(f []byte) { f[22]-- },
		"opcode":       func(f []byte) { f[12], f[13] = 0x88, 0x08 },
		"not supported": func(f []byte) {
			f[20] = 0x20
			be.PutUint16(f[24:], 0)
			be.PutUint16(f[24:], Checksum(Sum(0, f[14:34])))
		},
		"UDP header": func(f []byte) { f[39] = 3 },
		"transport head": func(f []byte) {
			f[23] = 99
			f[17] = 30
			be.PutUint16(f[24:], 0)
			be.PutUint16(f[24:], Checksum(Sum(0, f[14:34])))
		},
	} {
		frame := append([]byte(nil), good...)
		change(frame)
		if err := new(Packet).Parse(b, frame); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	if _, err := (&Packet{Src: 9, Dst: 1, Version: 4}).Emit(b, nil); err == nil {
		t.Error("an address that the book does not have is sent")
	}
}

// The flow's hash: each input bit changes each output bit about half of the time.
func TestFlowHash(t *testing.T) {
	if h := FlowHash(1, 2, 3, 4, ProtoUDP); h != FlowHash(1, 2, 3, 4, ProtoUDP) || h == FlowHash(2, 1, 3, 4, ProtoUDP) || h == FlowHash(1, 2, 4, 3, ProtoUDP) {
		t.Errorf("hash %#x", h)
	}
	random := unit.NewRandom(1, "hash")
	for bit := range 32 {
		changed := [32]int{}
		const n = 4000
		for range n {
			a, b, s, d := Addr(random.Uint32N(4096)), Addr(random.Uint32N(4096)), uint16(random.Uint32()), uint16(random.Uint32())
			x := FlowHash(a, b, s, d, ProtoUDP)
			var y uint32
			switch {
			case bit < 8:
				y = FlowHash(a^1<<bit, b, s, d, ProtoUDP)
			case bit < 16:
				y = FlowHash(a, b^1<<(bit-8), s, d, ProtoUDP)
			case bit < 24:
				y = FlowHash(a, b, s^1<<(bit-16), d, ProtoUDP)
			default:
				y = FlowHash(a, b, s, d^1<<(bit-24), ProtoUDP)
			}
			for diff := x ^ y; diff != 0; diff &= diff - 1 {
				changed[bits.TrailingZeros32(diff)]++
			}
		}
		for out, c := range changed {
			if c < n*42/100 || c > n*58/100 {
				t.Errorf("input bit %d changes output bit %d in %d of %d cases", bit, out, c, n)
			}
		}
	}
}

func ExamplePacket_Emit() {
	b := NewBook()
	b.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
	b.Add(netip.MustParseAddr("10.0.0.2"), netip.Addr{})
	p := Packet{Src: 1, Dst: 2, SrcPort: 5, DstPort: 6, Version: 4, Proto: ProtoUDP, HopLimit: 64, Payload: 18, Seq: 7}
	frame, err := p.Emit(b, nil)
	var q Packet
	fmt.Println(len(frame), err, q.Parse(b, frame), q.Src, q.Dst, q.Seq)
	// Output: 60 <nil> <nil> 1 2 7
}
