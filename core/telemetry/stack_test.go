package telemetry

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// goldenHop returns a hop with a different value in every field, and a packet that departs by it.
func goldenHop() (*packet.Packet, *Hop) {
	p := &packet.Packet{HopLimit: 61, TOS: 0xb9}
	p.Meta.In, p.Meta.Queue = 0x0102, 3
	return p, &Hop{Time: 5*unit.Second + 123_456_789*ns + 999, TxBytes: 1<<44 + 0x0102030405, Queue: 0x123456,
		Rate: 400 * unit.Gbps, Sojourn: 1000 * ns, Switch: 0x0a0b0c, Port: 0x0304}
}

// TestStacksGolden checks every format byte by byte, by hand from the specifications' figures: a packet that requests
// records, and one hop. 400 Gb/s is 40000·10^7: 0x7 and 0x9c40. 5.123456789 s are 0x13161bf15 ns.
func TestStacksGolden(t *testing.T) {
	word := "00102030405" + "7" + "9c40"
	for _, c := range []struct {
		format  string
		sojourn bool
		hops    int
		want    string
	}{
		// shim: type 1, 10 words; version 2, hop ML 7, 15 hops remain; bits 0, 1, 3, 5; domain, instruction
		{"int-md", false, 0, "100a0000" + "2000070f" + "d4005752" + "80000000" +
			"000a0b0c" + "01020304" + "03123456" + "000000013161bf15" + word},
		{"int-md", true, 2, "100b0000" + "20000801" + "f4005752" + "80000000" +
			"000a0b0c" + "01020304" + "000003e8" + "03123456" + "000000013161bf15" + word},
		// namespace; node length 7, no flags, 7 words remain; bits 0, 1, 2, 3, 6, 10; filled from the end
		{"ioam", false, 2, "0000" + "0057" + "3807" + "f2200000" + strings.Repeat("00", 28) +
			"3d0a0b0c" + "01020304" + "00000005" + "075bcd15" + "00123456" + word},
		{"ioam", true, 1, "0000" + "0057" + "4000" + "fa200000" +
			"3d0a0b0c" + "01020304" + "00000005" + "075bcd15" + "000003e8" + "00123456" + word},
		// bits 12, 13: the lower 32 bits of the bytes; code 6 in the upper 6 bits
		{"ioam-gafni", false, 1, "0000" + "0057" + "3800" + "f20c0000" +
			"3d0a0b0c" + "01020304" + "00000005" + "075bcd15" + "00123456" + "02030405" + "18000000"},
		// version 2, live traffic, 16·8 words at most; hop limit 253, 8 words; speed 6, ECN 1, queue 3, 5 s,
		// 123455789 ns of arrival, 1000 ns; 0x123456 bytes are 0x1235 cells
		{"ifa", false, 0, "20000480" + "0000fd08" + "0a0b0c3d" + "64300005" + "03040102" + "075bc92d" + "000003e8" +
			"00123456" + "00001235" + "00000000"},
		{"ifa-ext", false, 0, "2f0004a0" + "0000fd0a" + "1a0b0c3d" + "64300005" + "03040102" + "075bc92d" + "000003e8" +
			"00123456" + "00001235" + "00000000" + word},
	} {
		t.Run(c.format+fmt.Sprint(c.sojourn), func(t *testing.T) {
			f := newFormat(t, c.format)
			if err := f.SetShape(c.hops, c.sojourn); err != nil {
				t.Fatal(err)
			}
			p, h := goldenHop()
			f.AddRequest(p, HopRecords, false)
			if !f.PushRecord(p, h) {
				t.Fatal("not written")
			}
			if got := hex.EncodeToString(p.Stack()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestCounter_KeepsRateAndBytes checks that the counter's word is exact for all rates of switches, within 1 in 13000
// for others, and modulo 2^44 bytes.
func TestCounter_KeepsRateAndBytes(t *testing.T) {
	for _, r := range []unit.Rate{0, 1, 65535, 10 * unit.Mbps, unit.Gbps, 10 * unit.Gbps, 25 * unit.Gbps, 400 * unit.Gbps,
		1600 * unit.Gbps, 3 * 800 * unit.Gbps, 33_333_333_333, 655_355, 655_399, 9_223_372_036_854_775_807} {
		t.Run(r.String(), func(t *testing.T) {
			sent, got := decodeCounter(encodeCounter(1<<44+5, r))
			if sent != 5 {
				t.Errorf("%d bytes", sent)
			}
			if off := float64(got-r) / float64(max(r, 1)); off > 1/13000. || off < -1/13000. {
				t.Errorf("%v came back as %v", r, got)
			}
			if exact := r < 1<<16 || r%(100*unit.Mbps) == 0 && r < 6553*unit.Gbps; exact && got != r {
				t.Errorf("%v came back as %v", r, got)
			}
		})
	}
	if _, r := decodeCounter(noCounter); r != 0 {
		t.Errorf("a node without a counter has the rate %v", r)
	}
	decodeCounter(1<<64 - 2) // no panic, whatever a foreign node writes
}

// TestStackLimits checks values beyond a field: queues and times in the switch become the largest value, and bytes and
// seconds wrap.
func TestStackLimits(t *testing.T) {
	for _, c := range []struct {
		format string
		queue  unit.Bytes
		stay   unit.Time
		tx     uint64
	}{
		{"int-md", 1<<24 - 1, (1<<32 - 2) * ns, 7},
		{"ioam", 1<<32 - 2, (1<<31 - 1) * ns, 7},
		{"ioam-gafni", 1<<32 - 2, (1<<31 - 1) * ns, 7},
		{"ifa-ext", 1<<32 - 2, (1<<32 - 2) * ns, 7},
	} {
		t.Run(c.format, func(t *testing.T) {
			f := newFormat(t, c.format)
			if err := f.SetShape(0, true); err != nil {
				t.Fatal(err)
			}
			p, h := goldenHop()
			h.Queue, h.Sojourn, h.TxBytes, h.Time = 1<<50, 20*unit.Second, 1<<44+7, 30*unit.Second
			f.AddRequest(p, HopRecords, false)
			f.PushRecord(p, h)
			h.Queue, h.Sojourn, h.TxBytes, h.Time = -5, 0, 1<<44+7, -unit.Second-1
			f.PushRecord(p, h)
			var r Records
			if what, _ := f.ReadRequest(p, &r); what != Recorded || r.Len() != 2 {
				t.Fatalf("%d, %+v", what, r.Hops())
			}
			x, y := r.At(0), r.At(1)
			if x.Queue != c.queue || x.Sojourn != c.stay || x.TxBytes != c.tx || x.Time != 30*unit.Second {
				t.Errorf("%+v", x)
			}
			if s := f.WrapSpan().Time; y.Queue != 0 || y.Sojourn != 0 || y.TxBytes != 7 || y.Time != -unit.Second-ns+s {
				t.Errorf("%+v", y)
			}
		})
	}
}

// TestStacksQuantise checks that what a sender gets back differs from what switches wrote by less than a nanosecond,
// and by the rate's rounding. The newest record of a packet is the last.
func TestStacksQuantise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for _, name := range []string{"int-md", "ioam", "ioam-gafni", "ifa-ext"} {
		t.Run(name, func(t *testing.T) {
			for range 500 {
				f := newFormat(t, name)
				if err := f.SetShape(1+random.IntN(f.Profile.MaxHops-1), random.IntN(2) == 0); err != nil {
					t.Fatal(err)
				}
				p, hops := &packet.Packet{HopLimit: 64}, make([]Hop, 1+random.IntN(f.Hops))
				f.AddRequest(p, HopRecords, false)
				for i := range hops {
					hops[i] = Hop{Time: unit.Second + unit.Time(random.Int64N(int64(1000*unit.Second))),
						TxBytes: random.Uint64N(1 << 32),
						Queue:   unit.Bytes(random.Int64N(1 << 24)), Rate: speedCodes[random.IntN(len(speedCodes))],
						Sojourn: unit.Time(random.Int64N(int64(unit.Second))), Switch: random.Uint32N(1 << 20),
						Port: uint16(random.Uint32())}
					if !f.PushRecord(p, &hops[i]) {
						t.Fatal("not written")
					}
				}
				f.MakeAnswer(p)
				var r Records
				if what, _ := f.ReadAnswer(p, &r); what != Recorded || r.Len() != len(hops) || r.MissedHops() != 0 {
					t.Fatalf("%d, %d of %d hops, %d missed", what, r.Len(), len(hops), r.MissedHops())
				}
				for i := range hops {
					checkQuantised(t, f, &hops[i], r.At(i))
				}
			}
		})
	}
}

func checkQuantised(t *testing.T, f *Format, h, got *Hop) {
	t.Helper()
	if d := h.Time - got.Time; d < 0 || d >= ns {
		t.Errorf("%v came back as %v", h.Time, got.Time)
	}
	if d := h.Sojourn - got.Sojourn; f.CarriedFields()&Sojourn != 0 && (d <= -ns || d >= ns) {
		t.Errorf("in the switch for %v came back as %v", h.Sojourn, got.Sojourn)
	}
	if got.TxBytes != h.TxBytes || got.Queue != h.Queue || got.Rate != h.Rate || got.Switch != h.Switch ||
		got.Port != h.Port {
		t.Errorf("%+v came back as %+v", h, got)
	}
}

// TestFormat_SetShapeRejectsImpossibleShapes checks that shapes that a format cannot have are errors: hops that no
// packet has room for, a time in the switch that no record has, rates without a code.
func TestFormat_SetShapeRejectsImpossibleShapes(t *testing.T) {
	for _, c := range []struct {
		format  string
		hops    int
		sojourn bool
		says    string
	}{
		{"hpcc", 6, false, "room for 5 hops at most"},
		{"hpcc", 4, false, ""},
		{"hpcc", 0, true, "no room for the time in the switch"},
		{"int-md", 16, true, ""},
		{"int-md", 17, false, "room for 16 hops"},
		{"ioam", 8, false, ""},
		{"ioam", 8, true, "room for 7 hops"},
		{"ioam-gafni", 9, false, "room for 8 hops"},
		{"ifa", 16, true, ""},
		{"relative", 1, false, "without effect"},
		{"relative", 0, true, "no room for the time"},
	} {
		t.Run(fmt.Sprint(c.format, c.hops, c.sojourn), func(t *testing.T) {
			f := newFormat(t, c.format)
			if err := f.SetShape(c.hops, c.sojourn); (err == nil) != (c.says == "") ||
				err != nil && !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	var many []unit.Rate
	for i := range 60 {
		many = append(many, unit.Rate(i+1)*unit.Mbps)
	}
	if _, err := NewFormat("ioam-gafni", 1, 1.05, many); err == nil {
		t.Error("more rates than codes")
	}
	f := newFormat(t, "ioam-gafni", 7*unit.Gbps)
	if !f.CanRepresent(7*unit.Gbps) || f.CanRepresent(8*unit.Gbps) || !newFormat(t, "ioam").CanRepresent(8*unit.Gbps) {
		t.Error("which rates have codes")
	}
}

var stacked = [...]string{"int-md", "ioam", "ioam-gafni", "ifa", "ifa-ext"}

// FuzzFormat_StaysWithinExtensionRoom checks for any extensions of a packet that reading and writing neither fail nor
// exceed their room. A record that is pushed into a readable stack is read back.
func FuzzFormat_StaysWithinExtensionRoom(f *testing.F) {
	f.Add(uint8(0), []byte{5, 0, 0, 0}, uint8(0))
	f.Add(uint8(7), make([]byte, 42), uint8(0))
	for i, name := range stacked {
		x := newFormat(f, name)
		p, h := goldenHop()
		x.AddRequest(p, HopRecords, false)
		f.Add(uint8(i), append([]byte(nil), p.Stack()...), uint8(i+1))
		x.PushRecord(p, h)
		f.Add(uint8(i), append([]byte(nil), p.Stack()...), uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, kind uint8, data []byte, which uint8) {
		name, p := "hpcc", &packet.Packet{}
		if n := int(which) % (len(stacked) + 1); n > 0 {
			name = stacked[n-1]
			p.SetStack(packet.StackPosition(kind&3), data)
		} else {
			p.SetExtension(0x38+kind&7, data)
		}
		x := newFormat(t, name)
		x.LoadInterval = unit.Microsecond
		fuzzFormat(t, x, p)
	})
}

func fuzzFormat(t *testing.T, x *Format, p *packet.Packet) {
	var before, r Records
	readable, _ := x.ReadRequest(p, &before)
	random := unit.NewRandom(1, "fuzz")
	pushed := 0
	for i := range 7 {
		if x.PushRecord(p, someHop(i+1)) {
			pushed++
		}
		if x.RequestsOf(p)&WantsLoad != 0 {
			x.PushLoad(p, 1, random)
		}
	}
	what, _ := x.ReadRequest(p, &r)
	if readable == Recorded && (what != Recorded || r.Len() != min(before.Len()+pushed, MaxHops)) &&
		x.Profile.Name != "hpcc" {
		t.Errorf("%d hops, %d pushed, then %d: %d", before.Len(), pushed, r.Len(), what)
	}
	x.MakeAnswer(p)
	if what, _ := x.ReadAnswer(p, &r); what == Recorded && r.Len() > MaxHops {
		t.Errorf("%d hops", r.Len())
	}
	if x.RequestsOf(p) != 0 {
		t.Errorf("an answer asks for %d", x.RequestsOf(p))
	}
}

// TestFormat_ReadsMicrosecondTimes checks that times of a trace in microseconds (RFC 9197 §5.3), as Linux writes them,
// are read as such, and written rounded down.
func TestFormat_ReadsMicrosecondTimes(t *testing.T) {
	f := newFormat(t, "ioam")
	f.Microseconds = true
	p := &packet.Packet{HopLimit: 64}
	f.AddRequest(p, HopRecords, false)
	h := Hop{Time: 3*unit.Second + 999_999_999*unit.Nanosecond, Rate: 10 * unit.Gbps}
	f.PushRecord(p, &h)
	var r Records
	if f.ReadRequest(p, &r); r.Len() != 1 || r.At(0).Time != 3*unit.Second+999_999*unit.Microsecond {
		t.Errorf("%+v", r.Hops())
	}
	b := p.Stack()
	if at := len(b) - 28 + 12; binary.BigEndian.Uint32(b[at:]) != 999_999 {
		t.Errorf("% x", b[at:])
	}
}

// TestTransitDelayOverflow checks RFC 9197 §4.4.2.5: a transit delay that does not fit into 31 bits sets the overflow
// bit, and the rest is 0: a value of 80000000 hex. A reader takes any delay with the bit for the longest that fits.
func TestTransitDelayOverflow(t *testing.T) {
	for ns, want := range map[int64]uint32{-5: 0, 0: 0, 1<<31 - 1: 1<<31 - 1, 1 << 31: 1 << 31, 1 << 40: 1 << 31} {
		if got := transitDelay(ns); got != want {
			t.Errorf("%d ns are written as %#x, want %#x", ns, got, want)
		}
	}
	f := newFormat(t, "ioam")
	f.Sojourn = true
	kind := f.ioamType()
	for _, x := range []struct{ sojourn, want unit.Time }{{3 * unit.Second, maxIOAMDelay * unit.Nanosecond},
		{2 * unit.Second, 2 * unit.Second}} {
		b, h := make([]byte, 4*nodeWords(kind)), Hop{}
		f.writeIOAM(b, kind, &packet.Packet{}, &Hop{Sojourn: x.sojourn, Rate: unit.Gbps})
		if f.decodeIOAM(b, kind, true, &h); h.Sojourn != x.want || h.Flags&NoSojourn != 0 {
			t.Errorf("a sojourn of %v is read as %v", x.sojourn, h.Sojourn)
		}
	}
}

// TestOverflowStays follows RFC 9197 §4.4.1: a node that finds the overflow bit set adds no record, also where there is
// room.
func TestOverflowStays(t *testing.T) {
	f, p := newFormat(t, "ioam"), &packet.Packet{}
	stack := f.openIOAM(nil)
	stack[4] |= ioamO >> 8
	p.SetStack(packet.HopByHop, stack)
	before := bytes.Clone(p.Stack())
	if f.pushIOAM(p, &Hop{Switch: 1, Rate: unit.Gbps}) || !bytes.Equal(p.Stack(), before) {
		t.Errorf("% x became % x", before, p.Stack())
	}
}

// TestOpaqueSnapshots checks RFC 9197 §4.4.2.13: a record may end in an opaque snapshot with a length of its own, which
// is not in the node length. The next record begins behind it.
func TestOpaqueSnapshots(t *testing.T) {
	kind := uint32(1<<23 | 1<<(23-ioamOpaque))
	b := binary.BigEndian.AppendUint16([]byte{0, 0}, IOAMNamespace)
	b = binary.BigEndian.AppendUint16(b, 1<<11)
	b = binary.BigEndian.AppendUint32(b, kind<<8)
	for id := byte(3); id > 0; id-- { // newest first, with snapshots of 3, 2 and 1 words
		b = append(append(b, 60, 0, 0, id, id, 0, 0, 9), make([]byte, 4*int(id))...)
	}
	var r Records
	if !newFormat(t, "ioam").readIOAM(b, &r) || r.Len() != 3 {
		t.Fatalf("%d records", r.Len())
	}
	for i, h := range r.Hops() {
		if h.Switch != uint32(i+1) {
			t.Errorf("record %d is of switch %d", i+1, h.Switch)
		}
	}
}
