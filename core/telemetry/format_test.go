package telemetry

import (
	"encoding/hex"
	"fmt"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

func newFormat(t testing.TB, profile string, rates ...unit.Rate) *Format {
	t.Helper()
	f, err := NewFormat(profile, 1, 1.05, rates)
	if err != nil {
		t.Fatal(err)
	}
	return &f
}

func someHop(i int) *Hop {
	return &Hop{Time: unit.Time(i)*unit.Microsecond + 1, TxBytes: uint64(i) * 1280, Queue: unit.Bytes(i) * 160,
		Rate:    100 * unit.Gbps,
		Sojourn: unit.Time(i) * unit.Nanosecond, Switch: uint32(i), Port: uint16(10 + i)}
}

// What a packet asks for, what switches write, what comes back, and what of it counts in
// frames: hpcc as its extension on the wire, others as their profile. Seven hops: the
// first five have records, two are missed, all are in the path's identity.
func TestFormats(t *testing.T) {
	for _, profile := range Profiles {
		if profile.Name == "relative" { // TestRelative
			continue
		}
		f := newFormat(t, profile.Name)
		p := &packet.Packet{Size: 1000}
		if f.Wants(p) != 0 || f.Answer(p) {
			t.Errorf("%s: a packet that asks for nothing does", profile.Name)
		}
		if !f.Ask(p, HopRecords, false) || f.Wants(p) != WantsRecord {
			t.Fatalf("%s: asks for %d", profile.Name, f.Wants(p))
		}
		p.Size += f.Bytes(p)
		for i := 1; i <= 7; i++ {
			if got := f.Push(p, someHop(i)); got != (i <= 5) {
				t.Errorf("%s: hop %d: %v", profile.Name, i, got)
			}
			want := int32(1000 + 48)
			if profile.Name != "hpcc" {
				want = 1000 + profile.Bytes(i)
			}
			if p.Size != want || f.Bytes(p) != want-1000 {
				t.Errorf("%s: %d bytes after hop %d, want %d", profile.Name, p.Size, i, want)
			}
		}
		var r Records
		if what, _ := f.Read(p, &r); what != NoAnswer {
			t.Errorf("%s: what is asked for is no answer", profile.Name)
		}
		if what, _ := f.ReadAsked(p, &r); what != Recorded || r.Len() != 5 {
			t.Errorf("%s: a receiver reads %d, %+v", profile.Name, what, r.Hops())
		}
		p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
		if !f.Answer(p) || f.Wants(p) != 0 {
			t.Errorf("%s: no answer", profile.Name)
		}
		if _, ok := p.Extension(packet.ExtActivity); ok {
			t.Errorf("%s: the answer has more than telemetry", profile.Name)
		}
		if what, _ := f.Read(p, &r); what != Recorded || r.Len() != 5 || r.Missed() != 2 || r.Path() != 1^2^3^4^5^6^7 {
			t.Fatalf("%s: %d, %d hops, %d missed, path %d", profile.Name, what, r.Len(), r.Missed(), r.Path())
		}
		for i := range r.Hops() {
			want := *someHop(i + 1)
			if profile.Name == "hpcc" {
				want = Hop{Time: want.Time - 1, TxBytes: want.TxBytes, Queue: want.Queue, Rate: want.Rate,
					Flags: NoSwitch | NoSojourn}
			}
			if *r.At(i) != want {
				t.Errorf("%s: hop %d is %+v, want %+v", profile.Name, i+1, *r.At(i), want)
			}
		}
	}
}

// Records in full, by hand: hops, missed, path, then time 8, bytes 6, rate 6, queue 5,
// sojourn 5, switch 4, port 2; what does not fit is the largest, but bytes begin anew.
func TestInFullGolden(t *testing.T) {
	f := newFormat(t, "int-md")
	p := &packet.Packet{}
	f.Ask(p, HopRecords, false)
	f.Push(p, &Hop{Time: -2, TxBytes: 1<<48 + 5, Queue: 1 << 50, Rate: 10 * unit.Gbps, Sojourn: 7,
		Switch: 0x1002, Port: 3})
	b, _ := p.Extension(InFull)
	want := "01000002" + "fffffffffffffffe" + "000000000005" + "0002540be400" + "ffffffffff" + "0000000007" +
		"00001002" + "0003"
	if hex.EncodeToString(b) != want {
		t.Errorf("%x, want %s", b, want)
	}
	if f.Span() != (Span{Bytes: 1 << 48}) || newFormat(t, "hpcc").Span() != newFormat(t, "hpcc").HPCC.Span() {
		t.Error("spans")
	}
}

// §6, upon congestion only: nothing but the indication, 8 bytes with its header, until a
// congested switch makes room. Where the framing has telemetry already nothing grows.
func TestIfCongested(t *testing.T) {
	for _, counted := range []bool{false, true} {
		t.Run(fmt.Sprint("counted ", counted), func(t *testing.T) {
			for _, profile := range []string{"hpcc", "int-md"} {
				f := newFormat(t, profile)
				f.Counted, f.T, f.Load = counted, unit.Microsecond, 0.8
				p := &packet.Packet{Size: 1000}
				f.Ask(p, HopRecords, true)
				if f.Bytes(p) != 8 || f.Wants(p) != WantsIf {
					t.Errorf("%d bytes, wants %d", f.Bytes(p), f.Wants(p))
				}
				p.Size += 8
				q := *p
				if f.Answer(&q); true {
					var r Records
					if what, load := f.Read(&q, &r); what != Uncongested || load != 0.8 {
						t.Errorf("no hop was congested: %d, %v", what, load)
					}
				}
				if !f.Push(p, someHop(3)) || f.Wants(p) != WantsIf {
					t.Errorf("the second congested switch: wants %d", f.Wants(p))
				}
				want := int32(1008)
				if !counted && profile == "hpcc" {
					want = 1048 // 2 + 2 + 2 + 42
				} else if !counted {
					want = 1008 + 44
				}
				if p.Size != want {
					t.Errorf("%s: %d bytes, want %d", profile, p.Size, want)
				}
				f.Push(p, someHop(5))
				f.Answer(p)
				var r Records
				if what, _ := f.Read(p, &r); what != Recorded || r.Len() != 2 || r.Path() != 3^5 {
					t.Errorf("%s: %d, %d hops, path %d", profile, what, r.Len(), r.Path())
				}
				if _, ok := p.Extension(IfCongested &^ Asked); ok {
					t.Error("the indication is left in the answer")
				}
			}
		})
	}
}

// PINT: a packet carries the largest load, in one byte or two.
func TestLoadCode(t *testing.T) {
	for base, bytes := range map[float64]int32{1.05: 8, 1.01: 8} {
		t.Run(fmt.Sprint("base ", base), func(t *testing.T) {
			f, err := NewFormat("hpcc", 1, base, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.T = unit.Microsecond
			p := &packet.Packet{}
			if f.Ask(p, PathLoad, false); f.Wants(p) != WantsLoad || f.Bytes(p) != bytes {
				t.Errorf("wants %d, %d bytes", f.Wants(p), f.Bytes(p))
			}
			random := unit.NewRandom(1, "pint")
			for _, load := range []float64{0.2, 1.7, 0.9} {
				f.PushLoad(p, load, random)
			}
			f.Answer(p)
			var r Records
			if what, load := f.Read(p, &r); what != Loaded || load < 1.7/base-0.01 || load > 1.7*base+0.01 {
				t.Errorf("the load is %v", load)
			}
		})
	}
	f := newFormat(t, "hpcc") // switches do not average
	p := &packet.Packet{}
	if f.Ask(p, PathLoad, false); f.Wants(p) != 0 {
		t.Error("a load is wanted of a switch that has none")
	}
}

// Rate codes: the network's other rates take the three that are free.
func TestFormatRates(t *testing.T) {
	f := newFormat(t, "hpcc", 10*unit.Gbps, 40*unit.Gbps, 100*unit.Gbps)
	if f.HPCC.Rates[5] != 10*unit.Gbps || f.HPCC.Rates[6] != 40*unit.Gbps || f.HPCC.Rates[7] != 0 {
		t.Errorf("%v", f.HPCC.Rates)
	}
	if _, err := NewFormat("hpcc", 1, 1.05, []unit.Rate{1, 2, 3, 4}); err == nil {
		t.Error("nine rates have codes")
	}
	if _, err := NewFormat("int-md", 1, 1.05, []unit.Rate{1, 2, 3, 4}); err != nil {
		t.Error(err)
	}
	if _, err := NewFormat("csig", 1, 1.05, nil); err == nil {
		t.Error("a profile that is not known is taken")
	}
}

func TestFormatAllocatesNothing(t *testing.T) {
	for _, name := range []string{"hpcc", "int-md"} {
		t.Run(name, func(t *testing.T) {
			f := newFormat(t, name)
			p, r, h := &packet.Packet{}, &Records{}, someHop(1)
			if n := testing.AllocsPerRun(100, func() {
				p.ClearExtensions()
				f.Ask(p, HopRecords, false)
				f.Push(p, h)
				f.Push(p, h)
				f.Answer(p)
				f.Read(p, r)
			}); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		})
	}
}

// Whatever stands in a packet's extensions, reading and writing neither fail nor leave
// the room that there is.
func FuzzFormat(f *testing.F) {
	f.Add(uint8(0), []byte{5, 0, 0, 0}, true)
	f.Add(uint8(1), make([]byte, 42), false)
	f.Fuzz(func(t *testing.T, kind uint8, data []byte, full bool) {
		name := "hpcc"
		if full {
			name = "int-md"
		}
		x := newFormat(t, name)
		x.T = unit.Microsecond
		p := &packet.Packet{}
		p.SetExtension(0x38+kind&7, data)
		x.Wants(p)
		x.Bytes(p)
		random := unit.NewRandom(1, "fuzz")
		for i := range 7 {
			x.Push(p, someHop(i))
			if x.Wants(p)&WantsLoad != 0 {
				x.PushLoad(p, 1, random)
			}
		}
		var r Records
		x.ReadAsked(p, &r)
		x.Answer(p)
		if what, _ := x.Read(p, &r); what == Recorded && r.Len() > FormatHops {
			t.Errorf("%d hops", r.Len())
		}
		if x.Wants(p) != 0 {
			t.Errorf("an answer asks for %d", x.Wants(p))
		}
	})
}
