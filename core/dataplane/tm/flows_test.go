package tm

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"weir/core/packet"
	"weir/core/scheme"
	"weir/core/unit"
)

func fairPort(t testing.TB, queues int, each, total Limit, c FQ) *Port {
	t.Helper()
	return NewPort(NewBuffer(queues, each, total), NewFQ(c), unit.LinkRate{Bits: unit.Gbps})
}

// hashes returns the hashes of n flows that share no list.
func hashes(p *Port, n int) []uint32 {
	var out []uint32
	f := p.queues[0].flows
	used := map[int32]bool{}
	for h := uint32(0); len(out) < n; h++ {
		if at := f.listOf(&packet.Packet{Hash: h}); !used[at] {
			used[at] = true
			out = append(out, h)
		}
	}
	return out
}

// enter adds x to a port as a switch does, and returns the packets that the port drops for it.
func enter(p *Port, q QueueID, x *packet.Packet) (out []*packet.Packet) {
	for why := p.Fits(q, x.Size); why != Fits; why = p.Fits(q, x.Size) {
		gone := p.MakeRoom(q, x, why)
		if gone == nil {
			return append(out, x)
		}
		out = append(out, gone)
	}
	p.Push(q, x)
	return out
}

func jain(x []int64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum += float64(v)
		squares += float64(v) * float64(v)
	}
	return sum * sum / (float64(len(x)) * squares)
}

// TestFQFairness checks Shreedhar and Varghese, theorem on fairness: services of backlogged flows differ by at most a
// quantum and two packets at any time. This holds for any sizes of packets, in either order of new flows, and with
// credit that may be below 0 (RFC 8290 §4.2).
func TestFQFairness(t *testing.T) {
	sizes := []int32{64, 200, 576, 1000, 1514, 1514, 90, 1300}
	for _, first := range []bool{false, true} {
		for _, quantum := range []unit.Bytes{1514, 300, 9000} {
			p := fairPort(t, 1, Limit{}, Limit{}, FQ{Flows: 1024, Quantum: quantum, NewFirst: first})
			flow := hashes(p, len(sizes))
			served := make([]int64, len(sizes))
			for i, h := range flow {
				for range 3 {
					p.Push(0, &packet.Packet{Hash: h, Size: sizes[i]})
				}
			}
			for n := range 50000 {
				x, _, _ := p.DequeueNext(unit.Time(n))
				i := slices.Index(flow, x.Hash)
				served[i] += int64(x.Size)
				p.Push(0, x)
				for j := range served {
					if d := served[i] - served[j]; d > int64(quantum)+2*1514 {
						t.Fatalf("quantum %d: flows %d and %d are %d bytes apart", quantum, i, j, d)
					}
				}
			}
			if f := jain(served); f < 0.999 {
				t.Errorf("quantum %d, new flows first %v: Jain's index %.4f: %v", quantum, first, f, served)
			}
		}
	}
}

// TestFQIsolation checks that a flow of one small packet at a time waits for one round of the flows that flood the
// port, not for their packets in the buffer. With new flows first it waits only for the packet on the wire (RFC 8290
// §4.2). The flow loses no packet, although the buffer is always full.
func TestFQIsolation(t *testing.T) {
	const buffer, floods = 500, 4
	for _, c := range []struct {
		first bool
		most  int // packets that go before it
	}{{false, floods}, {true, 0}} {
		p := fairPort(t, 1, Limit{}, Limit{Packets: buffer}, FQ{Flows: 1024, Quantum: 1514, NewFirst: c.first})
		flow := hashes(p, floods+1)
		sparse, lost, waits := flow[floods], 0, 0
		for n := range 20000 {
			if n%50 == 49 {
				waits = 0
				for _, x := range enter(p, 0, &packet.Packet{Hash: sparse, Size: 100}) {
					if x.Hash == sparse {
						t.Fatal("the sparse flow loses a packet")
					}
				}
			}
			for k := range 2 { // twice what the port can send
				lost += len(enter(p, 0, &packet.Packet{Hash: flow[(2*n+k)%floods], Size: 1514}))
			}
			x, _, _ := p.DequeueNext(unit.Time(n))
			if x.Hash != sparse {
				waits++
			} else if waits > c.most {
				t.Fatalf("new flows first %v: %d packets go before one of the sparse flow, at most %d may", c.first, waits, c.most)
			}
		}
		if lost < 15000 || p.Packets() < buffer-1 {
			t.Errorf("%d packets lost, %d wait: it was no flood", lost, p.Packets())
		}
	}
}

// TestFQCollisions checks flows that share a place. With all flows in one place, the queue is first in, first out and
// drops new arrivals. Flows of one place share all that it gets (RFC 8290 §5.3). Of m flows in n places, a flow has a
// place to itself with probability (1 − 1/n)^(m−1).
func TestFQCollisions(t *testing.T) {
	p := fairPort(t, 1, Limit{}, Limit{Packets: 5}, FQ{Flows: 1, Quantum: 1514})
	for i := range 7 {
		if out := enter(p, 0, &packet.Packet{Hash: uint32(i), Size: 100, Seq: int64(i)}); len(out) > 0 != (i >= 5) ||
			len(out) > 0 && out[0].Seq != int64(i) {
			t.Errorf("packet %d: %d lost", i, len(out))
		}
	}
	for i := range 5 {
		if x := p.Pop(0); x.Seq != int64(i) {
			t.Errorf("packet %d leaves as number %d", x.Seq, i)
		}
	}
	random := unit.NewRandom(1, "flows")
	for _, m := range []int{10, 100, 1000} {
		alone, trials := 0, 20000/m
		for trial := range trials {
			p := fairPort(t, 1, Limit{}, Limit{}, FQ{Flows: 1024, Quantum: 1514, Seed: uint32(trial)})
			in := map[int32]int{}
			for range m {
				in[p.queues[0].flows.listOf(&packet.Packet{Hash: uint32(random.Uint64())})]++
			}
			for _, n := range in {
				if n == 1 {
					alone++
				}
			}
		}
		want := math.Pow(1-1./1024, float64(m-1))
		if got := float64(alone) / float64(m*trials); math.Abs(got-want) > 0.01 {
			t.Errorf("%d flows: %.4f of them are alone, want %.4f", m, got, want)
		}
	}
	// two flows that share a place with one seed have different places with nearly all others
	together := 0
	for seed := range uint32(1000) {
		p := fairPort(t, 1, Limit{}, Limit{}, FQ{Flows: 64, Quantum: 1514, Seed: seed})
		if f := p.queues[0].flows; f.listOf(&packet.Packet{Hash: 12345}) == f.listOf(&packet.Packet{Hash: 98765}) {
			together++
		}
	}
	if together > 40 {
		t.Errorf("two flows are together with %d seeds of 1000; 1000/64 is expected", together)
	}
}

// TestFQLongest checks which packet a full port drops. It is the newest or the oldest packet of the longest flow in
// bytes, and the arriving packet counts. The packet is in the last queue that has packets, never in a queue before the
// arriving packet's.
func TestFQLongest(t *testing.T) {
	number := func(x []*packet.Packet) (out []int64) {
		for _, p := range x {
			out = append(out, p.Seq)
		}
		return out
	}
	for _, c := range []struct {
		head bool
		want [4]string
	}{{false, [4]string{"[]", "[22]", "[25]", "[24]"}}, {true, [4]string{"[]", "[21]", "[22]", "[23]"}}} {
		p := fairPort(t, 1, Limit{}, Limit{Bytes: 6000}, FQ{Flows: 1024, Quantum: 1514, FromHead: c.head})
		flow := hashes(p, 4)
		seq := int64(0)
		push := func(i int, size int32) string {
			seq++
			return fmt.Sprint(number(enter(p, 0, &packet.Packet{Hash: flow[i], Size: size, Seq: seq})))
		}
		for range 15 { // many packets, but 1500 bytes
			push(0, 100)
		}
		seq = 20
		push(1, 1500)
		push(1, 1500)
		for n, got := range []string{
			push(2, 1000), // 23: fits
			push(2, 900),  // 24: flow 1 has 3000, flow 2 would have 1900
			push(1, 1400), // 25: flow 1 would have 2900
			push(3, 1300), // 26: flow 2 has 1900; flow 1 1500, or with its newest 1400
		} {
			if got != c.want[n] {
				t.Errorf("from the head %v, packet %d: %s go, want %s", c.head, 23+n, got, c.want[n])
			}
		}
	}
	p := fairPort(t, 3, Limit{Packets: 2}, Limit{Packets: 4}, FQ{Flows: 16, Quantum: 1514})
	flow := hashes(p, 4)
	try := func(q QueueID, i int, seq int64, want string) {
		t.Helper()
		if got := fmt.Sprint(number(enter(p, q, &packet.Packet{Hash: flow[i], Size: 100, Seq: seq}))); got != want {
			t.Errorf("packet %d: %s go, want %s", seq, got, want)
		}
	}
	try(1, 0, 1, "[]")
	try(1, 0, 2, "[]")
	try(1, 1, 3, "[2]") // the queue is full
	try(2, 2, 4, "[]")
	try(2, 2, 5, "[]")
	try(0, 3, 6, "[5]") // the port is full: the last queue gives way
	try(2, 3, 7, "[7]") // flows of one packet: who comes goes
	try(0, 3, 8, "[4]")
	try(2, 0, 9, "[9]") // queue 2 is empty, and those before it do not give way
	if got := p.PopTail(1).Seq; got != 1 && got != 3 {
		t.Errorf("packet %d is evicted", got)
	}
	if x := p.MakeRoom(0, &packet.Packet{Size: 1}, PortBytes); x == nil {
		t.Error("nothing gives way")
	}
	empty := fairPort(t, 2, Limit{}, Limit{Bytes: 10}, FQ{Flows: 16, Quantum: 1514, FromHead: true})
	if out := enter(empty, 1, &packet.Packet{Size: 11}); len(out) != 1 || empty.PopTail(0) != nil || empty.Pop(0) != nil {
		t.Error("a packet beyond the limit of an empty port is taken")
	}
	b := NewBuffer(1, Limit{}, Limit{Packets: 1})
	fill(&b, 0, 100)
	if b.MakeRoom(0, &packet.Packet{Size: 100}, PortPackets) != nil {
		t.Error("in a queue that is not fair something gives way")
	}
}

// TestFQQueues checks that each queue is fair by itself, that queues have strict priority, and that PFC pauses each of
// them. The head waits since its arrival, or since another packet of the queue departed.
func TestFQQueues(t *testing.T) {
	p := fairPort(t, 2, Limit{}, Limit{}, FQ{Flows: 16, Quantum: 100})
	flow := hashes(p, 2)
	for i, x := range []struct {
		q    QueueID
		flow int
	}{{1, 0}, {1, 0}, {1, 1}, {0, 0}, {0, 0}, {0, 1}} {
		p.Push(x.q, &packet.Packet{Hash: flow[x.flow], Size: 100, Seq: int64(i), Enqueued: unit.Time(i)})
	}
	if p.Queue(1).HeadSince() != 0 || p.Queue(0).HeadSince() != 3 {
		t.Errorf("held since %v and %v", p.Queue(1).HeadSince(), p.Queue(0).HeadSince())
	}
	p.ApplyPause(9, 0, 0)
	order := []int64{0, 2, 3, 5, 4, 1}
	for n, want := range order {
		if n == 2 {
			p.ApplyResume(10, 0)
		}
		q := p.Queue(QueueID(map[bool]int{true: 1, false: 0}[n < 2 || n == 5]))
		if q.Head().Seq != want {
			t.Errorf("the head is %d, want %d", q.Head().Seq, want)
		}
		x, _, _ := p.DequeueNext(unit.Time(20 + n))
		if x == nil || x.Seq != want {
			t.Fatalf("%+v leaves, want %d", x, want)
		}
		if q.Packets() > 0 && q.HeadSince() != unit.Time(20+n) {
			t.Errorf("held since %v", q.HeadSince())
		}
	}
	if !p.IsIdle() || p.Queue(1).HeadSince() != unit.Never || p.Queue(0).Head() != nil {
		t.Error("an empty port is not idle")
	}
}

// TestFQNewFlows checks RFC 8290 §4.2. A new flow that has used its quantum is an old one. A flow that returns during
// its turn as a new one gets no new quantum. A flow that returns after its turn is new again.
func TestFQNewFlows(t *testing.T) {
	p := fairPort(t, 1, Limit{}, Limit{}, FQ{Flows: 64, Quantum: 300, NewFirst: true})
	flow := hashes(p, 3)
	seq := map[int]int64{}
	push := func(i, n int) {
		for range n {
			p.Push(0, &packet.Packet{Hash: flow[i], Size: 100, Seq: int64(i)*100 + seq[i]})
			seq[i]++
		}
	}
	leave := func(want ...int64) {
		t.Helper()
		for _, w := range want {
			if x, _, _ := p.DequeueNext(0); x == nil || x.Seq != w {
				t.Fatalf("%+v leaves, want %d", x, w)
			}
		}
	}
	push(0, 8)
	push(1, 1)
	leave(0, 1, 2, 100) // flow 0 has used its quantum, flow 1 is new
	push(1, 1)          // it has 200 left, and its turn
	leave(101)
	push(1, 2)
	leave(102)     // and that was its quantum
	leave(3, 4, 5) // flow 0 is old, as flow 1 is now, and before it
	leave(103)
	push(2, 1) // new
	leave(200)
	leave(6, 7)
	if p.Packets() != 0 {
		t.Errorf("%d wait", p.Packets())
	}
	push(0, 1)
	push(1, 1)
	leave(8, 104) // after an idle time all are new
}

// TestQueue_AllStopsOnBreak checks that All stops when the caller leaves the loop.
func TestQueue_AllStopsOnBreak(t *testing.T) {
	fair := fairPort(t, 1, Limit{}, Limit{}, FQ{Flows: 8, Quantum: 1514})
	plain := NewPort(NewBuffer(1, Limit{}, Limit{}), NewFIFO(), unit.LinkRate{Bits: unit.Gbps})
	for _, p := range []*Port{fair, plain} {
		for i := range 5 {
			p.Push(0, &packet.Packet{Size: 1, Hash: uint32(i)})
		}
		n := 0
		for range p.Queue(0).All() {
			if n++; n == 3 {
				break
			}
		}
		if n != 3 {
			t.Errorf("%d packets seen", n)
		}
	}
}

func TestFQBad(t *testing.T) {
	for _, c := range []FQ{{Flows: 0, Quantum: 1514}, {Flows: maxFlows + 1, Quantum: 1514}, {Flows: 1, Quantum: 0}} {
		t.Run(fmt.Sprintf("%d flows, quantum %d", c.Flows, c.Quantum), func(t *testing.T) {
			if scheme.Validate(&c) == nil {
				t.Error("it is taken")
			}
		})
	}
}

func TestFQNoAllocation(t *testing.T) {
	for _, head := range []bool{false, true} {
		p := fairPort(t, 1, Limit{}, Limit{Packets: 200}, FQ{Flows: 1024, Quantum: 1514, NewFirst: true, FromHead: head})
		list := make([]packet.Packet, 300)
		free := []*packet.Packet{}
		for i := range list {
			list[i] = packet.Packet{Size: int32(100 + i), Hash: uint32(i % 97 * i)}
			free = append(free, &list[i])
		}
		step := func() {
			x := free[len(free)-1]
			free = free[:len(free)-1]
			why := p.Fits(0, x.Size)
			for ; why != Fits; why = p.Fits(0, x.Size) {
				y := p.MakeRoom(0, x, why)
				if y == nil {
					free = append(free, x)
					break
				}
				free = append(free, y)
			}
			if why == Fits {
				p.Push(0, x)
			}
			if len(free)%3 == 0 {
				y, _, _ := p.DequeueNext(0)
				free = append(free, y)
			}
		}
		for range 2000 {
			step()
		}
		if n := testing.AllocsPerRun(5000, step); n != 0 {
			t.Errorf("%g allocations", n)
		}
	}
}

// BenchmarkFQ measures a packet in and out of a port in which packets of the given number of flows wait. With full, the
// packet out is the newest one of the longest flow.
func BenchmarkFQ(b *testing.B) {
	for _, flows := range []int{1, 16, 512} {
		for _, full := range []bool{false, true} {
			b.Run(fmt.Sprintf("flows=%d/full=%v", flows, full), func(b *testing.B) {
				p := fairPort(b, 1, Limit{}, Limit{Packets: 4096}, FQ{Flows: 1024, Quantum: 1514})
				list := make([]packet.Packet, 4096)
				for i := range list {
					list[i] = packet.Packet{Size: 1000, Hash: uint32(i % flows)}
				}
				for i := range list {
					p.Push(0, &list[i])
				}
				for b.Loop() {
					if full {
						p.Push(0, p.PopTail(0))
						continue
					}
					y := p.Pop(0)
					p.Push(0, y)
				}
			})
		}
	}
}
