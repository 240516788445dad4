package tm

import (
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// FQ configures a port that shares each of its queues among flows. Every packet waits in one of Flows lists, selected
// by the hash of its flow. Lists with packets are served by deficit round robin (Shreedhar, Varghese, SIGCOMM'95) as
// in FQ-CoDel (RFC 8290 §4.2), without CoDel. Flows that collide share a list, its turn and its losses: with m flows
// in n lists, a flow has a list for itself with probability (1 − 1/n)^(m−1).
type FQ struct {
	Flows   int        // lists of a queue, 1 … maxFlows
	Quantum unit.Bytes // bytes that a flow may send a turn; at least the largest frame, so that each turn sends
	// NewFirst serves flows without waiting packets before the others, up to one quantum (RFC 8290 §4.2: new queues);
	// otherwise they join the end of the round.
	NewFirst bool
	// FromHead drops the oldest packet of the longest list when there is no room (RFC 8290 §4.1), not the newest.
	FromHead bool
	Seed     uint32 // of the hash (RFC 8290 §4.1)
}

// maxFlows is the maximum number of lists in a queue.
const maxFlows = 1 << 16

// ByUser configures a port that shares each of its queues exactly among users: deficit round robin over one list a
// user. It is the ideal for comparison with schemes without a queue for each user (P4-ABC §2). It is FQ with lists
// selected by a packet's source, not a hash, so that no two users collide.
type ByUser struct {
	users.Config
	// Quantum is the number of bytes that the user with the smallest reference rate may send a turn. Others send in
	// proportion to theirs (DRR: quantum Q_i for a share of Q_i by the sum). It is at least the largest frame, so that
	// each turn sends.
	Quantum  unit.Bytes
	FromHead bool // as in FQ
}

// Addressed is a Scheduler that distinguishes packets by their addresses. Its driver passes it the address book
// before the port is created.
type Addressed interface {
	Scheduler
	SetAddresses(book *packet.Book)
}

// A Seeded is a Scheduler that selects the lists of flows by a hash. Its driver passes it a seed before the port is
// created, so that flows that collide at one switch do not collide at others.
type Seeded interface {
	Scheduler
	SetSeed(seed uint32)
}

// fq serves the queues of a port in strict priority; the queues themselves are fair.
type fq struct {
	strict
	config FQ
	table  *users.Table // of byUser; nil: lists are selected by the flow's hash
	law    *CoDel       // of NewFQCoDel
	cake   *Cake        // of newCakeScheduler
	rate   unit.LinkRate
	book   *packet.Book      // nil: it is not known
	hosts  map[string]uint32 // by name of a user that the file declares: its host number
}

// byUser is fq with a list for each user.
type byUser struct {
	fq
	by users.Config
}

// NewFQ returns the scheduler of a port with queues that are fair among flows. Queues are served in strict priority.
// When a limit is reached, the last queue with packets loses one from its longest list, unless it precedes the queue
// of the arriving packet. In that packet's own queue, its list counts with the packet.
func NewFQ(c FQ) Scheduler { return &fq{config: c} }

// NewByUser returns the scheduler of a port with queues that are fair among users. Priority and drops are as in NewFQ.
// SetAddresses must be called before NewPort.
func NewByUser(c ByUser) Scheduler {
	return &byUser{fq: fq{config: FQ{Quantum: c.Quantum, FromHead: c.FromHead}}, by: c.Config}
}

// SetAddresses creates the table of users.
func (f *byUser) SetAddresses(book *packet.Book) { f.table = users.NewTable(book, &f.by) }

// EvictAddress resets the user of an address. Packets of its former owner depart in their order.
func (f *byUser) EvictAddress(a packet.Addr) { f.table.EvictAddress(a) }

// SetAddresses lets CAKE treat all addresses of a user that the file declares as one host.
func (f *fq) SetAddresses(book *packet.Book) { f.book, f.hosts = book, map[string]uint32{} }

// hostNumber returns the number of the host with an address: its user's, or the address's own. The first call for a
// user assigns its number.
func (f *fq) hostNumber(a packet.Addr, version uint8) uint32 {
	if f.book == nil || len(f.book.Users()) == 0 {
		return uint32(a)
	}
	name, _ := f.book.OwnerOf(a, version)
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

// fair returns the scheduler itself, to find it in types that embed it.
func (f *fq) fair() *fq { return f }

// SetSeed sets the hash's seed.
func (f *fq) SetSeed(seed uint32) { f.config.Seed = seed }

// flows are the packets of a fair queue. Packets are nodes. Nodes and lists are counted from 1, and 0 means no node
// or list.
type flows struct {
	lists  []flow
	nodes  []node
	unused int32 // first node without a packet
	count  int32 // waiting packets

	fresh, old round
	// period counts the times, from 1, that the queue has become empty: then no flow has a turn or credit. With CoDel
	// that is when the port looks for a packet and finds the queue empty, as in RFC 8290 §4.2; otherwise it is one frame
	// earlier.
	period uint64

	// heap orders lists by an upper bound of their bytes, the largest first. Bounds rise with the lists, and fall only
	// in findLongest.
	heap []int32

	table    *users.Table // nil: lists are selected by hash
	quantum  int32        // of the smallest weight
	newFirst bool
	fromHead bool
	seed     uint32

	cake      *cake  // nil: no CAKE
	law       *CoDel // nil: no CoDel
	states    []CoDelState
	port      *fq
	sentUntil unit.Time // when the port has sent the last departing packet
}

// flow is one list. It is in a round while listed equals the queue's period; every list with packets is.
type flow struct {
	bytes      int64
	bound      int64 // at least bytes
	listed     uint64
	head, tail int32 // nodes
	credit     int32 // bytes that it may still send in this turn
	quantum    int32 // bytes that it earns per turn
	next       int32 // list behind it in its round
	place      int32 // in heap, from 1; 0: not in it
}

// node is a waiting packet and its neighbours in its list.
type node struct {
	p          *packet.Packet
	prev, next int32
}

// round is a chain of lists in the order of their turns.
type round struct{ first, last int32 }

// newFlows returns an empty queue of a port with scheduler s, with a list for each user or Flows lists.
func newFlows(s *fq) *flows {
	c, n := &s.config, s.config.Flows
	if s.table != nil {
		n = s.table.MaxUsers()
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

// listOf returns the list of a packet: its user's or, by hash, one that depends on every bit of hash and seed
// (MurmurHash3's finaliser). Lists are numbered from 1.
func (f *flows) listOf(p *packet.Packet) int32 {
	if f.table != nil {
		return f.listOfUser(p)
	}
	return 1 + int32(uint64(mixHash(p.Hash, f.seed))*uint64(len(f.lists)-1)>>32)
}

// listOfUser returns the list of a packet's user. The quantum is set when the list restarts, since users appear as
// they send; it is at least 1, so that a turn always earns.
func (f *flows) listOfUser(p *packet.Packet) int32 {
	u := f.table.UserOf(p)
	if l := &f.lists[1+u]; l.listed != f.period {
		l.quantum = int32(max(1, min(float64(f.quantum)*f.table.Weight(u), 1<<30)))
	}
	return 1 + u
}

// appendTurn appends list i to a round. The list must not be in another.
func (f *flows) appendTurn(r *round, i int32) {
	if f.lists[i].next = 0; r.first == 0 {
		r.first = i
	} else {
		f.lists[r.last].next = i
	}
	r.last = i
}

// pushPacket appends p to its flow's list. A list without a turn gets one, with a quantum of credit. With CoDel, a
// packet that finds the queue and the port idle first starts a new period.
func (f *flows) pushPacket(p *packet.Packet) {
	if f.cake != nil {
		f.cake.enqueuePacket(p)
		return
	}
	i := f.listOf(p)
	if f.count == 0 && f.law != nil && p.Enqueued >= f.sentUntil {
		f.restartPeriod()
	}
	f.appendPacket(i, p)
	if l := &f.lists[i]; l.listed != f.period {
		l.listed = f.period
		l.credit = l.quantum
		if f.newFirst {
			f.appendTurn(&f.fresh, i)
		} else {
			f.appendTurn(&f.old, i)
		}
	}
}

// appendPacket appends p to list i, and raises the list's bound in the heap. It moves no turn.
func (f *flows) appendPacket(i int32, p *packet.Packet) {
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
		f.siftUp(int(l.place) - 1)
	}
}

// popPacket removes the next packet in turn, or returns nil (RFC 8290 §4.2). A flow without credit earns a quantum
// and moves to the end of the old ones. A new flow that has become empty becomes an old one, so that it cannot return
// as new before others have had their turn. An old flow that has become empty leaves the round.
//
// With CoDel the packet may be one to drop, which costs its flow no credit. now is the time of departure; if it is
// negative, CoDel does not judge the packet.
func (f *flows) popPacket(now unit.Time) (p *packet.Packet, dropped bool) {
	if f.cake != nil {
		return f.cake.dequeuePacket(now)
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
			f.appendTurn(&f.old, i)
		case l.head == 0:
			if f.law != nil {
				f.states[i].noteEmpty()
			}
			if r.first = l.next; r == &f.fresh && f.old.first != 0 {
				f.appendTurn(&f.old, i)
			} else {
				l.listed = 0
			}
		default:
			p := f.removeNode(l, l.head)
			if f.law != nil && now >= 0 {
				if f.judgePacket(i, now, p) {
					return p, true
				}
				f.sentUntil = now + f.port.sendTime(p.Size)
			}
			l.credit -= p.Size
			return p, false
		}
	}
	return nil, false
}

// removeNode removes node n from list l and returns its packet. Without CoDel or CAKE, the last packet of the queue
// ends the period.
func (f *flows) removeNode(l *flow, n int32) *packet.Packet {
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
		f.restartPeriod()
	}
	return p
}

// restartPeriod clears all turns and credit.
func (f *flows) restartPeriod() {
	f.fresh, f.old = round{}, round{}
	f.period++
}

// yieldFor removes the packet that makes room for an arriving one. It returns nil if the arriving one belongs to the
// longest list and must be dropped itself. Of two longest lists, the arriving packet's loses. With FromHead it is then
// the oldest packet of that list, if there is one.
func (f *flows) yieldFor(arrival *packet.Packet) *packet.Packet {
	if f.cake != nil {
		return f.cake.yieldFor(arrival)
	}
	i, own := f.findLongest(), f.listOf(arrival)
	if l := &f.lists[own]; i == 0 || l.bytes+int64(arrival.Size) >= f.lists[i].bytes {
		if !f.fromHead || l.head == 0 {
			return nil
		}
		i = own
	}
	return f.shortenList(i)
}

// dropLongest removes a packet of the longest list; nil if there is no packet.
func (f *flows) dropLongest() *packet.Packet {
	if i := f.findLongest(); i != 0 {
		return f.shortenList(i)
	}
	return nil
}

// shortenList removes a packet of list i for lack of room: the first or the last, by FromHead. The list must not be
// empty.
func (f *flows) shortenList(i int32) *packet.Packet {
	l := &f.lists[i]
	if f.cake != nil {
		return f.cake.dropHead(i)
	}
	if f.fromHead {
		return f.removeNode(l, l.head)
	}
	return f.removeNode(l, l.tail)
}

// findLongest returns a list with the most bytes; 0 if all are empty. Bounds of lists that have become shorter are
// updated only as far as necessary.
func (f *flows) findLongest() int32 {
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
		f.siftDown()
	}
	return 0
}

// siftUp moves the list at place k of the heap up to its position by its bound, and updates places. k counts from 0.
func (f *flows) siftUp(k int) {
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

// siftDown moves the heap's first list down to its position by its bound, and updates places. The heap must not be
// empty.
func (f *flows) siftDown() {
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

// nextPacket returns the packet that popPacket would remove, or nil, without moving any turn. It is the packet of the
// first flow that needs the fewest turns to have credit.
//
// With CAKE the quantum changes with the hosts' loads; nextPacket uses the present ones.
func (f *flows) nextPacket() *packet.Packet {
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
	consider := func(r round, ahead bool) {
		for i := r.first; i != 0; i = f.lists[i].next {
			l := &f.lists[i]
			if l.head == 0 {
				continue
			}
			turns, credit, quantum := int32(0), l.credit, l.quantum
			if f.cake != nil {
				quantum = max(1, int32(f.cake.quantum/f.cake.hostLoad(i)))
			}
			if ahead { // they follow the old ones, with a quantum more
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
	consider(f.old, false)
	consider(f.fresh, true)
	return best
}

// eachPacket calls visit with all packets, flow by flow, until visit returns false. It moves no turn.
func (f *flows) eachPacket(visit func(*packet.Packet) bool) {
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
