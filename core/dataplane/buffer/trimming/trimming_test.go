package trimming

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

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 9) }

// Frames of the tests: 1050 bytes, which take 840 ns at 10 Gb/s. A product is eight of them.
const (
	frame   = 1050
	product = 6720 * unit.Nanosecond
)

var rate = unit.LinkRate{Bits: 10 * unit.Gbps}

// bench is a switch with two ports: 0 to host 1, 1 to host 2.
type bench struct {
	t    testing.TB
	sw   *dataplane.Switch
	pool packet.Pool
	book *packet.Book
	x    *Program
	wire bool
	rdma bool // packets are RoCEv2's
	now  unit.Time
}

func newBench(t testing.TB, c Config, wire bool, hosts bool) *bench {
	t.Helper()
	b := &bench{t: t, book: packet.NewBook(), wire: wire}
	var rules []dataplane.Route
	for i := range 2 {
		b.book.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i + 1)}), netip.MustParseAddr(fmt.Sprintf("fd00::%d", i+1)))
		rules = append(rules, dataplane.Route{Prefix: netip.MustParsePrefix(fmt.Sprintf("10.0.0.%d/32", i+1)),
			Ports: []packet.PortID{packet.PortID(i)}})
	}
	routes, err := dataplane.NewRoutes(b.book, rules)
	if err != nil {
		t.Fatal(err)
	}
	site := &dataplane.Site{Switch: "s", Ports: 2, Queues: 2, Book: b.book, Routes: routes, MaxFrame: frame,
		Rates:  []unit.Rate{10 * unit.Gbps},
		Lines:  []dataplane.Line{{Rate: rate, Switch: !hosts}, {Rate: rate, Switch: !hosts}},
		Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
	if b.x, err = New(site, c); err != nil {
		t.Fatal(err)
	}
	var ports []*tm.Port
	for range 2 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(2, tm.Limit{}, tm.Limit{}), tm.NewStrict(),
			unit.LinkRate{Bits: 10 * unit.Gbps}))
	}
	b.sw, err = dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{forward.New(site),
		b.x}, Pool: &b.pool, Book: b.book,
		Random: unit.NewRandom(1, "switch")})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// proto and header are what the packets are of, and the size of one without payload.
func (b *bench) proto() uint8 {
	if b.rdma {
		return packet.ProtoRDMA
	}
	return packet.ProtoOwn
}

func (b *bench) header() int32 {
	if b.rdma {
		return packet.EthernetHeader + packet.IPv4Header + packet.RDMAHeaders
	}
	return 50
}

// send sends a packet to the switch for port 1; Seq is its number.
func (b *bench) send(kind packet.Kind, n int64, payload int32, flags uint8) {
	b.t.Helper()
	p := b.pool.Get()
	p.Kind, p.Seq, p.Payload, p.TCP.Flags = kind, n, payload, flags
	p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto, p.Version, p.HopLimit = 1, 2, 10, 20, b.proto(), 4, 64
	p.Hash = packet.FlowHash(p.Src, p.Dst, p.SrcPort, p.DstPort, p.Proto)
	p.Size = b.header() + payload
	p.TOS = packet.ECT0
	if b.wire {
		data, err := p.Emit(b.book, nil)
		if err != nil {
			b.t.Fatal(err)
		}
		*p = packet.Packet{Size: p.Size, Data: data}
	}
	b.sw.Receive(b.now, 0, p)
	b.now += unit.Nanosecond
}

// leave returns the packets that depart by a port, in order: numbers of data, numbers in brackets of headers, a letter
// before numbers of other kinds.
func (b *bench) leave(port packet.PortID) string {
	b.t.Helper()
	var out []string
	for {
		p, _ := b.sw.Dequeue(b.now, port)
		if p == nil {
			return strings.Join(out, " ")
		}
		if b.wire { // as the next node sees it
			q := &packet.Packet{Size: p.Size}
			if err := q.Parse(b.book, p.Data); err != nil {
				b.t.Fatal(err)
			}
			if q.Kind != p.Kind || q.Seq != p.Seq || q.Payload != p.Payload || q.Src != p.Src || q.TCP.Flags != p.TCP.Flags ||
				len(p.Data) != int(p.Size) {
				b.t.Fatalf("the frame of %d bytes says %+v, the switch %+v", len(p.Data), q, p)
			}
			p = q
		}
		switch {
		case p.Kind != packet.Data:
			out = append(out, fmt.Sprintf("%c%d", "dan!"[p.Kind], p.Seq))
		case p.Payload == 0:
			if p.Size != b.header() {
				b.t.Fatalf("a header of %d bytes", p.Size)
			}
			out = append(out, fmt.Sprintf("(%d%s)", p.Seq, map[bool]string{true: "!"}[p.TCP.Flags&packet.LastHop != 0]))
		default:
			out = append(out, fmt.Sprintf("%d%s", p.Seq, map[bool]string{true: "*"}[p.TOS&packet.ECN == packet.CE]))
		}
	}
}

// config returns a configuration with a data queue of eight packets, without randomness.
func config() Config {
	c := scheme.Defaults[Config]()
	c.RTT, c.TrimTail, c.Kmin, c.Kmax = product, 0, 100, 100
	return c
}

// fill sends n full packets for port 1. No packet departs meanwhile.
func (b *bench) fill(n int) {
	for i := range int64(n) {
		b.send(packet.Data, i, 1000, packet.Trimmable)
	}
}

// TestProgram_QueuesHeadersApart checks that ACKs, NACKs, PULLs, requests and the rests of trimmed packets wait in
// queue 0, data in queue 1.
func TestProgram_QueuesHeadersApart(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, config(), wire, false)
		b.send(packet.Data, 1, 1000, packet.Trimmable)
		b.send(packet.Data, 2, 1, 0)
		b.send(packet.Ack, 3, 0, 0)
		b.send(packet.Nack, 4, 0, 0)
		b.send(packet.Notice, 5, 0, 0)
		b.send(packet.Data, 6, 0, packet.Trimmable)
		b.send(packet.Data, 7, 0, 0)
		if got := b.leave(1); got != "a3 n4 !5 (6) (7) 1 2" {
			t.Errorf("%s leaves", got)
		}
	}
}

// TestProgram_TrimsWillingRDMA checks that RoCEv2 packets with support for trimming are trimmed, and others dropped.
// They carry no note of where that was.
func TestProgram_TrimsWillingRDMA(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, config(), wire, true)
		b.rdma = true
		for i := range int64(9) {
			b.send(packet.Data, i, 1000, packet.Cuttable)
		}
		b.send(packet.Data, 9, 1000, 0)
		if got := b.leave(1); got != "(7) (8) 0 1 2 3 4 5 6" || b.sw.DropCounts()[dataplane.QueueByteLimit] != 1 {
			t.Errorf("%s leaves, drops %v", got, b.sw.DropCounts())
		}
	}
}

// TestProgram_TrimsBeyondDataLimit checks that eight packets wait. Later ones lose their payload and overtake them.
// With trim_tail 100 % it is always the packet queued last. Packets without support for trimming are dropped.
func TestProgram_TrimsBeyondDataLimit(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, config(), wire, false)
		b.fill(10)
		b.send(packet.Data, 11, 1000, 0)
		if got := b.leave(1); got != "(8) (9) 0 1 2 3 4 5 6 7" || b.sw.DropCounts()[dataplane.QueueByteLimit] != 1 ||
			b.x.trimmed != 2 {
			t.Errorf("%s leaves, %d trimmed, drops %v", got, b.x.trimmed, b.sw.DropCounts())
		}
		c := config()
		c.TrimTail = 1
		b = newBench(t, c, wire, false)
		b.fill(10)
		if got := b.leave(1); got != "(7) (8) 0 1 2 3 4 5 6 9" || b.x.trimmed != 2 {
			t.Errorf("%s leaves", got)
		}
	}
}

// TestProgram_CoinTrimsNewcomerOrTail checks that of newcomer and last packet each loses its payload with probability
// 1/2: of 4000 trims the newcomer's are within four standard deviations.
func TestProgram_CoinTrimsNewcomerOrTail(t *testing.T) {
	c := config()
	c.TrimTail, c.Headers = 0.5, 1000
	b := newBench(t, c, false, false)
	b.fill(8)
	newcomers, before := 0, int64(7)
	const n = 4000
	for i := int64(8); i < n+8; i++ {
		b.send(packet.Data, i, 1000, packet.Trimmable)
		if tail := b.sw.Port(1).Queue(Data).Tail().Seq; tail == before {
			newcomers++
		} else if before = tail; tail != i {
			t.Fatalf("packet %d is last after %d", tail, i)
		}
	}
	if math.Abs(float64(newcomers)-n/2) > 4*math.Sqrt(n)/2 {
		t.Errorf("the newcomer was trimmed %d times of %d", newcomers, n)
	}
}

// TestOnWire checks that a packet on the wire counts as waiting until the wire is free of it.
func TestOnWire(t *testing.T) {
	b := newBench(t, config(), false, false)
	b.fill(8)
	at := b.now
	if p, _ := b.sw.Dequeue(at, 1); p == nil || p.Seq != 0 {
		t.Fatal(p)
	}
	b.now = at + 839*unit.Nanosecond
	b.send(packet.Data, 8, 1000, packet.Trimmable)
	b.now = at + 840*unit.Nanosecond
	b.send(packet.Data, 9, 1000, packet.Trimmable)
	if got := b.leave(1); got != "(8) 1 2 3 4 5 6 7 9" {
		t.Errorf("%s leaves", got)
	}
}

// TestProgram_DropsHeadersBeyondLimit checks that headers and control packets have twice the data queue. Beyond that
// they are dropped, headers as trim failed.
func TestProgram_DropsHeadersBeyondLimit(t *testing.T) {
	b := newBench(t, config(), true, false)
	b.fill(8 + 336) // 2 × 8 × 1050 B of 50
	b.send(packet.Data, 1000, 1000, packet.Trimmable)
	b.send(packet.Ack, 1001, 0, 0)
	if d := b.sw.DropCounts(); d[dataplane.TrimFailed] != 1 || d[dataplane.QueueByteLimit] != 1 ||
		b.sw.Port(1).Queue(Headers).Packets() != 336 {
		t.Errorf("%d headers, drops %v", b.sw.Port(1).Queue(Headers).Packets(), d)
	}
}

// TestProgram_MarksDepartingData checks that data is marked at its departure by the remaining queue with itself: never
// up to kmin, always above kmax, in proportion between. Headers are never marked, and data at ports to hosts only if
// configured.
func TestProgram_MarksDepartingData(t *testing.T) {
	c := config()
	c.Kmin, c.Kmax = 0.25, 0.5 // 2 and 4 packets
	b := newBench(t, c, true, false)
	b.fill(9)
	got := b.leave(1)
	for _, want := range []string{"(8) 0* 1* 2* 3* 4* 5", " 6 7"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s leaves, without %q", got, want)
		}
	}
	const n = 4000
	b = newBench(t, c, false, false)
	marked := 0
	for range n { // the first of three: half way
		b.fill(3)
		if strings.HasPrefix(b.leave(1), "0*") {
			marked++
		}
	}
	if math.Abs(float64(marked)-n/2) > 4*math.Sqrt(n)/2 {
		t.Errorf("%d of %d marked half way between the thresholds", marked, n)
	}
	c.MarkHosts = false
	b = newBench(t, c, false, true)
	b.fill(8)
	if got := b.leave(1); strings.Contains(got, "*") || b.x.marked != 0 {
		t.Errorf("%s leaves a port to a host", got)
	}
}

// TestProgram_ScalesLimitsWithRate checks that a port of a quarter of the rate has a quarter of queue and thresholds,
// also when an event makes it so.
func TestProgram_ScalesLimitsWithRate(t *testing.T) {
	c := config()
	c.Kmin, c.Kmax = 0.5, 0.5
	b := newBench(t, c, false, false)
	b.sw.Port(1).SetRate(unit.LinkRate{Bits: 2500 * unit.Mbps})
	b.fill(4)
	if got := b.leave(1); got != "(2) (3) 0* 1" {
		t.Errorf("%s leaves a slow port", got)
	}
	b.now += unit.Microsecond * 100
	b.sw.Port(1).SetRate(rate)
	b.fill(9)
	if got := b.leave(1); got != "(8) 0* 1* 2* 3* 4 5 6 7" {
		t.Errorf("%s leaves", got)
	}
}

// TestWithoutTrimming checks that without trimming data that finds no room is dropped.
func TestWithoutTrimming(t *testing.T) {
	c := config()
	c.Trim = false
	b := newBench(t, c, true, false)
	b.fill(10)
	if got := b.leave(1); got != "0 1 2 3 4 5 6 7" || b.sw.DropCounts()[dataplane.QueueByteLimit] != 2 {
		t.Errorf("%s leaves, drops %v", got, b.sw.DropCounts())
	}
}

// TestLastHop checks that a packet trimmed at a port to a host carries a note of that, newcomer or last packet.
func TestLastHop(t *testing.T) {
	for _, tail := range []float64{0, 1} {
		c := config()
		c.TrimTail = tail
		b := newBench(t, c, true, true)
		b.fill(9)
		if got := b.leave(1); !strings.HasPrefix(got, "(8!) ") && !strings.HasPrefix(got, "(7!) ") {
			t.Errorf("%s leaves", got)
		}
	}
}

func TestBadInput(t *testing.T) {
	site := func(queues int) *dataplane.Site {
		return &dataplane.Site{Switch: "s", Ports: 1, Queues: queues, Lines: make([]dataplane.Line, 1),
			Random: func(entity string) unit.Random { return unit.NewRandom(1, entity) }}
	}
	c := config()
	c.Kmin, c.Kmax = 0.9, 0.8
	for name, err := range map[string]error{
		"one queue":  func() error { _, err := New(site(1), config()); return err }(),
		"no rate":    func() error { _, err := New(site(2), config()); return err }(),
		"thresholds": scheme.Validate(&c),
		"coin":       scheme.Validate(&Config{RTT: product, Queue: 1, Headers: 2, TrimTail: math.NaN()}),
		"no queue":   scheme.Validate(&Config{RTT: product, Headers: 2}),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestNoAllocation checks that a packet that is admitted, trimmed or marked allocates no memory.
func TestNoAllocation(t *testing.T) {
	c := config()
	c.TrimTail, c.Kmin, c.Kmax = 0.5, 0.1, 0.9
	b := newBench(t, c, false, false)
	n := int64(0)
	one := func() {
		n++
		b.send(packet.Data, n, 1000, packet.Trimmable)
		if n%12 == 0 {
			for p, _ := b.sw.Dequeue(b.now, 1); p != nil; p, _ = b.sw.Dequeue(b.now, 1) {
				b.pool.Put(p)
			}
			for _, ok := b.sw.Wants().NextWoken(); ok; _, ok = b.sw.Wants().NextWoken() {
			}
			b.now += 100 * unit.Microsecond
		}
	}
	for range 1000 {
		one()
	}
	if a := testing.AllocsPerRun(1000, one); a != 0 {
		t.Errorf("%g allocations a packet", a)
	}
	if b.x.trimmed == 0 || b.x.marked == 0 {
		t.Error("nothing was trimmed or marked")
	}
}

func ExampleNew() {
	_, err := New(&dataplane.Site{Queues: 1}, scheme.Defaults[Config]())
	fmt.Println(err)
	// Output: trimming needs two queues a port (queues: 2), for headers and data; there are 1
}
