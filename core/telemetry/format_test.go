package telemetry

import (
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

// bytesOf returns how many bytes a format takes of a frame after the given number of hops, by hand.
func bytesOf(format string, hops int) int32 {
	switch format {
	case "hpcc":
		return 48 // 2 + 2 + 42, in multiples of 8
	case "int-md":
		return int32(4 + 12 + 28*hops)
	case "ioam", "ioam-gafni":
		return 160 // 2 + 2 + 2 + 2 + 8 + 5·28 = 156
	case "ifa":
		return int32(4 + 4 + 32*hops)
	}
	return int32(4 + 4 + 40*hops) // ifa-ext
}

// TestFormat_PushesUpToMaxHops checks the request of a packet, the records of switches, the answer, and how many of
// their bytes count in frames. Of 18 hops, as many as there is room for have records, and the others are missed. IFA
// reports their number, HPCC's header up to 15 hops, and INT and IOAM only that there were some.
func TestFormat_PushesUpToMaxHops(t *testing.T) {
	for _, profile := range Profiles {
		if profile.Name == "relative" { // TestRelative_ReturnsMaxLoad
			continue
		}
		t.Run(profile.Name, func(t *testing.T) {
			f := newFormat(t, profile.Name)
			p := &packet.Packet{Size: 1000, HopLimit: 64}
			if f.RequestsOf(p) != 0 || f.MakeAnswer(p) {
				t.Error("a packet that asks for nothing does")
			}
			if !f.AddRequest(p, HopRecords, false) || f.RequestsOf(p) != WantsRecord {
				t.Fatalf("asks for %d", f.RequestsOf(p))
			}
			p.Size += p.ExtensionBytes()
			for i := 1; i <= 18; i++ {
				if got := f.PushRecord(p, someHop(i)); got != (i <= f.Hops) {
					t.Errorf("hop %d: %v", i, got)
				}
				want := 1000 + bytesOf(profile.Name, min(i, f.Hops))
				if p.Size != want || p.ExtensionBytes() != want-1000 || f.Bytes(i) != want-1000 {
					t.Errorf("%d bytes after hop %d, want %d", p.Size, i, want)
				}
			}
			if most := bytesOf(profile.Name, f.Hops); f.MaxBytes() != most {
				t.Errorf("%d bytes at most, want %d", f.MaxBytes(), most)
			}
			checkAnswer(t, f, p)
		})
	}
}

// checkAnswer turns p, which has passed 18 hops, into an answer, and reads it.
func checkAnswer(t *testing.T, f *Format, p *packet.Packet) {
	var r Records
	if what, _ := f.ReadAnswer(p, &r); what != NoAnswer {
		t.Error("what is asked for is no answer")
	}
	if what, _ := f.ReadRequest(p, &r); what != Recorded || r.Len() != f.Hops {
		t.Errorf("a receiver reads %d, %+v", what, r.Hops())
	}
	p.SetExtension(packet.ExtActivity, []byte{1, 2, 3, 4})
	if !f.MakeAnswer(p) || f.RequestsOf(p) != 0 {
		t.Error("no answer")
	}
	if _, ok := p.Extension(packet.ExtActivity); ok {
		t.Error("the answer has more than telemetry")
	}
	missed, path := map[string]int{"hpcc": 10, "ifa": 2, "ifa-ext": 2}[f.Profile.Name], uint16(0)
	if missed == 0 {
		missed = 1
	}
	for i := 1; i <= f.Hops; i++ {
		path ^= uint16(i)
	}
	if f.Profile.Name == "hpcc" { // missed hops are in it, too
		path = 1 ^ 2 ^ 3 ^ 4 ^ 5 ^ 6 ^ 7 ^ 8 ^ 9 ^ 10 ^ 11 ^ 12 ^ 13 ^ 14 ^ 15 ^ 16 ^ 17 ^ 18
	}
	if what, _ := f.ReadAnswer(p, &r); what != Recorded || r.Len() != f.Hops || r.MissedHops() != missed ||
		r.PathID() != path {
		t.Fatalf("%d, %d hops, %d missed, path %d; want %d, %d, %d", what, r.Len(), r.MissedHops(), r.PathID(), f.Hops,
			missed, path)
	}
	for i := range r.Hops() {
		want := quantised(f, someHop(i+1))
		if *r.At(i) != want {
			t.Errorf("hop %d is %+v, want %+v", i+1, *r.At(i), want)
		}
	}
}

// quantised returns a hop of someHop as it is read back: whole nanoseconds, and only the fields of the format.
func quantised(f *Format, h *Hop) Hop {
	x := *h
	x.Time--
	if f.CarriedFields()&Sojourn == 0 {
		x.Sojourn, x.Flags = 0, NoSojourn
	}
	if f.CarriedFields()&Identity == 0 {
		x.Switch, x.Port, x.Flags = 0, 0, x.Flags|NoSwitch
	}
	if f.CarriedFields()&TxBytes == 0 {
		x.TxBytes = 0
	}
	return x
}

// TestIfCongested checks telemetry upon congestion only: a packet has only the indication, 8 bytes with its header,
// until a congested switch makes room for records. Where the framing includes telemetry, packets do not grow.
func TestIfCongested(t *testing.T) {
	for _, counted := range []bool{false, true} {
		t.Run(fmt.Sprint("counted ", counted), func(t *testing.T) {
			for _, profile := range []string{"hpcc", "int-md"} {
				f := newFormat(t, profile)
				f.InFraming, f.LoadInterval, f.Load = counted, unit.Microsecond, 0.8
				p := &packet.Packet{Size: 1000}
				f.AddRequest(p, HopRecords, true)
				if p.ExtensionBytes() != 8 || f.RequestsOf(p) != WantsRecordIfCongested {
					t.Errorf("%d bytes, wants %d", p.ExtensionBytes(), f.RequestsOf(p))
				}
				p.Size += 8
				q := *p
				if f.MakeAnswer(&q); true {
					var r Records
					if what, load := f.ReadAnswer(&q, &r); what != Uncongested || load != 0.8 {
						t.Errorf("no hop was congested: %d, %v", what, load)
					}
				}
				if !f.PushRecord(p, someHop(3)) || f.RequestsOf(p) != WantsRecordIfCongested {
					t.Errorf("the second congested switch: wants %d", f.RequestsOf(p))
				}
				want := int32(1008)
				if !counted && profile == "hpcc" {
					want = 1048 // 2 + 2 + 2 + 42
				} else if !counted {
					want = 1008 + 16 + 28
				}
				if p.Size != want {
					t.Errorf("%s: %d bytes, want %d", profile, p.Size, want)
				}
				f.PushRecord(p, someHop(5))
				f.MakeAnswer(p)
				var r Records
				path := uint16(3 ^ 5)
				if profile == "hpcc" {
					path ^= (13*portSpread ^ 15*portSpread) & 0xfff
				}
				if what, _ := f.ReadAnswer(p, &r); what != Recorded || r.Len() != 2 || r.PathID() != path {
					t.Errorf("%s: %d, %d hops, path %d", profile, what, r.Len(), r.PathID())
				}
				if _, ok := p.Extension(IfCongested &^ Asked); ok {
					t.Error("the indication is left in the answer")
				}
			}
		})
	}
}

// TestIfCongestedPorts checks that records of two ports of one switch belong to two paths, also where no other switch
// is congested. Otherwise a sender would compare their counters.
func TestIfCongestedPorts(t *testing.T) {
	for _, profile := range []string{"hpcc", "int-md"} {
		f, paths := newFormat(t, profile), map[uint16]bool{}
		f.LoadInterval, f.Load = unit.Microsecond, 0.8
		var all Unwrapper
		all.Span = f.WrapSpan()
		for port := range uint16(128) {
			p, h := &packet.Packet{Size: 1000}, someHop(3)
			f.AddRequest(p, HopRecords, true)
			h.Port = port
			f.PushRecord(p, h)
			f.MakeAnswer(p)
			var r Records
			f.ReadAnswer(p, &r)
			if paths[r.PathID()] = true; !all.Unwrap(unit.Time(port), &r) && port < MaxPaths || len(all.more) !=
				min(int(port), MaxPaths-1) {
				t.Fatalf("%s: port %d, %d paths", profile, port, 1+len(all.more))
			}
		}
		if profile == "hpcc" && len(paths) != 128 {
			t.Errorf("%d identities", len(paths))
		}
		p := &packet.Packet{Size: 1000}
		f.AddRequest(p, HopRecords, false)
		f.PushRecord(p, someHop(3))
		f.MakeAnswer(p)
		var r Records
		if f.ReadAnswer(p, &r); r.PathID() != 3 {
			t.Errorf("%s: where every hop writes the path is %d, want the switch's", profile, r.PathID())
		}
	}
}

// TestLoadCode checks PINT: a packet carries the largest load, in one byte or two.
func TestLoadCode(t *testing.T) {
	for base, bytes := range map[float64]int32{1.05: 8, 1.01: 8} {
		t.Run(fmt.Sprint("base ", base), func(t *testing.T) {
			f, err := NewFormat("hpcc", 1, base, nil)
			if err != nil {
				t.Fatal(err)
			}
			f.LoadInterval = unit.Microsecond
			p := &packet.Packet{}
			if f.AddRequest(p, PathLoad, false); f.RequestsOf(p) != WantsLoad || p.ExtensionBytes() != bytes {
				t.Errorf("wants %d, %d bytes", f.RequestsOf(p), p.ExtensionBytes())
			}
			random := unit.NewRandom(1, "pint")
			for _, load := range []float64{0.2, 1.7, 0.9} {
				f.PushLoad(p, load, random)
			}
			f.MakeAnswer(p)
			var r Records
			if what, load := f.ReadAnswer(p, &r); what != Loaded || load < 1.7/base-0.01 || load > 1.7*base+0.01 {
				t.Errorf("the load is %v", load)
			}
		})
	}
	f := newFormat(t, "hpcc") // switches do not average
	p := &packet.Packet{}
	if f.AddRequest(p, PathLoad, false); f.RequestsOf(p) != 0 {
		t.Error("a load is wanted of a switch that has none")
	}
}

// TestFormatRates checks the codes of rates: the network's other rates take the three codes that are free.
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

func TestFormat_DoesNotAllocate(t *testing.T) {
	for _, name := range []string{"hpcc", "int-md", "ioam", "ifa-ext"} {
		t.Run(name, func(t *testing.T) {
			f := newFormat(t, name)
			p, r, h := &packet.Packet{}, &Records{}, someHop(1)
			if n := testing.AllocsPerRun(100, func() {
				p.ClearExtensions()
				f.AddRequest(p, HopRecords, false)
				f.PushRecord(p, h)
				f.PushRecord(p, h)
				f.MakeAnswer(p)
				f.ReadAnswer(p, r)
			}); n != 0 {
				t.Errorf("%s: %g allocations", name, n)
			}
		})
	}
}
