package unit

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"testing/quick"
)

func TestParse_PrintsEquivalentValue(t *testing.T) {
	for _, c := range []struct {
		in   string
		want fmt.Stringer
		back string // how it prints; "" for in
	}{
		{"5ms", 5 * Millisecond, ""}, {"5 ms", 5 * Millisecond, "5ms"}, {"13us", 13 * Microsecond, ""},
		{"13µs", 13 * Microsecond, "13us"},
		{"13μs", 13 * Microsecond, "13us"}, {"1.000000000001s", Second + 1, "1000000000.001ns"}, {"0.000000000000000000000s",
			Time(0), "0s"},
		{"1.50000000000000000000000s", 1500 * Millisecond, "1.5s"}, {"0.0000000000009094947017729282379150390625TiB",
			Bytes(1), "1B"},
		{"9223372036854775807B", Bytes(1<<63 - 1), "9223372036854775.807kB"}, {"9223372.036854775806s", Never - 1,
			"9223372036854775.806ns"},
		{"1.5s", 1500 * Millisecond, ""}, {"2min", 120 * Second, "120s"}, {"1h", 3600 * Second, "3600s"},
		{"20ps", 20 * Picosecond, ""},
		{"0.001ns", Picosecond, "1ps"}, {"300ms", 300 * Millisecond, ""}, {"0s", Time(0), ""},
		{"9.125us", 9125 * Nanosecond, ""},
		{"100Gbps", 100 * Gbps, ""}, {"10kbps", 10 * Kbps, ""}, {"0.05Gbps", 50 * Mbps, "50Mbps"}, {"1bps", Rate(1), ""},
		{"1.5Tbps", 1500 * Gbps, ""},
		{"4170pps", PacketRate(4170), "4.17kpps"}, {"4.17kpps", PacketRate(4170), ""}, {"7pps", PacketRate(7), ""},
		{"32MB", 32 * MB, ""}, {"80 B", Bytes(80), "80B"}, {"64KiB", Bytes(65536), "65.536kB"}, {"1.5kB", Bytes(1500), ""},
		{"9KB", Bytes(9000), "9kB"},
		{"24 packets", Length{Packets: 24}, ""}, {"1 packet", Length{Packets: 1}, ""}, {"24packets", Length{Packets: 24},
			"24 packets"}, {"36kB", Length{Bytes: 36000}, ""},
		{"20 packets", Depth{Packets: 20}, ""}, {"24 kB", Depth{Bytes: 24000}, "24kB"}, {"4.84ms",
			Depth{Time: 4840 * Microsecond}, ""}, {"0s", Depth{}, "0 packets"},
	} {
		t.Run(c.in, func(t *testing.T) {
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
			case Depth:
				got, err = ParseDepth(c.in)
			}
			back := c.back
			if back == "" {
				back = c.in
			}
			if err != nil || got != c.want || got.String() != back {
				t.Errorf("%q: got %v (%v), want %s", c.in, got, err, back)
			}
		})
	}
	for in, want := range map[string]LinkRate{"4170pps": {Packets: 4170}, "50Mbps": {Bits: 50 * Mbps}} {
		t.Run("link "+in, func(t *testing.T) {
			if got, err := ParseLinkRate(in); err != nil || got != want {
				t.Errorf("%q: got %v, %v", in, got, err)
			}
		})
	}
	for in, want := range map[string]float64{"85%": .85, "0.2 %": .002, "0.85": .85, "100%": 1, "0.7%": .007, "0": 0,
		"0.000001%": 1e-8} {
		t.Run(in, func(t *testing.T) {
			if got, err := ParseShare(in); err != nil || got != want {
				t.Errorf("%q: got %v, %v", in, got, err)
			}
		})
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
		"depth":  func(s string) error { _, err := ParseDepth(s); return err },
		"share":  func(s string) error { _, err := ParseShare(s); return err },
	}
	for _, c := range []struct{ kind, in, want string }{
		{"time", "5", "has no unit"}, {"time", "", "is not a time"}, {"time", "-5ms", "is negative"},
		{"time", "5mbps", "allowed: h, min"},
		{"time", "5  ms", "not a unit"}, {"time", "1..5ms", "not a decimal"}, {"time", ".5ms", "not a decimal"},
		{"time", "5.ms", "not a decimal"},
		{"time", "1.0001ps", "finer than"}, {"time", "99999999999999999999s", "too large"}, {"time", "9999999999s",
			"too large"}, {"time", "5 ms ", "not a unit"},
		{"time", "1.0000000000001ps", "whole number of ps"}, {"time", "1.0000000000000000000000001s", "whole number of ps"},
		{"time", "0.0000000000000005h", "whole number of ps"},
		{"time", "9223372036854775808ps", "the maximum is 9223372036854775807ps"}, {"link", "0.25bps", "whole number of bps"},
		{"link", "0.5pps", "whole number of pps"},
		{"length", "0.25B", "whole number of B"}, {"depth", "5mbps", "24 packets, 36kB or 5ms"},
		{"time", "1..5s", "such as 5s"}, {"time", "1e3s", "not a unit"},
		{"time", "+1s", "is not a time"}, {"bytes", "-1B", "is negative"},
		{"share", "-1%", "85%"}, {"share", ".5", "85%"}, {"share", "5.%", "85%"}, {"share", "0.5 ", "85%"},
		{"share", "1e5", "85%"}, {"share", strings.Repeat("9", 400), "too large"},
		{"rate", "100Gb", "allowed: Tbps"}, {"rate", "100", "has no unit"}, {"rate", "4170pps", "not a unit of a rate"},
		{"rate", "0.5bps", "finer"}, {"link", "0Gbps", "above 0"}, {"link", "0pps", "above 0"}, {"link", "9", "pps"},
		{"pps", "5Mbps", "kpps"},
		{"bytes", "32mb", "allowed: TB"}, {"bytes", "0.5B", "finer"}, {"length", "2.5 packets", "whole number"},
		{"length", "24", "packets"},
		{"length", "99999999999 packets", "2³¹"}, {"share", "x%", "85%"}, {"share", "5kB", "85%"},
	} {
		t.Run(c.kind+" "+c.in, func(t *testing.T) {
			if err := parse[c.kind](c.in); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s %q: error %v, want one with %q", c.kind, c.in, err, c.want)
			}
		})
	}
}

// FuzzRoundTrip checks that a printed value is read back.
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
		for _, d := range []Depth{{Packets: l.Packets}, {Bytes: Bytes(v)}, {Time: min(Time(v), Never-1)}} {
			if got, err := ParseDepth(d.String()); err != nil || got != d {
				t.Errorf("depth %+v prints %s, reads %+v, %v", d, d, got, err)
			}
		}
	})
}

// FuzzParse_RoundTripsWithoutPanic checks that no input makes a reader panic, and an accepted one prints as itself.
func FuzzParse_RoundTripsWithoutPanic(f *testing.F) {
	for _, s := range []string{"5ms", "1.5Gbps", "24 packets", "85%", "0.0000000000001s", "18446744073709551615.5B",
		"9223372036854775807ps"} {
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
		ParseDepth(s)
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
	// bytes·8·10¹² exceeds int64 above 1.15 MB: 2 MB at 100 Gb/s is 160 µs.
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

// TestSerialiserIsExact checks that n frames back to back take ⌈Σbits·10¹²/rate⌉ for every rate, and a prefix of them
// never less than its own share: a link is never faster than its rate.
func TestSerialiserIsExact(t *testing.T) {
	random := NewRandom(1, "serialiser")
	for range 3000 {
		rate := 1 + random.Int64N(1<<uint(1+random.IntN(62)))
		s := NewSerialiser(LinkRate{Bits: Rate(rate)})
		s.NextTime(int32(1+random.IntN(2000)), false) // an earlier busy period leaves nothing behind
		total, end := int64(0), Time(0)
		for i := range 1 + random.IntN(40) {
			size := int64(1 + random.IntN(9000))
			total += size
			end += s.NextTime(int32(size), i > 0)
			if want := bigCeil(total, rate); want.IsInt64() && want.Int64() < 1<<60 && int64(end) != want.Int64() {
				t.Fatalf("rate %d: %d frames of %d B end at %d, want %d", rate, i+1, total, end, want)
			}
		}
	}
	s := NewSerialiser(LinkRate{Packets: 4170})
	end := Time(0)
	for i := range 4170 {
		end += s.NextTime(1514, i > 0)
	}
	if end != Second {
		t.Errorf("4170 packets at 4170 packets/s take %v", end)
	}
}

// workEnd is when frames back to back end, by big integers: ⌈Σ work/rate⌉, where a
// frame's work is its bits × 10¹², or 10¹² if the rate is in packets/s.
func workEnd(work *big.Int, rate int64) *big.Int {
	n := new(big.Int).Add(work, big.NewInt(rate-1))
	return n.Div(n, big.NewInt(rate))
}

// FuzzSerialiser_EndsBusyPeriodsExactly checks any frames at any rate from 1 on, in bit/s or packets/s: busy periods
// end exactly, a gap resets the carried amount, and times beyond the range are Never/2.
func FuzzSerialiser_EndsBusyPeriodsExactly(f *testing.F) {
	f.Add(int64(1), false, []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff})
	f.Add(int64(1), false, []byte{0, 0x0f, 0xff, 0xff})
	f.Add(int64(2), false, []byte{0, 0x0f, 0xff, 0xff, 0, 0x10, 0, 0})
	f.Add(int64(1), true, []byte{0, 0, 5, 0xea, 0, 0, 5, 0xea})
	f.Add(int64(100*Gbps), false, []byte{0, 0, 5, 0xea, 0, 0, 0, 64, 0x80, 0, 5, 0xea})
	f.Add(int64(3), false, []byte{0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0, 0, 1, 0, 0, 0, 1})
	f.Add(int64(4170), true, []byte{0, 0, 5, 0xea, 0, 0, 0, 1, 0x80, 0, 0, 1, 0, 0, 0, 0})
	f.Add(int64(1<<63-1), false, []byte{0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})
	f.Add(int64(1<<63-1), true, []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1})
	f.Fuzz(func(t *testing.T, rate int64, packets bool, frames []byte) {
		if rate < 1 {
			return
		}
		l := LinkRate{Bits: Rate(rate)}
		if packets {
			l = LinkRate{Packets: PacketRate(rate)}
		}
		s := NewSerialiser(l)
		work, end := new(big.Int), new(big.Int)
		for i := 0; i+4 <= len(frames); i += 4 { // the first bit: after a gap
			gap := i == 0 || frames[i]&0x80 != 0
			size := int32(frames[i]&0x7f)<<24 | int32(frames[i+1])<<16 | int32(frames[i+2])<<8 | int32(frames[i+3])
			if gap {
				work.SetInt64(0)
				end.SetInt64(0)
			}
			one := big.NewInt(1_000_000_000_000)
			if !packets {
				one.Mul(big.NewInt(int64(size)), big.NewInt(8_000_000_000_000))
			}
			work.Add(work, one)
			got := s.NextTime(size, !gap)
			if got < 0 || got > Never/2 {
				t.Fatalf("%v: a frame of %d B takes %d", l, size, got)
			}
			want := workEnd(work, rate)
			if d := new(big.Int).Sub(want, end); d.Cmp(big.NewInt(int64(Never/2))) >= 0 {
				if got != Never/2 {
					t.Fatalf("%v: a frame of %d B takes %d, want Never/2", l, size, got)
				}
				return // what follows it is beyond the range
			}
			if end.Add(end, big.NewInt(int64(got))); end.Cmp(want) != 0 {
				t.Fatalf("%v: frame %d of %d B ends at %v, want %v", l, i/4, size, end, want)
			}
		}
	})
}

// TestSerialiserOfPacketsIsExact checks packets/s: n packets take ⌈n·10¹²/rate⌉ for any sizes.
func TestSerialiserOfPacketsIsExact(t *testing.T) {
	random := NewRandom(2, "serialiser")
	for range 2000 {
		rate := 1 + random.Int64N(1<<uint(1+random.IntN(50)))
		s := NewSerialiser(LinkRate{Packets: PacketRate(rate)})
		s.NextTime(64, false) // an earlier busy period leaves nothing behind
		end := Time(0)
		for i := range int64(1 + random.IntN(60)) {
			end += s.NextTime(int32(1+random.IntN(9000)), i > 0)
			if want := workEnd(new(big.Int).Mul(big.NewInt(i+1), big.NewInt(1_000_000_000_000)),
				rate); want.Int64() != int64(end) {
				t.Fatalf("%d packets at %d packets/s end at %d, want %v", i+1, rate, end, want)
			}
		}
	}
}

// TestSerialiserOfRateZero checks that a link of rate 0 never ends a frame, and no division panics.
func TestSerialiserOfRateZero(t *testing.T) {
	s := NewSerialiser(LinkRate{})
	var zero Serialiser
	if got := s.NextTime(64, false); got != Never/2 || zero.NextTime(64, true) != Never/2 {
		t.Errorf("a frame takes %d", got)
	}
}

// FuzzMulDiv compares MulDiv and mulDivUp, which saturate, with big integers.
func FuzzMulDiv(f *testing.F) {
	f.Add(int64(1<<63-1), int64(1<<63-1), int64(1))
	f.Add(int64(1<<63-1), int64(1<<63-1), int64(1<<63-1))
	f.Add(int64(2_000_000), int64(8_000_000_000_000), int64(100*Gbps))
	f.Add(int64(311), int64(177942868878227186), int64(3)) // the quotient is 2⁶⁴−1 and a rest
	f.Add(int64(7), int64(3), int64(0))
	f.Add(int64(0), int64(3), int64(7))
	f.Fuzz(func(t *testing.T, a, b, d int64) {
		if a < 0 || b < 0 || d < 0 {
			MulDiv(a, b, d) // only must not panic
			mulDivUp(a, b, d)
			return
		}
		down, up := big.NewInt(1<<63-1), big.NewInt(1<<63-1)
		if d > 0 {
			var rest big.Int
			down.DivMod(new(big.Int).Mul(big.NewInt(a), big.NewInt(b)), big.NewInt(d), &rest)
			if up.Set(down); rest.Sign() > 0 {
				up.Add(up, big.NewInt(1))
			}
		}
		limit := func(x *big.Int) int64 {
			if x.IsInt64() {
				return x.Int64()
			}
			return 1<<63 - 1
		}
		if MulDiv(a, b, d) != limit(down) || mulDivUp(a, b, d) != limit(up) {
			t.Errorf("%d·%d/%d: %d and %d, want %v and %v", a, b, d, MulDiv(a, b, d), mulDivUp(a, b, d), down, up)
		}
	})
}

// FuzzFormatShare_ParsesBackExactly checks that reading a printed share gives it again, to the last bit.
func FuzzFormatShare_ParsesBackExactly(f *testing.F) {
	for _, v := range []float64{0, 1, .85, .007, 1. / 3, 1e-300, 5e-324, 1e300, 0.1 + 0.2} {
		f.Add(v)
	}
	f.Fuzz(func(t *testing.T, v float64) {
		s := FormatShare(v)
		if got, err := ParseShare(s); v >= 0 && v <= 1e307 && (err != nil || got != v) {
			t.Errorf("%g prints %s, reads %g, %v", v, s, got, err)
		}
	})
}

func TestFormatShare(t *testing.T) {
	for v, want := range map[float64]string{0: "0%", .85: "85%", .002: "0.2%", 1: "100%", 1.5: "150%", .007: "0.7%",
		.00001: "0.001%", -.25: "-25%", 12: "1200%", math.Inf(1): "+Inf"} {
		t.Run(want, func(t *testing.T) {
			if got := FormatShare(v); got != want {
				t.Errorf("%g prints %s, want %s", v, got, want)
			}
		})
	}
}

// TestRandomStreams checks that a stream depends on seed and name only, and that names give different streams.
func TestRandomStreams(t *testing.T) {
	if got := fmt.Sprint(NewRandom(1, "link a->b").Uint64(),
		NewRandom(1, "link a->b").Uint64()); got != "17805081898878813703 17805081898878813703" {
		t.Errorf("first number of stream (1, link a->b): %s", got)
	}
	for _, c := range []struct {
		seed   uint64
		entity string
		want   string
	}{
		{0, "", "3137136577096543882 633 0.5049944863055293"},
		{1, "flow 1", "17759789516455382503 876 0.7018208712763315"},
		{2, "flow 1", "6397681553504374272 797 0.8289987413126595"},
	} {
		t.Run(fmt.Sprintf("%q, seed %d", c.entity, c.seed), func(t *testing.T) {
			r := NewRandom(c.seed, c.entity)
			if got := fmt.Sprint(r.Uint64(), r.IntN(1000), r.Float64()); got != c.want {
				t.Errorf("stream (%d, %q): %s, want %s", c.seed, c.entity, got, c.want)
			}
		})
	}
	// drawing from one stream does not move another; two streams do not correlate
	x, y, alone := NewRandom(7, "x"), NewRandom(7, "y"), NewRandom(7, "x")
	const n = 100_000
	sum := 0.
	for range n {
		a, b := x.Float64(), y.Float64()
		if a != alone.Float64() {
			t.Fatal("stream x depends on stream y")
		}
		sum += (a - .5) * (b - .5) * 12
	}
	if r := sum / n; math.Abs(r) > 4/math.Sqrt(n) { // 4 standard deviations
		t.Errorf("streams x and y correlate by %g", r)
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
	// "5" has no unit; a time has one of the units h, min, s, ms, us, µs, ns, ps
}

// TestDepthAt checks a depth in bytes: 5 ms at 10 Mb/s are 6250 bytes. Packets count their length.
func TestDepthAt(t *testing.T) {
	for d, want := range map[Depth]float64{{Packets: 20}: 30280, {Bytes: 36000}: 36000, {Time: 5 * Millisecond}: 6250,
		{}: 0} {
		t.Run(d.String(), func(t *testing.T) {
			if got := d.BytesAt(10*Mbps, 1514); got != want {
				t.Errorf("%v bytes, want %v", got, want)
			}
		})
	}
}
