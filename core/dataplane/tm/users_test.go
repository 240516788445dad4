package tm_test

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"weir/core/dataplane"
	"weir/core/dataplane/aqm/codel"
	"weir/core/dataplane/dataplanetest"
	"weir/core/dataplane/tm"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// weighed returns user_fq with reference rates of 10.0.0.1, 10.0.0.2 and so on, in kb/s.
func weighed(quantum unit.Bytes, rates ...int) tm.ByUser {
	c := tm.ByUser{Quantum: quantum, Config: users.Config{Reference: 10 * unit.Kbps}}
	c.Aggregates = dataplanetest.ReferenceRates(rates...)
	return c
}

// TestByUserTranscript replays the transcript testdata/user_fq.txt, which an evaluation of DRR without Weir's code
// generated.
func TestByUserTranscript(t *testing.T) {
	text, err := os.ReadFile("testdata/user_fq.txt")
	if err != nil {
		t.Fatal(err)
	}
	link := unit.LinkRate{Bits: 5 * unit.Mbps}
	s := dataplanetest.Setup{Ports: []dataplanetest.Port{{Rate: link}, {Rate: link}, {Rate: link},
		{Rate: link, Total: tm.Limit{Packets: 10}, Scheduler: tm.NewByUser(weighed(1514, 10, 20, 10))}}}
	dataplanetest.CheckTranscript(t, s, string(text), func(*dataplane.Site) []dataplane.Program { return nil },
		func() string { return "" })
}

// book returns a book of n hosts, 10.0.0.1 to 10.0.n/256.n%256.
func book(n int) *packet.Book {
	b := packet.NewBook()
	for i := range n {
		b.Add(netip.AddrFrom4([4]byte{10, 0, byte((i + 1) >> 8), byte(i + 1)}), netip.Addr{})
	}
	return b
}

func userPort(hosts int, c tm.ByUser, limit tm.Limit) *tm.Port {
	s := tm.NewByUser(c)
	s.(tm.Addressed).SetAddresses(book(hosts))
	return tm.NewPort(tm.NewBuffer(1, tm.Limit{}, limit), s, unit.LinkRate{Bits: unit.Gbps})
}

// TestByUserShares checks DRR, theorem on fairness with weights: the bytes sent by backlogged users, divided by their
// weights, differ by at most a quantum and two packets at any time. This holds for any sizes of packets and any number
// of flows of each user.
func TestByUserShares(t *testing.T) {
	sizes := []int32{64, 1514, 576, 1300}
	for _, weights := range [][]int{{10, 10, 10, 10}, {10, 20, 40, 10}, {7, 700, 70, 35}} {
		t.Run(fmt.Sprint(weights), func(t *testing.T) {
			p := userPort(4, weighed(1514, weights...), tm.Limit{})
			least := float64(weights[0])
			for i := range sizes {
				for flow := range 1 << i { // users have 1, 2, 4, 8 flows
					p.Push(0, &packet.Packet{Src: packet.Addr(i + 1), Hash: uint32(flow), Size: sizes[i]})
					p.Push(0, &packet.Packet{Src: packet.Addr(i + 1), Hash: uint32(flow), Size: sizes[i]})
				}
			}
			served := make([]float64, 4)
			for n := range 100000 {
				x, _, _ := p.DequeueNext(unit.Time(n))
				i := int(x.Src) - 1
				served[i] += float64(x.Size) * least / float64(weights[i])
				p.Push(0, x)
				for j := range served {
					if d := served[i] - served[j]; d > 1514+2*1514 {
						t.Fatalf("users %d and %d are %g bytes apart", i, j, d)
					}
				}
			}
		})
	}
}

// TestByUserExact checks that a thousand users have a thousand separate lists. A user that sends little loses no packet
// next to others that flood the port.
func TestByUserExact(t *testing.T) {
	const hosts = 1000
	p := userPort(hosts, weighed(1514), tm.Limit{Packets: 2 * hosts})
	served := make([]int, hosts+1)
	light := packet.Addr(17)
	sent := 0
	for n := range 60000 {
		for k := range 2 {
			x := &packet.Packet{Src: packet.Addr((2*n+k)%hosts + 1), Size: 1000}
			if x.Src == light && n%(3*hosts) > 1 {
				continue
			} else if x.Src == light {
				sent++
			}
			for why := p.Fits(0, x.Size); why != tm.Fits; why = p.Fits(0, x.Size) {
				y := p.MakeRoom(0, x, why)
				if y == nil {
					y = x
				}
				if y.Src == light {
					t.Fatal("the light user loses a packet")
				}
				if y == x {
					x = nil
					break
				}
			}
			if x != nil {
				p.Push(0, x)
			}
		}
		if x, _, _ := p.DequeueNext(unit.Time(n)); x != nil {
			served[x.Src]++
		}
	}
	least, most := served[1], served[1]
	for i := 1; i <= hosts; i++ {
		if packet.Addr(i) != light {
			least, most = min(least, served[i]), max(most, served[i])
		}
	}
	if most-least > 2 || served[light] > sent {
		t.Errorf("users get %d to %d packets; the light one sent %d and gets %d", least, most, sent, served[light])
	}
}

// TestByUserPrefix checks that a prefix is one user over all its addresses. An address that moves to another host is
// looked up again.
func TestByUserPrefix(t *testing.T) {
	c := weighed(1000)
	c.Aggregates = []users.Aggregate{{Key: "10.0.0.0/30", Value: 10 * unit.Kbps}}
	p := userPort(8, c, tm.Limit{})
	push := func(src packet.Addr) { p.Push(0, &packet.Packet{Src: src, Size: 1000}) }
	for _, src := range []packet.Addr{1, 2, 3, 1, 2, 3, 5, 5, 5} {
		push(src)
	}
	order := ""
	for range 9 {
		x, _, _ := p.DequeueNext(0)
		order += fmt.Sprint(x.Src)
	}
	if order != "152535123" {
		t.Errorf("sources leave as %s, want 152535123", order)
	}
	p.EvictAddress(5)
	push(5)
	if x, _, _ := p.DequeueNext(0); x == nil || x.Src != 5 {
		t.Error("an address that was forgotten sends nothing")
	}
}

func TestByUserNoAllocation(t *testing.T) {
	p := userPort(100, weighed(1514, 10, 20, 30), tm.Limit{Packets: 200})
	list := make([]packet.Packet, 100)
	for i := range list {
		list[i] = packet.Packet{Src: packet.Addr(i%100 + 1), Size: 1000}
		p.Push(0, &list[i])
	}
	if n := testing.AllocsPerRun(5000, func() { p.Push(0, p.Pop(0)) }); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

// TestByUserContract runs the checks of programs with ports that are fair among users, where they have no scheduler of
// their own. Scripts have one user a queue, so packets depart as from a FIFO.
func TestByUserContract(t *testing.T) {
	dataplanetest.CheckProgram(t, codel.Scheme(), func(p dataplanetest.Port) dataplanetest.Port {
		if p.Scheduler == nil && p.Queues <= 1 {
			p.Scheduler = tm.NewByUser(weighed(1514, 10, 20, 10))
		}
		return p
	}, nil)
}
