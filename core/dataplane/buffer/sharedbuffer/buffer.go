// Package sharedbuffer is the packet memory that all ports of a switch share: a reserve for every ingress
// queue, a shared part for which egress queues and PFC's thresholds compete, and PFC's headroom. Egress
// queues are limited by a dynamic threshold (Choudhury, Hahne, "Dynamic queue length thresholds for
// shared-memory packet switches", ToN 6(2), 1998) or a static one. The accounting is that of the memory
// management unit in the HPCC simulator.
package sharedbuffer

import (
	"fmt"
	"math"

	"weir/core/dataplane"
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// Queue is one ingress queue: the packets of one ingress port and class that wait, in any egress queue.
type Queue struct {
	bytes    unit.Bytes // of it all, headroom included
	headroom unit.Bytes // of them, in the headroom
	room     unit.Bytes // how large the headroom is
	reserved unit.Bytes
	trigger  Trigger
	guarded  bool // PFC's: it may use headroom, and egress thresholds do not apply
}

// Headroom returns what the queue has in its headroom.
func (q *Queue) Headroom() unit.Bytes { return q.headroom }

// Shared returns what the queue uses of the shared part.
func (q *Queue) Shared() unit.Bytes { return max(0, q.bytes-q.headroom-q.reserved) }

// Reserved reports whether all that the queue holds is in its reserve.
func (q *Queue) Reserved() bool { return q.headroom == 0 && q.bytes <= q.reserved }

// Guarded reports whether PFC protects the queue.
func (q *Queue) Guarded() bool { return q.guarded }

// Trigger is the use of the shared part at which PFC stops the neighbour: a static amount, or a share of
// the part that is free.
type Trigger struct {
	Static unit.Bytes // above 0: the others do not count
	Share  float64    // of what is free
}

// Buffer is a switch's packet memory. Programs of one switch share one (Of).
type Buffer struct {
	size     unit.Bytes // of all; 0: no bound
	shared   unit.Bytes // size − all reserves − all headroom
	used     unit.Bytes // of shared: the sum of all queues' Shared
	alpha    float64    // of the dynamic threshold; 0: none
	limit    unit.Bytes // static threshold; 0: none
	ports    int        // one more than the switch has: the last is that of packets which the switch has made
	queues   []Queue    // by class and ingress port, so that those of the classes in use lie close together
	settled  bool       // a program has set the size
	headroom unit.Bytes // of all queues
	reserves unit.Bytes
}

// unbounded stands for memory without a bound.
const unbounded = unit.Bytes(math.MaxInt64 / 4)

// Of returns the memory of a site's switch. It has no bound until a shared_buffer program gives it a size.
func Of(site *dataplane.Site) *Buffer {
	return site.Shared("buffer", func() any {
		ports := site.Ports + 1
		return &Buffer{shared: unbounded, ports: ports, queues: make([]Queue, ports*tm.Classes)}
	}).(*Buffer)
}

// Config is what a Buffer is given.
type Config struct {
	Size     unit.Bytes // above 0
	Reserved unit.Bytes // of every ingress queue of classes 0 … Classes−1
	Classes  int        // of the switch; not a parameter, as its ports have that many queues
	Alpha    float64    // 0: no dynamic threshold
	Limit    unit.Bytes // 0: no static one
}

// SetSize sets the size, before any queue is guarded. It fails when the reserves do not fit, or the size is
// already set.
func (b *Buffer) SetSize(c Config) error {
	switch {
	case b.settled:
		return fmt.Errorf("a switch has one shared buffer")
	case b.headroom > 0 || b.guards():
		return fmt.Errorf("shared_buffer stands before pfc in the list: pfc sets headroom aside in it")
	}
	b.settled = true
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

func (b *Buffer) guards() bool {
	for i := range b.queues {
		if b.queues[i].guarded {
			return true
		}
	}
	return false
}

// Settled reports whether a shared_buffer program has given it a size.
func (b *Buffer) Settled() bool { return b.settled }

// Guard has PFC protect an ingress queue, with this headroom and a trigger. It fails when the shared part
// would be used up.
func (b *Buffer) Guard(in packet.PortID, class uint8, room unit.Bytes, t Trigger) error {
	if b.settled {
		if b.shared -= room; b.shared <= 0 {
			return fmt.Errorf("a buffer of %d bytes does not hold the reserves (%d bytes) and the headroom (%d bytes so far)",
				b.size, b.reserves, b.headroom+room)
		}
	}
	b.headroom += room
	q := b.Queue(in, class)
	q.guarded, q.room, q.trigger = true, room, t
	return nil
}

// Queue returns the ingress queue of a port and a class.
func (b *Buffer) Queue(in packet.PortID, class uint8) *Queue {
	return &b.queues[int(class%tm.Classes)*b.ports+min(int(in), b.ports-1)] // NoPort: made here
}

// Free returns what is left of the shared part.
func (b *Buffer) Free() unit.Bytes { return b.shared - b.used }

// Used returns the use of the shared part, Size the size of all memory (0: no bound), Shared the size of
// the shared part.
func (b *Buffer) Used() unit.Bytes   { return b.used }
func (b *Buffer) Size() unit.Bytes   { return b.size }
func (b *Buffer) Shared() unit.Bytes { return b.shared }

// Threshold returns the use of the shared part at which PFC stops the neighbour, as of now.
func (b *Buffer) Threshold(q *Queue) unit.Bytes {
	if q.trigger.Static > 0 {
		return q.trigger.Static
	}
	return unit.Bytes(q.trigger.Share * float64(b.Free()))
}

// Where a packet goes.
type part uint8

const (
	nowhere part = iota
	common       // reserve and shared part
	headroom
)

// place decides which part n bytes of a queue use.
func (b *Buffer) place(q *Queue, n unit.Bytes) part {
	held := q.bytes - q.headroom
	over := held + n - q.reserved // what the queue would use of the shared part
	switch {
	case over <= 0:
		return common
	case over-max(0, held-q.reserved) <= b.Free() && (!q.guarded || over <= b.Threshold(q)):
		return common
	case q.guarded && q.headroom+n <= q.room:
		return headroom
	}
	return nowhere
}

// Admit reports whether there is room for a packet.
func (b *Buffer) Admit(env *dataplane.Env, p *packet.Packet) dataplane.Verdict {
	q, n := b.Queue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size)
	if q.Room(n) {
		return dataplane.Accept
	}
	_, v := b.judge(env, p, q, n)
	return v
}

// fits reports whether the reserve has room for n bytes more.
func (q *Queue) fits(n unit.Bytes) bool { return q.bytes-q.headroom+n <= q.reserved }

// Room reports whether the reserve of a guarded queue has room for n bytes, which are admitted then whatever else
// waits. Take books them, then.
func (q *Queue) Room(n unit.Bytes) bool { return q.guarded && q.fits(n) }
func (q *Queue) Take(n unit.Bytes)      { q.bytes += n }

// judge decides which part a packet uses, and whether it may.
func (b *Buffer) judge(env *dataplane.Env, p *packet.Packet, q *Queue, n unit.Bytes) (part, dataplane.Verdict) {
	where := b.place(q, n)
	if where == nowhere {
		if q.guarded {
			return where, dataplane.Drop(dataplane.HeadroomFull)
		}
		return where, dataplane.Drop(dataplane.BufferFull)
	}
	if q.guarded || b.alpha == 0 && b.limit == 0 {
		return where, dataplane.Accept
	}
	// The reserve is the queue's own, whatever others use.
	waits := env.Port(p.Meta.Out).Queue(p.Meta.Queue).Bytes() + n
	if b.limit > 0 && waits > b.limit ||
		b.alpha > 0 && q.bytes+n > q.reserved && waits > unit.Bytes(b.alpha*float64(b.Free())) {
		return where, dataplane.Drop(dataplane.EgressThreshold)
	}
	return where, dataplane.Accept
}

// Book counts a packet in. It uses headroom only when place says so.
func (b *Buffer) Book(p *packet.Packet) {
	q, n := b.Queue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size)
	if q.fits(n) {
		q.bytes += n
		return
	}
	b.book(q, n, b.place(q, n))
}

// book counts n bytes in that go into a part of the buffer.
func (b *Buffer) book(q *Queue, n unit.Bytes, where part) {
	before := q.Shared()
	if where == headroom {
		q.headroom += n
	}
	q.bytes += n
	b.used += q.Shared() - before
}

// Enter is Admit and, if that accepts, Book.
func (b *Buffer) Enter(env *dataplane.Env, p *packet.Packet, q *Queue) dataplane.Verdict {
	n := unit.Bytes(p.Size)
	if q.Room(n) {
		q.Take(n)
		return dataplane.Accept
	}
	where, v := b.judge(env, p, q, n)
	if v == dataplane.Accept {
		b.book(q, n, where)
	}
	return v
}

// Unbook counts a packet out: headroom empties first.
func (b *Buffer) Unbook(p *packet.Packet) {
	b.Leave(b.Queue(p.Meta.In, p.Meta.Class), unit.Bytes(p.Size))
}

// Leave is Unbook of n bytes of a queue.
func (b *Buffer) Leave(q *Queue, n unit.Bytes) {
	if q.Reserved() { // all of it was in the reserve
		q.bytes -= n
		return
	}
	before := q.Shared()
	q.headroom -= min(q.headroom, n)
	q.bytes -= n
	b.used += q.Shared() - before
}

// Check returns an error, for tests, if the books do not balance.
func (b *Buffer) Check(waits unit.Bytes) error {
	var bytes, shared, room unit.Bytes
	for i := range b.queues {
		q := &b.queues[i]
		if q.bytes < 0 || q.headroom < 0 || q.headroom > q.bytes || q.headroom > q.room {
			return fmt.Errorf("ingress queue %d: %d bytes, %d of them in a headroom of %d", i, q.bytes, q.headroom, q.room)
		}
		bytes += q.bytes
		shared += q.Shared()
		room += q.headroom
	}
	switch {
	case shared != b.used:
		return fmt.Errorf("%d bytes of the shared part are used, the queues' sum is %d", b.used, shared)
	case b.used > b.shared:
		return fmt.Errorf("%d bytes of the shared part are used, it has %d", b.used, b.shared)
	case b.size > 0 && bytes > b.size:
		return fmt.Errorf("%d bytes are in a buffer of %d", bytes, b.size)
	case bytes != waits:
		return fmt.Errorf("%d bytes are booked, %d wait", bytes, waits)
	}
	return nil
}
