package tm

import (
	"iter"
	"math/bits"

	"weir/core/packet"
	"weir/core/unit"
)

// QueueID numbers the queues of one port from 0. Queue 0 is the first in strict
// priority.
type QueueID = uint8

// noQueue is a Scheduler's answer when no queue may send.
const noQueue QueueID = 0xff

// MaxQueues is how many queues a port can have.
const MaxQueues = 16

// A Scheduler chooses the queue that a port serves next; each port has one. Next considers ready queues
// only (b.ready). It either names one, whose head is then certain to be sent and may be charged, or
// returns noQueue and the time at which it could name one if nothing else happens (unit.Never if only a
// new packet or a resume can help).
type Scheduler interface {
	Next(now unit.Time, b *Buffer) (q QueueID, again unit.Time)
}

// Limit bounds a queue. 0 means no bound. A packet that would exceed either is
// refused; the frame on the wire does not count (docs/design.md#bytes-queues-order).
type Limit struct {
	Packets int32
	Bytes   unit.Bytes
}

// A Queue is a first-in, first-out list of packets or, under NewFQ, one of a list a flow.
type Queue struct {
	head, tail *packet.Packet // of a fair queue: those that sort has not seen
	bytes      unit.Bytes
	served     unit.Time // when a packet last left for the wire
	packets    int32
	flows      *flows // of a fair queue
	limit      Limit
}

// Limit returns the queue's bound.
func (q *Queue) Limit() Limit { return q.limit }

// Packets returns how many packets wait.
func (q *Queue) Packets() int32 { return q.packets }

// Bytes returns how many bytes wait.
func (q *Queue) Bytes() unit.Bytes { return q.bytes }

// Head returns the packet that would leave next, or nil.
func (q *Queue) Head() *packet.Packet {
	if q.flows != nil {
		return q.sort().next()
	}
	return q.head
}

// sort hands packets that have entered a fair queue since the last call to their flows, before anything is
// read. So Push is the same for all queues and costs nothing extra.
func (q *Queue) sort() *flows {
	for p := q.head; p != nil; {
		next := p.Next
		p.Next = nil
		q.flows.push(p)
		p = next
	}
	q.head, q.tail = nil, nil
	return q.flows
}

// All returns the packets that wait: in the order in which they will leave or, of a fair
// queue, flow by flow. The queue must not change meanwhile.
func (q *Queue) All() iter.Seq[*packet.Packet] {
	return func(yield func(*packet.Packet) bool) {
		if q.flows != nil {
			q.sort().each(yield)
			return
		}
		for p := q.head; p != nil && yield(p); p = p.Next {
		}
	}
}

// Tail returns the packet that came last, or nil.
func (q *Queue) Tail() *packet.Packet { return q.tail }

// Held returns the time since which the head has been first: the later of when it entered the queue and
// when its predecessor left. unit.Never if the queue is empty.
func (q *Queue) Held() unit.Time {
	head := q.Head()
	if head == nil {
		return unit.Never
	}
	return max(q.served, head.Enqueued)
}

// Buffer is what waits at one port: its queues, their totals, and which of them
// may send now. Its fields are in the order that Port needs.
type Buffer struct {
	bytes   unit.Bytes
	packets int32
	waiting uint16 // bit q: queue q has packets
	paused  uint16 // bit q: PFC pauses queue q
	last    QueueID
	bounded bool // there is a limit
	ranked  bool // when there is no room, packets give way by their ranks (NewLeast)
	flags        // the port's

	queues []Queue
	one    [1]Queue // of a port: its queue, if it has only one
	limit  Limit    // of the port as a whole
}

// NewBuffer returns a buffer of n queues (1 … MaxQueues), each with the limit
// each, all together with the limit total.
func NewBuffer(n int, each, total Limit) Buffer {
	b := Buffer{queues: make([]Queue, n), last: QueueID(n - 1)}
	for i := range b.queues {
		b.SetQueueLimit(QueueID(i), each)
	}
	b.SetLimit(total)
	return b
}

// Queue returns queue q.
func (b *Buffer) Queue(q QueueID) *Queue { return &b.queues[q] }

// Queues returns how many queues the port has.
func (b *Buffer) Queues() int { return int(b.last) + 1 }

// Last returns the last of the port's queues: that of all classes that have none of their own.
func (b *Buffer) Last() QueueID { return b.last }

// Packets returns how many packets wait in all queues.
func (b *Buffer) Packets() int32 { return b.packets }

// Bytes returns how many bytes wait in all queues.
func (b *Buffer) Bytes() unit.Bytes { return b.bytes }

// Limit returns the bound of the port as a whole.
func (b *Buffer) Limit() Limit { return b.limit }

// SetLimit changes the bound of the port as a whole. What waits stays.
func (b *Buffer) SetLimit(total Limit) {
	b.limit = total
	b.bounded = b.bounded || total != Limit{}
}

// SetQueueLimit changes the bound of queue q. What waits stays.
func (b *Buffer) SetQueueLimit(q QueueID, each Limit) {
	b.queues[q].limit = each
	b.bounded = b.bounded || each != Limit{}
}

// ready returns the queues that have packets and are not paused, as a bit set.
func (b *Buffer) ready() uint32 { return uint32(b.waiting &^ b.paused) }

// Waiting returns the queues that have packets, paused or not, as a bit set.
func (b *Buffer) Waiting() uint32 { return uint32(b.waiting) }

// Paused returns the queues that PFC holds, as a bit set.
func (b *Buffer) Paused() uint32 { return uint32(b.paused) }

// Bounded reports whether there is any limit; without one, everything Fits.
func (b *Buffer) Bounded() bool { return b.bounded }

// A Refusal says why a packet does not fit.
type Refusal uint8

// Why a packet does not fit.
const (
	Fits Refusal = iota
	QueuePackets
	QueueBytes
	PortPackets
	PortBytes
)

// Fits returns which limit keeps a packet of size bytes out of queue q, if any.
func (b *Buffer) Fits(q QueueID, size int32) Refusal {
	if !b.bounded {
		return Fits
	}
	return b.fits(&b.queues[q], size)
}

func (b *Buffer) fits(l *Queue, size int32) Refusal {
	switch {
	case l.limit.Packets > 0 && l.packets >= l.limit.Packets:
		return QueuePackets
	case l.limit.Bytes > 0 && l.bytes+unit.Bytes(size) > l.limit.Bytes:
		return QueueBytes
	case b.limit.Packets > 0 && b.packets >= b.limit.Packets:
		return PortPackets
	case b.limit.Bytes > 0 && b.bytes+unit.Bytes(size) > b.limit.Bytes:
		return PortBytes
	}
	return Fits
}

// Push appends p to queue q. It checks no limit.
func (b *Buffer) Push(q QueueID, p *packet.Packet) {
	l := &b.queues[q]
	p.Next, p.Before = nil, l.tail
	if l.tail == nil {
		l.head = p
	} else {
		l.tail.Next = p
	}
	l.tail = p
	l.packets++
	l.bytes += unit.Bytes(p.Size)
	b.packets++
	b.bytes += unit.Bytes(p.Size)
	b.waiting |= 1 << q
}

// Pop removes the head of queue q, or returns nil.
func (b *Buffer) Pop(q QueueID) *packet.Packet {
	l := &b.queues[q]
	if l.flows != nil {
		p, _ := l.sort().pop(unjudged)
		return b.removed(l, q, p)
	}
	return b.pop(l, q)
}

func (b *Buffer) pop(l *Queue, q QueueID) *packet.Packet {
	p := l.head
	if p == nil {
		return nil
	}
	l.head = p.Next
	if l.head == nil {
		l.tail = nil
		b.waiting &^= 1 << q
	}
	p.Next = nil
	size := unit.Bytes(p.Size)
	l.packets--
	l.bytes -= size
	b.packets--
	b.bytes -= size
	return p
}

// removed counts p, which may be nil, out of fair queue q, and returns it.
func (b *Buffer) removed(l *Queue, q QueueID, p *packet.Packet) *packet.Packet {
	if p == nil {
		return nil
	}
	if l.packets--; l.packets == 0 {
		b.waiting &^= 1 << q
	}
	l.bytes -= unit.Bytes(p.Size)
	b.packets--
	b.bytes -= unit.Bytes(p.Size)
	return p
}

// Displace removes a packet to make room for p, which does not fit into queue q for this reason. It
// returns nil when p itself must be dropped, as always under schedulers other than NewFQ's and NewLeast's. Several
// packets may have to be removed, and p may be dropped even then.
func (b *Buffer) Displace(q QueueID, p *packet.Packet, why Refusal) *packet.Packet {
	if b.queues[q].flows == nil {
		if b.ranked {
			return b.yield(&b.queues[q], q, p)
		}
		return nil
	}
	if why == PortPackets || why == PortBytes {
		if last := bits.Len16(b.waiting) - 1; last > int(q) {
			l := &b.queues[last]
			return b.removed(l, QueueID(last), l.sort().drop())
		} else if last < int(q) {
			return nil
		}
	}
	l := &b.queues[q]
	return b.removed(l, q, l.sort().yield(p))
}

// PopTail removes the packet that entered queue q last or, in a fair queue, one of its longest flow; nil
// if there is none. Except in a fair queue, its cost does not depend on the number of waiting packets.
func (b *Buffer) PopTail(q QueueID) *packet.Packet {
	l := &b.queues[q]
	if l.flows != nil {
		return b.removed(l, q, l.sort().drop())
	}
	if l.head == l.tail {
		return b.Pop(q)
	}
	p := l.tail
	l.tail = p.Before
	l.tail.Next = nil
	l.packets--
	l.bytes -= unit.Bytes(p.Size)
	b.packets--
	b.bytes -= unit.Bytes(p.Size)
	return p
}

// Port is one egress port: buffer, scheduler and counters. Switches and host
// NICs have the same.
//
// It is three lines of 64 bytes. A packet for a free, empty port reads and writes the first only, one that waits in the
// port's only queue the first two. In a fat tree of 1,024 hosts each line more is a miss of the cache in every third
// hop, as 5,120 ports do not stay there from one window to the next.
type Port struct {
	txBytes   uint64
	txPackets uint64
	rate      unit.LinkRate
	control   *packet.Packet // the last of the link-layer's frames that wait; the others follow it in a ring
	Buffer
	pauses    *pauses // nil until the first Pause frame
	scheduler Scheduler
}

// flags of a Port, in a place where they cost no room.
type flags struct {
	fifo   bool // the scheduler is fifo, and there is one queue
	down   bool
	doomed bool // what Next has returned is to be dropped
	plain  bool // the scheduler keeps nothing, and serves a packet that waits alone
}

// NewPort returns a port with the given buffer, scheduler and line rate.
func NewPort(b Buffer, s Scheduler, rate unit.LinkRate) *Port {
	if fair, ok := s.(interface{ fair() *fq }); ok {
		for i := range b.queues {
			b.queues[i].flows = newFlows(fair.fair())
		}
	}
	_, first := s.(fifo)
	b.fifo = first && len(b.queues) == 1
	_, b.ranked = s.(least)
	_, b.plain = s.(strict)
	p := &Port{Buffer: b, scheduler: s, rate: rate}
	if len(b.queues) == 1 {
		p.one[0] = b.queues[0]
		p.queues = p.one[:]
	}
	return p
}

// SetRate changes the port's line rate, also for a scheduler that works with it. Its
// link changes by itself.
func (p *Port) SetRate(rate unit.LinkRate) {
	p.rate = rate
	if s, ok := p.scheduler.(interface{ SetRate(unit.LinkRate) }); ok {
		s.SetRate(rate)
	}
}

// SetAsNeeded selects how scheduler ncf shares what exceeds its guarantees: mice take what they need, and elephants
// have the rest and, over the given time, their guarantee; 0, the default: both have equal parts. It reports whether
// the scheduler can do so, which others cannot.
func (p *Port) SetAsNeeded(span unit.Time) bool {
	s, ok := p.scheduler.(interface{ SetAsNeeded(unit.Time) bool })
	return ok && s.SetAsNeeded(span)
}

// EvictAddress says that an address is another host's from now on, for a scheduler that tells users apart.
func (p *Port) EvictAddress(a packet.Addr) {
	if s, ok := p.scheduler.(interface{ EvictAddress(packet.Addr) }); ok {
		s.EvictAddress(a)
	}
}

// SetDown says that the port's link is down, or up again, as a PHY would. The port keeps sending; programs
// have to check.
func (p *Port) SetDown(down bool) { p.down = down }

// Down reports whether the port's link is down.
func (p *Port) Down() bool { return p.down }

// Share returns the share of the port's rate that its scheduler gives to queue q while all queues are busy: of what
// the queues in strict priority leave, which have no share themselves. ok is false of these, and of all queues if the
// scheduler has no fixed shares.
func (p *Port) Share(q QueueID) (share float64, ok bool) {
	if s, sharing := p.scheduler.(interface{ Share(QueueID) (float64, bool) }); sharing {
		return s.Share(q)
	}
	return 1, false
}

// Shares reports whether the scheduler gives a fixed share to any queue.
func (p *Port) Shares() bool {
	for q := range p.Queues() {
		if _, ok := p.Share(QueueID(q)); ok {
			return true
		}
	}
	return false
}

// Least returns the part of the port's rate that its scheduler gives to queue q whatever waits in others: its
// share, or what it is guaranteed; ok is false if the scheduler promises nothing.
func (p *Port) Least(q QueueID) (part float64, ok bool) {
	if s, promising := p.scheduler.(interface{ Least(QueueID) (float64, bool) }); promising {
		return s.Least(q)
	}
	return p.Share(q)
}

// Rate returns the port's line rate.
func (p *Port) Rate() unit.LinkRate { return p.rate }

// TxBytes returns the bytes of all frames that ever left, the one on the wire
// included: HPCC's txBytes.
func (p *Port) TxBytes() uint64 { return p.txBytes }

// TxPackets returns the number of frames that ever left.
func (p *Port) TxPackets() uint64 { return p.txPackets }

// Control queues a link-layer control frame (PFC) ahead of everything else: before the scheduler, never paused, seen
// by no program.
func (p *Port) Control(f *packet.Packet) {
	if last := p.control; last == nil {
		f.Next = f
	} else {
		f.Next, last.Next = last.Next, f
	}
	p.control = f
}

// controlled removes the first of the link-layer control frames, of which there must be one.
func (p *Port) controlled() *packet.Packet {
	f := p.control.Next
	if f == p.control {
		p.control = nil
	} else {
		p.control.Next = f.Next
	}
	f.Next = nil
	return f
}

// Controls returns how many link-layer control frames wait.
func (p *Port) Controls() (n int32) {
	if p.control != nil {
		n = 1
		for f := p.control.Next; f != p.control; f = f.Next {
			n++
		}
	}
	return n
}

// Idle reports whether nothing may leave: no control frame, no ready queue.
func (p *Port) Idle() bool { return p.control == nil && p.waiting&^p.paused == 0 }

// Open reports whether a packet that came now would be the next one to leave, at once if the link is free: nothing
// waits, nothing is paused, and the scheduler has no say.
func (p *Port) Open() bool { return p.fifo && p.waiting|p.paused == 0 && p.control == nil }

// Vacant is Open for ports of several queues in strict priority as well.
func (p *Port) Vacant() bool {
	return (p.fifo || p.plain) && p.waiting|p.paused == 0 && p.control == nil
}

// Next removes the packet that leaves now from its queue. control says that it is a link-layer frame,
// which programs must not see. If p is nil, again is the time to ask again (unit.Never: when something has
// changed).
func (p *Port) Next(now unit.Time) (f *packet.Packet, control bool, again unit.Time) {
	if p.control != nil {
		return p.controlled(), true, unit.Never
	}
	if p.ready() == 0 {
		return nil, false, unit.Never
	}
	if p.fifo { // it has one queue
		l := &p.one[0]
		l.served = now
		return p.pop(l, 0), false, unit.Never
	}
	if p.plain { // as strict.Next has it, which is in another line of memory
		q := QueueID(bits.TrailingZeros16(p.waiting &^ p.paused))
		l := &p.queues[q]
		l.served = now
		return p.pop(l, q), false, unit.Never
	}
	q, again := p.scheduler.Next(now, &p.Buffer)
	if q == noQueue {
		return nil, false, again
	}
	l := &p.queues[q]
	if l.served = now; l.flows != nil {
		f, p.doomed = l.sort().pop(now)
		return p.removed(l, q, f), false, unit.Never
	}
	return p.pop(l, q), false, unit.Never
}

// Sent counts a frame that goes onto the wire.
func (p *Port) Sent(f *packet.Packet) {
	p.txBytes += uint64(f.Size)
	p.txPackets++
}
