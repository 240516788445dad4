package plan

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

// program returns a switch's program. Its ports have the users 10.0.0.1 and so on.
func program(t testing.TB, given ...string) (*Program, error) {
	t.Helper()
	s := dataplanetest.Setup{Ports: make([]dataplanetest.Port, 4)}
	p, err := dataplanetest.BuildProgram(Scheme(), s.NewSite(), given...)
	if err != nil {
		return nil, err
	}
	return p.(*Program), nil
}

func made(t testing.TB, given ...string) *Program {
	t.Helper()
	x, err := program(t, given...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// pass sends packets of 1000 bytes of a user to the program, one each gap, and returns which passed: y or n.
func pass(x *Program, user packet.Addr, flags uint8, from, gap unit.Time, n int) string {
	var b strings.Builder
	for i := range n {
		p := packet.Packet{Src: user, Version: 4, Size: 1000}
		p.Meta.Flags |= flags
		b.WriteByte("ny"[map[bool]int{true: 1}[x.meterPacket(from+unit.Time(i)*gap, &p)]])
	}
	return b.String()
}

const ms = unit.Millisecond

// TestByHand follows RFC 2697 §3 by hand: 8 Mb/s earn a packet of 1000 bytes each ms, and a burst of 5 ms is five of
// them.
func TestByHand(t *testing.T) {
	x := made(t, "rates", "{10.0.0.1: 8Mbps, 10.0.0.2/31: 80Mbps}", "burst", "5ms")
	for _, c := range []struct {
		name, want string
		user       packet.Addr
		flags      uint8
		from, gap  unit.Time
		n          int
	}{
		{"a burst", "yyyyynn", 1, 0, 0, 0, 7},
		{"what was earned since", "yyyn", 1, 0, 3 * ms, 0, 4},
		{"at its rate", "yyyyy", 1, 0, 4 * ms, ms, 5},
		{"at twice its rate", "nynyny", 1, 0, 8*ms + ms/2, ms / 2, 6},
		{"what it receives has a bucket of its own", "yyyyyn", 1, packet.ToUser, 12 * ms, 0, 6},
		{"ten times the rate", strings.Repeat("y", 50) + "n", 2, 0, 0, 0, 51},
		{"of the same prefix", "n", 3, 0, 0, 0, 1},
		{"who has no plan", strings.Repeat("y", 99), 4, 0, 0, 0, 99},
		{"what the switch makes", "yyy", 1, packet.Internal, 12 * ms, 0, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := pass(x, c.user, c.flags, c.from, c.gap, c.n); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// TestProgram_PassesPlanAndBurst checks ten times the plan, a tenth of it, and rates from 1 Mb/s to 10 Gb/s: the passed
// traffic in a time is the plan and the burst, or all that was sent.
func TestProgram_PassesPlanAndBurst(t *testing.T) {
	for _, mbps := range []int{1, 10, 1000, 10_000} {
		for _, x := range []struct{ sent, passed float64 }{{10, 1}, {1.5, 1}, {1, 1}, {0.1, 0.1}} {
			t.Run(fmt.Sprint(mbps, x.sent), func(t *testing.T) {
				p := made(t, "others", fmt.Sprintf("%dMbps", mbps))
				const n = 20_000
				gap := unit.Time(8000 / (float64(mbps) * 1e6 * x.sent) * float64(unit.Second))
				passed := strings.Count(pass(p, 1, 0, 0, gap, n), "y")
				time := (gap * n).Seconds()
				bytes := float64(mbps) * 1e6 / 8 * time * x.passed
				burst := max(float64(mbps)*1e6/8*0.1, 2*1538)
				if got := float64(passed) * 1000; got > bytes+burst+1000 || got < min(bytes, n*1000)*0.999-1000 {
					t.Errorf("%g bytes passed in %g s, want %g and a burst of %g", got, time, bytes, burst)
				}
			})
		}
	}
}

// TestProgram_AdoptKeepsUnchangedBuckets checks that a reload keeps the used part of unchanged plans, and reports which
// others restart. An address that becomes another's has a full bucket.
func TestProgram_AdoptKeepsUnchangedBuckets(t *testing.T) {
	was := made(t, "rates", "{10.0.0.1: 8Mbps, 10.0.0.2: 8Mbps, 10.0.0.3: 8Mbps}", "burst", "5ms")
	for user := range packet.Addr(3) {
		pass(was, user+1, 0, 0, 0, 5)
	}
	x := made(t, "rates", "{10.0.0.2: 8Mbps, 10.0.0.1: 16Mbps}", "burst", "5ms")
	kept, lost := x.Adopt(0, was)
	if kept != "the buckets of 1 plans" || fmt.Sprint(lost) != "[the bucket of 10.0.0.1 the bucket of 10.0.0.3]" {
		t.Errorf("kept %q, lost %q", kept, lost)
	}
	if a, b := pass(x, 1, 0, 0, 0, 1), pass(x, 2, 0, 0, 0, 1); a != "y" || b != "n" {
		t.Errorf("of 10.0.0.1 passed %s, of 10.0.0.2 %s", a, b)
	}
	o := made(t, "others", "8Mbps", "burst", "5ms")
	if got := pass(o, 1, 0, 0, 0, 6); got != "yyyyyn" {
		t.Error(got)
	}
	o.EvictAddress(1)
	if got := pass(o, 1, 0, 0, 0, 6); got != "yyyyyn" {
		t.Errorf("after another got its number: %s", got)
	}
}

// TestDualStack checks that a customer with IPv4 and IPv6 addresses has one plan. In every mix of both, its sent and
// received traffic each pass at the plan's rate, at ten times and a tenth of 10 Mb/s. Addresses are one user by a name
// of the file, or where the plan lists them.
func TestDualStack(t *testing.T) {
	book := packet.NewBook()
	for i := range byte(4) {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, i + 1}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	home := packet.User{Name: "home", Prefixes: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32"),
		netip.MustParsePrefix("fd00::1/128"), netip.MustParsePrefix("10.0.0.2/31"), netip.MustParsePrefix("fd00::2/127")}}
	for _, mbps := range []float64{1, 10, 100} {
		for _, x := range []struct {
			name, key string
			book      *packet.Book
		}{{"named", "home", book.WithUsers([]packet.User{home})},
			{"listed", "10.0.0.1 | fd00::1 | 10.0.0.2/31 | fd00::2/127", book}} {
			for _, share := range []int{0, 1, 50, 100} { // percent of IPv6
				for _, down := range []bool{false, true} {
					t.Run(fmt.Sprint(x.name, mbps, share, down), func(t *testing.T) {
						c := scheme.Defaults[Config]()
						c.Burst = ms
						c.Rates = []users.Aggregate{{Key: users.Set(x.key), Value: unit.Rate(mbps * 1e6)}}
						program, err := New(&dataplane.Site{Ports: 2, Book: x.book, MaxFrame: 1514}, c)
						if err != nil {
							t.Fatal(err)
						}
						seconds := 20 / mbps                                                      // as many packets at each rate
						gap, passed, n := unit.Time(8000/(4*mbps*1e6)*float64(unit.Second)), 0, 0 // four times the plan
						for now := unit.Time(0); now < unit.Time(seconds*float64(unit.Second)); now += gap {
							p := packet.Packet{Src: packet.Addr(1 + n%3), Dst: 4, Version: 4, Size: 1000}
							if n++; n%100 < share {
								p.Version = 6
							}
							if down {
								p.Src, p.Dst = p.Dst, p.Src
							}
							if program.meterPacket(now, &p) {
								passed++
							}
						}
						if got := float64(passed) * 8000 / seconds / 1e6; got < 0.99*mbps || got > 1.02*mbps {
							t.Errorf("%.2f Mb/s pass of a plan of %g", got, mbps)
						}
					})
				}
			}
		}
	}
}

// TestReloadByName checks that a reload that gives a user more or other addresses keeps the used part of its plan.
func TestReloadByName(t *testing.T) {
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"))
	made := func(prefixes ...string) *Program {
		u := packet.User{Name: "home"}
		for _, p := range prefixes {
			u.Prefixes = append(u.Prefixes, netip.MustParsePrefix(p))
		}
		c := scheme.Defaults[Config]()
		c.Burst = 5 * ms
		c.Rates = []users.Aggregate{{Key: "home", Value: 8 * unit.Mbps}}
		x, err := New(&dataplane.Site{Ports: 2, Book: book.WithUsers([]packet.User{u}), MaxFrame: 1514}, c)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	was, is := made("10.0.0.1/32"), made("fd00::/64")
	pass(was, 1, 0, 0, 0, 5)
	if kept, lost := is.Adopt(0, was); kept == "" || lost != nil {
		t.Errorf("kept %q, lost %q", kept, lost)
	}
	if p := (packet.Packet{Src: 1, Version: 6, Size: 1000}); is.meterPacket(0, &p) {
		t.Error("the bucket is full although the plan was used up before the reload")
	}
}

func TestConfig_RejectsBadPlans(t *testing.T) {
	for given, says := range map[string]string{
		"rates={10.0.0.0/24: 8Mbps, 10.0.0.1/24: 9Mbps}": "is given twice",
		"rates={home: 8Mbps}":                            "neither an address nor a prefix, and the file declares no users",
		"rates={10.0.0.1 dscp 46: 8Mbps}":                "asks for more than addresses",
	} {
		var args []string
		if key, value, ok := strings.Cut(given, "="); ok {
			args = []string{key, value}
		}
		if _, err := program(t, args...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", given, err, says)
		}
	}
	none := scheme.Defaults[Config]()
	if all := none.Check(nil); len(all) != 1 || !all[0].Refused || !strings.Contains(all[0].Text, "no plan is given") {
		t.Errorf("without plans it says %v", all)
	}
	c := made(t, "rates", "{10.0.0.1: 8Mbps, fd00::/56: 9Mbps}").config
	names, peers := c.Traits().NamedUsers()
	if len(names) != 2 || names[1] != netip.MustParsePrefix("fd00::/56") || peers != nil {
		t.Error(names, peers)
	}
	f := made(t, "others", "8Mbps").Footprint()
	if err := f.Check(); err != nil {
		t.Error(err)
	}
}

func TestProgram_HoldsContract(t *testing.T) {
	dataplanetest.CheckProgram(t, Scheme(), func(p dataplanetest.Port) dataplanetest.Port { return p }, nil, "others",
		"10Mbps")
}
