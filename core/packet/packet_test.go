package packet

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math/bits"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"weir/core/unit"
)

// The layout that the engine's speed rests on: what a hop touches, with HPCC's header
// (2 + 42 bytes), is two cache lines, and what an end host reads beside it a third.
func TestLayout(t *testing.T) {
	var p Packet
	if hot := unsafe.Offsetof(p.Enqueued); hot != 64 {
		t.Errorf("the hot line has %d bytes", hot)
	}
	if end := unsafe.Offsetof(p.ext) + 2 + 42; end > 128 {
		t.Errorf("HPCC's header ends at %d", end)
	}
	if from, to := unsafe.Offsetof(p.TCP)+unsafe.Offsetof(p.TCP.TSVal), unsafe.Offsetof(p.DstPort)+
		2; from/64 != (to-1)/64 {
		t.Errorf("the end hosts' fields are from %d to %d", from, to)
	}
	if n := unsafe.Sizeof(p); n != 384 {
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
	*p = Packet{Next: p, Before: p, Seq: 1, Flow: 1, Src: 1, Dst: 1, Hash: 1, Size: 1, Payload: 1, SrcPort: 1, DstPort: 1,
		Meta: Metadata{1, 1, 1, 1, 1, 1, 1},
		Kind: 1, TOS: 1, HopLimit: 1, Proto: 1, Version: 1, extLen: 1, changing: 1, Sent: 1, Enqueued: 1, Ack: 1,
		Data: []byte{1}, TCP: Segment{p.TCP.SACK, 1, 1, 1, 1, 1, 1, 1, 1}}
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); v.Field(i).IsZero() && f.Name != "_" && f.Name != "ext" {
			t.Errorf("the test leaves field %s zero", f.Name)
		}
	}
	l.Put(p)
	p = l.Get()
	if e := (Packet{ext: p.ext}); !reflect.DeepEqual(*p, e) {
		t.Errorf("a packet from the pool is not zero: %+v", p)
	}
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

// The room of a frame is used again, if it is enough; a packet without a frame has none.
func TestPoolFrames(t *testing.T) {
	var pool Pool
	p := pool.GetFrame(100)
	if len(p.Data) != 0 || cap(p.Data) < 100 {
		t.Fatalf("%d of %d bytes", len(p.Data), cap(p.Data))
	}
	p.Data, p.Seq = append(p.Data, make([]byte, 80)...), 7
	first := &p.Data[0]
	pool.Put(p)
	if p = pool.GetFrame(100); len(p.Data) != 0 || p.Seq != 0 || &p.Data[:1][0] != first {
		t.Error("the frame is not used again, or not empty")
	}
	pool.Put(p)
	if p = pool.GetFrame(101); cap(p.Data) < 101 {
		t.Errorf("room for %d bytes", cap(p.Data))
	}
	pool.Put(p)
	if p = pool.Get(); p.Data != nil {
		t.Error("a packet in fast mode has a frame")
	}
	pool.Put(p)
	p = pool.GetFrame(100)
	pool.Put(p)
	if n := testing.AllocsPerRun(10, func() { pool.Put(pool.GetFrame(100)) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

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
	for _, want := range []TCPOptions{o, sack, {WindowScale: -1}, {WindowScale: 0, MSS: 1},
		{WindowScale: -1, SACKPermitted: true}, {WindowScale: 14, Timestamps: true}} {
		if got, err := ParseTCPOptions(want.Append(nil)); err != nil || got != want {
			t.Errorf("%+v comes back as %+v, %v", want, got, err)
		}
	}
	// RFC 7323 §2.3: a shift above 14 counts as 14; unknown options are skipped; 0 ends
	if got, err := ParseTCPOptions([]byte{3, 3, 77, 254, 4, 9, 9, 0, 2, 9}); err != nil || got.WindowScale != 14 ||
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

// Extensions are copied as bytes, and what was there before is gone.
func TestCopyExtensions(t *testing.T) {
	var from, to Packet
	from.SetExtension(0x9e, []byte{1, 2, 3})
	to.SetExtension(ExtActivity, []byte{9, 9, 9, 9})
	to.CopyExtensions(&from)
	got, ok := to.Extension(0x9e)
	if _, old := to.Extension(ExtActivity); !ok || string(got) != "\x01\x02\x03" || old ||
		to.ExtensionBytes() != from.ExtensionBytes() {
		t.Errorf("copied: % x, %v; the old one is there: %v; %d bytes", got, ok, old, to.ExtensionBytes())
	}
	from.SetExtension(0x9e, []byte{4, 4, 4})
	if got, _ = to.Extension(0x9e); string(got) != "\x01\x02\x03" {
		t.Error("the copy is a view")
	}
	if to.ClearExtensions(); to.ExtensionBytes() != 0 {
		t.Error("extensions are left")
	}
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
	p.SetExtension(0x9e, []byte("hello"))
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
	if h, ok := p.Extension(0x9e); !ok || string(h) != "hello" {
		t.Errorf("the other one is %q", h)
	}
	if p.SetExtension(0x7e, make([]byte, 192)) || p.SetExtension(0, nil) || p.SetExtension(1, nil) {
		t.Error("what does not fit, or is padding, is taken")
	}
	if h, _ := p.Extension(0x9e); string(h) != "hello" {
		t.Error("a refused extension changes something")
	}
	if n := testing.AllocsPerRun(100, func() {
		p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		p.RemoveExtension(ExtActivity)
	}); n != 0 {
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
	if b.Len() != 3 || b.V4(1) != a4 || b.V6(2) != b6 || b.Lookup(b4) != 2 || b.Lookup(a6) != 1 ||
		b.Lookup(netip.MustParseAddr("8.8.8.8")) != 0 {
		t.Errorf("%+v", b)
	}
	if n := b.Add(a4, netip.Addr{}); n != 3 || b.Lookup(a4) != 1 {
		t.Error("an address that is entered twice must keep its first number")
	}
}

// what a hop or an endpoint uses of a packet that crosses the wire
func essence(p *Packet) string {
	return fmt.Sprintln(p.Kind, p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.Version, p.TOS, p.HopLimit, p.Seq, p.Ack,
		p.Payload, p.Hash, p.Sent, p.ext[:p.extLen],
		p.TCP.Flags, p.TCP.Window, p.TCP.MSS, p.TCP.Has, p.TCP.Scale, p.TCP.TSVal, p.TCP.TSEcho, p.TCP.SACK[:p.TCP.Blocks])
}

// segmentOf makes options of every kind that fit into a header out of some bits.
func segmentOf(a, b uint64) Segment {
	s := Segment{Flags: uint8(a), Window: uint16(b)}
	if a&256 != 0 {
		s.MSS = uint16(a>>8) | 1
	}
	s.Has = uint8(b>>16) & 7
	if s.Has&HasScale != 0 {
		s.Scale = uint8(b>>20) % 15
	}
	if s.Has&HasTimestamps != 0 {
		s.TSVal, s.TSEcho = uint32(a>>9), uint32(b>>9)
	}
	if s.MSS == 0 && s.Has&^HasTimestamps == 0 {
		for s.Blocks = uint8(a>>16) % 4; s.Has == 0 && s.Blocks == 3 && b&1 == 1; {
			s.Blocks++
		}
	}
	for i := range s.Blocks {
		s.SACK[i] = SACKBlock{uint32(a) + uint32(i), uint32(b) * uint32(i+1)}
	}
	return s
}

// parse(emit(p)) is p, for packets of every kind.
func FuzzWire(f *testing.F) {
	for kind := range uint8(7) {
		f.Add(kind, uint8(ProtoRDMA), uint8(kind&1), uint8(3), uint8(64), int64(77), int64(88), uint16(100), uint8(5),
			[]byte("ext"))
	}
	f.Add(uint8(0), ProtoUDP, uint8(0), uint8(0), uint8(1), int64(1<<40), int64(0), uint16(1448), uint8(0), []byte{})
	for six := range uint8(2) { // odd payloads are cut
		f.Add(uint8(0), ProtoUDP, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{})
		f.Add(uint8(0), ProtoTCP, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{1})
		f.Add(uint8(2), ProtoRDMA, six, uint8(0), uint8(1), int64(9), int64(1), uint16(1449), uint8(0), []byte{1})
	}
	f.Add(uint8(0), ProtoUDP, uint8(1), uint8(0), uint8(1), int64(9), int64(0), uint16(3), uint8(0), []byte{})
	f.Add(uint8(1), ProtoTCP, uint8(1), uint8(2), uint8(9), int64(9), int64(10), uint16(0), uint8(0), []byte{1, 2, 3, 4})
	for i := range int64(40) { // options
		f.Add(uint8(1), ProtoTCP, uint8(i&1), uint8(2), uint8(9), i*0x2b5b7, i*0x61c889, uint16(i), uint8(0),
			[]byte{1, 2, 3, 4})
	}
	b := book()
	f.Fuzz(func(t *testing.T, kind, proto, six, tos, hops uint8, seq, ack int64, payload uint16, class uint8, ext []byte) {
		p := Packet{Kind: Kind(kind % 7), Src: 1, Dst: 2, SrcPort: 1000, DstPort: 2000, Proto: proto, Version: 4, TOS: tos,
			HopLimit: hops,
			Seq:      seq & (1<<40 - 1), Ack: ack & (1<<40 - 1), Payload: int32(payload % 60000)}
		if six&1 == 1 {
			p.Version = 6
		}
		if len(ext) > 0 {
			p.SetExtension(0x9e, ext)
			p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
		}
		switch {
		case p.Kind == Pause || p.Kind == Resume:
			p = Packet{Kind: p.Kind, Meta: Metadata{Class: class % 8}}
			if p.Kind == Pause {
				p.Seq = int64(uint16(seq)) % 0xffff // quanta
			}
		case proto == protoShim && p.Version == 4 || proto == protoHopByHop && p.Version == 6:
			return // those are the extensions' own numbers
		case proto == ProtoICMP || proto == ProtoICMPv6:
			return // not made: TestICMP
		case proto == ProtoUDP:
			p.Kind, p.Ack, p.Seq = Data, 0, seq
			if p.Payload < 8 {
				p.Seq = 0
			}
			if p.Payload >= 16 {
				p.Sent = unit.Time(ack)
			}
		case proto == ProtoTCP:
			p.Seq, p.Ack = int64(uint32(seq)), int64(uint32(ack))
			if p.Kind = Ack; p.Payload > 0 {
				p.Kind = Data
			}
			p.TCP = segmentOf(uint64(seq), uint64(ack))
			if wire, _ := p.Emit(b, nil); len(wire) != int(EthernetHeader+IPv4Header+TCPHeader+p.TCP.OptionBytes()+
				p.ExtensionBytes()+p.Payload)+20*int(six&1) {
				t.Fatalf("%d bytes on the wire, %d of them options", len(wire), p.TCP.OptionBytes())
			}
		default:
			p.TCP.Flags = uint8(seq >> 40)
		}
		if p.Kind != Pause && p.Kind != Resume {
			p.Hash = FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
		}
		wire, err := p.Emit(b, nil)
		if err != nil {
			t.Fatal(err)
		}
		q := Packet{Seq: -1, Ack: -1} // of a packet before
		if proto == ProtoUDP {
			q.Sent = -1
		}
		if p.Kind == Pause || p.Kind == Resume {
			q = Packet{}
		}
		if err := q.Parse(b, wire); err != nil {
			t.Fatalf("%v\n% x", err, wire)
		}
		checksums(t, wire)
		if essence(&p) != essence(&q) || p.Meta.Class != q.Meta.Class {
			t.Fatalf("sent %sgot  %s", essence(&p), essence(&q))
		}
		if p.Kind == Pause || p.Kind == Resume {
			return
		}
		// a switch changes what it may change; the frame stays valid and says so
		q.Data = wire
		q.TOS, q.HopLimit = ^tos, hops-1
		q.RemoveExtension(0x9e)
		if proto == ProtoTCP {
			q.Seq, q.Ack, q.TCP.Flags, q.TCP.Window = int64(^uint32(q.Seq)), int64(^uint32(q.Ack)), ^q.TCP.Flags, ^q.TCP.Window
		}
		if payload&1 == 1 && q.Payload > 16 { // cut
			q.Payload = 16
		}
		if payload&6 == 6 { // turned round
			q.Src, q.Dst = q.Dst, q.Src
			q.Hash = FlowHash(q.Src, q.Dst, q.SrcPort, q.DstPort, q.Proto)
		}
		if short, quick := deparseQuickly(t, &q, b); quick != (short && q.Payload == p.Payload && payload&6 != 6) {
			t.Fatalf("in place: %v; extensions %v, payload %d of %d", quick, !short, q.Payload, p.Payload)
		}
		if err := q.Deparse(b); err != nil {
			t.Fatal(err)
		}
		var r Packet
		if err := r.Parse(b, q.Data); err != nil {
			t.Fatalf("after Deparse: %v\n% x", err, q.Data)
		}
		checksums(t, q.Data)
		if essence(&q) != essence(&r) {
			t.Fatalf("deparsed %sgot      %s", essence(&q), essence(&r))
		}
	})
}

// deparseQuickly tells whether refresh takes p, and fails if it does something else then
// than rewrite. short says that it should, but for payload and addresses.
func deparseQuickly(t *testing.T, p *Packet, b *Book) (short, quick bool) {
	t.Helper()
	one, two := *p, *p
	one.Data, two.Data = bytes.Clone(p.Data), bytes.Clone(p.Data)
	if quick = one.refresh(b); !quick {
		if !bytes.Equal(one.Data, p.Data) {
			t.Fatalf("refresh takes it not, but made % x of % x", one.Data, p.Data)
		}
	} else if err := two.rewrite(b); err != nil || !bytes.Equal(one.Data, two.Data) {
		t.Fatalf("%v: refresh made % x, rewrite % x", err, one.Data, two.Data)
	}
	var old Packet
	return old.Parse(b, p.Data) == nil && old.extLen == 0 && p.extLen == 0 && (p.Proto == ProtoTCP || p.Proto == ProtoUDP),
		quick
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
		if p.Parse(b, frame) != nil || p.Kind == Pause || p.Kind == Resume {
			return
		}
		p.Data = append([]byte(nil), frame...)
		changed := p
		changed.TOS, changed.HopLimit, changed.Seq, changed.TCP.Flags = ^p.TOS, p.HopLimit-1, p.Seq+1, ^p.TCP.Flags
		deparseQuickly(t, &changed, b)
		if err := p.Deparse(b); err != nil {
			t.Fatal(err)
		}
		var q Packet
		if err := q.Parse(b, p.Data); err != nil || essence(&p) != essence(&q) {
			t.Fatalf("%v: %s%s", err, essence(&p), essence(&q))
		}
		if !bytes.Equal(p.Data, frame) {
			t.Fatalf("nothing was changed, and % x became % x", frame, p.Data)
		}
		// another extension goes in, and the frame says so
		if !p.SetExtension(0x7e, []byte{1, 2, 3}) {
			return
		}
		if err := p.Deparse(b); err != nil {
			return // too long now
		}
		if err := q.Parse(b, p.Data); err != nil || essence(&p) != essence(&q) {
			t.Fatalf("with an extension: %v: %s%s", err, essence(&p), essence(&q))
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

// checksums fails if the transport checksum of a frame that Emit or Deparse made is
// wrong.
func checksums(t *testing.T, frame []byte) {
	t.Helper()
	var src, dst netip.Addr
	var next uint8
	var rest []byte
	switch be.Uint16(frame[12:]) {
	case EtherIPv4:
		h, err := ParseIPv4(frame[EthernetHeader:])
		if err != nil || !h.ChecksumOK() {
			t.Fatalf("%v: % x", err, frame)
		}
		src, dst, next, rest = h.Src(), h.Dst(), h.Protocol(), h.Payload()
	case EtherIPv6:
		h, err := ParseIPv6(frame[EthernetHeader:])
		if err != nil {
			t.Fatal(err)
		}
		src, dst, next, rest = h.Src(), h.Dst(), h.NextHeader(), h.Payload()
	default:
		return
	}
	if next == protoShim && src.Is4() || next == protoHopByHop && src.Is6() {
		next, rest = rest[0], rest[8*(int(rest[1])+1):]
	}
	switch next {
	case ProtoUDP:
		if u, err := ParseUDP(rest); err != nil || len(u) != len(rest) || !u.ChecksumOK(src, dst) {
			t.Fatalf("UDP checksum or length: %v: % x", err, frame)
		}
	case ProtoTCP:
		if s, err := ParseTCP(rest); err != nil || !s.ChecksumOK(src, dst) {
			t.Fatalf("TCP checksum: %v: % x", err, frame)
		}
	}
}

// emit(parse(b)) is b for valid headers, but for what a view does not keep: bytes
// behind the packet, and the reserved bits of TCP. Nothing panics.
func FuzzHeaders(f *testing.F) {
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
			want := append([]byte(nil), h[:h.header()]...)
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

// Extensions in wire form: an IPv6 hop-by-hop options header (RFC 8200 §4.3), or a
// shim of the same layout. Arbitrary bytes in it; parse(emit(x)) is x.
func FuzzExtensions(f *testing.F) {
	f.Add([]byte{17, 0, ExtActivity, 4, 1, 2, 3, 4})
	f.Add([]byte{17, 0, 0, padN, 3, 0, 0, 0})
	f.Add([]byte{17, 0, 0x9e, 4, 1, 2, 3, 4, 5})
	f.Add([]byte{17, 1, 0x9e, 2, 1, 2, 0x9e, 6, 1, 2, 3, 4, 5, 6, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var p, q Packet
		next, rest, err := p.parseExtensions(b)
		if err != nil {
			return
		}
		if p.ExtensionBytes() == 0 {
			return
		}
		wire := p.appendExtensions(nil, next)
		if len(wire) != int(p.ExtensionBytes()) || len(wire)%8 != 0 || len(wire)+len(rest) > len(b) {
			t.Fatalf("% x takes %d bytes, ExtensionBytes says %d", b, len(wire), p.ExtensionBytes())
		}
		n, rest, err := q.parseExtensions(wire)
		if err != nil || n != next || len(rest) != 0 || !bytes.Equal(p.ext[:p.extLen], q.ext[:q.extLen]) {
			t.Fatalf("% x: %v, % x", wire, err, q.ext[:q.extLen])
		}
	})
}

// Unknown TCP options are kept, behind the others.
func TestTCPUnknownOptions(t *testing.T) {
	o, err := ParseTCPOptions([]byte{254, 4, 9, 9, 2, 4, 5, 0xb4, 30, 3, 7, 0})
	if err != nil || o.MSS != 1460 || !bytes.Equal(o.Unknown(), []byte{254, 4, 9, 9, 30, 3, 7}) {
		t.Errorf("%v: %+v", err, o)
	}
	if got := o.Append([]byte{0xaa}); !bytes.Equal(got, []byte{0xaa, 2, 4, 5, 0xb4, 254, 4, 9, 9, 30, 3, 7, 0}) {
		t.Errorf("% x", got)
	}
	// four SACK blocks, unpadded, and an option of 6 bytes are 40; with Linux's padding they would not fit
	full := append(append([]byte{5, 34}, make([]byte, 32)...), 254, 6, 1, 2, 3, 4)
	if o, err = ParseTCPOptions(full); err != nil || len(o.Append(nil)) != 40 {
		t.Errorf("%v: %d bytes", err, len(o.Append(nil)))
	}
	if _, err := ParseTCPOptions(make([]byte, 41)); err == nil {
		t.Error("41 bytes of options are taken")
	}
}

// IPv4 with options (RFC 791 §3.1: router alert, RFC 2113 §2.1).
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
		c := h
		n := bad(&c)
		if _, err := c.Append(nil, n); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// A foreign frame that gets an extension, or loses its end, keeps all the rest: MAC
// addresses, IP options, TCP options and flags, payload.
func TestDeparseKeepsTheFrame(t *testing.T) {
	b := book()
	for _, version := range []uint8{4, 6} {
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
	}
}

// A datagram that loses its end: bytes behind it in the packet go too, and one that
// was sent without a checksum (RFC 768) gets none.
func TestDeparseCutsADatagram(t *testing.T) {
	b := book()
	for _, sum := range []bool{true, false} {
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
	}
}

// IEEE 802.1Qbb: destination 01-80-C2-00-00-01, type 8808, opcode 0101, class
// vector, eight times; 60 bytes without FCS.
func TestPFCByHand(t *testing.T) {
	for kind, want := range map[Kind]string{
		Pause:  "0180c2000001025700000001880801010008000000000000ffff",
		Resume: "0180c20000010257000000018808010100080000000000000000",
	} {
		p := Packet{Kind: kind, Src: 1, Meta: Metadata{Class: 3}}
		got, err := p.Emit(book(), nil)
		if err != nil || hex.EncodeToString(got) != want+strings.Repeat("00", 60-len(want)/2) {
			t.Errorf("kind %d: %x, %v", kind, got, err)
		}
		q := Packet{Data: got}
		if err := q.Parse(book(), got); err != nil || q.Kind != kind || q.Meta.Class != 3 {
			t.Errorf("kind %d: %v", kind, err)
		}
		if q.Seq != 0 {
			t.Errorf("kind %d: %d quanta; 65535 last until Resume", kind, q.Seq)
		}
		if err := q.Deparse(book()); err != nil || hex.EncodeToString(q.Data[:26]) != want {
			t.Errorf("kind %d after Deparse: %x, %v", kind, q.Data, err)
		}
	}
	for seq, want := range map[int64]string{1: "0001", 1000: "03e8", 65534: "fffe", 65535: "ffff", -1: "ffff"} {
		p := Packet{Kind: Pause, Src: 1, Seq: seq, Meta: Metadata{Class: 3}}
		got, err := p.Emit(book(), nil)
		if err != nil || hex.EncodeToString(got[24:26]) != want {
			t.Errorf("%d quanta: %x, %v", seq, got, err)
		}
		q := Packet{Seq: 7}
		if err := q.Parse(book(), got); err != nil || seq > 0 && seq < 65535 && q.Seq != seq || (seq < 1 || seq > 65534) &&
			q.Seq != 0 {
			t.Errorf("%d quanta come as %d, %v", seq, q.Seq, err)
		}
	}
}

// The header of the transports that have none of their own, byte by byte, behind
// the extension of an activity.
func TestShimByHand(t *testing.T) {
	p := Packet{Kind: Nack, Src: 1, Dst: 2, SrcPort: 0x1122, DstPort: 0x3344, Version: 6, Proto: ProtoRDMA,
		HopLimit: 9, TOS: 0x2e,
		Seq: 0x0102030405, Ack: 0x060708090a}
	p.SetExtension(ExtActivity, []byte{0x3f, 0x80, 0, 0})
	got, err := p.Emit(book(), nil)
	want := "025700000002" + "025700000001" + "86dd" + "62e00000" + "0018" + "00" + "09" +
		"fd000000000000000000000000000001" + "fd000000000000000000000000000002" +
		"fc00" + "3e043f800000" + "11223344" + "02" + "0102030405" + "060708090a" + "00"
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("%v:\n%x, want\n%s", err, got, want)
	}
}

// A switch carries ICMP (RFC 792, RFC 4443) as it is, but for its own fields of the IP header.
func TestICMP(t *testing.T) {
	b := book()
	for _, proto := range []uint8{ProtoICMP, ProtoICMPv6} {
		echo := []byte{8, 0, 0xf7, 0xff, 0xff, 0xff, 0, 1} // identifier 0xffff, of which the shim would make a kind
		frame := AppendEthernet(nil, MAC(2), MAC(1), EtherIPv4)
		var err error
		if proto == ProtoICMPv6 {
			frame = AppendEthernet(nil, MAC(2), MAC(1), EtherIPv6)
			frame, err = AppendIPv6(frame, b.V6(1), b.V6(2), proto, 0, 64, len(echo))
		} else {
			frame, err = AppendIPv4(frame, b.V4(1), b.V4(2), proto, 0, 64, len(echo))
		}
		if err != nil {
			t.Fatal(err)
		}
		p := Packet{Data: append(frame, echo...), SrcPort: 7, DstPort: 8, Seq: 9, Ack: 10}
		if err := p.Parse(b, p.Data); err != nil {
			t.Fatal(err)
		}
		if p.Kind != Data || p.Payload != 8 || p.Src != 1 || p.Dst != 2 || p.SrcPort|p.DstPort != 0 || p.Seq|p.Ack != 0 {
			t.Errorf("protocol %d: %s", proto, essence(&p))
		}
		p.HopLimit--
		p.TOS |= CE
		if err := p.Deparse(b); err != nil {
			t.Fatal(err)
		}
		checksums(t, p.Data)
		if got := p.Data[len(p.Data)-len(echo):]; string(got) != string(echo) {
			t.Errorf("protocol %d: % x came out", proto, got)
		}
		p.Proto = proto
		if _, err := p.Emit(b, nil); err == nil {
			t.Errorf("protocol %d is made", proto)
		}
	}
}

func TestEmitRefuses(t *testing.T) {
	good := Packet{Src: 1, Dst: 2, Version: 4, Proto: ProtoUDP}
	for want, change := range map[string]func(*Packet){
		"class 8":       func(p *Packet) { p.Kind, p.Meta.Class = Pause, 8 },
		"version 5":     func(p *Packet) { p.Version = 5 },
		"payload of -1": func(p *Packet) { p.Payload = -1 },
		"protocol 253":  func(p *Packet) { p.Proto = 253 },
		"protocol 0":    func(p *Packet) { p.Proto, p.Version = 0, 6 },
		"at most 65535": func(p *Packet) { p.Version, p.Payload = 6, 65536 },
		"the book has":  func(p *Packet) { p.Dst = 3 },
		"not both IPv4": func(p *Packet) { p.Dst = 0 },
	} {
		p := good
		change(&p)
		want = strings.Replace(want, "at most 65535", "0 to 65535", 1)
		if _, err := p.Emit(book(), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// The flow's hash: golden values, and each of the 104 input bits changes each
// output bit about half of the time.
func TestFlowHash(t *testing.T) {
	for _, c := range []struct {
		src, dst         Addr
		srcPort, dstPort uint16
		proto            uint8
		want             uint32
	}{
		{0, 0, 0, 0, 0, 0},
		{1, 2, 3, 4, ProtoUDP, 0xcb368f5c},
		{2, 1, 4, 3, ProtoUDP, 0xab8c1a05},
		{1, 2, 3, 4, ProtoTCP, 0x92dfdce6},
		{127, 64, 10000, 80, ProtoRDMA, 0x8c1d6fb7},
	} {
		if got := FlowHash(c.src, c.dst, c.srcPort, c.dstPort, c.proto); got != c.want {
			t.Errorf("FlowHash(%d, %d, %d, %d, %d) = %#08x, want %#08x", c.src, c.dst, c.srcPort, c.dstPort, c.proto,
				got, c.want)
		}
	}
	random := unit.NewRandom(1, "hash")
	for bit := range 104 {
		changed := [32]int{}
		const n = 4000
		for range n {
			a, b, s, d, p := Addr(random.Uint32N(4096)), Addr(random.Uint32N(4096)), uint16(random.Uint32()),
				uint16(random.Uint32()), uint8(random.Uint32())
			x := FlowHash(a, b, s, d, p)
			switch {
			case bit < 32:
				a ^= 1 << bit
			case bit < 64:
				b ^= 1 << (bit - 32)
			case bit < 80:
				s ^= 1 << (bit - 64)
			case bit < 96:
				d ^= 1 << (bit - 80)
			default:
				p ^= 1 << (bit - 96)
			}
			for diff := x ^ FlowHash(a, b, s, d, p); diff != 0; diff &= diff - 1 {
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
