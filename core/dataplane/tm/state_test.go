package tm

import (
	"net/netip"
	"testing"

	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// TestScheduler_CountsItsState checks the counted state of schedulers. A first-in, first-out queue has none, and a
// round robin has a counter for each queue. A fair queue has for each list its bytes and their bound, turn, packets,
// credit, quantum and places.
func TestScheduler_CountsItsState(t *testing.T) {
	book := packet.NewBook()
	for i := range 10 {
		book.Add(netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}), netip.Addr{})
	}
	byUser := NewByUser(ByUser{Config: users.Config{Reference: unit.Kbps}, Quantum: 1514})
	byUser.(Addressed).SetAddresses(book)
	guarantee, err := NewGuarantee([]Share{{Ceiling: 1}, {Ceiling: 1}}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	ncf, err := NewNCF(3, NCF{Control: 0.05, Mice: 0.1, Elephants: 0.1}, unit.Gbps, 1514, 3028)
	if err != nil {
		t.Fatal(err)
	}
	const list = 3*64 + 6*32 + 32 // and its place in the heap
	for _, x := range []struct {
		name      string
		scheduler Scheduler
		queues    int
		bits      int64
	}{
		{"fifo", NewFIFO(), 1, 0},
		{"strict", NewStrict(), 8, 0},
		{"drr", NewDRR(4, 1514), 4, 4*(64+32) + 32},
		{"wrr", NewWRR([]int32{1, 2}), 2, 2*32 + 64},
		{"deadline", NewDeadline([]unit.Time{0, unit.Millisecond}), 2, 128},
		{"guarantee", guarantee, 2, 2*4*64 + 64 + 2*(2*(64+32)+32)},
		{"ncf", ncf, 3, 3*5*64 + 64 + 2*(3*(64+32)+32)},
		{"fq", NewFQ(FQ{Flows: 1024, Quantum: 1514}), 1, 1024*list + 2*64 + 32 + 64},
		// a queue's COBALT, neighbour, hosts, tag, part of a byte and round; a place's two hosts and their busy flows
		{"cake", newCakeScheduler(Cake{Isolation: isolateBoth, Flows: 1024}, unit.LinkRate{}), 1,
			1024*(list+2*64+2*32+8+4*32+16+8+4*32) + 3*64 + 32 + 64 + 64},
		{"user_fq", byUser, 1, 11*list + 2*64 + 32 + 64}, // addresses of the book, and the unknown one
	} {
		t.Run(x.name, func(t *testing.T) {
			p := NewPort(NewBuffer(x.queues, Limit{}, Limit{}), x.scheduler, unit.LinkRate{Bits: unit.Gbps})
			if got := p.State(); got.Bits != x.bits {
				t.Errorf("%d bits, want %d", got.Bits, x.bits)
			}
		})
	}
}
