package p4abc

import (
	"encoding/binary"
	"math"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/packet"
	"weir/core/unit"
	"weir/internal/testkit"
)

// sidesFrom are the links of a switch with two ports at places of a domain.
var sidesFrom = map[string][]dataplane.Line{
	"edge": {{To: "h1"}, {To: "s2", Switch: true}},
	"core": {{To: "s1", Switch: true}, {To: "s2", Switch: true}},
	"exit": {{To: "s1", Switch: true}, {To: "h2"}},
	"both": {{To: "h1"}, {To: "h2"}, {To: "s2", Switch: true}},
}

// at is a switch at a place of a domain.
func at(t testing.TB, place string) *bench {
	t.Helper()
	c := defaults()
	c.Domain = DomainMember
	return newBenchAt(t, sidesFrom[place], c)
}

// withMark gives a packet a mark.
func withMark(a float32) func(p *packet.Packet) {
	return func(p *packet.Packet) {
		p.SetExtension(packet.ExtActivity, binary.BigEndian.AppendUint32(nil, math.Float32bits(a)))
		p.Size += p.ExtensionBytes()
	}
}

func six(p *packet.Packet) { p.Version = 6 }

// TestProgram_MarkLivesWithinDomain checks P4-ABC §3.1, figure 1: a packet is marked where it enters the domain, the
// core drops by the mark without state of users, and the mark is removed where it leaves, over IPv4 and IPv6.
func TestProgram_MarkLivesWithinDomain(t *testing.T) {
	for name, version := range map[string]func(p *packet.Packet){"IPv4": func(*packet.Packet) {}, "IPv6": six} {
		t.Run(name, func(t *testing.T) {
			e, c, x := at(t, "edge"), at(t, "core"), at(t, "exit")
			for i := range 50 {
				now := unit.Time(i+1) * unit.Millisecond
				e.now, c.now, x.now = now, now, now
				e.send(1, version)
				p := e.take()
				if mark, ok := p.Extension(packet.ExtActivity); !ok || len(mark) != 4 || p.Size != 1498 {
					t.Fatalf("packet %d leaves the edge with mark %v, %d bytes", i, mark, p.Size)
				}
				c.Receive(now, 0, p)
				if c.program.activity != e.program.activity {
					t.Fatalf("the core reads activity %g, the edge wrote %g", c.program.activity, e.program.activity)
				}
				if p = c.take(); p == nil {
					t.Fatal("the core dropped into an empty queue")
				}
				x.Receive(now, 0, p)
				if n := x.Port(1).Bytes(); n != 0 && n != 1490 {
					t.Fatalf("%d bytes wait for a host", n)
				}
				if p = x.take(); p.ExtensionBytes() != 0 || p.Size != 1490 {
					t.Fatalf("packet %d leaves the domain with %d bytes of marks, %d in all", i, p.ExtensionBytes(), p.Size)
				}
				x.pool.Put(p)
			}
			if len(c.program.meters) != 0 || len(x.program.meters) != 0 {
				t.Error("the core measures users")
			}
		})
	}
}

// TestCoreDropsByMark checks that more active packets are dropped first in the core.
func TestCoreDropsByMark(t *testing.T) {
	c := at(t, "core")
	for range 12 {
		c.send(3, withMark(10))
	}
	if c.send(3, withMark(12)) || !c.send(3, withMark(10)) {
		t.Error("of two packets at one queue the more active must be the one to drop")
	}
}

// TestCoreHasAnotherReference checks that marks are in units of the edges' reference rates. A core with another rate
// compares them unchanged.
func TestCoreHasAnotherReference(t *testing.T) {
	for _, whole := range []bool{false, true} {
		k := defaults()
		k.Domain, k.Integer = DomainMember, whole
		lines := []dataplane.Line{{To: "s1", Switch: true, Rate: unit.LinkRate{Bits: 50 * unit.Mbps}},
			{To: "s2", Switch: true, Rate: unit.LinkRate{Bits: 50 * unit.Mbps}}}
		c := newBenchAt(t, lines, k)
		for range 12 {
			c.send(3, withMark(16)) // 6.6 Mb/s of 100 b/s
		}
		if c.send(3, withMark(18)) || !c.send(3, withMark(16)) {
			t.Errorf("integers %v: at a port whose rate is an activity of 12, 26 Mb/s are not dropped before 6.6", whole)
		}
	}
}

// TestEdgeLimitsMarks checks that an edge marks no packet with more than four times the rate of its input port,
// although the meter has measured a user's first packets over almost no time.
func TestEdgeLimitsMarks(t *testing.T) {
	for _, f := range forms {
		c := f.config()
		c.Domain = DomainMember
		b := newBenchAt(t, []dataplane.Line{{To: "h1", Rate: unit.LinkRate{Bits: 50 * unit.Mbps}},
			{To: "s2", Switch: true, Rate: unit.LinkRate{Bits: unit.Gbps}}}, c)
		b.now = unit.Nanosecond
		b.send(1)
		x, ok := parseMark(b.take())
		want := math.Log2(4 * 50e6 / 10e3)
		if f.perPacket {
			want = math.Log2(1490 * 8 * 1e9 / 10e3)
		}
		if got := float64(math.Float32frombits(x)); !ok || !testkit.IsNear(got, want, testkit.Tolerance{Absolute: 0.01}) {
			t.Errorf("%v: the mark is %g, want %g", f, got, want)
		}
	}
}

// TestBothDirections checks that returning traffic over the same switches is metered and marked where it enters, at the
// switch where the other direction leaves the domain: an exit is an edge for it.
func TestBothDirections(t *testing.T) {
	c := defaults()
	c.Domain = DomainMember
	x := newBenchAt(t, []dataplane.Line{{To: "h2"}, {To: "s1", Switch: true}}, c)
	x.now = unit.Second
	x.send(2)
	if n := len(x.program.meters); n != directions || x.program.meters[sends].bits != 11920 {
		t.Errorf("%d meters, the first has %g bits", n, x.program.meters[sends].bits)
	}
	if _, ok := parseMark(x.take()); !ok {
		t.Error("what enters here has no mark")
	}
}

// TestTwoOutsidePorts checks two hosts at one switch of a domain: their packets are metered, and carry no mark between.
func TestTwoOutsidePorts(t *testing.T) {
	b := at(t, "both")
	b.now = unit.Second
	b.send(1)
	if b.program.meters[sends].bits != 11920 || b.Port(1).Bytes() != 1490 {
		t.Errorf("metered %g bits, %d bytes wait", b.program.meters[sends].bits, b.Port(1).Bytes())
	}
	if p := b.take(); p.ExtensionBytes() != 0 || p.Size != 1490 {
		t.Errorf("%d bytes of marks, %d bytes", p.ExtensionBytes(), p.Size)
	}
}

// TestForgedMark checks P4-ABC §3.4, "malicious users can avoid packet drops by inserting low activity values": a mark
// from outside has no effect. A switch of a domain overwrites it, and one that is a domain by itself removes it.
func TestForgedMark(t *testing.T) {
	for _, place := range []string{"edge", "both", "alone"} {
		t.Run(place, func(t *testing.T) {
			c := defaults()
			if place != "alone" {
				c.Domain = DomainMember
			}
			honest, forging := newBenchAt(t, sidesFrom[place], c), newBenchAt(t, sidesFrom[place], c)
			honest.now, forging.now = unit.Second, unit.Second
			longer := func(p *packet.Packet) { p.Size += 8 }
			honest.send(1, longer)
			forging.send(1, withMark(minHonest))
			if a, want := forging.program.activity, honest.program.activity; a != want {
				t.Errorf("activity %g with a forged mark, %g without", a, want)
			}
			p := forging.take()
			if a, ok := activityIn(p); ok != (place == "edge") || ok && a != forging.program.activity {
				t.Errorf("it leaves with the mark %g, %v", a, ok)
			}
			if place != "edge" && p.Size != 1490 {
				t.Errorf("it leaves with %d bytes", p.Size)
			}
		})
	}
}

// TestCorruptMark checks that the lowest mark of an edge changes A_avg little, and an impossible mark has no effect:
// its packet belongs to one aggregate of the port, as one without a mark.
func TestCorruptMark(t *testing.T) {
	c := at(t, "core")
	feed := func() {
		for range 3000 {
			c.now += 240 * unit.Microsecond
			c.send(1, withMark(12))
			c.pool.Put(c.take())
		}
	}
	feed()
	c.send(2, withMark(minHonest))
	c.pool.Put(c.take())
	if a := c.program.AverageActivity(1); a < 11.8 || a > 12 {
		t.Errorf("after one mark of %d A_avg is %g, it was 12", minHonest, a)
	}
	feed()
	if a := c.program.AverageActivity(1); a < 11.99 || a > 12.01 {
		t.Errorf("A_avg is %g after 0.7 s of 12", a)
	}
	for name, spoil := range map[string]func(p *packet.Packet){
		"too low": withMark(-32.001), "too high": withMark(40.001), "far too low": withMark(-1e30),
		"far too high": withMark(1e30),
		"not a number": withMark(float32(math.NaN())), "infinite": withMark(float32(math.Inf(-1))),
		"absent": func(*packet.Packet) {}, "too short": func(p *packet.Packet) {
			p.SetExtension(packet.ExtActivity,
				[]byte{1})
		}, "too long": func(p *packet.Packet) { // 12, and a byte more
			p.SetExtension(packet.ExtActivity, append(binary.BigEndian.AppendUint32(nil, math.Float32bits(12)), 0))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := at(t, "core")
			c.now = unit.Second
			for range 3 {
				c.send(2, spoil)
			}
			m := &c.program.unmarked[0]
			if want := Activity(m.RateAt(c.now, 3*unit.Second), 10*unit.Kbps); m.bits == 0 ||
				!testkit.IsNear(c.program.activity, want, testkit.Tolerance{Absolute: 1e-6}) {
				t.Errorf("activity %g, the port's unmarked frames have %g", c.program.activity, want)
			}
			if a, ok := activityIn(c.take()); !ok || !testkit.IsNear(a, Activity(11920/3/(1-math.Exp(-1.0/3)), 10*unit.Kbps),
				testkit.Tolerance{Absolute: 1e-2}) {
				t.Errorf("it leaves with the mark %g, %v", a, ok)
			}
		})
	}
}

// TestLowestActivity checks that an edge writes its lowest activity if its meter measures less than the range, and the
// core reads it. A user at a reference rate of 9 Eb/s has an activity of -51 with one frame in 3 s.
func TestLowestActivity(t *testing.T) {
	c := defaults()
	c.Domain, c.Reference = DomainMember, 9e18
	for _, c.Integer = range []bool{false, true} {
		edge := newBenchAt(t, sidesFrom["edge"], c)
		edge.now = unit.Second
		edge.send(1)
		p := edge.take()
		if a, ok := activityIn(p); !ok || a != minHonest {
			t.Errorf("integers %v: the edge writes %g, %v; want %d", c.Integer, a, ok, minHonest)
		}
	}
}

// TestRangeOfMarks checks that the ends of the range are in it, also with a delay class in their last bits.
func TestRangeOfMarks(t *testing.T) {
	for x, want := range map[uint32]bool{math.Float32bits(minHonest): true, math.Float32bits(maxHonest): true, 0: true,
		withClass(math.Float32bits(minHonest), 7): true, withClass(math.Float32bits(maxHonest), 7): true,
		math.Float32bits(minHonest) + classCount: false, math.Float32bits(maxHonest) + classCount: false} {
		if got := isFromEdge(x); got != want {
			t.Errorf("%g (%#x): %v", math.Float32frombits(x), x, got)
		}
	}
}

// TestDifferentSwitches checks that a core reads an edge's marks for any speeds of their links, reference rates and
// memories. The lowest activity of an edge, of a user with a high reference rate, is not raised where links are slow,
// and the highest is not lowered.
func TestDifferentSwitches(t *testing.T) {
	fast := []unit.Rate{400 * unit.Gbps}
	for _, x := range []struct {
		name      string
		reference unit.Rate
		bytes     int32
		frames    int
	}{{"the least", 400 * unit.Gbps, 60, 1}, {"low", 10 * unit.Gbps, 1490, 1}, {"the paper's", 10 * unit.Kbps, 1490, 40},
		{"high", 1, 60000, 20000}} {
		for arithmetic, integer := range map[string]bool{"exact": false, "integers": true} {
			t.Run(x.name+", "+arithmetic, func(t *testing.T) {
				c := defaults()
				c.Domain, c.Integer, c.Reference = DomainMember, integer, x.reference
				slow := c
				slow.Reference, slow.Memory = 10*unit.Kbps, 100*unit.Millisecond
				book := packet.NewBook()
				book.Add(netip.MustParseAddr("10.0.0.1"), netip.Addr{})
				program := func(place string, rates []unit.Rate, c Config) *Program {
					a, err := New(&dataplane.Site{Ports: 2, Book: book, Rates: rates, Lines: sidesFrom[place]}, c)
					if err != nil {
						t.Fatal(err)
					}
					return a
				}
				edge, core := program("edge", fast, c), program("core", []unit.Rate{10 * unit.Mbps}, slow)
				activity := func(a *Program, p *packet.Packet) float64 {
					if integer {
						a.integers.activity = a.measureArrivalInteger(10*unit.Second, p)
						return a.integers.activity.Float()
					}
					a.activity = a.measureArrival(10*unit.Second, p)
					return a.activity
				}
				var wrote float64
				p := &packet.Packet{}
				for range x.frames {
					*p = packet.Packet{Src: 1, Version: 4, Size: x.bytes}
					p.Meta.Out = 1
					wrote = activity(edge, p)
				}
				exact := Activity(float64(x.bytes)*8*float64(x.frames)/(3*-math.Expm1(-10.0/3)), x.reference)
				if edge.prepareDeparture(p) != dataplane.Accept || !testkit.IsNear(wrote, exact,
					testkit.Tolerance{Absolute: IntegerBound}) {
					t.Fatalf("the edge writes %g of a user with %g", wrote, exact)
				}
				if read := activity(core, p); read != wrote {
					t.Errorf("the core reads %g, the edge wrote %g", read, wrote)
				}
			})
		}
	}
}

// TestAssignSides_FollowsNeighboursAndConfig checks that sides follow from the neighbours and from the file.
func TestAssignSides_FollowsNeighboursAndConfig(t *testing.T) {
	c := defaults()
	c.Domain = DomainMember
	c.Ports = []PortSide{{Key: "h2", Value: Inside}, {Key: "s2", Value: Outside}}
	got, err := assignSides(&dataplane.Site{Ports: 3, Lines: sidesFrom["both"]}, &c)
	if err != nil || got[0] != Outside || got[1] != Inside || got[2] != Outside {
		t.Errorf("%v, %v", got, err)
	}
	c.Ports = nil
	if _, err := assignSides(&dataplane.Site{Ports: 2, Lines: []dataplane.Line{{To: "a"}, {To: "b"}}}, &c); err == nil {
		t.Error("a bridge is part of a domain without any port inside")
	}
}

// TestProgram_MarksFitInsideMTU checks that links inside bound a marked packet: TCP's SYNs announce segments with room
// for it, and packets without room are dropped.
func TestProgram_MarksFitInsideMTU(t *testing.T) {
	for _, x := range []struct {
		version uint8
		mss     uint16
		want    uint16
	}{{4, 1460, 1452}, {6, 1440, 1432}, {4, 1000, 1000}, {6, 1432, 1432}, {4, 0, 0}} {
		c := defaults()
		c.Domain, c.MTU = DomainMember, 1500
		b := newBenchAt(t, sidesFrom["edge"], c)
		b.now = unit.Second
		b.send(1, func(p *packet.Packet) {
			p.Version, p.Proto, p.TCP.MSS, p.TCP.Flags, p.Payload, p.Size = x.version, packet.ProtoTCP, x.mss, packet.SYN, 0, 74
		})
		if got := b.take().TCP.MSS; got != x.want {
			t.Errorf("IPv%d: an MSS of %d leaves as %d, want %d", x.version, x.mss, got, x.want)
		}
	}
	c := defaults()
	c.Domain, c.MTU = DomainMember, 1500
	for _, x := range []struct {
		name  string
		lines []dataplane.Line
		ip    int32
		fits  bool
	}{
		{"to inside", sidesFrom["edge"], 1492, true}, {"to inside", sidesFrom["edge"], 1493, false},
		{"to outside", sidesFrom["exit"], 1500, true}, {"between hosts", sidesFrom["both"], 1500, true},
	} {
		t.Run(x.name, func(t *testing.T) {
			b := newBenchAt(t, x.lines, c)
			b.now = unit.Second
			ok := b.send(1, func(p *packet.Packet) {
				p.Proto, p.Payload, p.Size = packet.ProtoUDP, x.ip-28, x.ip+14
			})
			if ok != x.fits || (b.DropCounts()[dataplane.TooLong] == 1) == x.fits {
				t.Errorf("%d bytes of IP: taken %v, drops %v", x.ip, ok, b.DropCounts())
			}
		})
	}
	// a packet that arrives with its mark needs no more room
	b := newBenchAt(t, sidesFrom["core"], c)
	if !b.send(1, func(p *packet.Packet) {
		p.Proto, p.Payload, p.Size = packet.ProtoUDP, 1492-28, 1492+14
		withMark(10)(p)
	}) {
		t.Error("a core drops a packet that fits with its mark")
	}
}

// TestMTUOverPPPoE checks that headers before IP use room, too. Over PPPoE, with 8 bytes that no host counts in its
// MSS, TCP announces that much less, and packets that just fit pass. A sender of longer packets is notified of a length
// that fits.
func TestMTUOverPPPoE(t *testing.T) {
	c := defaults()
	c.Domain, c.MTU = DomainMember, 1500
	a := newBenchAt(t, sidesFrom["edge"], c).program
	leave := func(t *testing.T, version uint8, ip int, tagged bool) (p *packet.Packet, ok bool) {
		f := make([]byte, 12)
		if tagged {
			f = append(f, 0x81, 0, 0, 5)
		}
		f = append(f, 0x88, 0x64, 0x11, 0, 0, 1, byte((ip+2)>>8), byte(ip+2), 0, 0x21)
		p = &packet.Packet{Data: append(f, make([]byte, ip)...), Version: version, Proto: packet.ProtoTCP}
		p.TCP.MSS, p.TCP.Flags, p.Meta.Out = 1452, packet.SYN, 1
		v := a.prepareDeparture(p)
		if v == dataplane.Accept && !p.HasHotExtension(packet.ExtActivity) {
			t.Error("it leaves without a mark")
		}
		return p, v == dataplane.Accept
	}
	const most = 1500 - 8 - 8 // the mark, and PPPoE
	for _, x := range []struct {
		name    string
		version uint8
		tagged  bool
		mss     uint16
	}{{"IPv4", 4, false, most - 40}, {"IPv4, tagged", 4, true, most - 40}, {"IPv6", 6, false, most - 60}} {
		t.Run(x.name, func(t *testing.T) {
			if p, ok := leave(t, x.version, 44, x.tagged); !ok || p.TCP.MSS != x.mss {
				t.Errorf("taken %v, an MSS of %d, want %d", ok, p.TCP.MSS, x.mss)
			}
			if _, ok := leave(t, x.version, most, x.tagged); !ok {
				t.Errorf("%d bytes of IP are dropped", most)
			}
			if p, ok := leave(t, x.version, most+1, x.tagged); ok || p.Meta.User != most {
				t.Errorf("one byte more is taken: %v; its sender is told %d", ok, p.Meta.User)
			}
		})
	}
}

// TestMTULength_SkipsEthernetTags checks the bytes of a packet after the Ethernet header and its tags.
func TestMTULength_SkipsEthernetTags(t *testing.T) {
	frame := func(types ...uint16) *packet.Packet {
		f := make([]byte, 12)
		for i, x := range types {
			if i > 0 {
				f = append(f, 0, 1)
			}
			f = binary.BigEndian.AppendUint16(f, x)
		}
		return &packet.Packet{Data: append(f, make([]byte, 100)...)}
	}
	for i, p := range []*packet.Packet{frame(0x0800), frame(0x8100, 0x0800), frame(0x88a8, 0x8100, 0x86dd)} {
		if n, front := mtuLength(p); n != 100 || front != 0 {
			t.Errorf("%d tags: %d bytes, %d in front of IP", i, n, front)
		}
	}
}

// TestFirstActivity checks that a user's first packet has the same activity at the same time, however its meter was
// made.
func TestFirstActivity(t *testing.T) {
	const late = 100 * unit.Second
	first := func(b *bench) float64 {
		b.now = late
		b.send(1)
		return b.program.activity
	}
	c := defaults()
	named := c
	named.Aggregates = []Aggregate{{Key: "10.0.0.1", Value: 10 * unit.Kbps}}
	want := Activity(11920/(3*-math.Expm1(-100.0/3)), 10*unit.Kbps)
	reloaded := func(t *testing.T, from, to Config) *bench {
		old := newBench(t, from)
		b := newBench(t, to)
		b.program.Adopt(late-10*unit.Millisecond, old.program)
		return b
	}
	shared := c
	shared.SharesDefault = true
	part := c
	part.Domain = DomainMember
	core := func() *bench { return newBenchAt(t, sidesFrom["core"], part) }
	forgotten := newBench(t, c)
	forgotten.now = late - unit.Second
	for range 100 {
		forgotten.send(1)
	}
	for forgotten.Port(1).Packets() > 0 {
		forgotten.pool.Put(forgotten.take())
	}
	forgotten.program.EvictAddress(1)
	for name, b := range map[string]*bench{
		"a source": newBench(t, c), "an aggregate": newBench(t, named), "all others": newBench(t, shared),
		"a source after a reload": reloaded(t, named, c), "an aggregate that is new": reloaded(t, c, named),
		"all others, new": reloaded(t, c, shared), "an address that was forgotten": forgotten, "unmarked frames": core(),
	} {
		t.Run(name, func(t *testing.T) {
			if got := first(b); !testkit.IsNear(got, want, testkit.Tolerance{Absolute: 1e-6}) {
				t.Errorf("activity %g, want %g", got, want)
			}
		})
	}
}

// TestSuitsDomain checks that impossible domains are reported when the file is read: unknown neighbours, packets that a
// mark makes too long.
func TestSuitsDomain(t *testing.T) {
	s := &dataplane.SwitchContext{Switch: "s1", Nodes: []string{"h1", "h9", "s1", "s2"}, MaxRigidPacket: 1493,
		Ports: []dataplane.Peer{{To: "h1", Host: true}, {To: "s2"}}}
	for _, x := range []struct {
		name string
		set  func(c *Config)
		want string
	}{
		{"alone", func(c *Config) { c.Domain, c.MTU = WholeDomain, 1500 }, ""},
		{"any length", func(*Config) {}, ""},
		{"no room", func(c *Config) { c.MTU = 1500 }, "mtu"},
		{"room", func(c *Config) { c.MTU = 1501 }, ""},
		{"no room for the least of IPv6", func(c *Config) { c.MTU = 1287 }, "mtumtu"},
		{"room for the least of IPv6", func(c *Config) { c.MTU = 1288 }, "mtu"},
		{"no link inside", func(c *Config) { c.MTU, c.Ports = 1500, []PortSide{{Key: "h9", Value: Inside}} }, "mtu"},
		{"a neighbour of another switch", func(c *Config) { c.Ports = []PortSide{{Key: "h9", Value: Inside}} }, ""},
		{"nobody", func(c *Config) { c.Ports = []PortSide{{Key: "h2", Value: Inside}} }, "ports"},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := defaults()
			c.Domain = DomainMember
			x.set(&c)
			got := ""
			for _, r := range c.checkDomain(s) {
				got += r.Param
				if r.Refused != (r.Param == "ports") {
					t.Errorf("%s: refused %v", r.Text, r.Refused)
				}
			}
			if got != x.want {
				t.Errorf("remarks on %q, want %q", got, x.want)
			}
		})
	}
}

// activityIn is a packet's mark as a number.
func activityIn(p *packet.Packet) (activity float64, ok bool) {
	bits, ok := parseMark(p)
	return float64(math.Float32frombits(bits)), ok
}
