package dataplane

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// TestLPM_FindsLongestPrefix compares longest prefix match with a search over every rule, IPv4 and IPv6, with rules
// that are added and removed.
func TestLPM_FindsLongestPrefix(t *testing.T) {
	random := unit.NewRandom(1, "lpm")
	x := NewLPM[int](60)
	rules := map[netip.Prefix]int{}
	address := func() netip.Addr {
		if random.IntN(2) == 0 {
			return netip.AddrFrom4([4]byte{10, byte(random.IntN(3)), byte(random.IntN(4)), byte(random.IntN(4))})
		}
		return netip.AddrFrom16([16]byte{0: 0xfd, 7: byte(random.IntN(3)), 15: byte(random.IntN(4))})
	}
	for i := range 20000 {
		a := address()
		p, _ := a.Prefix(random.IntN(a.BitLen() + 1))
		switch {
		case random.IntN(4) == 0:
			_, there := rules[p]
			if x.Delete(p) != there {
				t.Fatalf("deleting %v, which is there: %v", p, there)
			}
			delete(rules, p)
		case random.IntN(3) == 0:
			_, there := rules[p]
			full := !there && len(rules) >= 60
			if err := x.Insert(netip.PrefixFrom(a, p.Bits()), i); (err != nil) != full {
				t.Fatalf("insert into %d rules: %v", len(rules), err)
			} else if err == nil {
				rules[p] = i
			}
		}
		want, length := -1, -1
		b := address()
		for r, action := range rules {
			if r.Contains(b) && r.Bits() > length {
				want, length = action, r.Bits()
			}
		}
		got, ok := x.Lookup(b)
		if ok != (length >= 0) || ok && got != want || x.Len() != len(rules) {
			t.Fatalf("%v: %d (%v), want %d", b, got, ok, want)
		}
	}
	if _, ok := x.Lookup(netip.Addr{}); ok || x.Insert(netip.Prefix{}, 1) == nil {
		t.Error("what is no address matches, or is a prefix")
	}
	if n := testing.AllocsPerRun(100, func() { x.Lookup(netip.AddrFrom4([4]byte{10, 1, 1, 1})) }); n != 0 {
		t.Errorf("a look-up allocates %g times", n)
	}
}

func bps(r unit.Rate) unit.LinkRate { return unit.LinkRate{Bits: r} }

// TestSrTCM checks RFC 2697 §3: C and E start full; the rate fills C, and its surplus fills E. Green uses tokens of C,
// yellow of E, and red none.
func TestSrTCM(t *testing.T) {
	m := NewSrTCM(bps(8*unit.Kbps), 1000, 500) // 1000 bytes a second
	for _, c := range []struct {
		at     unit.Time
		size   int32
		before Colour
		want   Colour
	}{
		{0, 600, Green, Green},                         // C 400, E 500
		{0, 500, Green, Yellow},                        // C 400, E 0
		{0, 500, Green, Red},                           // nothing spent
		{0, 400, Green, Green},                         // C 0
		{500 * unit.Millisecond, 500, Green, Green},    // C was 500
		{2500 * unit.Millisecond, 1000, Yellow, Red},   // C 1000, then E 500: 2000 earned, 500 lost; yellow needs E ≥ 1000
		{2500 * unit.Millisecond, 500, Yellow, Yellow}, // E 0
		{2500 * unit.Millisecond, 1000, Green, Green},  // C 0
		{2500 * unit.Millisecond, 1, Red, Red},         // colour-aware: red stays red
		{2500*unit.Millisecond + 999, 1, Green, Red},   // not a byte yet
		{2501 * unit.Millisecond, 1, Green, Green},     // one byte a millisecond
	} {
		if got := m.MeterPacket(c.at, c.size, c.before); got != c.want {
			t.Errorf("at %v %d bytes, %v before: %v, want %v", c.at, c.size, c.before, got, c.want)
		}
	}
}

// TestTrTCM checks RFC 2698 §3: red if P lacks tokens, and none are spent. Yellow, if only C lacks tokens, spends P,
// and green spends both.
func TestTrTCM(t *testing.T) {
	m := NewTrTCM(bps(8*unit.Kbps), 1000, bps(16*unit.Kbps), 1500)
	for _, c := range []struct {
		at     unit.Time
		size   int32
		before Colour
		want   Colour
	}{
		{0, 1000, Green, Green},                     // C 0, P 500
		{0, 600, Green, Red},                        // P lacks
		{0, 500, Green, Yellow},                     // P 0
		{100 * unit.Millisecond, 100, Green, Green}, // C 100 → 0, P 200 → 100
		{100 * unit.Millisecond, 100, Green, Yellow},
		{100 * unit.Millisecond, 1, Green, Red},
		{unit.Second, 100, Yellow, Yellow}, // colour-aware: yellow spends P alone
		{unit.Second, 900, Green, Green},   // C was 900
		{unit.Second, 1, Red, Red},
		{unit.Second, 400, Green, Yellow}, // P 1500 − 100 − 900 = 500
	} {
		if got := m.MeterPacket(c.at, c.size, c.before); got != c.want {
			t.Errorf("at %v %d bytes, %v before: %v, want %v", c.at, c.size, c.before, got, c.want)
		}
	}
}

// TestMetersKeepTheirRates checks that over any interval green is at most CIR·t + CBS, and all passing packets at most
// PIR·t + PBS. In the long run under overload green is CIR to the byte: tokens do not drift, at any rate.
func TestMetersKeepTheirRates(t *testing.T) {
	for _, rate := range []unit.Rate{7, 999_999_937, 8 * unit.Mbps, 33_333_333} {
		t.Run(rate.String(), func(t *testing.T) {
			random := unit.NewRandom(1, "meter")
			const cbs, pbs = 3000, 6000
			single := NewSrTCM(bps(rate), cbs, 0)
			two := NewTrTCM(bps(rate), cbs, bps(2*rate), pbs)
			now, green, greenTwo, passed := unit.Time(0), int64(0), int64(0), int64(0)
			gap := int64(unit.TransmitTime(500, rate)) / 3 // three times the rate in packets of 500 bytes on average
			for range 30000 {
				now += unit.Time(random.Int64N(2*gap) + 1)
				size := int32(1 + random.IntN(1000))
				if single.MeterPacket(now, size, Green) == Green {
					green += int64(size)
				}
				switch two.MeterPacket(now, size, Green) {
				case Green:
					greenTwo += int64(size)
					fallthrough
				case Yellow:
					passed += int64(size)
				}
				earned := int64(rate.BytesIn(now))
				if green > earned+cbs || greenTwo > earned+cbs || passed > 2*earned+1+pbs {
					t.Fatalf("at %v: green %d, %d, passed %d; %d were earned", now, green, greenTwo, passed, earned)
				}
			}
			if earned := int64(rate.BytesIn(now)); green < earned-1000 || greenTwo < earned-1000 {
				t.Errorf("green %d and %d of %d bytes", green, greenTwo, earned)
			}
		})
	}
	// in packets/s a packet of any length is a token
	m := NewSrTCM(unit.LinkRate{Packets: 4170}, 1, 0)
	green := 0
	for i := range 100_000 {
		if m.MeterPacket(unit.Time(i)*10*unit.Microsecond, int32(60+i%1000), Green) == Green {
			green++
		}
	}
	if green < 4165 || green > 4171 {
		t.Errorf("%d packets are green in a second of 4170 packets/s", green)
	}
}

// TestReason_NamesAreUnique checks that every reason has a unique name.
func TestReason_NamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for r := range Reasons {
		if n := r.String(); n == "" || n == "unknown" || seen[n] {
			t.Errorf("reason %d is called %q", r, n)
		} else {
			seen[n] = true
		}
	}
	if Reasons.String() != "unknown" {
		t.Error("what is no reason has a name")
	}
}

type hookless struct{}

func (hookless) Name() string { return "hookless" }

func TestNewRefusesHookless(t *testing.T) {
	if _, err := New(Config{Name: "s", Programs: []Program{hookless{}}, Pool: &packet.Pool{}}); err == nil ||
		!strings.Contains(err.Error(), "hookless") {
		t.Errorf("a program without hooks: %v", err)
	}
}

func ExampleLPM() {
	t := NewLPM[string](10)
	t.Insert(netip.MustParsePrefix("10.0.0.0/8"), "core")
	t.Insert(netip.MustParsePrefix("10.1.0.0/16"), "rack 1")
	fmt.Println(t.Lookup(netip.MustParseAddr("10.1.2.3")))
	fmt.Println(t.Lookup(netip.MustParseAddr("10.9.9.9")))
	// Output:
	// rack 1 true
	// core true
}
