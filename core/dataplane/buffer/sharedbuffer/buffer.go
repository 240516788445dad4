// Package sharedbuffer is the packet memory that all ports of a switch share. It has a reserve for every ingress
// queue, a shared part for which egress queues and PFC's thresholds compete, and PFC's headroom. Egress queues are
// limited by a dynamic threshold (Choudhury, Hahne, "Dynamic queue length thresholds for shared-memory packet
// switches", ToN 6(2), 1998) or a static one. The accounting follows the memory management unit in the HPCC
// simulator.
package sharedbuffer

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Queue is one ingress queue: the waiting packets of one ingress port and class, in any egress queue.
type Queue struct {
	bytes    unit.Bytes // all bytes, headroom included
	headroom unit.Bytes // part of bytes in the headroom
	room     unit.Bytes // size of the headroom
	reserved unit.Bytes
	trigger  Trigger
	guarded  bool // PFC protects it: it may use headroom, and egress thresholds do not apply
}

// HeadroomBytes returns the queue's bytes in its headroom.
func (q *Queue) HeadroomBytes() unit.Bytes { return q.headroom }

// SharedBytes returns the queue's bytes in the shared part.
func (q *Queue) SharedBytes() unit.Bytes { return max(0, q.bytes-q.headroom-q.reserved) }

// FitsReserve reports whether all bytes of the queue are in its reserve.
func (q *Queue) FitsReserve() bool { return q.headroom == 0 && q.bytes <= q.reserved }

// IsGuarded reports whether PFC protects the queue.
func (q *Queue) IsGuarded() bool { return q.guarded }

// Trigger is the use of the shared part at which PFC stops the neighbour: a static amount, or a share of the free
// part.
type Trigger struct {
	Static unit.Bytes // above 0: replaces Share
	Share  float64    // of the free part
}

// Buffer is a switch's packet memory. The programs of one switch share one (BufferOf).
type Buffer struct {
	size     unit.Bytes // total; 0: no limit
	shared   unit.Bytes // size − all reserves − all headroom
	used     unit.Bytes // of shared: the sum of all queues' Shared
	alpha    float64    // of the dynamic threshold; 0: no such threshold
	limit    unit.Bytes // static threshold; 0: no such threshold
	ports    int        // one more than the switch has: the last is for packets made by the switch
	queues   []Queue    // by class and ingress port, so that the queues of the used classes are adjacent
	sized    bool       // a program has set the size
	headroom unit.Bytes // of all queues
	reserves unit.Bytes
}

// unbounded stands for memory without a limit.
const unbounded = unit.Bytes(math.MaxInt64 / 4)

// BufferOf returns the memory of a site's switch. The first call creates it. It has no limit until a shared_buffer
// program sets its size.
func BufferOf(site *dataplane.Site) *Buffer {
	return site.GetShared("buffer", func() any {
		ports := site.Ports + 1
		return &Buffer{shared: unbounded, ports: ports, queues: make([]Queue, ports*tm.Classes)}
	}).(*Buffer)
}

// Config holds the sizes and thresholds of a Buffer.
type Config struct {
	Size     unit.Bytes // above 0
	Reserved unit.Bytes // of every ingress queue of classes 0 … Classes−1
	Classes  int        // of the switch; not a parameter, because the ports' queues determine it
	Alpha    float64    // 0: no dynamic threshold
	Limit    unit.Bytes // 0: no static threshold
}

// SetSize sets the size, before any queue is guarded. It fails if the reserves do not fit, or the size is already set.
// After an error the buffer must not be used.
func (b *Buffer) SetSize(c Config) error {
	switch {
	case b.sized:
		return fmt.Errorf("a switch has one shared buffer")
	case b.headroom > 0 || b.hasGuardedQueue():
		return fmt.Errorf("shared_buffer stands before pfc in the list: pfc sets headroom aside in it")
	}
	b.sized = true
	for class := range min(c.Classes, tm.Classes) {
		for in := range b.ports - 1 {
			b.queues[class*b.ports+in].reserved = c.Reserved
			b.reserves += c.Reserved
		}
	}
	b.size, b.alpha, b.limit, b.shared = c.Size, c.Alpha, c.Limit, c.Size-b.reserves
	if b.shared <= 0 {
		return fmt.Errorf("a buffer of %d bytes does not hold the reserves of %d bytes", c.Size, b.reserves)
	}
	return nil
}

// hasGuardedQueue reports whether PFC protects any ingress queue.
func (b *Buffer) hasGuardedQueue() bool {
	for i := range b.queues {
		if b.queues[i].guarded {
			return true
		}
	}
	return false
}

// HasSize reports whether a shared_buffer program has set the size.
func (b *Buffer) HasSize() bool { return b.sized }

// GuardQueue lets PFC protect an ingress queue, with a headroom of room bytes and a trigger. Once the size is set, it
// fails if that would use up the shared part.
func (b *Buffer) GuardQueue(port packet.PortID, class uint8, room unit.Bytes, t Trigger) error {
	if b.sized {
		if b.shared -= room; b.shared <= 0 {
			return fmt.Errorf("a buffer of %d bytes does not hold the reserves (%d bytes) and the headroom (%d bytes so far)",
				b.size, b.reserves, b.headroom+room)
		}
	}
	b.headroom += room
	q := b.IngressQueue(port, class)
	q.guarded, q.room, q.trigger = true, room, t
	return nil
}

// IngressQueue returns the ingress queue of a port and a class. A port beyond the switch's, such as packet.NoPort, is
// the one of packets made by the switch. The class is taken modulo tm.Classes.
func (b *Buffer) IngressQueue(port packet.PortID, class uint8) *Queue {
	return &b.queues[int(class%tm.Classes)*b.ports+min(int(port), b.ports-1)] // NoPort: made here
}

// FreeBytes returns the free bytes of the shared part.
func (b *Buffer) FreeBytes() unit.Bytes { return b.shared - b.used }

// UsedBytes returns the used bytes of the shared part.
func (b *Buffer) UsedBytes() unit.Bytes { return b.used }

// Size returns the size of the memory; 0: no limit.
func (b *Buffer) Size() unit.Bytes { return b.size }

// Shared returns the size of the shared part.
func (b *Buffer) Shared() unit.Bytes { return b.shared }

// Threshold returns the use of the shared part at which PFC stops the neighbour: the trigger's static amount, or its
// share of the bytes that are free now.
func (b *Buffer) Threshold(q *Queue) unit.Bytes {
	if q.trigger.Static > 0 {
		return q.trigger.Static
	}
	return unit.Bytes(q.trigger.Share * float64(b.FreeBytes()))
}

// part is a part of the buffer for a packet.
type part uint8

const (
	nowhere part = iota
	common       // reserve and shared part
	headroom
)

// choosePart returns the part that n more bytes of queue q would use: common (reserve and shared part), headroom, or
// nowhere if they do not fit. A guarded queue uses its headroom only beyond its threshold, or if the shared part is
// full. It books no bytes.
func (b *Buffer) choosePart(q *Queue, n unit.Bytes) part {
	held := q.bytes - q.headroom
	over := held + n - q.reserved // what the queue would use of the shared part
	switch {
	case over <= 0:
		return common
	case over-max(0, held-q.reserved) <= b.FreeBytes() && (!q.guarded || over <= b.Threshold(q)):
		return common
	case q.guarded && q.headroom+n <= q.room:
		return headroom
	}
	return nowhere
}

// Admit drops a packet without room, as HeadroomFull, BufferFull or EgressThreshold. It books no bytes.
func (b *Buffer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	q, n := b.IngressQueue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size)
	if q.HasReserve(n) {
		return dataplane.Accept
	}
	_, v := b.decidePart(env, p, q, n)
	return v
}

// fitsReserve reports whether the reserve has room for n bytes more.
func (q *Queue) fitsReserve(n unit.Bytes) bool { return q.bytes-q.headroom+n <= q.reserved }

// HasReserve reports whether the reserve of a guarded queue has room for n bytes, which are then admitted regardless of
// other packets. BookReserve books them.
func (q *Queue) HasReserve(n unit.Bytes) bool { return q.guarded && q.fitsReserve(n) }

// BookReserve counts n bytes into the reserve, after HasReserve has returned true for them.
func (q *Queue) BookReserve(n unit.Bytes) { q.bytes += n }

// decidePart returns the part that packet p, of n bytes for ingress queue q, would use, and the verdict. An egress
// threshold may drop the packet although a part has room.
func (b *Buffer) decidePart(env *dataplane.Env, p *packet.Packet, q *Queue, n unit.Bytes) (part, dataplane.Verdict) {
	where := b.choosePart(q, n)
	if where == nowhere {
		if q.guarded {
			return where, dataplane.Drop(dataplane.HeadroomFull)
		}
		return where, dataplane.Drop(dataplane.BufferFull)
	}
	if q.guarded || b.alpha == 0 && b.limit == 0 {
		return where, dataplane.Accept
	}
	// The reserve belongs to the queue, regardless of the use by others.
	waits := env.Port(p.Meta.Out).Queue(p.Meta.Queue).Bytes() + n
	if b.limit > 0 && waits > b.limit ||
		b.alpha > 0 && q.bytes+n > q.reserved && waits > unit.Bytes(b.alpha*float64(b.FreeBytes())) {
		return where, dataplane.Drop(dataplane.EgressThreshold)
	}
	return where, dataplane.Accept
}

// Book counts a packet in that Admit has accepted. It uses headroom only if choosePart selects it.
func (b *Buffer) Book(p *packet.Packet) {
	q, n := b.IngressQueue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size)
	if q.fitsReserve(n) {
		q.bytes += n
		return
	}
	b.bookBytes(q, n, b.choosePart(q, n))
}

// bookBytes adds n bytes to queue q, in its headroom or in the common part (choosePart), and updates the shared part in
// use. destination must not be nowhere.
func (b *Buffer) bookBytes(q *Queue, n unit.Bytes, destination part) {
	before := q.SharedBytes()
	if destination == headroom {
		q.headroom += n
	}
	q.bytes += n
	b.used += q.SharedBytes() - before
}

// AdmitAndBook is Admit and, if that accepts, Book. The caller already has the packet's ingress queue q.
func (b *Buffer) AdmitAndBook(env *dataplane.Env, p *packet.Packet, q *Queue) dataplane.Verdict {
	n := unit.Bytes(p.Size)
	if q.HasReserve(n) {
		q.BookReserve(n)
		return dataplane.Accept
	}
	where, v := b.decidePart(env, p, q, n)
	if v == dataplane.Accept {
		b.bookBytes(q, n, where)
	}
	return v
}

// Unbook counts a packet out. Headroom empties first.
func (b *Buffer) Unbook(p *packet.Packet) {
	b.UnbookBytes(b.IngressQueue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size))
}

// UnbookBytes removes n bytes from queue q, from its headroom first, and updates the shared part in use. q must hold
// them.
func (b *Buffer) UnbookBytes(q *Queue, n unit.Bytes) {
	if q.FitsReserve() { // all of it is in the reserve
		q.bytes -= n
		return
	}
	before := q.SharedBytes()
	q.headroom -= min(q.headroom, n)
	q.bytes -= n
	b.used += q.SharedBytes() - before
}

// Check returns an error, for tests, if the books do not balance. waitingBytes is the number of bytes that wait in all
// ports.
func (b *Buffer) Check(waitingBytes unit.Bytes) error {
	var bytes, shared, room unit.Bytes
	for i := range b.queues {
		q := &b.queues[i]
		if q.bytes < 0 || q.headroom < 0 || q.headroom > q.bytes || q.headroom > q.room {
			return fmt.Errorf("ingress queue %d: %d bytes, %d of them in a headroom of %d", i, q.bytes, q.headroom, q.room)
		}
		bytes += q.bytes
		shared += q.SharedBytes()
		room += q.headroom
	}
	switch {
	case shared != b.used:
		return fmt.Errorf("%d bytes of the shared part are used, the queues' sum is %d", b.used, shared)
	case b.used > b.shared:
		return fmt.Errorf("%d bytes of the shared part are used, it has %d", b.used, b.shared)
	case b.size > 0 && bytes > b.size:
		return fmt.Errorf("%d bytes are in a buffer of %d", bytes, b.size)
	case bytes != waitingBytes:
		return fmt.Errorf("%d bytes are booked, %d wait", bytes, waitingBytes)
	}
	return nil
}
