package ncf

import (
	"weir/core/dataplane"
	"weir/core/unit"
)

// changes moves flows from one class to another without reordering them: a flow whose
// packets still wait in the queue that it is to leave stays with it until they have left,
// or until it has waited for long enough. What it remembers is bounded: a slot a hash
// value; a flow that finds its slot taken by another one, of which packets wait, is
// not remembered and moves at once. (Ours: BS'19 §4.1 says only that flows change.)
type changes struct {
	slots []slot
	wait  unit.Time // longest time that a flow stays in the class that it is to leave
	ports []passage

	moved, forced uint64 // changes of class; those of flows of which packets still waited
}

type slot struct {
	key   uint64
	end   int64     // where in the stream of its queue its last packet ends, in bytes
	since unit.Time // since when it should be in another class
	out   dataplane.PortID
	class Class
	queue uint8
	taken bool
	due   bool // since is a time
}

// passage is what has passed through the queues of a port, in bytes: what came in, and what has
// left at the head. What is evicted had not come in.
type passage struct{ in, left [maxQueues]int64 }

// maxQueues is the most queues of a port with NCF.
const maxQueues = 8

// newChanges makes a table of a power of two of slots.
func newChanges(slots, ports int, wait unit.Time) *changes {
	return &changes{slots: make([]slot, slots), wait: wait, ports: make([]passage, ports)}
}

func (c *changes) slot(key uint64) *slot {
	return &c.slots[(key*0x9e3779b97f4a7c15)>>32&uint64(len(c.slots)-1)]
}

// waits tells whether packets of the flow may still be in its queue.
func (c *changes) waits(s *slot) bool {
	x := &c.ports[s.out]
	return x.left[s.queue] < min(s.end, x.in[s.queue])
}

// class returns the class in which the flow goes on, for which it should be in want.
func (c *changes) class(now unit.Time, key uint64, out dataplane.PortID, want Class) Class {
	s := c.slot(key)
	if !s.taken || s.key != key || s.out != out {
		if !s.taken || !c.waits(s) {
			*s = slot{key: key, out: out, class: want, taken: true}
		}
		return want
	}
	if s.class == want {
		s.due = false
		return want
	}
	waits := c.waits(s)
	switch {
	case !waits, s.due && now-s.since >= c.wait:
		c.moved++
		if waits {
			c.forced++
		}
		s.class, s.due = want, false
	case !s.due:
		s.since, s.due = now, true
	}
	return s.class
}

// book notes that a packet of the flow has come into a queue.
func (c *changes) book(key uint64, out dataplane.PortID, queue uint8, size int32) {
	x := &c.ports[out]
	x.in[queue] += int64(size)
	if s := c.slot(key); s.taken && s.key == key && s.out == out {
		s.queue, s.end = queue, x.in[queue]
	}
}

// unbook notes that a packet has left its queue at its head, or was evicted from its tail.
func (c *changes) unbook(out dataplane.PortID, queue uint8, size int32, evicted bool) {
	if x := &c.ports[out]; evicted {
		x.in[queue] -= int64(size)
	} else {
		x.left[queue] += int64(size)
	}
}
