package p4abc

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// A descriptor is read and written in one way, and what is wrong is said.
func TestUsers(t *testing.T) {
	for _, x := range []struct{ text, want, err string }{
		{text: "10.0.1.7/24", want: "10.0.1.0/24"},
		{text: "from 10.0.1.7", want: "10.0.1.7"},
		{text: "2001:db8::1/56", want: "2001:db8::/56"},
		{text: "dscp 46", want: "dscp 46"},
		{text: "tcp from 10.0.0.1 to 10.0.0.2 sport 5001 dport 443", want: "10.0.0.1 to 10.0.0.2 tcp sport 5001 dport 443"},
		{text: "2001:db8::7 | 10.0.0.9 | 10.0.0.1", want: "10.0.0.1 | 10.0.0.9 | 2001:db8::7"},
		{text: "proto 47", want: "proto 47"},
		{text: "proto 17 10.0.0.1", want: "10.0.0.1 udp"},
		{text: "", err: "nothing is named"},
		{text: "10.0.0.1 |", err: "nothing is named"},
		{text: "10.0.0.1 10.0.0.2", err: "from is there twice"},
		{text: "10.0.0.1 | 10.0.0.1/32", err: "10.0.0.1 is there twice"},
		{text: "10.0.0.1 to 2001:db8::1", err: "two IP families"},
		{text: "dscp 64", err: "0 … 63 are possible"},
		{text: "sport 80", err: "ports are of tcp or udp"},
		{text: "tcp sport 65536", err: "0 … 65535"},
		{text: "tcp dport", err: "0 … 65535"},
		{text: "10.0.0.256", err: "is no address"},
		{text: "to fe80::1%eth0", err: "neither an address nor a prefix"},
	} {
		t.Run(x.text, func(t *testing.T) {
			got, err := parseUsers(x.text)
			if string(got) != x.want || (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
				t.Errorf("%q, %v; want %q, %q", got, err, x.want, x.err)
			}
			if again, err := parseUsers(x.want); x.err == "" && (err != nil || again != got) {
				t.Errorf("%q is read as %q, %v", x.want, again, err)
			}
		})
	}
}

// Descriptors of two aggregates may nest, and then the narrower wins. Any other overlap is an error, as is the
// same one twice.
func TestAmbiguous(t *testing.T) {
	for _, x := range []struct{ a, b, err string }{
		{a: "10.0.0.0/8", b: "10.0.0.1"},
		{a: "10.0.0.0/8", b: "10.0.0.0/8 dscp 46"},
		{a: "10.0.0.1", b: "10.0.0.2"},
		{a: "10.0.0.0/8", b: "fd00::/8"},
		{a: "tcp dport 80", b: "udp"},
		{a: "dscp 46", b: "dscp 0"},
		{a: "dscp 46", b: "10.0.0.1 dscp 46"},
		{a: "10.0.0.1", b: "10.0.0.1/32", err: "10.0.0.1 is in two aggregates"},
		{a: "10.0.0.1 | 10.0.0.2", b: "10.0.0.2 | 10.0.0.3", err: "10.0.0.2 is in two aggregates"},
		{a: "10.0.0.1", b: "dscp 46", err: "neither is within the other"},
		{a: "10.0.0.1", b: "10.0.0.0/8 tcp", err: "neither is within the other"},
		{a: "to 10.0.0.1", b: "10.0.0.2", err: "neither is within the other"},
		{a: "tcp sport 1", b: "tcp dport 2", err: "neither is within the other"},
	} {
		t.Run(x.a+", "+x.b, func(t *testing.T) {
			for _, pair := range [][2]string{{x.a, x.b}, {x.b, x.a}} {
				c := defaults()
				c.Aggregates = []Aggregate{{Key: Users(pair[0]), Value: unit.Kbps}, {Key: Users(pair[1]), Value: unit.Kbps}}
				err := scheme.Validate(&c)
				if (err == nil) != (x.err == "") || err != nil && !strings.Contains(err.Error(), x.err) {
					t.Errorf("%q: %v, want %q", pair, err, x.err)
				}
			}
		})
	}
}

// The first two ambiguous descriptors of many are those that a comparison of each with each finds. As many prefixes as
// there is room for need no comparison, and each narrower descriptor needs one with each: not the square of all.
func TestAmbiguousAmongMany(t *testing.T) {
	kinds := []string{"10.0.%d.0/24", "10.0.%d.1", "10.0.%d.1 tcp", "tcp dport %d", "10.0.%d.0/24 | 10.9.0.1", "dscp %d",
		"to 10.0.%d.1"}
	r := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 2000 {
		var all []Aggregate
		var matches []match
		var of []int
		for i := range 2 + r.IntN(5) {
			key := Users(fmt.Sprintf(kinds[r.IntN(len(kinds))], r.IntN(8)))
			m, err := key.matches()
			if err != nil {
				t.Fatal(err)
			}
			for k := range m {
				matches, of = append(matches, m[k]), append(of, i)
			}
			all = append(all, Aggregate{Key: key, Value: unit.Kbps})
		}
		want := false
		for i := range matches {
			for k := range i {
				want = want || twice(all, matches, of, k, i) != nil
			}
		}
		if err := ambiguous(all); (err != nil) != want {
			t.Fatalf("%v: %v, want an error: %v", all, err, want)
		} else if want {
			found++
		}
	}
	if found < 200 || found > 1800 {
		t.Errorf("%d of 2000 were ambiguous, which tells nothing", found)
	}
	var many []Aggregate
	for i := range 1 << 16 {
		many = append(many, Aggregate{Key: Users(fmt.Sprintf("2001:db8:%x:%x::/64", i>>8, i&255)), Value: unit.Kbps})
	}
	if err := ambiguous(many); err != nil {
		t.Error(err)
	}
	pairs := 0
	var matches []match
	var of []int
	for i, key := range []Users{"2001:db8::/64", "2001:db8:1::/64", "dscp 46", "2001:db8:2::/64", "tcp dport 443",
		"2001:db8:3::/64"} {
		m, err := key.matches()
		if err != nil {
			t.Fatal(err)
		}
		matches, of = append(matches, m...), append(of, i)
	}
	if err := eachRival(matches, of, func(int, int) error { pairs++; return nil }); err != nil || pairs != 4+4+1 {
		t.Errorf("%v after %d comparisons, want 9: two narrow descriptors with four prefixes, and with each other", err,
			pairs)
	}
}

// users is a program with these aggregates, in their order, over a book of 10.0.0.1 … and fd00::1 ….
func users(t *testing.T, belongs Belongs, descriptors ...Users) *Program {
	t.Helper()
	book := packet.NewBook()
	for i := range byte(9) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i + 1}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	c := defaults()
	c.Belongs = belongs
	for _, d := range descriptors {
		c.Aggregates = append(c.Aggregates, Aggregate{Key: d, Value: unit.Kbps})
	}
	a, err := New(&dataplane.Site{Ports: 2, Book: book}, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// By address, prefix, DSCP, 5-tuple and explicit set, a packet is the aggregate's that describes it most
// narrowly, over IPv4 and IPv6, and again when it is in the cache.
func TestFind(t *testing.T) {
	tcp := func(src, dst packet.Addr, sport, dport uint16) packet.Packet {
		p := packet.Packet{Src: src, Dst: dst, Version: 4, Proto: packet.ProtoTCP, SrcPort: sport, DstPort: dport}
		p.Hash = packet.FlowHash(src, dst, sport, dport, p.Proto)
		return p
	}
	a := users(t, ToSender, "10.0.0.0/30", "10.0.0.2", "10.0.0.0/30 dscp 46", "10.0.0.1 to 10.0.0.5 tcp sport 7 dport 443",
		"10.0.0.8 | fd00::7", "fd00::/125", "udp dport 53 10.0.0.4")
	dscp, six, dns := tcp(2, 5, 1, 2), tcp(2, 5, 1, 2), tcp(4, 5, 1, 53)
	dscp.TOS, six.Version, dns.Proto = 46<<2|1, 6, packet.ProtoUDP
	seven := tcp(7, 5, 1, 2)
	seven.Version = 6
	classed := tcp(3, 5, 1, 2)
	classed.TOS = 46 << 2
	for _, x := range []struct {
		name string
		p    packet.Packet
		want int // aggregate; −1: its own
	}{
		{"prefix", tcp(1, 5, 1, 2), 0}, {"address", tcp(2, 5, 1, 2), 1}, {"dscp", classed, 2},
		{"5-tuple", tcp(1, 5, 7, 443), 3}, {"another port", tcp(1, 5, 7, 444), 0}, {"another receiver", tcp(1, 6, 7, 443), 0},
		{"set, IPv4", tcp(8, 5, 1, 2), 4}, {"set, IPv6", seven, 4}, {"IPv6 prefix", six, 5}, {"UDP", dns, 6},
		{"TCP", tcp(4, 5, 1, 53), -1},
	} {
		t.Run(x.name, func(t *testing.T) {
			for range 2 {
				got := a.find(&x.p)
				switch {
				case x.want >= 0 && got != a.meter(int32(x.want), sends):
					t.Errorf("it is not aggregate %d's", x.want)
				case x.want < 0 && got != a.meter(a.own[x.p.Src], sends):
					t.Error("it is not its sender's own")
				}
			}
			if n := testing.AllocsPerRun(100, func() { a.find(&x.p) }); n != 0 {
				t.Errorf("%g allocations", n)
			}
		})
	}
}

// A prefix of IPv6 joins its users, and leaves out others.
func TestIPv6Prefix(t *testing.T) {
	a := users(t, ToSender, "fd00::4/126")
	meter := func(src packet.Addr) *activityMeter { return a.find(&packet.Packet{Src: src, Version: 6}) }
	if meter(4) != meter(7) || meter(4) != a.meter(0, sends) {
		t.Error("fd00::4 and fd00::7 are not one user")
	}
	if meter(3) == meter(4) || meter(8) == meter(4) || meter(3) == meter(8) {
		t.Error("fd00::3 or fd00::8 is in fd00::4/126")
	}
	if a.find(&packet.Packet{Src: 4, Version: 4}) == meter(4) {
		t.Error("10.0.0.4 is in fd00::4/126")
	}
}

// What a user receives has a meter of its own, whoever says whose a packet is.
func TestDirections(t *testing.T) {
	up, down := packet.Packet{Src: 1, Dst: 9, Version: 4}, packet.Packet{Src: 9, Dst: 1, Version: 4}
	between := packet.Packet{Src: 1, Dst: 2, Version: 4}
	bridged := packet.Packet{Src: 1, Version: 4, Meta: packet.Metadata{Flags: packet.ToUser}}
	for _, belongs := range []Belongs{ToSender, ToReceiver, ToNamed} {
		t.Run(string(belongs), func(t *testing.T) {
			a := users(t, belongs, "10.0.0.1", "10.0.0.2 | 10.0.0.3")
			of := func(p packet.Packet) string {
				m := a.find(&p)
				for k := range int32(len(a.meters) / directions) {
					for d, name := range []string{"sends", "receives"} {
						if m == a.meter(k, d) {
							return fmt.Sprintf("%d %s", k, name)
						}
					}
				}
				return "?"
			}
			want := map[Belongs]string{
				ToSender:   "0 sends, 2 sends, 0 sends, 0 receives",
				ToReceiver: "2 receives, 0 receives, 1 receives, 0 receives",
				ToNamed:    "0 sends, 0 receives, 0 sends, 0 receives",
			}[belongs]
			if got := strings.Join([]string{of(up), of(down), of(between), of(bridged)}, ", "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
	c := defaults()
	if c.Belongs = ToNamed; scheme.Validate(&c) == nil {
		t.Error("user: named is taken without an aggregate")
	}
}
