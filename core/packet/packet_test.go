package packet

import (
	"bytes"
	"fmt"
	"math/bits"
	"net/netip"
	"reflect"
	"testing"
	"unsafe"

	"weir/core/unit"
)

// TestPacket_KeepsCacheLineLayout checks the layout for the engine's speed: the fields for a hop, with HPCC's header (2
// + 42 bytes), are two cache lines, and an end host's further fields a third.
func TestPacket_KeepsCacheLineLayout(t *testing.T) {
	var p Packet
	if hot := unsafe.Offsetof(p.Enqueued); hot != 64 {
		t.Errorf("the hot line has %d bytes", hot)
	}
	if end := unsafe.Offsetof(p.ext) + 2 + 42; end > 128 {
		t.Errorf("HPCC's header ends at %d", end)
	}
	if from, to := unsafe.Offsetof(p.TCP)+unsafe.Offsetof(p.TCP.TSVal), unsafe.Offsetof(p.Message)+
		4; from/64 != (to-1)/64 {
		t.Errorf("the end hosts' fields are from %d to %d", from, to)
	}
	if n := unsafe.Sizeof(p); n != 384 {
		t.Errorf("a packet has %d bytes", n)
	}
	if n := unsafe.Sizeof(p.Meta); n != 12 {
		t.Errorf("the metadata has %d bytes", n)
	}
}

func TestPool_GetReturnsClearedPacket(t *testing.T) {
	var l Pool
	p := l.Get()
	p.Seq, p.Data = 7, []byte{1}
	p.SetExtension(ExtActivity, []byte{1, 2, 3, 4})
	*p = Packet{Next: p, Predecessor: p, Seq: 1, Flow: 1, Src: 1, Dst: 1, Hash: 1, Size: 1, Payload: 1, SrcPort: 1,
		DstPort: 1,
		Message: 1,
		Meta:    Metadata{1, 1, 1, 1, 1, 1, 1},
		Kind:    1, TOS: 1, HopLimit: 1, Proto: 1, Version: 1, extLen: 1, changing: 1, parsed: true, Sent: 1, Resent: 1,
		Enqueued: 1, Ack: 1,
		Data: []byte{1}, TCP: Segment{p.TCP.SACK, 1, 1, 1, 1, 1, 1, 1, 1}}
	v := reflect.ValueOf(p).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); v.Field(i).IsZero() && f.Name != "_" && f.Name != "ext" &&
			f.Name != "stackRoom" {
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
	if l.LiveCount() != 3000 || l.MadeCount() != 3*1024 {
		t.Errorf("%d are out, %d were made", l.LiveCount(), l.MadeCount())
	}
}

// TestPoolFrames checks that the room of a frame is reused, if it suffices. A packet without a frame has none.
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

// TestFraming_CountsFrameBytes checks that 1448 of 1514 bytes is TCP's share of a frame with time stamps. UDP's is 1448
// of 1490.
func TestFraming_CountsFrameBytes(t *testing.T) {
	for _, c := range []struct {
		name                   string
		headers, payload, want int32
		data                   bool
	}{
		{"l2", 14 + 20 + 32, 1448, 1514, true}, {"l2", 14 + 20 + 8, 1448, 1490, true}, {"l2", 14 + 20 + 16, 0, 50, false},
		{"wire", 14 + 20 + 8, 1448, 1514, true}, {"wire", 14 + 20 + 8, 1, 84, true},
		{"hpcc", 50, 1000, 1090, true}, {"hpcc", 50, 0, 88, false},
		{"hpcc_pint", 50, 1000, 1050, true}, {"hpcc_pint", 50, 0, 60, false},
		{"hpcc_timely", 50, 1000, 1056, true}, {"hpcc_timely", 50, 0, 60, false},
		{"hpcc_plain", 50, 1000, 1048, true}, {"hpcc_plain", 50, 0, 60, false},
		{"htsim", 50, 1000, 1064, true}, {"htsim", 50, 0, 64, false},
	} {
		t.Run(fmt.Sprint(c.name, ", payload ", c.payload, ", headers ", c.headers), func(t *testing.T) {
			f, ok := FramingByName(c.name)
			if got := f.FrameBytes(c.headers, c.payload, c.data); !ok || got != c.want {
				t.Errorf("%s: %d + %d bytes count %d, want %d", c.name, c.headers, c.payload, got, c.want)
			}
		})
	}
	if goodput := 50e6 * 1448 / 1514; fmt.Sprintf("%.2f", goodput/1e6) != "47.82" {
		t.Error("the ceiling of TCP's goodput at 50 Mb/s is 47.82 Mb/s")
	}
	if _, ok := FramingByName("ns4"); ok {
		t.Error("an unknown framing is found")
	}
}

// TestCopyExtensions checks that extensions are copied as bytes, and replace the previous ones.
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

// TestPacket_ExtensionsKeepWireForm checks that extensions are a list in wire form, by kind.
func TestPacket_ExtensionsKeepWireForm(t *testing.T) {
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

func TestBook_LookupKeepsFirstNumber(t *testing.T) {
	b := book()
	if b.Len() != 3 || b.V4(1) != a4 || b.V6(2) != b6 || b.Lookup(b4) != 2 || b.Lookup(a6) != 1 ||
		b.Lookup(netip.MustParseAddr("8.8.8.8")) != 0 {
		t.Errorf("%+v", b)
	}
	if n := b.Add(a4, netip.Addr{}); n != 3 || b.Lookup(a4) != 1 {
		t.Error("an address that is entered twice must keep its first number")
	}
}

// TestFlowHash checks the flow's hash: golden values, and that each of the 104 input bits changes each output bit about
// half of the time.
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
		t.Run(fmt.Sprintf("%d:%d to %d:%d by %d", c.src, c.srcPort, c.dst, c.dstPort, c.proto), func(t *testing.T) {
			if got := FlowHash(c.src, c.dst, c.srcPort, c.dstPort, c.proto); got != c.want {
				t.Errorf("FlowHash(%d, %d, %d, %d, %d) = %#08x, want %#08x", c.src, c.dst, c.srcPort, c.dstPort, c.proto,
					got, c.want)
			}
		})
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
