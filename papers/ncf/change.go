package ncf

import (
	"weir/core/packet"
	"weir/core/unit"
)

// changes moves flows between classes without reordering them. A flow with packets in its old queue stays there until
// they have departed, or for the longest time allowed. The state is bounded: one slot for each hash value. If a flow's
// slot belongs to another flow with queued packets, the flow is not tracked and moves at once. (Weir's addition: BS'19
// §4.1 only has flows change.)
type changes struct {
	slots []slot
	wait  unit.Time // longest delay of a change of class
	ports []passage

	moved, forced uint64 // changes of class, and those made with packets still queued
}

// slot is the state of one flow.
type slot struct {
	key      uint64
	end      int64     // position at which its last packet ends in the stream of its queue, in bytes
	since    unit.Time // time since which another class is due
	out      packet.PortID
	class    Class
	queue    uint8
	inUse    bool
	hasSince bool // since is valid
}

// passage counts the bytes that entered the queues of a port, and those that departed at the head. An evicted packet
// counts as if it had never entered.
type passage struct{ entered, departed [maxQueues]int64 }

// maxQueues is the maximum number of queues of a port with NCF.
const maxQueues = 8

// newChanges returns a table of slots, a power of two.
func newChanges(slots, ports int, wait unit.Time) *changes {
	return &changes{slots: make([]slot, slots), wait: wait, ports: make([]passage, ports)}
}

// findSlot returns the slot of a flow's hash, which another flow may have. The caller may change the slot.
func (c *changes) findSlot(key uint64) *slot {
	return &c.slots[(key*0x9e3779b97f4a7c15)>>32&uint64(len(c.slots)-1)]
}

// hasQueued reports whether packets of the flow may still be in its queue.
func (c *changes) hasQueued(s *slot) bool {
	x := &c.ports[s.out]
	return x.departed[s.queue] < min(s.end, x.entered[s.queue])
}

// selectClass returns the class that the flow uses at now, given the class that it should have, target. It updates the
// flow's slot, or takes the slot over if no packets of its flow are queued. It counts changes of class.
func (c *changes) selectClass(now unit.Time, key uint64, out packet.PortID, target Class) Class {
	s := c.findSlot(key)
	if !s.inUse || s.key != key || s.out != out {
		if !s.inUse || !c.hasQueued(s) {
			*s = slot{key: key, out: out, class: target, inUse: true}
		}
		return target
	}
	if s.class == target {
		s.hasSince = false
		return target
	}
	waits := c.hasQueued(s)
	switch {
	case !waits, s.hasSince && now-s.since >= c.wait:
		c.moved++
		if waits {
			c.forced++
		}
		s.class, s.hasSince = target, false
	case !s.hasSince:
		s.since, s.hasSince = now, true
	}
	return s.class
}

// recordEntry records that a packet of the flow, with size bytes, has entered a queue of port out.
func (c *changes) recordEntry(key uint64, out packet.PortID, queue uint8, size int32) {
	x := &c.ports[out]
	x.entered[queue] += int64(size)
	if s := c.findSlot(key); s.inUse && s.key == key && s.out == out {
		s.queue, s.end = queue, x.entered[queue]
	}
}

// recordExit records that a packet of size bytes has departed at the head of its queue or, with evicted, was evicted
// from the tail.
func (c *changes) recordExit(out packet.PortID, queue uint8, size int32, evicted bool) {
	if x := &c.ports[out]; evicted {
		x.entered[queue] -= int64(size)
	} else {
		x.departed[queue] += int64(size)
	}
}
