package telemetry

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"weir/core/packet"
	"weir/core/unit"
)

const (
	ns = unit.Nanosecond
	us = unit.Microsecond
	ms = unit.Millisecond
)

func TestRecords_LimitHopsAndCountMissed(t *testing.T) {
	if n := unsafe.Sizeof(Hop{}); n != 48 {
		t.Errorf("a hop takes %d bytes, want 48", n)
	}
	var r Records
	if r.Len() != 0 {
		t.Errorf("the zero value holds %d", r.Len())
	}
	path := uint16(0)
	for i := range MaxHops + 4 {
		h := Hop{Switch: uint32(0x7000 + i*37), Port: uint16(i)}
		path ^= uint16(h.Switch & 0xfff)
		if got := r.Append(&h); got != (i < MaxHops) {
			t.Errorf("hop %d: appended %v", i, got)
		}
	}
	if r.Len() != MaxHops || r.MissedHops() != 4 || r.PathID() != path || r.At(4).Port != 4 || len(r.Hops()) != MaxHops ||
		r.Hops()[0].Port != 0 {
		t.Errorf("after twenty hops: %d, %d missed, path %#x; want 16, 4, %#x", r.Len(), r.MissedHops(), r.PathID(), path)
	}
	for range 300 {
		r.Append(&Hop{})
	}
	if r.MissedHops() != 255 {
		t.Errorf("after 320 hops %d are missed, want 255", r.MissedHops())
	}
	r.Reset()
	if r.Len() != 0 || r.MissedHops() != 0 || r.PathID() != 0 {
		t.Error("a reset leaves something")
	}
	h := Hop{Switch: 1}
	if n := testing.AllocsPerRun(100, func() { r.Reset(); r.Append(&h); _ = r.Hops() }); n != 0 {
		t.Errorf("appending allocates %v times", n)
	}
}

// TestHPCCGolden checks the header bit by bit, by hand from the figure. Hop 1: code 2 = 010; 1234567 ns = 0x12d687;
// ⌊10⁶/512⌋ = 1953 = 0x007a1; ⌊123456/320⌋ = 385 = 0x181:
//
//	010 00010010 11010110 10000111 | 00000000011110100001 | 00000000110000001
//
// Hop 2: code 4; 2²⁴ + 5 ns wraps to 5; 2²⁰ + 1 units of bytes wrap to 1; a queue beyond
// the field is the largest. Path: 0x345 ^ 0xabc = 0x9f9, of two hops.
func TestHPCCGolden(t *testing.T) {
	f := NewHPCC(4)
	b := make([]byte, HPCCBytes)
	hops := []Hop{
		{Switch: 0x12345, Port: 3, Time: 1_234_567*ns + 999, TxBytes: 1_000_000, Queue: 123_456, Rate: 100 * unit.Gbps,
			Sojourn: us},
		{Switch: 0xabc, Time: (1<<24 + 5) * ns, TxBytes: (1<<20+1)*512 + 511, Queue: 1 << 30, Rate: 400 * unit.Gbps},
	}
	for i := range hops {
		if !f.Push(b, &hops[i]) {
			t.Fatalf("hop %d is not written", i)
		}
	}
	want := "29f9" + "425ad0e00f420181" + "800000a00003ffff" + strings.Repeat("00", 24)
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("encoded\n%s, want\n%s", got, want)
	}
	var r Records
	if err := f.Decode(b, &r); err != nil {
		t.Fatal(err)
	}
	flags := NoSwitch | NoSojourn
	for i, want := range []Hop{
		{Time: 1_234_567 * ns, TxBytes: 1953 * 512, Queue: 385 * 320, Rate: 100 * unit.Gbps, Flags: flags},
		{Time: 5 * ns, TxBytes: 512, Queue: 131071 * 320, Rate: 400 * unit.Gbps, Flags: flags},
	} {
		if *r.At(i) != want {
			t.Errorf("hop %d decoded as %+v, want %+v", i, *r.At(i), want)
		}
	}
	if r.Len() != 2 || r.PathID() != 0x9f9 || r.MissedHops() != 0 {
		t.Errorf("%d hops, path %#x, %d missed", r.Len(), r.PathID(), r.MissedHops())
	}
	if n := testing.AllocsPerRun(100, func() { clear(b); f.Push(b, &hops[0]); f.Decode(b, &r) }); n != 0 {
		t.Errorf("the codec allocates %v times", n)
	}
	// It fits into a packet's extension, where switches write in place.
	var p packet.Packet
	if !p.SetExtension(Extension, make([]byte, HPCCBytes)) {
		t.Fatal("the header does not fit into a packet")
	}
	view, _ := p.Extension(Extension)
	f.Push(view, &hops[0])
	if view, _ = p.Extension(Extension); view[2] != 0x42 {
		t.Error("a hop written into a packet's extension is not there")
	}
}

// TestHPCC_RoundsDownByLessThanUnit checks that what a sender gets back differs from what the switch wrote by less than
// a unit, and is never more (A6: 128 B and 80 B times the multiplier, 1 ns).
func TestHPCC_RoundsDownByLessThanUnit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		f := NewHPCC(1 + random.Int64N(16))
		h := Hop{Time: unit.Time(random.Int64N(int64(16 * ms))), TxBytes: random.Uint64N(100_000_000),
			Queue: unit.Bytes(random.Int64N(10_000_000)),
			Rate:  f.Rates[random.IntN(5)], Switch: random.Uint32()}
		b := make([]byte, HPCCBytes)
		var r Records
		if !f.Push(b, &h) {
			t.Fatal("not written")
		}
		if err := f.Decode(b, &r); err != nil {
			t.Fatal(err)
		}
		got := r.At(0)
		if d := h.Time - got.Time; d < 0 || d >= ns {
			t.Errorf("%v came back as %v", h.Time, got.Time)
		}
		if d := h.TxBytes - got.TxBytes; d >= uint64(128*f.Multi) {
			t.Errorf("%d bytes came back as %d", h.TxBytes, got.TxBytes)
		}
		if d := h.Queue - got.Queue; d < 0 || d >= unit.Bytes(80*f.Multi) {
			t.Errorf("a queue of %v came back as %v", h.Queue, got.Queue)
		}
		if got.Rate != h.Rate || r.PathID() != uint16(h.Switch&0xfff) {
			t.Errorf("rate %v, path %#x", got.Rate, r.PathID())
		}
	}
}

func TestMoreHopsThanFit(t *testing.T) {
	f := NewHPCC(1)
	b := make([]byte, HPCCBytes)
	var r Records
	path := uint16(0)
	for i := range 20 {
		h := Hop{Switch: uint32(100 + i*i), TxBytes: uint64(i) * 1280, Rate: 25 * unit.Gbps}
		path ^= uint16(h.Switch)
		if got := f.Push(b, &h); got != (i < HPCCHops) {
			t.Errorf("hop %d: written %v", i+1, got)
		}
		if err := f.Decode(b, &r); err != nil {
			t.Fatal(err)
		}
		if n, missed := min(i+1, 5), min(max(i+1-5, 0), 10); r.Len() != n || r.MissedHops() != missed ||
			r.PathID() != path&0xfff {
			t.Errorf("after %d hops: %d and %d missed, path %#x; want %d, %d, %#x", i+1, r.Len(), r.MissedHops(), r.PathID(), n,
				missed, path)
		}
		if r.At(0).TxBytes != 0 || r.Len() == 5 && r.At(4).TxBytes != 4*1280 {
			t.Errorf("after %d hops the records moved", i+1)
		}
	}
}

func TestHPCCErrors(t *testing.T) {
	f := NewHPCC(1)
	b := make([]byte, HPCCBytes)
	if f.Push(b, &Hop{Rate: 10 * unit.Gbps}) || f.Push(b, &Hop{}) || f.Push(b[:41], &Hop{Rate: 25 * unit.Gbps}) ||
		!bytes.Equal(b, make([]byte, HPCCBytes)) {
		t.Error("a hop that cannot be written is")
	}
	var r Records
	r.Append(&Hop{})
	if err := f.Decode(b[:41], &r); err == nil || r.Len() != 0 {
		t.Errorf("41 bytes: %v", err)
	}
	b[0], b[2] = 0x10, 0xe0
	if err := f.Decode(b, &r); err == nil || !strings.Contains(err.Error(), "hop 1 has rate code 7") || r.Len() != 0 {
		t.Errorf("code 7: %v", err)
	}
}

func FuzzHPCC_RoundTripsRecords(f *testing.F) {
	f.Add([]byte{}, int64(0))
	b, _ := hex.DecodeString("29f9" + "425ad0e00f420181" + "800000a00003ffff" + strings.Repeat("00", 24))
	f.Add(b, int64(3))
	f.Add(append([]byte{0xf0, 0}, b[2:]...), int64(1))
	f.Fuzz(func(t *testing.T, b []byte, multi int64) {
		c := NewHPCC(1 + int64(uint64(multi)%(1<<16)))
		var r Records
		if err := c.Decode(b, &r); err != nil {
			if r.Len() != 0 {
				t.Error("an error leaves records")
			}
			return
		}
		// emit(parse(b)) == b, where the header has hops. The last switch gives the path.
		n := r.Len() + r.MissedHops()
		again := make([]byte, HPCCBytes)
		for i := range n {
			h := Hop{Rate: 25 * unit.Gbps}
			if i < r.Len() {
				h = *r.At(i)
			}
			if i == 0 {
				h.Switch = uint32(r.PathID())
			}
			if got := c.Push(again, &h); got != (i < HPCCHops) {
				t.Errorf("hop %d: written %v", i, got)
			}
		}
		if n == 0 {
			return
		}
		if end := 2 + 8*r.Len(); !bytes.Equal(again[:end], b[:end]) {
			t.Errorf("%x became %x", b[:end], again[:end])
		}
	})
}

// TestWraparound_DeltaUnwrapsTimeAndBytes checks A6: time wraps at 2²⁴ ns = 16.8 ms, bytes at 2²⁰·128 B = 134 MB times
// the multiplier. Delta reports whether the bytes can be known.
func TestWraparound_DeltaUnwrapsTimeAndBytes(t *testing.T) {
	f := NewHPCC(1)
	s := f.WrapSpan()
	if s.Time != 16_777_216*ns || s.Bytes != 134_217_728 {
		t.Errorf("span %+v", s)
	}
	g := 100 * unit.Gbps
	for _, c := range []struct {
		old, new         unit.Time
		oldBytes, bytes  uint64
		elapsed, dt      unit.Time
		delta            int64
		ok               bool
		why              string
		span             Wraparound
		oldRate, newRate unit.Rate
	}{
		{10 * us, 22 * us, 1280, 2560, 12 * us, 12 * us, 1280, true, "no wrap", s, g, g},
		{16_777_000 * ns, 784 * ns, 134_217_600, 256, us, us, 384, true, "both wrap", s, g, g},
		{10 * us, 10 * us, 1280, 1280, 100 * ns, 0, 0, true, "equal", s, g, g},
		{10 * us, 9 * us, 2560, 1280, 300 * ns, -us, -1280, true, "overtaken", s, g, g},
		{100 * ns, 16_777_216*ns - 900*ns, 128, 134_217_600, 50 * ns, -us, -256, true, "overtaken across a wrap", s, g, g},
		{0, 12 * us, 0, 1280, 16_777_216*ns*3 + 13*us, 16_777_216*ns*3 + 12*us, 1280, false,
			"three wraps of time: bytes can have wrapped", s, g, g},
		{0, 12 * us, 0, 1280, 16_777_216*ns*3 + 13*us, 16_777_216*ns*3 + 12*us, 1280, true, "three wraps at 10 Gb/s", s,
			10 * unit.Gbps, 10 * unit.Gbps},
		{0, 11 * ms, 0, 1280, 11 * ms, 11 * ms, 1280, false, "10.7 ms of 100 Gb/s", s, g, g},
		{0, 10 * ms, 0, 1280, 10 * ms, 10 * ms, 1280, true, "10 ms of 100 Gb/s", s, g, g},
		{0, 11 * ms, 0, 1280, 11 * ms, 11 * ms, 1280, true, "a format that does not wrap", Wraparound{}, g, g},
		{5 * us, 1 * us, 0, 0, 11 * ms, -4 * us, 0, true, "back, in a format that does not wrap", Wraparound{}, g, g},
	} {
		t.Run(c.why, func(t *testing.T) {
			old, new := Hop{Time: c.old, TxBytes: c.oldBytes, Rate: c.oldRate}, Hop{Time: c.new, TxBytes: c.bytes,
				Rate: c.newRate}
			dt, n, ok := c.span.Delta(&old, &new, c.elapsed)
			if dt != c.dt || n != c.delta || ok != c.ok {
				t.Errorf("%s: %v, %d, %v; want %v, %d, %v", c.why, dt, n, ok, c.dt, c.delta, c.ok)
			}
		})
	}
}

// TestUnwrapper_KeepsConstantOffsetOverWraps checks that through the codec and the unwrapper a flow's records differ
// from the switch's by one constant and less than a unit, over many wraps and for any gaps.
func TestUnwrapper_KeepsConstantOffsetOverWraps(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	f := NewHPCC(4)
	u := Unwrapper{Span: f.WrapSpan()}
	b := make([]byte, HPCCBytes)
	var r Records
	var first, firstRead Hop
	real := Hop{Time: 77 * ms, TxBytes: 1e12, Rate: 100 * unit.Gbps, Switch: 9}
	now := unit.Time(0)
	for i := range 20000 {
		gap := unit.Time(random.Int64N(int64(20 * us)))
		if random.IntN(50) == 0 {
			gap = unit.Time(random.Int64N(int64(40 * ms))) // at 4 × 134 MB: 42.9 ms at 100 Gb/s
		}
		real.Time += gap
		now = real.Time + unit.Time(random.Int64N(int64(2*ms))) // the feedback's delay varies
		real.TxBytes += uint64(real.Rate.BytesIn(gap)) / uint64(1+random.IntN(3))
		clear(b)
		f.Push(b, &real)
		if err := f.Decode(b, &r); err != nil {
			t.Fatal(err)
		}
		u.Unwrap(now, &r)
		got := *r.At(0)
		if i == 0 {
			if got.Flags&Restart == 0 {
				t.Error("the first record is no restart")
			}
			first, firstRead = real, got
			continue
		}
		if got.Flags&Restart != 0 {
			t.Fatalf("record %d is a restart", i)
		}
		if d := real.Time - first.Time - (got.Time - firstRead.Time); d <= -ns || d >= ns {
			t.Fatalf("record %d: time is wrong by %v", i, d)
		}
		if d := int64(real.TxBytes-first.TxBytes) - int64(got.TxBytes-firstRead.TxBytes); d <= -512 || d >= 512 {
			t.Fatalf("record %d: bytes are wrong by %d", i, d)
		}
	}
	// An overtaken record keeps its time.
	read := func(now, at unit.Time, n uint64, id uint32) Hop {
		clear(b)
		f.Push(b, &Hop{Time: at, TxBytes: n, Rate: 100 * unit.Gbps, Switch: id})
		f.Decode(b, &r)
		u.Unwrap(now, &r)
		return *r.At(0)
	}
	h1 := read(now+us, real.Time+us, real.TxBytes+5120, 9)
	h0 := read(now+2*us, real.Time, real.TxBytes, 9)
	h2 := read(now+3*us, real.Time+3*us, real.TxBytes+10240, 9)
	if h1.Time-h0.Time != us || h1.TxBytes-h0.TxBytes != 5120 || h2.Time-h1.Time != 2*us || h2.TxBytes-h1.TxBytes != 5120 {
		t.Errorf("overtaken: %+v, %+v, %+v", h0, h1, h2)
	}
	if h := read(now+4*us, real.Time, real.TxBytes, 10); h.Flags&Restart == 0 {
		t.Error("another path is no restart")
	}
	if h := read(now+5*us, real.Time+us, real.TxBytes, 10); h.Flags&Restart != 0 {
		t.Error("the path's second record is a restart")
	}
	u.Unwrap(now, &Records{}) // nothing happens
}

// TestWrappedTwice checks that a record is a restart after more bytes than their field can count, since the number of
// wraps is unknown.
func TestWrappedTwice(t *testing.T) {
	f := NewHPCC(1)
	u := Unwrapper{Span: f.WrapSpan()}
	for i, at := range []unit.Time{0, 5 * ms, 16 * ms, 17 * ms} {
		var r Records
		r.Append(&Hop{Time: at, TxBytes: uint64(at / 10000), Rate: 100 * unit.Gbps})
		u.Unwrap(at, &r)
		if restart := r.At(0).Flags&Restart != 0; restart != (i == 0 || i == 2) {
			t.Errorf("at %v: restart %v", at, restart)
		}
	}
}

func TestClock_NeverRunsBackwards(t *testing.T) {
	exact := Clock{}
	if exact.Read(12345) != 12345 {
		t.Error("the zero value is not exact")
	}
	c := Clock{Resolution: 100 * ns, Offset: -us, Drift: 100}
	for _, x := range [][2]unit.Time{{0, -us}, {unit.Second, unit.Second + 100*us - us}, {950 * ns, -100 * ns},
		{1_099_880, 0}, {1200 * ns, 200 * ns}} {
		if got := c.Read(x[0]); got != x[1] {
			t.Errorf("at %d it shows %d, want %d", x[0], got, x[1])
		}
	}
	random := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		c := Clock{Resolution: unit.Time(random.IntN(3000)), Offset: unit.Time(random.Int64N(1e12)) - 5e11,
			Drift: random.Float64()*400 - 200}
		now, last := unit.Time(random.Int64N(1e15)), unit.Time(math.MinInt64)
		for range 50 {
			got := c.Read(now)
			if got < last {
				t.Fatalf("%+v goes back from %d to %d", c, last, got)
			}
			if c.Resolution > 1 && got%c.Resolution != 0 {
				t.Fatalf("%+v shows %d", c, got)
			}
			last = got
			now += unit.Time(random.IntN(5))
		}
	}
}

// TestPINTGolden checks A7: base 1.05 takes 8 bits, the simulator's 1.01 two bytes; U = base^p / 512.
func TestPINTGolden(t *testing.T) {
	p := NewPINT(1.05)
	if p.Bytes() != 1 || p.maxCode != 255 {
		t.Fatalf("%+v", p)
	}
	if wide := NewPINT(1.01); wide.Bytes() != 2 || wide.maxCode != 2047 {
		t.Fatalf("%+v", wide)
	}
	if widest := NewPINT(1.0002); widest.Bytes() != 2 || widest.maxCode != 1<<16-1 { // the least base that is allowed
		t.Fatalf("%+v", widest)
	}
	for _, c := range []struct {
		code uint16
		want float64
	}{{0, 1. / 512}, {1, 1.05 / 512}, {127, 0.9587}, {128, 1.0066}, {255, 494.31}, {999, 494.31}} {
		t.Run(fmt.Sprint("code ", c.code), func(t *testing.T) {
			if got := p.Decode(c.code); math.Abs(got-c.want) > 5e-4*c.want {
				t.Errorf("code %d is %v, want %v", c.code, got, c.want)
			}
		})
	}
	r := unit.NewRandom(1, "pint")
	for _, c := range []struct {
		u    float64
		want uint16
	}{{0, 0}, {-1, 0}, {1. / 512, 0}, {1e9, 255}, {math.Inf(1), 255}, {math.NaN(), 255}} {
		t.Run(fmt.Sprint("load ", c.u), func(t *testing.T) {
			if got := p.Encode(c.u, r); got != c.want {
				t.Errorf("load %v has code %d, want %d", c.u, got, c.want)
			}
		})
	}
}

// TestPINTUnbiased checks PINT §4.3: rounding at random keeps the mean of the exponent, and the load within one step of
// the base.
func TestPINTUnbiased(t *testing.T) {
	p := NewPINT(1.05)
	for _, u := range []float64{0.1, 0.5, 0.95, 1, 1.7, 20} {
		t.Run(fmt.Sprint("load ", u), func(t *testing.T) {
			r := unit.NewRandom(2, "pint")
			sum, n := 0.0, 20000
			for range n {
				code := p.Encode(u, r)
				sum += float64(code)
				if got := p.Decode(code); got < u/1.05 || got > (u+1./512)*1.05 {
					t.Fatalf("%v is read as %v", u, got)
				}
			}
			want := math.Log(math.Ceil(u*512)) / math.Log(1.05)
			if got := sum / float64(n); math.Abs(got-want) > 0.02 {
				t.Errorf("load %v: mean code %.3f, want %.3f", u, got, want)
			}
		})
	}
}

// TestPortLoad checks A7's formula, and its fixed point: packets back to back give 1, a queue q adds q/(B·T).
func TestPortLoad(t *testing.T) {
	const base = 10 * us
	rate := 100 * unit.Gbps // a BDP of 125 kB
	var l PortLoad
	if u := l.Dequeue(us, 1000, 500, rate, base); u != 0.1*500/125000 {
		t.Errorf("the first packet: %v", u)
	}
	if u, want := l.Dequeue(2*us, 1000, 2500, rate, base), 0.9*(0.1*500/125000)+1000./125000+
		0.1*2500/125000; math.Abs(u-want) > 1e-12 {
		t.Errorf("the second packet: %v, want %v", u, want)
	}
	for _, c := range []struct {
		gap   unit.Time
		queue unit.Bytes
		want  float64
	}{{80 * ns, 0, 1}, {160 * ns, 0, 0.5}, {80 * ns, 12500, 1.1}} {
		t.Run(fmt.Sprintf("gap %v, queue %v", c.gap, c.queue), func(t *testing.T) {
			l, now, u := PortLoad{}, unit.Time(0), 0.0
			for range 5000 {
				now += c.gap
				u = l.Dequeue(now, 1000, c.queue, rate, base)
			}
			if math.Abs(u-c.want) > 1e-6 {
				t.Errorf("%+v: %v", c, u)
			}
		})
	}
	if u := l.Dequeue(unit.Second, 1000, 0, 0, base); u < 0 {
		t.Error("a port without a rate")
	}
}

func ExampleHPCC() {
	f := NewHPCC(1)
	header := make([]byte, HPCCBytes) // the sender asks for telemetry
	f.Push(header, &Hop{Switch: 0x141, Time: 12_000 * unit.Nanosecond, TxBytes: 256_000, Queue: 8_000,
		Rate: 100 * unit.Gbps})
	var r Records
	if err := f.Decode(header, &r); err != nil {
		fmt.Println(err)
	}
	fmt.Println(r.Len(), r.At(0).Time, r.At(0).TxBytes, r.At(0).Queue, r.At(0).Rate)
	// Output: 1 12us 256000 8kB 100Gbps
}

func BenchmarkHPCC(b *testing.B) {
	f := NewHPCC(4)
	header := make([]byte, HPCCBytes)
	h := Hop{Switch: 1, Time: 12 * us, TxBytes: 1e9, Queue: 1e4, Rate: 400 * unit.Gbps}
	u := Unwrapper{Span: f.WrapSpan()}
	var r Records
	b.ReportAllocs()
	for range b.N {
		clear(header)
		for range 5 {
			f.Push(header, &h)
		}
		f.Decode(header, &r)
		h.Time += 80 * ns
		u.Unwrap(h.Time, &r)
	}
}
