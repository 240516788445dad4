package tm

import (
	"iter"
	"math/bits"

	"weir/core/packet"
	"weir/core/unit"
)

// QueueID numbers the queues of one port from 0. Queue 0 is the first in strict priority.
type QueueID = uint8

// noQueue is a Scheduler's result if no queue may send.
const noQueue QueueID = 0xff

// MaxQueues is the maximum number of queues of a port.
const MaxQueues = 16

// A Scheduler chooses the queue that a port serves next; each port has one. Next considers only ready queues
// (readyQueues), and there is at least one. It may return one of them; then its head will certainly be sent, and may be
// charged. Otherwise it returns noQueue and the time at which it could choose one without another event (unit.Never if
// only a new packet or a resume can help).
type Scheduler interface {
	Next(now unit.Time, b *Buffer) (q QueueID, again unit.Time)
}

// Limit limits a queue. 0 means no limit. A packet that would exceed either one is refused; the frame on the wire
// does not count (docs/design.md#bytes-queues-order).
type Limit struct {
	Packets int32
	Bytes   unit.Bytes
}

// A Queue is a first-in, first-out list of packets or, under NewFQ, one with a list for each flow.
type Queue struct {
	head, tail *packet.Packet // of a fair queue: packets before sortFlows
	bytes      unit.Bytes
	served     unit.Time // when a packet last left for the wire
	packets    int32
	flows      *flows // of a fair queue
	limit      Limit
}

// Limit returns the queue's limit.
func (q *Queue) Limit() Limit { return q.limit }

// Packets returns the number of waiting packets.
func (q *Queue) Packets() int32 { return q.packets }

// Bytes returns the number of waiting bytes.
func (q *Queue) Bytes() unit.Bytes { return q.bytes }

// Head returns the packet that would be sent next, or nil if the queue is empty. In a fair queue it costs a search.
func (q *Queue) Head() *packet.Packet {
	if q.flows != nil {
		return q.sortFlows().nextPacket()
	}
	return q.head
}

// sortFlows passes packets that have entered a fair queue since the last call to their flows, before any read. So
// Push is equal for all queues, without extra cost.
func (q *Queue) sortFlows() *flows {
	for p := q.head; p != nil; {
		next := p.Next
		p.Next = nil
		q.flows.pushPacket(p)
		p = next
	}
	q.head, q.tail = nil, nil
	return q.flows
}

// All returns the waiting packets: in the order of departure or, in a fair queue, flow by flow. The queue must not
// change during the iteration.
func (q *Queue) All() iter.Seq[*packet.Packet] {
	return func(yield func(*packet.Packet) bool) {
		if q.flows != nil {
			q.sortFlows().eachPacket(yield)
			return
		}
		for p := q.head; p != nil && yield(p); p = p.Next {
		}
	}
}

// Tail returns the packet that arrived last, or nil.
func (q *Queue) Tail() *packet.Packet { return q.tail }

// HeadSince returns the time since which the head has been first: the later one of its arrival and its predecessor's
// departure; unit.Never if the queue is empty.
func (q *Queue) HeadSince() unit.Time {
	head := q.Head()
	if head == nil {
		return unit.Never
	}
	return max(q.served, head.Enqueued)
}

// Buffer holds the waiting packets of one port: its queues, their totals, and the set of queues that may send. Its
// fields are in the order that Port needs.
type Buffer struct {
	bytes   unit.Bytes
	packets int32
	waiting uint16 // bit q: queue q has packets
	paused  uint16 // bit q: PFC pauses queue q
	last    QueueID
	bounded bool // there is a limit
	ranked  bool // when there is no room, packets give way by their ranks (NewLeastValue)
	flags        // the port's

	queues []Queue
	one    [1]Queue // of a port: its queue, if it has one
	limit  Limit    // of the port as a whole
}

// NewBuffer returns a buffer of n queues (1 … MaxQueues), each with queueLimit, and with portLimit for all together.
func NewBuffer(n int, queueLimit, portLimit Limit) Buffer {
	b := Buffer{queues: make([]Queue, n), last: QueueID(n - 1)}
	for i := range b.queues {
		b.SetQueueLimit(QueueID(i), queueLimit)
	}
	b.SetLimit(portLimit)
	return b
}

// Queue returns queue q.
func (b *Buffer) Queue(q QueueID) *Queue { return &b.queues[q] }

// Queues returns the number of the port's queues.
func (b *Buffer) Queues() int { return int(b.last) + 1 }

// LastQueue returns the last of the port's queues, which also serves all classes without a queue.
func (b *Buffer) LastQueue() QueueID { return b.last }

// Packets returns the number of waiting packets in all queues.
func (b *Buffer) Packets() int32 { return b.packets }

// Bytes returns the number of waiting bytes in all queues.
func (b *Buffer) Bytes() unit.Bytes { return b.bytes }

// Limit returns the limit of the port as a whole.
func (b *Buffer) Limit() Limit { return b.limit }

// SetLimit changes the limit of the port as a whole. Waiting packets stay.
func (b *Buffer) SetLimit(newLimit Limit) {
	b.limit = newLimit
	b.bounded = b.bounded || newLimit != Limit{}
}

// SetQueueLimit changes the limit of queue q. Waiting packets stay.
func (b *Buffer) SetQueueLimit(q QueueID, newLimit Limit) {
	b.queues[q].limit = newLimit
	b.bounded = b.bounded || newLimit != Limit{}
}

// readyQueues returns the queues with packets that are not paused, as a bit set.
func (b *Buffer) readyQueues() uint32 { return uint32(b.waiting &^ b.paused) }

// WaitingQueues returns the queues with packets, paused or not, as a bit set.
func (b *Buffer) WaitingQueues() uint32 { return uint32(b.waiting) }

// PausedQueues returns the queues that PFC holds, as a bit set.
func (b *Buffer) PausedQueues() uint32 { return uint32(b.paused) }

// IsBounded reports whether there is a limit; without one, every packet Fits.
func (b *Buffer) IsBounded() bool { return b.bounded }

// A Refusal is the limit that a packet exceeds.
type Refusal uint8

// Limits that a packet may exceed.
const (
	Fits Refusal = iota
	QueuePackets
	QueueBytes
	PortPackets
	PortBytes
)

// Fits returns the first limit that a packet of size bytes would exceed in queue q; Fits: it exceeds no limit.
func (b *Buffer) Fits(q QueueID, size int32) Refusal {
	if !b.bounded {
		return Fits
	}
	return b.fitsQueue(&b.queues[q], size)
}

// fitsQueue is Buffer.Fits for queue l, for buffers with a limit.
func (b *Buffer) fitsQueue(l *Queue, size int32) Refusal {
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

// Push appends p to queue q. It checks no limit. p.Enqueued must be set.
func (b *Buffer) Push(q QueueID, p *packet.Packet) {
	l := &b.queues[q]
	p.Next, p.Predecessor = nil, l.tail
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

// Pop removes the head of queue q, or returns nil. It does not ask the scheduler or regard pauses, and laws such as
// CoDel do not judge the packet.
func (b *Buffer) Pop(q QueueID) *packet.Packet {
	l := &b.queues[q]
	if l.flows != nil {
		p, _ := l.sortFlows().popPacket(unjudged)
		return b.countOut(l, q, p)
	}
	return b.popHead(l, q)
}

// popHead removes the head of l, which is queue q, or returns nil.
func (b *Buffer) popHead(l *Queue, q QueueID) *packet.Packet {
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

// countOut counts p, which may be nil, out of queue q, and returns it. It does not remove p from a list.
func (b *Buffer) countOut(l *Queue, q QueueID, p *packet.Packet) *packet.Packet {
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

// MakeRoom removes a packet to make room for p, which does not fit into queue q by the limit why. It returns nil if p
// itself must be dropped, as always under schedulers other than NewFQ's and NewLeastValue's. Several packets may have
// to be removed, and p may be dropped even then. The caller drops the result, and calls again while p does not fit.
func (b *Buffer) MakeRoom(q QueueID, p *packet.Packet, why Refusal) *packet.Packet {
	if b.queues[q].flows == nil {
		if b.ranked {
			return b.yieldRanked(&b.queues[q], q, p)
		}
		return nil
	}
	if why == PortPackets || why == PortBytes {
		if last := bits.Len16(b.waiting) - 1; last > int(q) {
			l := &b.queues[last]
			return b.countOut(l, QueueID(last), l.sortFlows().dropLongest())
		} else if last < int(q) {
			return nil
		}
	}
	l := &b.queues[q]
	return b.countOut(l, q, l.sortFlows().yieldFor(p))
}

// PopTail removes the last packet of queue q or, in a fair queue, a packet of its longest flow; nil if there is no
// packet. Except in a fair queue, its cost does not depend on the number of waiting packets. It regards no pause.
func (b *Buffer) PopTail(q QueueID) *packet.Packet {
	l := &b.queues[q]
	if l.flows != nil {
		return b.countOut(l, q, l.sortFlows().dropLongest())
	}
	if l.head == l.tail {
		return b.Pop(q)
	}
	p := l.tail
	l.tail = p.Predecessor
	l.tail.Next = nil
	l.packets--
	l.bytes -= unit.Bytes(p.Size)
	b.packets--
	b.bytes -= unit.Bytes(p.Size)
	return p
}

// Port is one egress port of a switch or host NIC: buffer, scheduler and counters.
//
// It has three cache lines of 64 bytes. A packet for a free, empty port uses only the first one, and a packet that
// waits in the port's only queue the first two. The order of fields keeps that, since the ports of a large network do
// not fit into the cache.
type Port struct {
	txBytes   uint64
	txPackets uint64
	rate      unit.LinkRate
	control   *packet.Packet // the last waiting link-layer frame; the others follow it in a ring
	Buffer
	pauses    *pauses // nil until the first Pause frame
	scheduler Scheduler
}

// flags of a Port, in a place without extra memory.
type flags struct {
	isFIFO   bool // the scheduler is fifo, and there is one queue
	down     bool
	dropNext bool // the packet returned by DequeueNext must be dropped
	isStrict bool // the scheduler has no state, and serves a single waiting packet
}

// NewPort returns a port with the given buffer, scheduler and line rate. The buffer belongs to the port from then on.
// An Addressed or Seeded scheduler must have its book or seed.
func NewPort(b Buffer, s Scheduler, rate unit.LinkRate) *Port {
	if fair, ok := s.(interface{ fair() *fq }); ok {
		for i := range b.queues {
			b.queues[i].flows = newFlows(fair.fair())
		}
	}
	_, first := s.(fifo)
	b.isFIFO = first && len(b.queues) == 1
	_, b.ranked = s.(least)
	_, b.isStrict = s.(strict)
	p := &Port{Buffer: b, scheduler: s, rate: rate}
	if len(b.queues) == 1 {
		p.one[0] = b.queues[0]
		p.queues = p.one[:]
	}
	return p
}

// SetRate changes the port's line rate, also for a scheduler that uses it. The link's rate changes separately.
func (p *Port) SetRate(rate unit.LinkRate) {
	p.rate = rate
	if s, ok := p.scheduler.(interface{ SetRate(unit.LinkRate) }); ok {
		s.SetRate(rate)
	}
}

// SetAsNeeded selects how scheduler ncf shares the rate beyond its guarantees. Mice take what they need, and
// elephants have the rest and, over the given time, their guarantee. With 0, the default, both have equal parts. It
// reports whether the scheduler supports that.
func (p *Port) SetAsNeeded(span unit.Time) bool {
	s, ok := p.scheduler.(interface{ SetAsNeeded(unit.Time) bool })
	return ok && s.SetAsNeeded(span)
}

// EvictAddress notifies a scheduler with users that an address is reassigned to another host.
func (p *Port) EvictAddress(a packet.Addr) {
	if s, ok := p.scheduler.(interface{ EvictAddress(packet.Addr) }); ok {
		s.EvictAddress(a)
	}
}

// SetDown records that the port's link is down, or up again, as a PHY would. The port continues to send; programs
// have to check.
func (p *Port) SetDown(down bool) { p.down = down }

// IsDown reports whether the port's link is down.
func (p *Port) IsDown() bool { return p.down }

// QueueShare returns the share of the port's rate that its scheduler gives to queue q while all queues are busy, of the
// rate that queues in strict priority leave. ok is false for queues in strict priority, and for all queues if the
// scheduler has no fixed shares.
func (p *Port) QueueShare(q QueueID) (share float64, ok bool) {
	if s, sharing := p.scheduler.(interface{ QueueShare(QueueID) (float64, bool) }); sharing {
		return s.QueueShare(q)
	}
	return 1, false
}

// HasShares reports whether the scheduler gives a fixed share to any queue (QueueShare).
func (p *Port) HasShares() bool {
	for q := range p.Queues() {
		if _, ok := p.QueueShare(QueueID(q)); ok {
			return true
		}
	}
	return false
}

// MinQueueShare returns the part of the port's rate that its scheduler gives to queue q for any traffic in others: its
// share, or its guarantee. ok is false if the scheduler guarantees no part.
func (p *Port) MinQueueShare(q QueueID) (part float64, ok bool) {
	if s, promising := p.scheduler.(interface{ MinQueueShare(QueueID) (float64, bool) }); promising {
		return s.MinQueueShare(q)
	}
	return p.QueueShare(q)
}

// Rate returns the port's line rate.
func (p *Port) Rate() unit.LinkRate { return p.rate }

// TxBytes returns the bytes of all frames sent so far, including the one on the wire: HPCC's txBytes.
func (p *Port) TxBytes() uint64 { return p.txBytes }

// TxPackets returns the number of frames sent so far.
func (p *Port) TxPackets() uint64 { return p.txPackets }

// QueueControl queues a link-layer control frame (PFC) ahead of all packets: before the scheduler, never paused,
// invisible to programs.
func (p *Port) QueueControl(f *packet.Packet) {
	if last := p.control; last == nil {
		f.Next = f
	} else {
		f.Next, last.Next = last.Next, f
	}
	p.control = f
}

// popControl removes and returns the first link-layer control frame; there must be one.
func (p *Port) popControl() *packet.Packet {
	f := p.control.Next
	if f == p.control {
		p.control = nil
	} else {
		p.control.Next = f.Next
	}
	f.Next = nil
	return f
}

// ControlCount returns the number of waiting link-layer control frames.
func (p *Port) ControlCount() (n int32) {
	if p.control != nil {
		n = 1
		for f := p.control.Next; f != p.control; f = f.Next {
			n++
		}
	}
	return n
}

// IsIdle reports whether the port has no frame to send: no control frame, no ready queue.
func (p *Port) IsIdle() bool { return p.control == nil && p.waiting&^p.paused == 0 }

// IsOpen reports whether a packet that arrived now would be sent next, at once if the link is free: the port is empty,
// no queue is paused, and the scheduler has no choice.
func (p *Port) IsOpen() bool { return p.isFIFO && p.waiting|p.paused == 0 && p.control == nil }

// IsVacant is IsOpen, also for ports with several queues in strict priority.
func (p *Port) IsVacant() bool {
	return (p.isFIFO || p.isStrict) && p.waiting|p.paused == 0 && p.control == nil
}

// DequeueNext removes the packet that departs now from its queue. control reports a link-layer frame, which programs
// must not see. With some schedulers f must be dropped (MustDrop). If f is nil, again is the time of the next try
// (unit.Never: after a change).
func (p *Port) DequeueNext(now unit.Time) (f *packet.Packet, control bool, again unit.Time) {
	if p.control != nil {
		return p.popControl(), true, unit.Never
	}
	if p.readyQueues() == 0 {
		return nil, false, unit.Never
	}
	if p.isFIFO { // it has one queue
		l := &p.one[0]
		l.served = now
		return p.popHead(l, 0), false, unit.Never
	}
	if p.isStrict { // as in strict.Next, which is in another cache line
		q := QueueID(bits.TrailingZeros16(p.waiting &^ p.paused))
		l := &p.queues[q]
		l.served = now
		return p.popHead(l, q), false, unit.Never
	}
	q, again := p.scheduler.Next(now, &p.Buffer)
	if q == noQueue {
		return nil, false, again
	}
	l := &p.queues[q]
	if l.served = now; l.flows != nil {
		f, p.dropNext = l.sortFlows().popPacket(now)
		return p.countOut(l, q, f), false, unit.Never
	}
	return p.popHead(l, q), false, unit.Never
}

// CountSent counts a frame that goes onto the wire.
func (p *Port) CountSent(f *packet.Packet) {
	p.txBytes += uint64(f.Size)
	p.txPackets++
}
