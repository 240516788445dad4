package unit

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
	"testing/quick"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		in   string
		want fmt.Stringer
		back string // how it prints; "" for in
	}{
		{"5ms", 5 * Millisecond, ""}, {"5 ms", 5 * Millisecond, "5ms"}, {"13us", 13 * Microsecond, ""}, {"13µs", 13 * Microsecond, "13us"},
		{"1.5s", 1500 * Millisecond, ""}, {"2min", 120 * Second, "120s"}, {"1h", 3600 * Second, "3600s"}, {"20ps", 20 * Picosecond, ""},
		{"0.001ns", Picosecond, "1ps"}, {"300ms", 300 * Millisecond, ""}, {"0s", Time(0), ""}, {"9.125us", 9125 * Nanosecond, ""},
		{"100Gbps", 100 * Gbps, ""}, {"10kbps", 10 * Kbps, ""}, {"0.05Gbps", 50 * Mbps, "50Mbps"}, {"1bps", Rate(1), ""}, {"1.5Tbps", 1500 * Gbps, ""},
		{"4170pps", PacketRate(4170), "4.17kpps"}, {"4.17kpps", PacketRate(4170), ""}, {"7pps", PacketRate(7), ""},
		{"32MB", 32 * MB, ""}, {"80 B", Bytes(80), "80B"}, {"64KiB", Bytes(65536), "65.536kB"}, {"1.5kB", Bytes(1500), ""}, {"9KB", Bytes(9000), "9kB"},
		{"24 packets", Length{Packets: 24}, ""}, {"1 packet", Length{Packets: 1}, ""}, {"24packets", Length{Packets: 24}, "24 packets"}, {"36kB", Length{Bytes: 36000}, ""},
	} {
		var got fmt.Stringer
		var err error
		switch c.want.(type) {
		case Time:
			got, err = ParseTime(c.in)
		case Rate:
			got, err = ParseRate(c.in)
		case PacketRate:
			got, err = ParsePacketRate(c.in)
		case Bytes:
			got, err = ParseBytes(c.in)
		case Length:
			got, err = ParseLength(c.in)
		}
		back := c.back
		if back == "" {
			back = c.in
		}
		if err != nil || got != c.want || got.String() != back {
			t.Errorf("%q: got %v (%v), want %s", c.in, got, err, back)
		}
	}
	for in, want := range map[string]LinkRate{"4170pps": {Packets: 4170}, "50Mbps": {Bits: 50 * Mbps}} {
		if got, err := ParseLinkRate(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
	for in, want := range map[string]float64{"85%": .85, "0.2 %": .002, "0.85": .85, "100%": 1} {
		if got, err := ParseShare(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v", in, got, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	parse := map[string]func(string) error{
		"time":   func(s string) error { _, err := ParseTime(s); return err },
		"rate":   func(s string) error { _, err := ParseRate(s); return err },
		"link":   func(s string) error { _, err := ParseLinkRate(s); return err },
		"pps":    func(s string) error { _, err := ParsePacketRate(s); return err },
		"bytes":  func(s string) error { _, err := ParseBytes(s); return err },
		"length": func(s string) error { _, err := ParseLength(s); return err },
		"share":  func(s string) error { _, err := ParseShare(s); return err },
	}
	for _, c := range []struct{ kind, in, want string }{
		{"time", "5", "has no unit"}, {"time", "", "is not a time"}, {"time", "-5ms", "is not a time"}, {"time", "5mbps", "allowed are h, min"},
		{"time", "5  ms", "not a unit"}, {"time", "1..5ms", "not a decimal"}, {"time", ".5ms", "not a decimal"}, {"time", "5.ms", "not a decimal"},
		{"time", "1.0001ps", "finer than"}, {"time", "99999999999999999999s", "too large"}, {"time", "9999999999s", "too large"}, {"time", "5 ms ", "not a unit"},
		{"rate", "100Gb", "allowed are Tbps"}, {"rate", "100", "has no unit"}, {"rate", "4170pps", "not a unit of a rate"},
		{"rate", "0.5bps", "finer"}, {"link", "0Gbps", "above 0"}, {"link", "0pps", "above 0"}, {"link", "9", "pps"}, {"pps", "5Mbps", "kpps"},
		{"bytes", "32mb", "allowed are TB"}, {"bytes", "0.5B", "finer"}, {"length", "2.5 packets", "whole number"}, {"length", "24", "packets"},
		{"length", "99999999999 packets", "2³¹"}, {"share", "x%", "85%"}, {"share", "5kB", "85%"},
	} {
		if err := parse[c.kind](c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: error %v, want one with %q", c.kind, c.in, err, c.want)
		}
	}
}

// Reading what was printed gives the value again.
func FuzzRoundTrip(f *testing.F) {
	f.Add(int64(0))
	f.Add(int64(1514 * 8))
	f.Add(int64(1<<63 - 1))
	f.Fuzz(func(t *testing.T, v int64) {
		if v < 0 {
			v = -(v + 1)
		}
		if got, err := ParseTime(Time(v).String()); Time(v) != Never && (err != nil || got != Time(v)) {
			t.Errorf("time %d prints %s, reads %d, %v", v, Time(v), got, err)
		}
		if got, err := ParseRate(Rate(v).String()); err != nil || got != Rate(v) {
			t.Errorf("rate %d prints %s, reads %d, %v", v, Rate(v), got, err)
		}
		if got, err := ParseBytes(Bytes(v).String()); err != nil || got != Bytes(v) {
			t.Errorf("bytes %d prints %s, reads %d, %v", v, Bytes(v), got, err)
		}
		if got, err := ParsePacketRate(PacketRate(v).String()); err != nil || got != PacketRate(v) {
			t.Errorf("packet rate %d prints %s, reads %d, %v", v, PacketRate(v), got, err)
		}
		l := Length{Packets: int32(v & 0x7fffffff)}
		if got, err := ParseLength(l.String()); err != nil || got != l {
			t.Errorf("length %v prints %s, reads %v, %v", l, l, got, err)
		}
	})
}

// No input makes a reader panic, and what it takes prints as itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"5ms", "1.5Gbps", "24 packets", "85%", "0.0000000000001s", "18446744073709551615.5B", "9223372036854775807ps"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if v, err := ParseTime(s); err == nil && v != Never {
			if again, err := ParseTime(v.String()); err != nil || again != v {
				t.Errorf("%q is %v is %v (%v)", s, v, again, err)
			}
		}
		ParseLinkRate(s)
		ParseBytes(s)
		ParseLength(s)
		ParseShare(s)
	})
}

// bigCeil is ⌈bytes·8·10¹²/rate⌉ by big integers.
func bigCeil(bytes, rate int64) *big.Int {
	n := new(big.Int).Mul(big.NewInt(bytes), big.NewInt(8_000_000_000_000))
	n.Add(n, big.NewInt(rate-1))
	return n.Div(n, big.NewInt(rate))
}

func TestTransmitTime(t *testing.T) {
	// bytes·8·10¹² leaves int64 above 1.15 MB: 2 MB at 100 Gb/s is 160 µs.
	if got := TransmitTime(2*MB, 100*Gbps); got != 160*Microsecond {
		t.Errorf("2 MB at 100 Gb/s: %v", got)
	}
	if got := TransmitTime(1514, 50*Mbps); got != 242240*Nanosecond {
		t.Errorf("1514 B at 50 Mb/s: %v", got)
	}
	if got := TransmitTime(1<<62, 1); got != Never {
		t.Errorf("4 EB at 1 bit/s: %v", got)
	}
	if got := (100 * Gbps).BytesIn(160 * Microsecond); got != 2*MB {
		t.Errorf("100 Gb/s in 160 µs: %v", got)
	}
	err := quick.Check(func(b, r uint32, shift uint8) bool {
		bytes, rate := int64(b)<<(shift%12), int64(r)+1
		want := bigCeil(bytes, rate)
		got := TransmitTime(Bytes(bytes), Rate(rate))
		if !want.IsInt64() || want.Int64() > int64(Never) {
			return got == Never
		}
		// and back: the bytes fit into that time, one byte more does not
		return int64(got) == want.Int64() && Rate(rate).BytesIn(got) >= Bytes(bytes)
	}, &quick.Config{MaxCount: 20000})
	if err != nil {
		t.Error(err)
	}
}

// n frames back to back take ⌈Σbits·10¹²/rate⌉ for every rate, and a prefix of
// them never less than its own share: a link is never faster than its rate.
func TestSerialiserIsExact(t *testing.T) {
	random := NewRandom(1, "serialiser")
	for range 3000 {
		rate := 1 + random.Int64N(1<<uint(1+random.IntN(62)))
		s := NewSerialiser(LinkRate{Bits: Rate(rate)})
		s.Next(int32(1+random.IntN(2000)), false) // an earlier busy period leaves nothing behind
		total, end := int64(0), Time(0)
		for i := range 1 + random.IntN(40) {
			size := int64(1 + random.IntN(9000))
			total += size
			end += s.Next(int32(size), i > 0)
			if want := bigCeil(total, rate); want.IsInt64() && want.Int64() < 1<<60 && int64(end) != want.Int64() {
				t.Fatalf("rate %d: %d frames of %d B end at %d, want %d", rate, i+1, total, end, want)
			}
		}
	}
	s := NewSerialiser(LinkRate{Packets: 4170})
	end := Time(0)
	for i := range 4170 {
		end += s.Next(1514, i > 0)
	}
	if end != Second {
		t.Errorf("4170 packets at 4170 packets/s take %v", end)
	}
}

func FuzzSerialiser(f *testing.F) {
	f.Add(int64(1), int32(1<<31-1), false)
	f.Add(int64(100*Gbps), int32(1514), true)
	f.Fuzz(func(t *testing.T, rate int64, size int32, packets bool) {
		if rate < 1 || size < 1 {
			return
		}
		l := LinkRate{Bits: Rate(rate)}
		if packets {
			l = LinkRate{Packets: PacketRate(rate)}
		}
		s := NewSerialiser(l)
		a, b := s.Next(size, false), s.Next(size, true)
		if a < 1 && !packets && bigCeil(int64(size), rate).Int64() > 0 || b > a || a-b > 1 || packets && rate <= int64(Tbps) && a != Time((1e12+rate-1)/rate) {
			t.Errorf("rate %v size %d: %d, then %d", l, size, a, b)
		}
	})
}

// A stream depends on seed and name only, and names give different streams.
func TestRandomStreams(t *testing.T) {
	if got := fmt.Sprint(NewRandom(1, "link a->b").Uint64(), NewRandom(1, "link a->b").Uint64()); got != "17805081898878813703 17805081898878813703" {
		t.Errorf("first number of stream (1, link a->b): %s", got)
	}
	seen := map[uint64]string{}
	for seed := range uint64(20) {
		for _, name := range []string{"", "a", "b", "ab", "ba", "flow 1", "flow 11"} {
			v := NewRandom(seed, name).Uint64()
			if other, twice := seen[v]; twice {
				t.Errorf("(%d, %q) starts like %s", seed, name, other)
			}
			seen[v] = fmt.Sprint(seed, name)
		}
	}
}

func ExampleParseLinkRate() {
	r, _ := ParseLinkRate("50Mbps")
	fmt.Println(TransmitTime(1514, r.Bits))
	_, err := ParseTime("5")
	fmt.Println(err)
	// Output:
	// 242.24us
	// "5" has no unit; a time has one of h, min, s, ms, us, µs, ns, ps
}
