package dataplane_test

import (
	"fmt"
	"math"
	"net/netip"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/balance/conga"
	"weir/core/dataplane/balance/drill"
	"weir/core/dataplane/balance/ecmp"
	"weir/core/dataplane/balance/hula"
	"weir/core/dataplane/balance/letflow"
	"weir/core/dataplane/balance/wecmp"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// balanced is a switch with some equal ports to address 2 and one program.
type balanced struct {
	*dataplane.Switch
	pool  packet.Pool
	now   unit.Time
	ports int
}

func newBalanced(t testing.TB, scheme dataplane.Scheme, rates []unit.Rate, given ...string) *balanced {
	t.Helper()
	b := &balanced{ports: len(rates)}
	book := packet.NewBook()
	book.Add(netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1"))
	book.Add(netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("fd00::2"))
	var ids []packet.PortID
	var ports []*tm.Port
	site := &dataplane.Site{Switch: "s", Ports: len(rates), Random: func(e string) unit.Random {
		return unit.NewRandom(1, e)
	}}
	for i, r := range rates {
		ids = append(ids, packet.PortID(i))
		rate := unit.LinkRate{Bits: r}
		ports = append(ports, tm.NewPort(tm.NewBuffer(1, tm.Limit{}, tm.Limit{}), tm.NewFIFO(), rate))
		site.Lines = append(site.Lines, dataplane.Line{Rate: rate})
	}
	routes, err := dataplane.NewRoutes(book, []dataplane.Route{{Prefix: netip.MustParsePrefix("10.0.0.2/32"), Ports: ids},
		{Prefix: netip.MustParsePrefix("fd00::2/128"), Ports: ids}})
	if err != nil {
		t.Fatal(err)
	}
	site.Routes, site.Book = routes, book
	p, err := dataplanetest.BuildProgram(scheme, site, given...)
	if err != nil {
		t.Fatal(err)
	}
	b.Switch, err = dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{p},
		Pool: &b.pool, Book: book, Random: unit.NewRandom(1, "s")})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// send sends a packet of a flow to the switch after a pause and returns the port that it waits at.
func (b *balanced) send(flow uint32, pause unit.Time, bytes int32) int {
	b.now += pause
	p := b.pool.Get()
	p.Kind, p.Src, p.Dst, p.Version, p.HopLimit, p.Hash, p.Size = packet.Data, 1, 2, 4, 9, dataplane.MixHash(flow+1), bytes
	before := make([]int32, b.ports)
	for i := range before {
		before[i] = b.Port(packet.PortID(i)).Packets()
	}
	b.Receive(b.now, 0, p)
	for i := range before {
		if b.Port(packet.PortID(i)).Packets() > before[i] {
			return i
		}
	}
	return -1
}

func same(n int, r unit.Rate) (rates []unit.Rate) {
	for range n {
		rates = append(rates, r)
	}
	return
}

// TestLetFlow checks LetFlow §3: within a gap a flow keeps its port; after it each port is as likely, by χ²
// at the 99.9 % quantile.
func TestLetFlow(t *testing.T) {
	b := newBalanced(t, letflow.Scheme(), same(4, unit.Gbps), "gap", "100us")
	count := [4]float64{}
	const flowlets = 4000
	for range flowlets {
		first := b.send(7, 100*unit.Microsecond, 1000)
		count[first]++
		for range 3 {
			if port := b.send(7, 99*unit.Microsecond, 1000); port != first {
				t.Fatalf("a packet 99 us after the last goes by port %d, its flowlet by %d", port, first)
			}
		}
	}
	chi := 0.0
	for _, c := range count {
		chi += (c - flowlets/4) * (c - flowlets/4) / (flowlets / 4)
	}
	if chi > 16.27 {
		t.Errorf("χ² %.1f > 16.27: %v", chi, count)
	}
}

// TestWECMP_SpreadsFlowsByWeight checks WCMP §3.1: flows are spread in proportion to the ports' rates, or to weights. A
// flow keeps its port.
func TestWECMP_SpreadsFlowsByWeight(t *testing.T) {
	for _, c := range []struct {
		given []string
		want  []float64
	}{
		{nil, []float64{0.1, 0.4, 0.4, 0.1}},
		{[]string{"weights", "0: 0, 1: 3"}, []float64{0, 0.6, 0.2, 0.2}},
	} {
		b := newBalanced(t, wecmp.Scheme(), []unit.Rate{10 * unit.Gbps, 40 * unit.Gbps, 40 * unit.Gbps, 10 * unit.Gbps},
			c.given...)
		count := [4]float64{}
		const flows = 4000
		for flow := range uint32(flows) {
			port := b.send(flow, unit.Microsecond, 1000)
			if again := b.send(flow, unit.Microsecond, 1000); again != port {
				t.Fatalf("flow %d goes by %d, then by %d", flow, port, again)
			}
			count[port]++
		}
		for i, want := range c.want {
			if got := count[i] / flows; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/flows) {
				t.Errorf("weights %v: port %d has %.3f of the flows, want %.3f", c.given, i, got, want)
			}
		}
	}
	site := &dataplane.Site{Ports: 2, Random: func(e string) unit.Random { return unit.NewRandom(1, e) }}
	for _, bad := range []string{"2: 1", "x: 1", "0: 1001", "1: -1"} {
		t.Run(bad, func(t *testing.T) {
			if _, err := dataplanetest.BuildProgram(wecmp.Scheme(), site, "weights", bad); err == nil {
				t.Errorf("weights {%s} are taken", bad)
			}
		})
	}
}

// TestDrill_TwoChoicesKeepQueuesEven checks DRILL §3.2: with d = 1 and m = 0 queues are random. Two choices keep them
// far closer, and a memory closer still (Mitzenmacher, Prabhakar, Shah, FOCS 2002). A queue that is already long
// receives no packet.
func TestDrill_TwoChoicesKeepQueuesEven(t *testing.T) {
	spread := func(d, m string) int32 {
		b := newBalanced(t, drill.Scheme(), same(16, unit.Gbps), "d", d, "m", m)
		for i := range uint32(4000) {
			b.send(i, unit.Microsecond, 1000)
		}
		low, high := int32(1<<30), int32(0)
		for i := range 16 {
			n := b.Port(packet.PortID(i)).Packets()
			low, high = min(low, n), max(high, n)
		}
		return high - low
	}
	random, two, memory := spread("1", "0"), spread("2", "0"), spread("2", "1")
	if random < 20 || two > 8 || memory > two {
		t.Errorf("16 queues differ by up to %d at random, %d with two choices, %d with a memory", random, two, memory)
	}
	b := newBalanced(t, drill.Scheme(), same(2, unit.Gbps))
	first := b.send(1, 0, 100000)
	for range 50 {
		if port := b.send(1, unit.Microsecond, 1000); port == first {
			t.Fatalf("a packet goes to the long queue")
		}
	}
}

func TestBalance_DoesNotAllocate(t *testing.T) {
	for _, s := range []dataplane.Scheme{letflow.Scheme(), wecmp.Scheme(), drill.Scheme()} {
		b := newBalanced(t, s, same(4, unit.Gbps))
		for i := range uint32(2000) {
			b.drain(i)
		}
		i := uint32(0)
		if n := testing.AllocsPerRun(1000, func() { i++; b.drain(i) }); n > 0 {
			t.Errorf("%s allocates %.1f times a packet", s.Name, n)
		}
	}
}

// drain sends a packet through the switch.
func (b *balanced) drain(flow uint32) {
	b.now += unit.Microsecond
	p := b.pool.Get()
	p.Kind, p.Src, p.Dst, p.Version, p.HopLimit, p.Hash, p.Size = packet.Data, 1, 2, 6, 9, dataplane.MixHash(flow), 1000
	b.Receive(b.now, 0, p)
	for {
		out, ok := b.Wants().NextWoken()
		if !ok {
			return
		}
		if p, _ := b.Dequeue(b.now, out); p != nil {
			b.pool.Put(p)
		}
	}
}

// across sends a packet from a host of a leaf to another leaf, and one back.
func across(a *dataplanetest.SingleSwitch, flow uint32) {
	a.Now += unit.Microsecond
	for a.Wants().Timer <= a.Now {
		a.Advance(a.Now)
	}
	leaf := int(flow%7) + 1
	p := a.Pool.Get()
	p.Kind, p.Src, p.Dst, p.Version, p.HopLimit, p.Hash, p.Size = packet.Data, dataplanetest.HostAddress(0, 0),
		dataplanetest.HostAddress(leaf, 0), 4, 9, dataplane.MixHash(flow), 1000
	a.Receive(a.Now, 0, p)
	for {
		out, ok := a.Wants().NextWoken()
		if !ok {
			return
		}
		for {
			p, _ := a.Dequeue(a.Now, out)
			if p == nil {
				break
			}
			if h, ok := p.Extension(conga.Extension); ok { // the other leaf's answer
				h[2], h[3] = h[0], uint8(flow)&7
				p.Dst, p.Src, p.HopLimit = p.Src, p.Dst, 9
				a.Receive(a.Now, out, p)
				continue
			}
			a.Pool.Put(p)
		}
	}
}

// leaves is a leaf of eight with 16 uplinks.
var leaves = dataplanetest.SwitchPosition{Tiers: 2, Tier: 1, Leaves: 8, Up: 16}

func TestTreeBalance_DoesNotAllocate(t *testing.T) {
	for _, s := range []dataplane.Scheme{conga.Scheme(), hula.Scheme()} {
		a, err := dataplanetest.NewSingleSwitch(s, leaves)
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(2000) {
			across(a, i)
		}
		i := uint32(0)
		if n := testing.AllocsPerRun(1000, func() { i++; across(a, i) }); n > 0 {
			t.Errorf("%s allocates %.1f times a packet", s.Name, n)
		}
		if n := a.Pool.LiveCount(); n != 0 {
			t.Errorf("%s loses %d packets", s.Name, n)
		}
	}
}

// BenchmarkBalance measures a packet through a leaf of 16 uplinks, to another leaf: 1000 flows, 1 µs apart, so that
// each of 1 ms begins a flowlet, or 64, which go on with theirs.
func BenchmarkBalance(bench *testing.B) {
	for _, flows := range []uint32{64, 1000} {
		for _, s := range []dataplane.Scheme{ecmp.Scheme(), wecmp.Scheme(), letflow.Scheme(), drill.Scheme(), hula.Scheme(),
			conga.Scheme()} {
			bench.Run(fmt.Sprintf("%d/%s", flows, s.Name), func(bench *testing.B) {
				a, err := dataplanetest.NewSingleSwitch(s, leaves)
				if err != nil {
					bench.Fatal(err)
				}
				bench.ReportAllocs()
				for i := range uint32(1000) { // with what other leaves tell
					across(a, i)
				}
				i := uint32(0)
				for bench.Loop() {
					i++
					through(a, i%flows)
				}
			})
		}
	}
}

// through sends a packet from a host of a leaf to another leaf.
func through(a *dataplanetest.SingleSwitch, flow uint32) {
	a.Now += unit.Microsecond
	if a.Wants().Timer <= a.Now {
		a.Advance(a.Now)
	}
	p := a.Pool.Get()
	p.Kind, p.Src, p.Dst, p.Version, p.HopLimit, p.Hash, p.Size = packet.Data, dataplanetest.HostAddress(0, 0),
		dataplanetest.HostAddress(1, 0), 4, 9, dataplane.MixHash(flow), 1000
	a.Receive(a.Now, 0, p)
	for {
		out, ok := a.Wants().NextWoken()
		if !ok {
			return
		}
		for {
			p, _ := a.Dequeue(a.Now, out)
			if p == nil {
				break
			}
			a.Pool.Put(p)
		}
	}
}

// TestBalanceContract checks that in place of forward, where one port leads everywhere, every balancer keeps the
// contract of switches and drivers to the letter, with packets as fields and as bytes.
func TestBalanceContract(t *testing.T) {
	for _, s := range []dataplane.Scheme{ecmp.Scheme(), wecmp.Scheme(), letflow.Scheme(), drill.Scheme(), hula.Scheme(),
		conga.Scheme()} {
		for _, script := range dataplanetest.Scripts() {
			for _, wire := range []bool{false, true} {
				setup := script.Setup()
				site := setup.NewSite()
				site.Place = func() (*dataplane.TreePosition, error) { // the only leaf
					p := &dataplane.TreePosition{Tiers: 2, Tier: 1, Leaves: 1, Leaf: make([]int32, site.Book.Len())}
					for i := range site.Ports {
						p.Down = append(p.Down, packet.PortID(i))
					}
					return p, nil
				}
				p, err := dataplanetest.BuildProgram(s, site)
				if err != nil {
					t.Fatal(err)
				}
				setup.Wire, setup.Programs[0] = wire, p
				if got := dataplanetest.RunDirect(setup, append([]dataplanetest.Arrival(nil),
					script.Arrives...)); got.String() != script.Want {
					t.Errorf("%s, %s (bytes: %v): got\n%swant\n%s", s.Name, script.Name, wire, got, script.Want)
				}
			}
		}
	}
}
