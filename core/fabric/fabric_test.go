package fabric

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"weir/core/packet"
	"weir/core/unit"
)

// relay is a node for tests. It forwards packets from port i to port route[i] in order of arrival, consumes packets
// without a route, sends a given list of packets at given times, and logs what it sees.
type relay struct {
	name  string
	pool  *packet.Pool
	route map[packet.PortID]packet.PortID
	queue [][]*packet.Packet // by port
	wants packet.NodeRequests
	plan  []planned // in order of time
	log   *strings.Builder
	seen  func(now unit.Time, p *packet.Packet)
}

type planned struct {
	at   unit.Time
	out  packet.PortID
	size int32
	seq  int64
}

func (r *relay) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	if r.log != nil {
		fmt.Fprintf(r.log, "%s %d got %d at port %d\n", r.name, now, p.Seq, in)
	}
	if r.seen != nil {
		r.seen(now, p)
	}
	if out, ok := r.route[in]; ok {
		r.push(out, p)
		return
	}
	r.pool.Put(p)
}

func (r *relay) push(out packet.PortID, p *packet.Packet) {
	for len(r.queue) <= int(out) {
		r.queue = append(r.queue, nil)
	}
	if len(r.queue[out]) == 0 {
		r.wants.WakePort(out)
	}
	r.queue[out] = append(r.queue[out], p)
}

func (r *relay) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	if int(out) >= len(r.queue) || len(r.queue[out]) == 0 {
		return nil, unit.Never
	}
	p := r.queue[out][0]
	r.queue[out] = r.queue[out][1:]
	if r.log != nil {
		fmt.Fprintf(r.log, "%s %d sends %d at port %d, %d wait\n", r.name, now, p.Seq, out, len(r.queue[out]))
	}
	if len(r.queue[out]) == 0 {
		return p, unit.Never
	}
	return p, now
}

func (r *relay) Wants() *packet.NodeRequests {
	if r.wants.Timer = unit.Never; len(r.plan) > 0 {
		r.wants.Timer = r.plan[0].at
	}
	return &r.wants
}

func (r *relay) Advance(now unit.Time) {
	for len(r.plan) > 0 && r.plan[0].at <= now {
		p := r.pool.Get()
		p.Size, p.Seq = r.plan[0].size, r.plan[0].seq
		r.push(r.plan[0].out, p)
		r.plan = r.plan[1:]
	}
	r.Wants()
}

func mustNew(t testing.TB, c Config) *Fabric {
	t.Helper()
	f, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func inBits(r unit.Rate) unit.LinkRate { return unit.LinkRate{Bits: r} }

// TestArrivalTimes checks docs/design.md#bytes-queues-order: a link of rate R sends a frame in 8·length/R, and then it
// propagates. Every rate is exact: n frames back to back end at ceil(n·8·length·10¹²/R).
func TestArrivalTimes(t *testing.T) {
	for _, rate := range []unit.Rate{1, 7, 4170 * 12000, 50 * unit.Mbps, 100 * unit.Gbps, 400 * unit.Gbps, 999999999937} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			const n, size, delay = 50, 1514, 5 * unit.Millisecond
			var pool packet.Pool
			var got []unit.Time
			src := &relay{pool: &pool}
			dst := &relay{pool: &pool, seen: func(now unit.Time, p *packet.Packet) { got = append(got, now) }}
			frames := n
			if rate < 1000 { // 1,514 B at 1 bit/s last 3.4 hours
				frames = 2
			}
			for i := range frames {
				src.plan = append(src.plan, planned{0, 0, size, int64(i)})
			}
			f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pool, Links: []Link{{From: 0, To: 1, Rate: inBits(rate),
				Delay: delay}}})
			f.Run(unit.Never, nil)
			if len(got) != frames {
				t.Fatalf("rate %d: %d frames arrived, %d sent", rate, len(got), frames)
			}
			for i, at := range got {
				work := big.NewInt(int64(i+1) * size * 8)
				work.Mul(work, big.NewInt(1e12))
				want, rem := work.QuoRem(work, big.NewInt(int64(rate)), new(big.Int))
				if rem.Sign() > 0 {
					want.Add(want, big.NewInt(1))
				}
				if w := unit.Time(want.Int64()) + delay; at != w {
					t.Errorf("rate %d frame %d: arrives at %d, want %d", rate, i, at, w)
				}
			}
			if pool.LiveCount() != 0 {
				t.Errorf("%d packets lost by the test", pool.LiveCount())
			}
		})
	}
}

// TestPacketRateLink checks that a port in packets/s takes the same time for every size (P4-ABC §5.1: 4170 packets/s).
func TestPacketRateLink(t *testing.T) {
	var pool packet.Pool
	var got []unit.Time
	src := &relay{pool: &pool, plan: []planned{{0, 0, 60, 0}, {0, 0, 1514, 1}, {0, 0, 60, 2}}}
	dst := &relay{pool: &pool, seen: func(now unit.Time, p *packet.Packet) { got = append(got, now) }}
	f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pool,
		Links: []Link{{From: 0, To: 1, Rate: unit.LinkRate{Packets: 4170}}}})
	f.Run(unit.Never, nil)
	// ceil(k·10¹²/4170)
	if want := "[239808154 479616307 719424461]"; fmt.Sprint([]int64{int64(got[0]), int64(got[1]),
		int64(got[2])}) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

// TestTieRule checks the tie rule: at one time port free < NIC wake < arrival < timer. A frame that arrives at the very
// instant at which the port becomes free finds the port's queue without the frame that departs then.
func TestTieRule(t *testing.T) {
	var pool packet.Pool
	var log strings.Builder
	// 125 B at 1 Gb/s last 1 µs. src sends frames 0 … 3 back to back: they arrive
	// at mid at 1, 2, 3, 4 µs, and mid's port, of the same rate, becomes free at
	// 2, 3, 4 µs. At 3 µs mid's timer adds frame 100 behind what has arrived.
	src := &relay{name: "src", pool: &pool, plan: []planned{{0, 0, 125, 0}, {0, 0, 125, 1}, {0, 0, 125, 2},
		{0, 0, 125, 3}}}
	mid := &relay{name: "mid", pool: &pool, log: &log, route: map[packet.PortID]packet.PortID{0: 0},
		plan: []planned{{3 * unit.Microsecond, 0, 125, 100}}}
	dst := &relay{name: "dst", pool: &pool}
	f := mustNew(t, Config{Nodes: []Node{src, mid, dst}, Pool: &pool, Links: []Link{
		{From: 0, To: 1, Rate: inBits(unit.Gbps)}, {From: 1, To: 2, Rate: inBits(unit.Gbps)}}})
	f.Run(unit.Never, nil)
	want := `mid 1000000 got 0 at port 0
mid 1000000 sends 0 at port 0, 0 wait
mid 2000000 got 1 at port 0
mid 2000000 sends 1 at port 0, 0 wait
mid 3000000 got 2 at port 0
mid 3000000 sends 2 at port 0, 0 wait
mid 4000000 sends 100 at port 0, 0 wait
mid 4000000 got 3 at port 0
mid 5000000 sends 3 at port 0, 0 wait
`
	if log.String() != want {
		t.Errorf("got\n%swant\n%s", log.String(), want)
	}
}

// mesh is a ring of relays with traffic both ways, loss and jitter. Its links have different rates and delays, some of
// them 0.
func mesh(seed uint64, n int, window unit.Time, pieces bool) (logs []string, f *Fabric, pool *packet.Pool) {
	pool = &packet.Pool{}
	logs, f = meshOf(seed, n, window, pieces, []*packet.Pool{pool}, nil)
	return logs, f, pool
}

// meshOf is mesh in as many parts as there are pools: node i is in part i modulo their number, or where another one
// of its group is.
func meshOf(seed uint64, n int, window unit.Time, pieces bool, pools []*packet.Pool,
	together func(func(part int))) (logs []string, f *Fabric) {
	random := unit.NewRandom(seed, "mesh")
	nodes := make([]Node, n)
	relays := make([]*relay, n)
	for i := range n {
		r := &relay{name: fmt.Sprint("n", i), log: &strings.Builder{},
			route: map[packet.PortID]packet.PortID{0: 1, 1: 0}}
		if i == 0 || i == n/2 {
			r.route = nil // the ring is cut there: packets end
		}
		at := unit.Time(0)
		for k := range 60 {
			at += unit.Time(random.Int64N(int64(3 * unit.Microsecond)))
			r.plan = append(r.plan, planned{at, packet.PortID(random.IntN(2)), int32(60 + random.IntN(1400)), int64(i*1000 + k)})
		}
		relays[i], nodes[i] = r, r
	}
	var links []Link
	for i := range n {
		j := (i + 1) % n
		rate := unit.Rate(1+random.Int64N(40)) * 333333333
		delay := unit.Time(random.Int64N(3)) * 700 * unit.Nanosecond
		jitter := unit.Time(random.Int64N(2)) * 2 * unit.Microsecond
		loss := float64(random.IntN(2)) * 0.1
		for e := range 2 {
			l := Link{From: i, To: j, FromPort: 1, ToPort: 0, Rate: inBits(rate), Delay: delay, Jitter: jitter, Loss: loss}
			if e == 1 {
				l.From, l.To, l.FromPort, l.ToPort = j, i, 0, 1
			}
			l.Random = unit.NewRandom(seed, fmt.Sprint("link ", i, e))
			links = append(links, l)
		}
	}
	c := Config{Nodes: nodes, Links: links, Pool: pools[0], Window: window, RunParts: together}
	for _, p := range pools[1:] {
		c.MoreParts = append(c.MoreParts, Part{Pool: p})
	}
	for i, g := range GroupNodes(n, links, window) {
		k := g % int32(len(pools))
		relays[i].pool = pools[k]
		c.PartOf = append(c.PartOf, k)
	}
	f, err := New(c)
	if err != nil {
		panic(err)
	}
	if pieces {
		for at := unit.Time(0); f.NextEvent() != unit.Never; at += unit.Time(1 + random.Int64N(int64(unit.Microsecond))) {
			f.Run(at, nil)
		}
	}
	f.Run(unit.Never, nil)
	for _, r := range relays {
		logs = append(logs, r.log.String())
	}
	return logs, f
}

// TestEvents_AreIndependentOfGroupsAndWindows checks that the events of each node, and their times, do not depend on
// the network's groups and windows, nor on where the run stops and continues.
func TestEvents_AreIndependentOfGroupsAndWindows(t *testing.T) {
	for seed := range uint64(40) {
		want, f0, pool := mesh(seed, 9, 0, false)
		if pool.LiveCount() != 0 {
			t.Fatalf("seed %d: %d packets are left", seed, pool.LiveCount())
		}
		for _, window := range []unit.Time{unit.Nanosecond, 100 * unit.Nanosecond, 701 * unit.Nanosecond,
			unit.Microsecond * 2, unit.Second} {
			got, f, _ := mesh(seed, 9, window, seed%2 == 1)
			for i := range want {
				if got[i] != want[i] {
					t.Fatalf("seed %d window %d: node %d sees\n%s\nwith the default window\n%s", seed, window, i, got[i], want[i])
				}
			}
			if f.CountEvents() != f0.CountEvents() || f.CountHops() != f0.CountHops() {
				t.Errorf("seed %d window %d: %d events, %d hops; by default %d, %d", seed, window, f.CountEvents(), f.CountHops(),
					f0.CountEvents(), f0.CountHops())
			}
		}
	}
}

// TestLossAndJitter checks that loss takes the given share of frames after they have used the link, and jitter never
// reorders. Both draw only from the link's own stream.
func TestLossAndJitter(t *testing.T) {
	var pool packet.Pool
	const n = 100000
	src := &relay{pool: &pool}
	for i := range n {
		src.plan = append(src.plan, planned{unit.Time(i) * unit.Microsecond, 0, 100, int64(i)})
	}
	last, arrived := int64(-1), 0
	var least, most unit.Time = unit.Never, 0
	dst := &relay{pool: &pool, seen: func(now unit.Time, p *packet.Packet) {
		if p.Seq <= last {
			t.Fatalf("frame %d after %d", p.Seq, last)
		}
		last = p.Seq
		arrived++
		d := now - unit.Time(p.Seq)*unit.Microsecond
		least, most = min(least, d), max(most, d)
	}}
	f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pool, Links: []Link{{From: 0, To: 1, Rate: inBits(unit.Gbps),
		Delay: unit.Millisecond, Jitter: 500 * unit.Nanosecond, Loss: 0.02, Random: unit.NewRandom(1, "x")}}})
	f.Run(unit.Never, nil)
	lost := f.LinkCounters(0).Lost
	if arrived+int(lost) != n || pool.LiveCount() != 0 {
		t.Errorf("%d arrived, %d lost of %d; %d still out", arrived, lost, n, pool.LiveCount())
	}
	// binomial, five standard deviations: sqrt(100000·.02·.98) = 44
	if lost < 2000-221 || lost > 2000+221 {
		t.Errorf("%d of %d frames lost at 2 %%", lost, n)
	}
	base := unit.Millisecond + 800*unit.Nanosecond
	if least < base || least > base+5*unit.Nanosecond || most > base+500*unit.Nanosecond || most < base+
		495*unit.Nanosecond {
		t.Errorf("delays from %d to %d ps; base %d, jitter 500 ns", least, most, base)
	}
}

// TestFabric_WakeNodeIgnoresGrouping checks that packets from outside of the network travel like all others, for any
// grouping, and any division of the run into pieces.
func TestFabric_WakeNodeIgnoresGrouping(t *testing.T) {
	want := ""
	for _, window := range []unit.Time{0, unit.Second} {
		for _, pieces := range []bool{false, true} {
			var pool packet.Pool
			var midLog, dstLog strings.Builder
			src := &relay{name: "src", pool: &pool}
			mid := &relay{name: "mid", pool: &pool, log: &midLog, route: map[packet.PortID]packet.PortID{0: 1}}
			dst := &relay{name: "dst", pool: &pool, log: &dstLog}
			f := mustNew(t, Config{Nodes: []Node{src, mid, dst}, Pool: &pool, Window: window, Links: []Link{
				{From: 0, To: 1, Rate: inBits(unit.Gbps), Delay: 2 * unit.Microsecond},
				{From: 1, To: 2, FromPort: 1, Rate: inBits(unit.Gbps), Delay: unit.Microsecond}}})
			for k, at := range []unit.Time{0, 1, 5 * unit.Microsecond, 5 * unit.Microsecond, 7777} {
				at += unit.Time(k) * 10 * unit.Microsecond
				f.Run(at, nil)
				p := pool.Get()
				p.Size, p.Seq = 125, int64(k)
				src.push(0, p)
				f.WakeNode(0, at)
				if pieces {
					f.Run(at+3*unit.Microsecond, nil)
				}
			}
			f.Run(unit.Never, nil)
			got := midLog.String() + dstLog.String()
			if want == "" {
				want = got
			}
			if got != want || strings.Count(want, "dst") != 5 || pool.LiveCount() != 0 {
				t.Errorf("window %d, pieces %v: got\n%swant\n%s", window, pieces, got, want)
			}
		}
	}
}

// TestLinkDown checks that a link that is down loses the frames put on it. Frames in flight arrive.
func TestLinkDown(t *testing.T) {
	var pool packet.Pool
	arrived := 0
	src := &relay{pool: &pool}
	for i := range 10 {
		src.plan = append(src.plan, planned{unit.Time(i) * unit.Microsecond, 0, 100, int64(i)})
	}
	dst := &relay{pool: &pool, seen: func(unit.Time, *packet.Packet) { arrived++ }}
	f := mustNew(t, Config{Nodes: []Node{src, dst}, Pool: &pool, Links: []Link{{From: 0, To: 1, Rate: inBits(unit.Gbps),
		Delay: unit.Millisecond}}})
	f.Run(3*unit.Microsecond, nil) // 0, 1, 2 are sent
	f.SetDown(0, true)
	f.Run(7*unit.Microsecond, nil) // 3 … 6 are lost
	f.SetDown(0, false)
	f.Run(unit.Never, nil)
	if l := f.LinkCounters(0); arrived != 6 || l.Lost != 4 || l.Down != 4 {
		t.Errorf("%d arrived, %d lost, %d of them while it was down; want 6 and 4", arrived, l.Lost, l.Down)
	}
}

func TestBadLinks(t *testing.T) {
	a, b := &relay{}, &relay{}
	for _, c := range []struct {
		links []Link
		want  string
	}{
		{[]Link{{From: 0, To: 2, Rate: inBits(1)}}, "there are 2"},
		{[]Link{{From: 0, To: 1}}, "exactly one"},
		{[]Link{{From: 0, To: 1, Rate: unit.LinkRate{Bits: 1, Packets: 1}}}, "exactly one"},
		{[]Link{{From: 0, To: 1, Rate: inBits(-5)}}, "exactly one"},
		{[]Link{{From: 0, To: 1, Rate: inBits(1), Delay: -1}}, "out of range"},
		{[]Link{{From: 0, To: 1, Rate: inBits(1), Loss: 1}}, "out of range"},
		{[]Link{{From: 0, To: 1, Rate: inBits(1), Jitter: unit.Never}}, "out of range"},
		{[]Link{{From: 0, To: 1, Rate: inBits(1)}, {From: 0, To: 1, ToPort: 1, Rate: inBits(1)}}, "leave port 0"},
		{[]Link{{From: 0, To: 1, Rate: inBits(1)}, {From: 0, To: 1, FromPort: 1, Rate: inBits(1)}}, "end at port 0"},
	} {
		t.Run(fmt.Sprintf("%+v", c.links[len(c.links)-1]), func(t *testing.T) {
			_, err := New(Config{Nodes: []Node{a, b}, Links: c.links})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: error %v, want one with %q", c.links, err, c.want)
			}
		})
	}
}

func TestNoAllocationPerPacket(t *testing.T) {
	var pool packet.Pool
	a, b := &ring{start: 20}, &ring{} // they play ping-pong with 20 frames for ever
	f := mustNew(t, Config{Nodes: []Node{a, b}, Pool: &pool, Links: []Link{
		{From: 0, To: 1, Rate: inBits(10 * unit.Gbps), Delay: unit.Microsecond},
		{From: 1, To: 0, Rate: inBits(10 * unit.Gbps), Delay: unit.Microsecond}}})
	f.Run(unit.Millisecond, nil)
	at, hops := unit.Millisecond, f.CountHops()
	n := testing.AllocsPerRun(10, func() {
		at += unit.Millisecond
		f.Run(at, nil)
	})
	if n != 0 || f.CountHops() == hops {
		t.Errorf("%g allocations a millisecond, %d hops", n, f.CountHops()-hops)
	}
}

// ring sends every frame back; it uses the packets' own links as a queue.
type ring struct {
	head, tail *packet.Packet
	wants      packet.NodeRequests
	start      int
}

func (r *ring) Receive(_ unit.Time, _ packet.PortID, p *packet.Packet) {
	p.Next = nil
	if r.tail == nil {
		r.head = p
		r.wants.WakePort(0)
	} else {
		r.tail.Next = p
	}
	r.tail = p
}

func (r *ring) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	p := r.head
	if p == nil {
		return nil, unit.Never
	}
	if r.head = p.Next; r.head == nil {
		r.tail = nil
		return p, unit.Never
	}
	return p, now
}

func (r *ring) Wants() *packet.NodeRequests {
	r.wants.Timer = unit.Never
	for r.start > 0 {
		r.start--
		r.Receive(0, 0, &packet.Packet{Size: 1000})
	}
	return &r.wants
}

func (r *ring) Advance(unit.Time) {}

func BenchmarkHop(b *testing.B) {
	n, m := &ring{start: 50}, &ring{}
	var pool packet.Pool
	f := mustNew(b, Config{Nodes: []Node{n, m}, Pool: &pool, Links: []Link{
		{From: 0, To: 1, Rate: inBits(100 * unit.Gbps), Delay: unit.Microsecond},
		{From: 1, To: 0, Rate: inBits(100 * unit.Gbps), Delay: unit.Microsecond}}})
	b.ReportAllocs()
	b.ResetTimer()
	f.Run(unit.Never, func(unit.Time) bool { return f.CountHops() >= uint64(b.N) })
}
