package tm

import (
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// FQ is how a port shares each of its queues among flows. Every packet waits in one of Flows lists,
// selected by the hash of its flow; lists with packets are served by deficit round robin (Shreedhar,
// Varghese, SIGCOMM'95) as in FQ-CoDel (RFC 8290 §4.2), without CoDel. Flows that collide share a list,
// its turn and its losses: with m flows in n lists, a flow is alone with probability (1 − 1/n)^(m−1).
type FQ struct {
	Flows   int        // lists a queue, 1 … maxFlows
	Quantum unit.Bytes // bytes that a flow may send a turn; at least the largest frame, so that each turn sends
	// NewFirst serves flows without waiting packets before the others, up to one quantum (RFC 8290 §4.2:
	// new queues); otherwise they join the end of the round.
	NewFirst bool
	// FromHead takes the oldest packet of the longest list when there is no room (RFC 8290
	// §4.1), instead of the newest.
	FromHead bool
	Seed     uint32 // of the hash (RFC 8290 §4.1)
}

// maxFlows is how many lists a queue can have.
const maxFlows = 1 << 16

// ByUser is how a port shares each of its queues among users, exactly: deficit round robin over one list a user,
// the ideal that schemes without a queue for each are measured by (P4-ABC §2). It is FQ with lists that are
// found by a packet's source in place of a hash, so that no two users collide.
type ByUser struct {
	users.Config
	// Quantum is what the user with the smallest reference rate may send a turn; others in proportion to theirs
	// (DRR: quantum Q_i for a share of Q_i by the sum). At least the largest frame, so that each turn sends.
	Quantum  unit.Bytes
	FromHead bool // as FQ's
}

// Addressed is a Scheduler that tells packets apart by their addresses. Its driver gives it the addresses
// before the port is made.
type Addressed interface {
	Scheduler
	Addresses(book *packet.Book)
}

// A Seeded is a Scheduler that selects the lists of flows by a hash. Its driver gives it a seed before the
// port is made, so that flows that collide at one switch do not at others.
type Seeded interface {
	Scheduler
	Seed(seed uint32)
}

// fq serves the queues of a port in strict priority; the queues themselves are fair.
type fq struct {
	strict
	config FQ
	table  *users.Table // of byUser; nil: lists go by the flow's hash
	law    *CoDel       // of NewFQCoDel
	cake   *Cake        // of newCakeScheduler
	rate   unit.LinkRate
	book   *packet.Book      // nil: it is not known
	hosts  map[string]uint32 // by name of a user that the file declares: its number as a host
}

// byUser is fq with a list a user.
type byUser struct {
	fq
	by users.Config
}

// NewFQ returns the scheduler of a port whose queues are fair among flows. Queues are served in strict
// priority. When a limit is reached, the last queue with packets loses one from its longest list, unless
// it comes before the queue of the arriving packet; in that packet's own queue the longest list is found
// with the packet counted.
func NewFQ(c FQ) Scheduler { return &fq{config: c} }

// NewByUser returns the scheduler of a port whose queues are fair among users; otherwise it is as NewFQ's.
func NewByUser(c ByUser) Scheduler {
	return &byUser{fq: fq{config: FQ{Quantum: c.Quantum, FromHead: c.FromHead}}, by: c.Config}
}

// Addresses finds the users.
func (f *byUser) Addresses(book *packet.Book) { f.table = users.NewTable(book, &f.by) }

// EvictAddress lets the address be looked up afresh. Packets of who had it before leave as they wait.
func (f *byUser) EvictAddress(a packet.Addr) { f.table.EvictAddress(a) }

// Addresses has CAKE take all addresses of a user that the file declares for one host.
func (f *fq) Addresses(book *packet.Book) { f.book, f.hosts = book, map[string]uint32{} }

// host is the number of the host with an address: its user's, or the address's own.
func (f *fq) host(a packet.Addr, version uint8) uint32 {
	if f.book == nil || len(f.book.Users()) == 0 {
		return uint32(a)
	}
	name, _ := f.book.Owner(a, version)
	if name == "" {
		return uint32(a)
	}
	n, ok := f.hosts[name]
	if !ok {
		n = uint32(f.book.Len() + len(f.hosts)) // no address has it
		f.hosts[name] = n
	}
	return n
}

func (f *fq) fair() *fq { return f }

// Seed sets the hash's seed.
func (f *fq) Seed(seed uint32) { f.config.Seed = seed }

// flows are the packets of a fair queue. Packets are nodes, which are counted from 1, and
// so are lists; 0 is none.
type flows struct {
	lists  []flow
	nodes  []node
	unused int32 // first of the nodes without a packet
	count  int32 // packets that wait

	fresh, old round
	// period counts from 1 how often the queue has run empty: then no flow has a turn or credit. With CoDel that is
	// as RFC 8290 §4.2 has it, when the port looks for a packet and finds none; else one frame earlier.
	period uint64

	// heap orders lists by an upper bound of their bytes, the largest first. Bounds rise with the lists,
	// and fall only in longest.
	heap []int32

	table    *users.Table // nil: lists go by hash
	quantum  int32        // of the smallest weight
	newFirst bool
	fromHead bool
	seed     uint32

	cake   *cake  // nil: none
	law    *CoDel // nil: none
	states []CoDelState
	port   *fq
	idle   unit.Time // when the port has sent what left last
}

// flow is one list. While listed equals the queue's period it is in a round; every list with packets is.
type flow struct {
	bytes      int64
	bound      int64 // at least bytes
	listed     uint64
	head, tail int32 // nodes
	credit     int32 // bytes that it may still send this turn
	quantum    int32 // that it earns a turn
	next       int32 // list behind it in its round
	place      int32 // in heap, from 1; 0: it is not there
}

type node struct {
	p          *packet.Packet
	prev, next int32
}

// round is a list of flows in the order of their turns.
type round struct{ first, last int32 }

func newFlows(s *fq) *flows {
	c, n := &s.config, s.config.Flows
	if s.table != nil {
		n = s.table.Most()
	}
	f := &flows{lists: make([]flow, n+1), nodes: make([]node, 1, 64), heap: make([]int32, 0, n), period: 1,
		table: s.table, newFirst: c.NewFirst, fromHead: c.FromHead, seed: c.Seed}
	f.quantum = int32(c.Quantum)
	if f.law = s.law; f.law != nil {
		f.states, f.port = make([]CoDelState, n+1), s
	}
	for i := range f.lists {
		f.lists[i].quantum = f.quantum
	}
	if s.cake != nil {
		f.cake = newCake(f, s)
	}
	return f
}

// of is the list of a packet: its user's or, by hash, one that every bit of hash and seed reaches every bit of
// (the finaliser of MurmurHash3).
func (f *flows) of(p *packet.Packet) int32 {
	if f.table != nil {
		return f.ofUser(p)
	}
	return 1 + int32(uint64(mixed(p.Hash, f.seed))*uint64(len(f.lists)-1)>>32)
}

// ofUser is the list of a packet's user. What it earns a turn is weighed where the list starts anew, since users
// turn up as they send; it is at least 1, or a turn would earn nothing.
func (f *flows) ofUser(p *packet.Packet) int32 {
	u := f.table.Of(p)
	if l := &f.lists[1+u]; l.listed != f.period {
		l.quantum = int32(max(1, min(float64(f.quantum)*f.table.Weight(u), 1<<30)))
	}
	return 1 + u
}

// turn appends list i to a round.
func (f *flows) turn(r *round, i int32) {
	if f.lists[i].next = 0; r.first == 0 {
		r.first = i
	} else {
		f.lists[r.last].next = i
	}
	r.last = i
}

// push appends p to its flow's list.
func (f *flows) push(p *packet.Packet) {
	if f.cake != nil {
		f.cake.enter(p)
		return
	}
	i := f.of(p)
	if f.count == 0 && f.law != nil && p.Enqueued >= f.idle {
		f.begin()
	}
	f.add(i, p)
	if l := &f.lists[i]; l.listed != f.period {
		l.listed = f.period
		l.credit = l.quantum
		if f.newFirst {
			f.turn(&f.fresh, i)
		} else {
			f.turn(&f.old, i)
		}
	}
}

// add appends p to list i.
func (f *flows) add(i int32, p *packet.Packet) {
	l := &f.lists[i]
	n := f.unused
	if n == 0 {
		n = int32(len(f.nodes))
		f.nodes = append(f.nodes, node{})
	} else {
		f.unused = f.nodes[n].next
	}
	if f.nodes[n] = (node{p: p, prev: l.tail}); l.tail == 0 {
		l.head = n
	} else {
		f.nodes[l.tail].next = n
	}
	l.tail = n
	f.count++
	if l.bytes += int64(p.Size); l.bytes > l.bound {
		if l.bound = l.bytes; l.place == 0 {
			f.heap = append(f.heap, i)
			l.place = int32(len(f.heap))
		}
		f.rise(int(l.place) - 1)
	}
}

// pop removes the packet whose turn it is, or returns nil (RFC 8290 §4.2). A flow without credit earns a
// quantum and goes to the end of the old ones. A new flow that has run empty becomes an old one, so that
// it cannot return as new before others have had their turn. An old flow that has run empty leaves the
// round.
//
// Under CoDel the packet may be one to drop, for which its flow pays nothing. now is when it leaves; before: CoDel does
// not judge it.
func (f *flows) pop(now unit.Time) (p *packet.Packet, doomed bool) {
	if f.cake != nil {
		return f.cake.leave(now)
	}
	for f.count > 0 {
		r := &f.fresh
		if r.first == 0 {
			r = &f.old
		}
		i := r.first
		l := &f.lists[i]
		switch {
		case l.credit <= 0:
			r.first = l.next
			l.credit += l.quantum
			f.turn(&f.old, i)
		case l.head == 0:
			if f.law != nil {
				f.states[i].empty()
			}
			if r.first = l.next; r == &f.fresh && f.old.first != 0 {
				f.turn(&f.old, i)
			} else {
				l.listed = 0
			}
		default:
			p := f.remove(l, l.head)
			if f.law != nil && now >= 0 {
				if f.judge(i, now, p) {
					return p, true
				}
				f.idle = now + f.port.takes(p.Size)
			}
			l.credit -= p.Size
			return p, false
		}
	}
	return nil, false
}

// remove takes node n out of list l.
func (f *flows) remove(l *flow, n int32) *packet.Packet {
	x := &f.nodes[n]
	p := x.p
	if x.prev == 0 {
		l.head = x.next
	} else {
		f.nodes[x.prev].next = x.next
	}
	if x.next == 0 {
		l.tail = x.prev
	} else {
		f.nodes[x.next].prev = x.prev
	}
	*x = node{next: f.unused}
	f.unused = n
	l.bytes -= int64(p.Size)
	if f.count--; f.count == 0 && f.law == nil && f.cake == nil {
		f.begin()
	}
	return p
}

// begin forgets all turns and credit.
func (f *flows) begin() {
	f.fresh, f.old = round{}, round{}
	f.period++
}

// yield removes the packet that makes room for an arriving one; nil if the arriving one is of the longest
// list and must be dropped itself. Of two longest lists, the arriving packet's loses.
func (f *flows) yield(arriving *packet.Packet) *packet.Packet {
	if f.cake != nil {
		return f.cake.yield(arriving)
	}
	i, own := f.longest(), f.of(arriving)
	if l := &f.lists[own]; i == 0 || l.bytes+int64(arriving.Size) >= f.lists[i].bytes {
		if !f.fromHead || l.head == 0 {
			return nil
		}
		i = own
	}
	return f.shorten(i)
}

// drop takes a packet of the longest list; nil if there is none.
func (f *flows) drop() *packet.Packet {
	if i := f.longest(); i != 0 {
		return f.shorten(i)
	}
	return nil
}

func (f *flows) shorten(i int32) *packet.Packet {
	l := &f.lists[i]
	if f.cake != nil {
		return f.cake.overflow(i)
	}
	if f.fromHead {
		return f.remove(l, l.head)
	}
	return f.remove(l, l.tail)
}

// longest returns a list with the most bytes; 0 if all are empty. Bounds of lists that have become shorter
// are updated only as far as necessary.
func (f *flows) longest() int32 {
	for len(f.heap) > 0 {
		i := f.heap[0]
		l := &f.lists[i]
		switch {
		case l.bytes == l.bound:
			return i
		case l.bytes > 0:
			l.bound = l.bytes
		default:
			l.bound, l.place = 0, 0
			last := len(f.heap) - 1
			f.heap[0] = f.heap[last]
			if f.heap = f.heap[:last]; last == 0 {
				return 0
			}
		}
		f.sink()
	}
	return 0
}

// rise moves what is at place k of the heap up to where it belongs.
func (f *flows) rise(k int) {
	h, i := f.heap, f.heap[k]
	for bound := f.lists[i].bound; k > 0; {
		up := (k - 1) / 2
		if f.lists[h[up]].bound >= bound {
			break
		}
		h[k] = h[up]
		f.lists[h[k]].place = int32(k) + 1
		k = up
	}
	h[k] = i
	f.lists[i].place = int32(k) + 1
}

// sink moves the heap's first down to where it belongs.
func (f *flows) sink() {
	h, i, k := f.heap, f.heap[0], 0
	bound := f.lists[i].bound
	for {
		c := 2*k + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && f.lists[h[c+1]].bound > f.lists[h[c]].bound {
			c++
		}
		if f.lists[h[c]].bound <= bound {
			break
		}
		h[k] = h[c]
		f.lists[h[k]].place = int32(k) + 1
		k = c
	}
	h[k] = i
	f.lists[i].place = int32(k) + 1
}

// next returns the packet that pop would take, or nil, without moving any turn. Among the flows with
// packets it is of the first one that needs the fewest turns to have credit.
//
// Under CAKE what a turn earns changes with the hosts' loads; next goes by those of now.
func (f *flows) next() *packet.Packet {
	if f.cake != nil && f.cake.resume != 0 {
		if n := f.lists[f.cake.resume].head; n != 0 {
			return f.nodes[n].p
		}
	}
	for i := f.fresh.first; i != 0; i = f.lists[i].next {
		if l := &f.lists[i]; l.head != 0 && l.credit > 0 {
			return f.nodes[l.head].p
		}
	}
	var best *packet.Packet
	fewest := int32(0)
	look := func(r round, ahead bool) {
		for i := r.first; i != 0; i = f.lists[i].next {
			l := &f.lists[i]
			if l.head == 0 {
				continue
			}
			turns, credit, quantum := int32(0), l.credit, l.quantum
			if f.cake != nil {
				quantum = max(1, int32(f.cake.quantum/f.cake.load(i)))
			}
			if ahead { // they come behind the old ones, with a quantum more
				credit += quantum
			}
			if credit <= 0 {
				turns = -credit/quantum + 1
			}
			if best == nil || turns < fewest {
				best, fewest = f.nodes[l.head].p, turns
			}
		}
	}
	look(f.old, false)
	look(f.fresh, true)
	return best
}

// each calls visit with all packets, flow by flow, until that returns false.
func (f *flows) each(visit func(*packet.Packet) bool) {
	for _, r := range [...]round{f.fresh, f.old} {
		for i := r.first; i != 0; i = f.lists[i].next {
			for n := f.lists[i].head; n != 0; n = f.nodes[n].next {
				if !visit(f.nodes[n].p) {
					return
				}
			}
		}
	}
}
