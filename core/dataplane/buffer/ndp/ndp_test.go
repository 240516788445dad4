package ndp

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/forward"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
	"weir/internal/testkit"
)

func TestDocNamesTests(t *testing.T) { testkit.CheckDocTests(t, 8) }

// bench is a switch with two ports: 0 to host 1, 1 to host 2.
type bench struct {
	t    testing.TB
	sw   *dataplane.Switch
	pool packet.Pool
	book *packet.Book
	n    *Program
	wire bool
	rdma bool // packets are RoCEv2's
	now  unit.Time
}

func newBench(t testing.TB, c Config, wire bool, total tm.Limit) *bench {
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
	site := &dataplane.Site{Switch: "s", Ports: 2, Queues: 2, Book: b.book, Routes: routes}
	if b.n, err = New(site, c); err != nil {
		t.Fatal(err)
	}
	var ports []*tm.Port
	for range 2 {
		ports = append(ports, tm.NewPort(tm.NewBuffer(2, tm.Limit{}, total), tm.NewWRR([]int32{10, 1}),
			unit.LinkRate{Bits: 10 * unit.Gbps}))
	}
	b.sw, err = dataplane.New(dataplane.Config{Name: "s", Ports: ports, Programs: []dataplane.Program{forward.New(site),
		b.n}, Pool: &b.pool, Book: b.book,
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
		case p.TCP.Flags&packet.Returned != 0:
			if p.Src != 2 || p.Dst != 1 || p.SrcPort != 20 || p.DstPort != 10 || p.Payload != 0 || p.Size != 50 {
				b.t.Fatalf("sent back: %+v", p)
			}
			out = append(out, fmt.Sprintf("back%d", p.Seq))
		case p.Kind != packet.Data:
			out = append(out, fmt.Sprintf("%c%d", "dan!"[p.Kind], p.Seq))
		case p.Payload == 0:
			if p.Size != b.header() {
				b.t.Fatalf("a header of %d bytes", p.Size)
			}
			out = append(out, fmt.Sprintf("(%d)", p.Seq))
		default:
			out = append(out, fmt.Sprint(p.Seq))
		}
	}
}

// TestProgram_QueuesHeadersApart checks NDP §3.1 and §3.2: ACKs, NACKs, PULLs and headers that another switch has
// trimmed wait in queue 0, data in queue 1.
func TestProgram_QueuesHeadersApart(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, Config{Data: 8, Headers: 12_112}, wire, tm.Limit{})
		b.send(packet.Data, 1, 1000, packet.Trimmable)
		b.send(packet.Data, 2, 1, 0)
		b.send(packet.Ack, 3, 0, 0)
		b.send(packet.Nack, 4, 0, 0)
		b.send(packet.Notice, 5, 0, 0)
		b.send(packet.Data, 6, 0, packet.Trimmable)
		b.send(packet.Data, 7, 0, packet.Returned)
		if p := b.sw.Port(1); p.Queue(headers).Packets() != 5 || p.Queue(data).Packets() != 2 {
			t.Errorf("%d and %d packets wait", p.Queue(headers).Packets(), p.Queue(data).Packets())
		}
	}
}

// TestProgram_TrimsBeyondDataLimit checks NDP §3.1: eight data packets wait. Later ones lose their payload and overtake
// them. Without the coin it is always the newcomer, with trim_tail 100 % the packet queued last. Packets without
// support for trimming are dropped.
func TestProgram_TrimsBeyondDataLimit(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, Config{Data: 8, Headers: 12_112}, wire, tm.Limit{})
		for n := range int64(11) {
			b.send(packet.Data, n, 1000, packet.Trimmable)
		}
		b.send(packet.Data, 11, 1000, 0)
		if got := b.leave(1); got != "(8) (9) (10) 0 1 2 3 4 5 6 7" || b.sw.DropCounts()[dataplane.QueuePacketLimit] != 1 ||
			b.n.trimmed != 3 {
			t.Errorf("%s leaves, %d trimmed, drops %v", got, b.n.trimmed, b.sw.DropCounts())
		}
		b = newBench(t, Config{Data: 8, Headers: 12_112, TrimTail: 1}, wire, tm.Limit{})
		for n := range int64(11) {
			b.send(packet.Data, n, 1000, packet.Trimmable)
		}
		if got := b.leave(1); got != "(7) (8) (9) 0 1 2 3 4 5 6 10" || b.n.trimmed != 3 {
			t.Errorf("%s leaves", got)
		}
		// limits of the port itself trim, too; a tail that is too short makes no room
		b = newBench(t, Config{Data: 8, Headers: 12_112, TrimTail: 1}, wire, tm.Limit{Bytes: 2500})
		for n, payload := range []int32{1000, 900, 200, 1000} {
			b.send(packet.Data, int64(n), payload, packet.Trimmable)
		}
		if got := b.leave(1); got != "(2) (3) 0 1" && got != "(3) (2) 0 1" {
			t.Errorf("%s leaves", got)
		}
	}
}

// TestProgram_CoinTrimsNewcomerOrTail checks NDP §3.1: newcomer and tail each lose their payload with probability 1/2.
// Of 4000 trimmings the newcomer's are within four standard deviations.
func TestProgram_CoinTrimsNewcomerOrTail(t *testing.T) {
	b := newBench(t, Config{Data: 1, Headers: 1 << 20, TrimTail: 0.5}, false, tm.Limit{})
	newcomers, before := 0, int64(0)
	b.send(packet.Data, 0, 1000, packet.Trimmable)
	const n = 4000
	for i := int64(1); i <= n; i++ {
		b.send(packet.Data, i, 1000, packet.Trimmable)
		if tail := b.sw.Port(1).Queue(data).Tail().Seq; tail == before {
			newcomers++
		} else if before = tail; tail != i {
			t.Fatalf("packet %d is last after %d", tail, i)
		}
	}
	if math.Abs(float64(newcomers)-n/2) > 4*math.Sqrt(n)/2 {
		t.Errorf("the newcomer was trimmed %d times of %d", newcomers, n)
	}
}

// TestHeadersDoNotStarveData checks NDP §3.1: ten headers go for each data packet, so headers cannot starve data.
func TestHeadersDoNotStarveData(t *testing.T) {
	b := newBench(t, Config{Data: 8, Headers: 12_112}, false, tm.Limit{})
	for n := range int64(40) {
		b.send(packet.Data, n, 1000, packet.Trimmable)
	}
	var runs []int
	headers := 0
	for _, x := range strings.Fields(b.leave(1)) {
		if x[0] == '(' {
			headers++
		} else if headers > 0 {
			runs, headers = append(runs, headers), 0
		}
	}
	if fmt.Sprint(runs) != "[10 10 10 2]" {
		t.Errorf("headers between packets of data: %v", runs)
	}
}

// TestHeaderQueue checks NDP §3.2.4: the header queue is bounded in bytes. A packet that finds it full is dropped if it
// is not returned: headers as trim failed, control packets under their own kind.
func TestHeaderQueue(t *testing.T) {
	b := newBench(t, Config{Data: 1, Headers: 149}, true, tm.Limit{}) // two of 50 bytes
	for n := range int64(4) {
		b.send(packet.Data, n, 1000, packet.Trimmable)
	}
	b.send(packet.Ack, 9, 0, 0)
	if got := b.leave(1); got != "(1) (2) 0" {
		t.Errorf("%s leaves", got)
	}
	if d := b.sw.DropCounts(); d[dataplane.TrimFailed] != 1 || d[dataplane.QueueByteLimit] != 1 ||
		d[dataplane.Returned] != 0 {
		t.Errorf("drops %v", d)
	}
}

// TestReturnToSender checks NDP §3.2.4: a header without room returns to its sender, once, with ports and addresses
// swapped and a mark. Returned headers and control packets are dropped.
func TestReturnToSender(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, Config{Data: 1, Headers: 100, ReturnToSender: true}, wire, tm.Limit{})
		for n := range int64(5) {
			b.send(packet.Data, n, 1000, packet.Trimmable|packet.FIN)
		}
		b.send(packet.Data, 5, 0, packet.Trimmable) // trimmed before
		b.send(packet.Data, 6, 0, packet.Returned)
		b.send(packet.Ack, 7, 0, 0)
		if got := b.leave(1); got != "(1) (2) 0" {
			t.Errorf("%s leaves", got)
		}
		if got := b.leave(0); got != "back3 back4" { // and 5 finds its way back full
			t.Errorf("%s goes back", got)
		}
		d := b.sw.DropCounts()
		if d[dataplane.Returned] != 3 || b.n.returned != 3 || d[dataplane.TrimFailed] != 2 ||
			d[dataplane.QueueByteLimit] != 1 {
			t.Errorf("drops %v", d)
		}
	}
}

// TestProgram_TrimsRDMAWithoutReturn checks that RoCEv2 packets with support for trimming are trimmed, too, but never
// returned: their senders do not support such headers.
func TestProgram_TrimsRDMAWithoutReturn(t *testing.T) {
	for _, wire := range []bool{false, true} {
		b := newBench(t, Config{Data: 1, Headers: 100, ReturnToSender: true}, wire, tm.Limit{})
		b.rdma = true
		for n := range int64(4) {
			b.send(packet.Data, n, 1000, packet.Cuttable)
		}
		b.send(packet.Data, 4, 1000, 0)
		if got := b.leave(1); got != "(1) 0" {
			t.Errorf("%s leaves", got)
		}
		if got, d := b.leave(0), b.sw.DropCounts(); got != "" || d[dataplane.TrimFailed] != 2 ||
			d[dataplane.QueuePacketLimit] != 1 {
			t.Errorf("%s goes back, drops %v", got, d)
		}
	}
}

func TestBadInput(t *testing.T) {
	site := func(queues int) *dataplane.Site { return &dataplane.Site{Switch: "s", Ports: 1, Queues: queues} }
	for name, err := range map[string]error{
		"one queue":    func() error { _, err := New(site(1), Config{Data: 8, Headers: 1}); return err }(),
		"three queues": func() error { _, err := New(site(3), Config{Data: 8, Headers: 1}); return err }(),
		"no data":      scheme.Validate(&Config{Headers: 1}),
		"coin":         scheme.Validate(&Config{Data: 8, TrimTail: math.NaN()}),
	} {
		if err == nil || !strings.Contains(err.Error(), "ndp") && !strings.Contains(err.Error(), "allowed") {
			t.Errorf("%s: %v", name, err)
		}
	}
	p, err := dataplanetest.BuildProgram(Scheme(), &dataplane.Site{Queues: 2, MaxFrame: 9014})
	if err != nil || p.(*Program).config != (Config{Data: 8, Headers: 8 * 9014, ReturnToSender: true, TrimTail: 0.5}) {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err = dataplanetest.BuildProgram(Scheme(), &dataplane.Site{Queues: 2}, "headers", "100 B"); err != nil ||
		p.(*Program).config.Headers != 100 {
		t.Errorf("%+v, %v", p, err)
	}
}

// TestNoAllocation checks that a packet that is admitted, trimmed or sent back allocates no memory.
func TestNoAllocation(t *testing.T) {
	b := newBench(t, Config{Data: 2, Headers: 200, ReturnToSender: true, TrimTail: 0.5}, false, tm.Limit{})
	n := int64(0)
	one := func() {
		n++
		b.send(packet.Data, n, 1000, packet.Trimmable)
		if n%8 == 0 {
			for port := range packet.PortID(2) {
				for p, _ := b.sw.Dequeue(b.now, port); p != nil; p, _ = b.sw.Dequeue(b.now, port) {
					b.pool.Put(p)
				}
				for _, ok := b.sw.Wants().NextWoken(); ok; _, ok = b.sw.Wants().NextWoken() {
				}
			}
		}
	}
	for range 1000 {
		one()
	}
	if a := testing.AllocsPerRun(1000, one); a != 0 {
		t.Errorf("%g allocations a packet", a)
	}
	if b.n.returned == 0 {
		t.Error("nothing was sent back")
	}
}

func BenchmarkAdmit(b *testing.B) {
	x := newBench(b, Config{Data: 8, Headers: 12_112, ReturnToSender: true, TrimTail: 0.5}, false, tm.Limit{})
	b.ReportAllocs()
	for b.Loop() {
		x.send(packet.Data, 0, 1000, packet.Trimmable)
		if p, _ := x.sw.Dequeue(x.now, 1); p != nil {
			x.pool.Put(p)
		}
		x.sw.Wants().NextWoken()
	}
}

func ExampleNew() {
	_, err := New(&dataplane.Site{Queues: 1}, Config{Data: 8, Headers: 12_112})
	fmt.Println(err)
	// Output: ndp needs two queues a port (queues: 2), for headers and data; there are 1
}
