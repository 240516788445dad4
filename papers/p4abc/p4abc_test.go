package p4abc

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 18, "../../core/dataplane/users") }

// TestMeterGolden checks UTEMA, equations 28 to 30: unit packets each second, M = 10 s give 1.0508331944 at every
// arrival from the first. Right after an arrival R = b·dt/(1 − exp(−b·dt)) of the rate.
func TestMeterGolden(t *testing.T) {
	m := NewMeter(0)
	for i := 1; i <= 200; i++ {
		now := unit.Time(i) * unit.Second
		m.Update(now, 1, 10*unit.Second)
		if r := m.RateAt(now, 10*unit.Second); !testkit.IsNear(r, 1.0508331944, testkit.Tolerance{Absolute: 1e-9}) {
			t.Fatalf("arrival %d: rate %.10f", i, r)
		}
	}
	// read later, only S decays and T grows: half a second after the last arrival
	now := 200*unit.Second + unit.Second/2
	s, T := 0.0, 10*(1-math.Exp(-20.05))
	for k := 1; k <= 200; k++ {
		s += math.Exp(-(200.5 - float64(k)) / 10)
	}
	if r := m.RateAt(now, 10*unit.Second); !testkit.IsNear(r, s/T, testkit.Tolerance{Absolute: 1e-9}) {
		t.Errorf("between arrivals: rate %.10f, want %.10f", r, s/T)
	}
}

// TestMeterIsUnbiased checks ICPE'17, table 6: TDRM-UTEMA gives 1.000 of the rate of Poisson traffic, with a
// coefficient of variation of 0.158 for M = 20 gaps (figure 6e).
func TestMeterIsUnbiased(t *testing.T) {
	random := unit.NewRandom(1, "poisson")
	m := NewMeter(0)
	const memory = 20 * unit.Second // 20 mean gaps
	now, sum, squares, n := unit.Time(0), 0.0, 0.0, 0.0
	next := unit.Time(0)
	for now < 200000*unit.Second {
		gap := unit.Time(random.ExpFloat64() * 1e12)
		for next < now+gap { // read at fixed times, not at arrivals
			if next > 300*unit.Second {
				r := m.RateAt(next, memory)
				sum, squares, n = sum+r, squares+r*r, n+1
			}
			next += 7 * unit.Second
		}
		now += gap
		m.Update(now, 1, memory)
	}
	mean := sum / n
	if cv := math.Sqrt(squares/n-mean*mean) / mean; !testkit.IsNear(mean, 1, testkit.Tolerance{Absolute: 0.005}) ||
		!testkit.IsNear(cv, 0.158, testkit.Tolerance{Absolute: 0.006}) {
		t.Errorf("mean %.4f, coefficient of variation %.4f; want 1.000 and 0.158", mean, cv)
	}
}

// TestAverageGolden checks ICPE'17, equations 18 to 20: UTEMA with M = 4, t = 0, 1, 2, 3, X = 1, 0, 1, 0.
func TestAverageGolden(t *testing.T) {
	var a Average
	if a.Value() != 0 {
		t.Error("an average of nothing is not 0")
	}
	for i, want := range []float64{1, 0.437823, 0.673504, 0.437823} {
		a.Update(unit.Time(i)*unit.Second, float64(1-i%2), 1, 4*unit.Second)
		if !testkit.IsNear(a.Value(), want, testkit.Tolerance{Absolute: 1e-6}) {
			t.Errorf("t = %d: %.6f, want %.6f", i, a.Value(), want)
		}
	}
}

// TestActivity_FollowsEquation1 checks equation (1).
func TestActivity_FollowsEquation1(t *testing.T) {
	for _, c := range []struct{ rate, want float64 }{{10e3, 0}, {20e3, 1}, {5e3, -1}, {40e6, math.Log2(4000)}, {0, 0}} {
		if got := Activity(c.rate, 10*unit.Kbps); !testkit.IsNear(got, c.want, testkit.Tolerance{Absolute: 1e-12}) {
			t.Errorf("A(%g b/s) = %g, want %g", c.rate, got, c.want)
		}
	}
}

// TestThreshold_FollowsEquation2 checks equation (2) with the parameters of P4-ABC §6.1.3.
func TestThreshold_FollowsEquation2(t *testing.T) {
	for _, c := range []struct{ a, avg, want float64 }{
		{10, 10, 20},   // average activity: Q_base
		{10.5, 10, 12}, // half a unit above
		{11, 10, 6},    // one above: 4, but at least Q_min
		{9, 10, 36},    // one below: beyond the buffer
		{0, 0, 20},
	} {
		if got := Threshold(c.a, c.avg, 6, 20, 16); got != c.want {
			t.Errorf("T(%g) at average %g = %g, want %g", c.a, c.avg, got, c.want)
		}
	}
}

// bench is a switch with two ports: packets depart by port 1.
type bench struct {
	*dataplane.Switch
	program *Program
	pool    *packet.Pool
	book    *packet.Book
	now     unit.Time
}

func newBench(t testing.TB, c Config, before ...dataplane.Program) *bench {
	t.Helper()
	return newBenchAt(t, nil, c, before...)
}

// newBenchAt is newBench with these links.
func newBenchAt(t testing.TB, lines []dataplane.Line, c Config, before ...dataplane.Program) *bench {
	t.Helper()
	return newBenchOf(t, tm.NewFIFO(), 1, lines, c, before...)
}

// newBenchOf is newBenchAt with ports of the given number of queues.
func newBenchOf(t testing.TB, serves tm.Scheduler, queues int, lines []dataplane.Line, c Config,
	before ...dataplane.Program) *bench {
	t.Helper()
	b := &bench{pool: &packet.Pool{}, book: packet.NewBook()}
	for i := range 6 {
		b.book.Add(netip.AddrFrom4([4]byte{10, 0, byte(i / 3), byte(i + 1)}),
			netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
	}
	routes, err := dataplane.NewRoutes(b.book, []dataplane.Route{
		{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Ports: []packet.PortID{1}}, {Prefix: netip.MustParsePrefix("::/0"),
			Ports: []packet.PortID{1}}})
	if err != nil {
		t.Fatal(err)
	}
	site := &dataplane.Site{Switch: "s1", Ports: 2, Book: b.book, Routes: routes, Lines: lines, Queues: queues}
	f := forward.New(site)
	if b.program, err = New(site, c); err != nil {
		t.Fatal(err)
	}
	port := func() *tm.Port {
		return tm.NewPort(tm.NewBuffer(queues, tm.Limit{}, tm.Limit{Packets: 24}), serves,
			unit.LinkRate{Bits: 50 * unit.Mbps})
	}
	b.Switch, err = dataplane.New(dataplane.Config{Name: "s1", Ports: []*tm.Port{port(), port()}, Programs: append(before,
		f, b.program), Pool: b.pool, Book: b.book})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// send sends a packet of 1490 bytes from a source to the switch and reports whether it was accepted.
func (b *bench) send(src packet.Addr, ext ...func(*packet.Packet)) bool {
	p := b.pool.Get()
	p.Src, p.Dst, p.Size, p.Payload, p.HopLimit, p.Version = src, 6, 1490, 1448, 64, 4
	for _, f := range ext {
		f(p)
	}
	before := b.Port(1).Packets()
	b.Receive(b.now, 0, p)
	return b.Port(1).Packets() > before
}

func (b *bench) take() *packet.Packet {
	p, _ := b.Dequeue(b.now, 1)
	return p
}

func defaults() Config {
	return Config{Domain: WholeDomain, UserRule: ToSender, Memory: 3 * unit.Second, Reference: 10 * unit.Kbps,
		Average: 300 * unit.Millisecond, QMin: unit.Depth{Packets: 6}, QBase: unit.Depth{Packets: 20},
		Gamma: unit.Depth{Packets: 16}, FastCost: 1, Class: ByPacket, Users: 2}
}

// paper returns the paper's configuration, with its average over packets (§3.3).
func paper() Config {
	c := defaults()
	c.PerPacket = true
	return c
}

// TestFirstPacket checks that the first packet at the very start of the measurement has activity 0. A later one has a
// rate.
func TestFirstPacket(t *testing.T) {
	b := newBench(t, defaults())
	b.send(1)
	if a := b.program.activity; a != 0 {
		t.Errorf("first packet at time 0: activity %g, want 0", a)
	}
	b = newBench(t, defaults())
	b.now = unit.Second
	b.send(1)
	// R = 1490·8 bits / (3 s · (1 − e^(−1/3))) = 14017 b/s
	if want := math.Log2(11920 / (3 * (1 - math.Exp(-1.0/3))) / 10000); !testkit.IsNear(b.program.activity, want,
		testkit.Tolerance{Absolute: 1e-12}) {
		t.Errorf("first packet after 1 s: activity %g, want %g", b.program.activity, want)
	}
}

// TestAverageOfAcceptedOnly checks P4-ABC §3.3: A_avg is only over accepted packets. Packets that a full buffer refuses
// do not count either.
func TestAverageOfAcceptedOnly(t *testing.T) {
	b := newBench(t, paper())
	accepted := 0.0
	var reference Average
	for i := range 200 {
		b.now = unit.Time(i) * unit.Millisecond
		if b.send(packet.Addr(1 + i%3)) {
			accepted++
			reference.Update(b.now, b.program.activity, 1, 300*unit.Millisecond)
		}
		if i%4 == 0 {
			if p := b.take(); p != nil {
				b.pool.Put(p)
			}
		}
	}
	drops := b.DropCounts()
	if accepted == 200 || drops[dataplane.ActivityExceeded] == 0 {
		t.Fatalf("%g of 200 accepted, drops %v: this tests nothing", accepted, drops)
	}
	if got, want := b.program.aqms[1].average.Value(), reference.Value(); got != want {
		t.Errorf("A_avg %g, that of the accepted packets is %g", got, want)
	}
	if b.program.aqms[0].average != (Average{}) {
		t.Error("a port without traffic has an average")
	}
}

// TestRegister_TracksQueueBetweenDepartures checks P4-ABC §5.1 and §5.3: the ingress uses the length at the last
// departure, plus one for each packet accepted since. So between departures it is right, and after a departure it is
// the true length.
func TestRegister_TracksQueueBetweenDepartures(t *testing.T) {
	c := paper()
	c.Register = true
	b := newBench(t, c)
	for i := range 5 {
		b.now = unit.Time(i+1) * unit.Second
		b.send(1)
	}
	if r := b.program.aqms[1].register; r != 5 {
		t.Errorf("after 5 arrivals the register is %d", r)
	}
	b.pool.Put(b.take())
	if r := b.program.aqms[1].register; r != 4 {
		t.Errorf("after a departure the register is %d, 4 packets wait", r)
	}
	b.send(1)
	if r := b.program.aqms[1].register; r != 5 {
		t.Errorf("after another arrival the register is %d", r)
	}
}

// TestAggregates_LongestPrefixWins checks P4-ABC §5.2: the source address is the aggregate. Prefixes join sources, the
// longest wins, and the others have one each, or share one.
func TestAggregates_LongestPrefixWins(t *testing.T) {
	c := defaults()
	c.Aggregates = []Aggregate{{Key: "10.0.0.0/24", Value: 20 * unit.Kbps},
		{Key: "10.0.0.2/32", Value: 30 * unit.Kbps}}
	b := newBench(t, c)
	meters := func() (of [6]*activityMeter) {
		for src := packet.Addr(1); src <= 5; src++ {
			b.send(src)
			of[src] = b.program.findMeter(&packet.Packet{Src: src, Version: 4})
		}
		return of
	}
	of := meters()
	if of[1] != of[3] || of[2] == of[1] || of[4] == of[5] || of[4] == of[1] {
		t.Errorf("meters by source: %v", of[1:6])
	}
	if of[1].reference != 20*unit.Kbps || of[2].reference != 30*unit.Kbps || of[4].reference != 10*unit.Kbps {
		t.Errorf("meters %v", of[1:6])
	}
	c.SharesDefault = true
	b = newBench(t, c)
	if of := meters(); of[4] != of[5] || of[4] == of[1] {
		t.Errorf("with a shared default: %v", of[1:6])
	}
	// the same source over IPv6 keeps its aggregate
	b = newBench(t, defaults())
	b.send(1)
	b.send(1, func(p *packet.Packet) { p.Version = 6 })
	if n := len(b.program.meters) / directions; n != 1 || b.program.meters[0].bits != 2*11920 {
		t.Errorf("%d meters for one source, the first has seen %g bits", n, b.program.meters[0].bits)
	}
}

// TestReferenceRates checks P4-ABC §3.4: "Reference rates R_r specific to aggregates may be used to differentiate their
// achievable throughput". Of two sources that overload the link equally the one with the higher reference rate is less
// active, and the other is dropped first.
func TestReferenceRates(t *testing.T) {
	c := defaults()
	c.Aggregates = []Aggregate{{Key: "10.0.0.1/32", Value: 30 * unit.Kbps},
		{Key: "10.0.0.2/32", Value: 10 * unit.Kbps}}
	b := newBench(t, c)
	got := [3]int{}
	random := unit.NewRandom(1, "arrivals")
	// one frame is served each 238.4 µs; both sources send at 60 Mb/s
	next := [3]unit.Time{0, 0, 0}
	serve := unit.Time(0)
	for b.now < 30*unit.Second {
		src := packet.Addr(1)
		if next[2] < next[1] {
			src = 2
		}
		if serve <= next[src] {
			b.now = serve
			if p := b.take(); p != nil {
				if b.now > 10*unit.Second {
					got[p.Src]++
				}
				b.pool.Put(p)
			}
			serve += 238400 * unit.Nanosecond
			continue
		}
		b.now = next[src]
		b.send(src)
		next[src] += unit.Time(198667 * (0.5 + random.Float64()) * 1e3)
	}
	if share := float64(got[1]) / float64(got[1]+got[2]); share < 0.9 {
		t.Errorf("the source with three times the reference rate gets %.0f %% (%d, %d)", 100*share, got[1], got[2])
	}
}

// TestScheme_DefaultsMatchPaper checks that the values of P4-ABC §6.1.3 are the defaults.
func TestScheme_DefaultsMatchPaper(t *testing.T) {
	var b strings.Builder
	for _, p := range Scheme().Parameters() {
		fmt.Fprintf(&b, "%s=%s ", p.Name, p.Default)
	}
	want := "domain=alone ports= mtu=0B memory=3s " +
		"reference=10kbps average_memory=300ms average=rate q_min=6 packets q_base=20 packets gamma=16 " +
		"packets round_trip=0s users=2 queue=exact aggregates= user=auto others=each flows=0 " +
		"delays= fast_cost=1 class=packet arithmetic=exact spread=0% "
	if b.String() != want {
		t.Errorf("defaults\n%s, want\n%s", b.String(), want)
	}
}

// TestConfig_TakesThresholdsInBytes checks thresholds in bytes, an option: all three or none.
func TestConfig_TakesThresholdsInBytes(t *testing.T) {
	c := defaults()
	c.QMin, c.QBase, c.Gamma = unit.Depth{Bytes: 9000}, unit.Depth{Bytes: 30000}, unit.Depth{Bytes: 24000}
	b := newBench(t, c)
	for range 8 {
		b.now += unit.Millisecond
		b.send(1)
	}
	if got := b.Port(1).Bytes(); got != 8*1490 {
		t.Errorf("%d bytes wait", got)
	}
	c.Gamma = unit.Depth{Packets: 16}
	if scheme.Validate(&c) == nil {
		t.Error("thresholds in bytes with a gamma in packets are taken")
	}
	c = paper()
	c.QBase, c.QMin, c.Gamma, c.Register = unit.Depth{Bytes: 1}, unit.Depth{Bytes: 1}, unit.Depth{Bytes: 1}, true
	if scheme.Validate(&c) == nil {
		t.Error("the prototype's register with thresholds in bytes is taken")
	}
	c = defaults()
	if c.Register = true; scheme.Validate(&c) == nil {
		t.Error("the prototype's register, which counts packets, with queues in bytes is taken")
	}
}

// TestQMin checks P4-ABC §3.3: Q_min "prevents packet dropping in the absence of congestion". At queues up to it no
// user is dropped, however active. So ABC at uncongested ports, such as the return path of P4-ABC §6.1.1, has no
// effect.
func TestQMin(t *testing.T) {
	c := paper()
	c.Aggregates = []Aggregate{{Key: "10.0.0.2/32", Value: 100 * unit.Mbps}} // user 1 has 10 kb/s
	b := newBench(t, c)
	for i := range 10_000 {
		b.now = unit.Time(i+1) * unit.Millisecond
		b.send(2)
		for b.Port(1).Packets() > 6 {
			b.pool.Put(b.take())
		}
		average := b.program.aqms[1].average.Value()
		if !b.send(1) {
			t.Fatalf("frame %d is dropped at a queue of %d", i, b.Port(1).Packets())
		}
		if i > 10 && Threshold(b.program.activity, average, 6, 20, 16) != 6 {
			t.Fatalf("frame %d: activity %g at average %g; this tests nothing", i, b.program.activity, average)
		}
	}
	if b.send(1) {
		t.Error("a far more active user's frame is accepted at a queue of 7")
	}
}

// TestAggregatesByFamily checks that a source with both families is metered by the prefix of its packet's address, for
// either first family.
func TestAggregatesByFamily(t *testing.T) {
	c := defaults()
	c.Aggregates = []Aggregate{{Key: "10.0.0.1/32", Value: 20 * unit.Kbps}}
	six := func(p *packet.Packet) { p.Version = 6 }
	b := newBench(t, c)
	b.now = unit.Second
	b.send(1, six)
	by6 := b.program.activity
	b.now = 2 * unit.Second
	b.send(1)
	by4 := b.program.activity
	// 11920 bits each; the aggregate of the IPv4 prefix has seen one frame
	if want := math.Log2(11920 / (3 * (1 - math.Exp(-2.0/3))) / 20000); !testkit.IsNear(by4, want,
		testkit.Tolerance{Absolute: 1e-12}) {
		t.Errorf("IPv4 after IPv6: activity %g, want %g", by4, want)
	}
	if want := math.Log2(11920 / (3 * (1 - math.Exp(-1.0/3))) / 10000); !testkit.IsNear(by6, want,
		testkit.Tolerance{Absolute: 1e-12}) {
		t.Errorf("IPv6 first: activity %g, want %g", by6, want)
	}
}

// again makes the switch copy each packet from a port: in addition to it, or instead of it for a second round.
type again struct{ inject bool }

func (again) Name() string { return "again" }

func (a again) Ingress(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	if p.Meta.In == packet.NoPort {
		return dataplane.Accept
	}
	if a.inject {
		env.InjectPacket(env.ClonePacket(p, false))
		return dataplane.Accept
	}
	env.RecirculatePacket(env.ClonePacket(p, false))
	return dataplane.Drop(dataplane.Policed)
}

// TestMeasuredOnce checks that a user's frame is measured once. Packets that the switch makes from it do not make the
// user more active and do not enter A_avg, also if a program before this one recirculates it.
func TestMeasuredOnce(t *testing.T) {
	for _, a := range []again{{inject: true}, {inject: false}} {
		b := newBench(t, paper(), a)
		b.now = unit.Second
		b.send(1)
		if got := b.program.meters[0].bits; got != 11920 {
			t.Errorf("%+v: %g bits measured of a frame of 11920", a, got)
		}
		if got := b.program.aqms[1].average.count; got != 1 {
			t.Errorf("%+v: %g samples in A_avg, want 1", a, got)
		}
	}
}

// TestRegisterCountsAll checks P4-ABC §5.2: the register grows with every packet accepted for the port, also with those
// outside the domain.
func TestRegisterCountsAll(t *testing.T) {
	c := paper()
	c.Register = true
	b := newBench(t, c)
	for range 5 {
		b.send(1, func(p *packet.Packet) { p.Meta.Flags |= packet.Internal })
	}
	if r := b.program.aqms[1].register; r != 5 {
		t.Errorf("5 packets wait, the register is %d", r)
	}
}

// TestNew_RejectsBadConfig checks that a program with values that no spec can hold is refused, not run.
func TestNew_RejectsBadConfig(t *testing.T) {
	site := &dataplane.Site{Ports: 2, Book: packet.NewBook()}
	if _, err := New(site, defaults()); err != nil {
		t.Fatal(err)
	}
	good := defaults()
	if err := scheme.Validate(&good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Config){
		"no domain":            func(c *Config) { c.Domain = "" },
		"unknown domain":       func(c *Config) { c.Domain = "middle" },
		"no memory":            func(c *Config) { c.Memory = 0 },
		"no memory of average": func(c *Config) { c.Average = -1 },
		"no reference":         func(c *Config) { c.Reference = 0 },
		"aggregate at rate 0": func(c *Config) {
			c.Aggregates = []Aggregate{{Key: "10.0.0.0/8", Value: 0}}
		},
		"no prefix":             func(c *Config) { c.Aggregates = []Aggregate{{Key: "10.0.0.0/33", Value: unit.Kbps}} },
		"negative queue length": func(c *Config) { c.QMin = unit.Depth{Packets: -1} },
		"the same prefix twice": func(c *Config) {
			c.Aggregates = []Aggregate{{Key: "10.0.0.1/8", Value: unit.Kbps},
				{Key: "10.0.0.2/8", Value: 2 * unit.Kbps}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := defaults()
			if spoil(&c); scheme.Validate(&c) == nil {
				t.Errorf("%+v is taken", c)
			}
		})
	}
}

func TestNoAllocation(t *testing.T) {
	for _, ports := range []string{"alone", "edge", "core", "exit"} {
		lines := sidesFrom[ports]
		c := defaults()
		if lines != nil {
			c.Domain = DomainMember
		}
		b := newBenchAt(t, lines, c)
		step := func() {
			b.now += 200 * unit.Microsecond
			b.send(1)
			b.send(2)
			if p := b.take(); p != nil {
				b.pool.Put(p)
			}
		}
		for range 100 {
			step()
		}
		if n := testing.AllocsPerRun(1000, step); n != 0 {
			t.Errorf("%s: %g allocations a packet", ports, n)
		}
	}
}

func BenchmarkPacket(b *testing.B) {
	s := newBench(b, defaults())
	b.ReportAllocs()
	for b.Loop() {
		s.now += 200 * unit.Microsecond
		s.send(1)
		if p := s.take(); p != nil {
			s.pool.Put(p)
		}
	}
}

func ExampleThreshold() {
	// §6.1.3: Q_min 6, Q_base 20, γ 16 packets; a user twice as active as the
	// average is dropped from 6 packets on, one half as active never.
	fmt.Println(Threshold(11, 10, 6, 20, 16), Threshold(9, 10, 6, 20, 16))
	// Output: 6 36
}
