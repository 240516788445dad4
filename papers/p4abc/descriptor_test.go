package p4abc

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// nineHosts returns a book of 10.0.0.1 … and fd00::1 ….
func nineHosts() *packet.Book {
	book := packet.NewBook()
	for i := range byte(9) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i + 1}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	return book
}

// described returns a program with these aggregates, in their order, over the book of nineHosts.
func described(t *testing.T, belongs UserRule, descriptors ...users.Set) *Program {
	t.Helper()
	book := nineHosts()
	c := defaults()
	c.UserRule = belongs
	for _, d := range descriptors {
		c.Aggregates = append(c.Aggregates, Aggregate{Key: d, Value: unit.Kbps})
	}
	a, err := New(&dataplane.Site{Ports: 2, Book: book}, c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestAggregates_FindNarrowestDescription checks that a packet belongs to the aggregate that describes it most
// narrowly: by address, prefix, DSCP, 5-tuple and explicit set, over IPv4 and IPv6, and again when it is in the cache.
func TestAggregates_FindNarrowestDescription(t *testing.T) {
	tcp := func(src, dst packet.Addr, sport, dport uint16) packet.Packet {
		p := packet.Packet{Src: src, Dst: dst, Version: 4, Proto: packet.ProtoTCP, SrcPort: sport, DstPort: dport}
		p.Hash = packet.FlowHash(src, dst, sport, dport, p.Proto)
		return p
	}
	a := described(t, ToSender, "10.0.0.0/30", "10.0.0.2", "10.0.0.0/30 dscp 46",
		"10.0.0.1 to 10.0.0.5 tcp sport 7 dport 443",
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
				got := a.findMeter(&x.p)
				switch {
				case x.want >= 0 && got != a.meterAt(int32(x.want), sends):
					t.Errorf("it is not aggregate %d's", x.want)
				case x.want < 0 && got != a.meterAt(a.ownAggregate[x.p.Src], sends):
					t.Error("it is not its sender's own")
				}
			}
			if n := testing.AllocsPerRun(100, func() { a.findMeter(&x.p) }); n != 0 {
				t.Errorf("%g allocations", n)
			}
		})
	}
}

// TestIPv6Prefix checks that a prefix of IPv6 joins its users, and leaves out others.
func TestIPv6Prefix(t *testing.T) {
	a := described(t, ToSender, "fd00::4/126")
	meter := func(src packet.Addr) *activityMeter { return a.findMeter(&packet.Packet{Src: src, Version: 6}) }
	if meter(4) != meter(7) || meter(4) != a.meterAt(0, sends) {
		t.Error("fd00::4 and fd00::7 are not one user")
	}
	if meter(3) == meter(4) || meter(8) == meter(4) || meter(3) == meter(8) {
		t.Error("fd00::3 or fd00::8 is in fd00::4/126")
	}
	if a.findMeter(&packet.Packet{Src: 4, Version: 4}) == meter(4) {
		t.Error("10.0.0.4 is in fd00::4/126")
	}
}

// TestAggregates_MeterEachDirection checks that a user's received traffic has a separate meter, by any rule for a
// packet's owner.
func TestAggregates_MeterEachDirection(t *testing.T) {
	up, down := packet.Packet{Src: 1, Dst: 9, Version: 4}, packet.Packet{Src: 9, Dst: 1, Version: 4}
	between := packet.Packet{Src: 1, Dst: 2, Version: 4}
	bridged := packet.Packet{Src: 1, Version: 4, Meta: packet.Metadata{Flags: packet.ToUser}}
	for _, belongs := range []UserRule{ToSender, ToReceiver, ToNamed} {
		t.Run(string(belongs), func(t *testing.T) {
			a := described(t, belongs, "10.0.0.1", "10.0.0.2 | 10.0.0.3")
			of := func(p packet.Packet) string {
				m := a.findMeter(&p)
				for k := range int32(len(a.meters) / directions) {
					for d, name := range []string{"sends", "receives"} {
						if m == a.meterAt(k, d) {
							return fmt.Sprintf("%d %s", k, name)
						}
					}
				}
				return "?"
			}
			want := map[UserRule]string{
				ToSender:   "0 sends, 2 sends, 0 sends, 0 receives",
				ToReceiver: "2 receives, 0 receives, 1 receives, 0 receives",
				ToNamed:    "0 sends, 0 receives, 0 sends, 0 receives",
			}[belongs]
			if got := strings.Join([]string{of(up), of(down), of(between), of(bridged)}, ", "); got != want {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// TestUsersOfFile checks that requirements on aggregates are verified when the file's users are loaded: each of them is
// one, unless all others are one. Without a rule a packet belongs to the end that is a user; a given rule applies.
func TestUsersOfFile(t *testing.T) {
	plain := nineHosts()
	home := packet.User{Name: "home", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}
	declared := plain.WithUsers([]packet.User{home})
	for _, x := range []struct {
		name     string
		declare  bool
		change   func(c *Config)
		param    string // that is refused
		received bool   // a packet from 10.0.0.9 to home counts as received by home
	}{
		{"no users", false, func(*Config) {}, "", false},
		{"users", true, func(*Config) {}, "", true},
		{"users, sender", true, func(c *Config) { c.UserRule = ToSender }, "", false},
		{"users, named", true, func(c *Config) { c.UserRule = ToNamed }, "", true},
		{"users, receiver", true, func(c *Config) { c.UserRule = ToReceiver }, "", true},
		{"named without users", false, func(c *Config) { c.UserRule = ToNamed }, "user", false},
		{"named, users are one", true, func(c *Config) { c.UserRule, c.SharesDefault = ToNamed, true }, "user", false},
		{"users are one", true, func(c *Config) { c.SharesDefault = true }, "", false},
		{"delays", true, func(c *Config) { c.Delays = []Delay{{Key: "home", Value: 1}} }, "", true},
		{"delays without users", false, func(c *Config) { c.Delays = []Delay{{Key: "home", Value: 1}} }, "delays", false},
		{"delays, users are one", true, func(c *Config) {
			c.Delays, c.SharesDefault = []Delay{{Key: "home", Value: 1}},
				true
		},
			"delays", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c, b := scheme.Defaults[Config](), plain
			if x.change(&c); x.declare {
				b = declared
			}
			if err := scheme.Validate(&c); err != nil {
				t.Fatal(err)
			}
			refused := ""
			for _, r := range c.Check(&dataplane.SwitchContext{Book: b}) {
				if r.Refused {
					refused = r.Param
				}
			}
			a, err := New(&dataplane.Site{Ports: 2, Queues: 2, Book: b}, c)
			if refused != x.param || (err != nil) != (x.param != "") || err != nil && !strings.HasPrefix(err.Error(), x.param) {
				t.Fatalf("refused: %q, error: %v; want %q", refused, err, x.param)
			}
			if err != nil {
				return
			}
			m, received := a.findMeter(&packet.Packet{Src: 9, Dst: 1, Version: 4}), false
			if k := a.findConfigured(&packet.Packet{Version: 4}, 1, false); k >= 0 {
				received = m == a.meterAt(k, receives)
			}
			if received != x.received {
				t.Errorf("it counts as received by home: %t", received)
			}
		})
	}
}

// TestForgetAddress checks that a number that goes to another address keeps neither the narrow descriptors' findings
// about the previous address, nor the shares of its flows.
func TestForgetAddress(t *testing.T) {
	a := described(t, ToSender, "10.0.0.1 tcp")
	p := packet.Packet{Src: 1, Dst: 5, Version: 4, Proto: packet.ProtoTCP, Hash: 7}
	if a.findMeter(&p) != a.meterAt(0, sends) {
		t.Fatal("TCP of 10.0.0.1 is not the aggregate's")
	}
	a.book.SetAddresses(1, netip.MustParseAddr("10.0.0.77"), netip.Addr{})
	a.EvictAddress(1)
	if a.findMeter(&p) == a.meterAt(0, sends) {
		t.Error("TCP of 10.0.0.77, which has the number of 10.0.0.1, is the aggregate's")
	}

	c := defaults()
	c.Flows = 64
	a, err := New(&dataplane.Site{Ports: 2, Book: a.book}, c)
	if err != nil {
		t.Fatal(err)
	}
	hash := hashes(2, 64)
	count := func(at unit.Time, flow int) float64 {
		p := packet.Packet{Src: 2, Version: 4, Hash: hash[flow]}
		return a.findMeter(&p).flows.countPacket(at, &p, 8000, c.Memory)
	}
	for i := range 100 {
		count(unit.Time(i)*unit.Millisecond, 0)
	}
	if share := count(100*unit.Millisecond, 1); share > -5 {
		t.Fatalf("the second flow, of 1 %%, has an activity of %g less than its user's", -share)
	}
	a.EvictAddress(2)
	if share := count(101*unit.Millisecond, 1); share != 0 {
		t.Errorf("the only flow of a new address has an activity of %g less than its user's", -share)
	}
}

// TestDeclaredUser checks that a declared user has one meter for each direction, over all its addresses. Without an
// aggregate it has the reference rate of others. A packet between it and a host that is no user is its own, up or down.
// A reload that changes its addresses keeps both meters and their counts, and metrics show it under its name.
func TestDeclaredUser(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(5) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i + 1}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	with := func(prefixes ...string) *packet.Book {
		u := packet.User{Name: "home"}
		for _, p := range prefixes {
			u.Prefixes = append(u.Prefixes, netip.MustParsePrefix(p))
		}
		return book.WithUsers([]packet.User{u})
	}
	program := func(book *packet.Book, aggregates ...Aggregate) *Program {
		c := defaults()
		c.Aggregates, c.UserRule = aggregates, ToAuto
		a, err := New(&dataplane.Site{Ports: 2, Book: book}, c)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	a := program(with("10.0.0.1/32", "fd00::1/128", "10.0.0.2/32"), Aggregate{Key: "10.0.0.3", Value: unit.Kbps})
	const home = 1
	for _, x := range []struct {
		src, dst  packet.Addr
		version   uint8
		aggregate int32
		direction int
	}{{1, 4, 4, home, sends}, {1, 4, 6, home, sends}, {2, 4, 4, home, sends}, {4, 1, 6, home, receives},
		{4, 2, 4, home, receives}, {3, 1, 4, 0, sends}, {4, 3, 4, 0, receives}} {
		p := packet.Packet{Src: x.src, Dst: x.dst, Version: x.version}
		if a.findMeter(&p) != a.meterAt(x.aggregate, x.direction) {
			t.Errorf("%d to %d by IPv%d is not of aggregate %d, direction %d", x.src, x.dst, x.version, x.aggregate,
				x.direction)
		}
	}
	if r := a.meterAt(home, sends).reference; r != a.config.Reference {
		t.Errorf("its reference rate is %v", r)
	}
	p := packet.Packet{Src: 1, Dst: 4, Version: 4}
	a.findMeter(&p).measureExact(unit.Second, 80_000, a.config.Memory)
	a.findMeter(&p).counts.bytes = 10_000
	b := program(with("10.0.0.4/32", "fd00::/64"), Aggregate{Key: "home", Value: a.config.Reference})
	if _, lost := b.Adopt(unit.Second, a); fmt.Sprint(lost) != "[the activity of 10.0.0.3]" {
		t.Errorf("lost: %v", lost)
	}
	samples := make([]dataplane.Sample, 64)
	found := false
	for _, s := range samples[:b.Sample(unit.Second, samples)] {
		found = found || s.Metric == userBytes && s.Word == "home" && s.Before == "" && s.Value == 10_000
	}
	if !found {
		t.Error("metrics do not show the 10,000 bytes of home, counted before the reload")
	}
	if _, err := New(&dataplane.Site{Ports: 2, Book: book}, b.config); err == nil ||
		!strings.Contains(err.Error(), "declares no users") {
		t.Errorf("without users in the file: %v", err)
	}
}
