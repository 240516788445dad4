package ncf

import (
	"weir/core/packet"
	"weir/core/unit"
)

// changes moves flows from one class to another without reordering them. A flow whose packets still wait
// in its old queue stays there until they have left, or until it has waited for the longest time allowed.
// The state is bounded: one slot for each hash value. A flow whose slot belongs to another flow with
// packets waiting is not tracked and moves at once. (Ours: BS'19 §4.1 says only that flows change.)
type changes struct {
	slots []slot
	wait  unit.Time // longest time that a flow stays in the class that it is to leave
	ports []passage

	moved, forced uint64 // changes of class, and those made while packets of the flow still waited
}

type slot struct {
	key   uint64
	end   int64     // position at which its last packet ends in the stream of its queue, in bytes
	since unit.Time // since when it should have been in another class
	out   packet.PortID
	class Class
	queue uint8
	taken bool
	due   bool // since is a time
}

// passage counts what has passed through the queues of a port, in bytes: what entered, and what left at
// the head. An evicted packet counts as if it had never entered.
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

// waits reports whether packets of the flow may still be in its queue.
func (c *changes) waits(s *slot) bool {
	x := &c.ports[s.out]
	return x.left[s.queue] < min(s.end, x.in[s.queue])
}

// class returns the class that the flow is to use now, given the class in which it belongs, want.
func (c *changes) class(now unit.Time, key uint64, out packet.PortID, want Class) Class {
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

// book records that a packet of the flow has entered a queue.
func (c *changes) book(key uint64, out packet.PortID, queue uint8, size int32) {
	x := &c.ports[out]
	x.in[queue] += int64(size)
	if s := c.slot(key); s.taken && s.key == key && s.out == out {
		s.queue, s.end = queue, x.in[queue]
	}
}

// unbook records that a packet has left its queue at the head, or was evicted from the tail.
func (c *changes) unbook(out packet.PortID, queue uint8, size int32, evicted bool) {
	if x := &c.ports[out]; evicted {
		x.in[queue] -= int64(size)
	} else {
		x.left[queue] += int64(size)
	}
}
