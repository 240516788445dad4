package tcp

import (
	"weir/core/transport"
	"weir/core/unit"
)

// Flags of a segment that was sent.
const (
	sacked     uint16 = 1 << iota // SACK has reported its delivery
	lost                          // found lost
	resent                        // resent, and neither acknowledged nor found lost since
	everSent                      // was ever resent
	limited                       // sent while the application limited the flow
	final                         // carries FIN
	rated                         // its delivery is in the rate samples
	nacked                        // a NACK has reported its last transmission as lost
	lostByNack                    // a NACK has reported the loss that was found last
	notified                      // a notice about its last transmission has reported no loss
)

// segment is one segment between the cumulative acknowledgement and the highest
// sequence sent.
type segment struct {
	seq, end int64
	sent     unit.Time // last transmission
	transport.Departure
	before, after int32 // in the list by time of transmission: slots
	flags         uint16
	listed        bool
}

// none is the value for no slot.
const none int32 = -1

// segments is a ring of segments in the order of sequence, and a list of the outstanding ones in the order of
// transmission. Segments have running numbers, which may wrap. The list consists of slots of the ring.
type segments struct {
	ring       []segment
	first, end uint32 // number of the first, and of the one after the last
	head, tail int32  // of the list
}

// newSegments returns an empty ring with few slots, since there may be a million flows of one segment.
func newSegments() segments { return segments{ring: make([]segment, 4), head: none, tail: none} }

// len returns the number of segments.
func (q *segments) len() int { return int(q.end - q.first) }

// at returns segment n, which must be in the ring.
func (q *segments) at(n uint32) *segment { return &q.ring[n&uint32(len(q.ring)-1)] }

// number returns the number of the segment in a slot.
func (q *segments) number(slot int32) uint32 {
	return q.first + (uint32(slot)-q.first)&uint32(len(q.ring)-1)
}

// push adds a segment after the last, and returns it with its number, valid until the next push.
func (q *segments) push() (n uint32, s *segment) {
	if q.len() == len(q.ring) {
		q.grow()
	}
	n = q.end
	q.end++
	s = q.at(n)
	*s = segment{before: none, after: none}
	return n, s
}

// grow doubles the ring. Segments keep their numbers, but pointers to them become invalid.
func (q *segments) grow() {
	ring := make([]segment, 2*len(q.ring))
	slot := func(old int32) int32 {
		if old == none {
			return none
		}
		return int32(q.number(old) & uint32(len(ring)-1))
	}
	for n := q.first; n != q.end; n++ {
		s := *q.at(n)
		s.before, s.after = slot(s.before), slot(s.after)
		ring[n&uint32(len(ring)-1)] = s
	}
	q.head, q.tail = slot(q.head), slot(q.tail)
	q.ring = ring
}

// find returns the number of the segment that holds seq; end if seq is after all segments, first if it is before all.
// mss, the usual size of a segment, is a hint.
func (q *segments) find(seq int64, mss int64) uint32 {
	n := uint32(q.len())
	if n == 0 || seq <= q.at(q.first).seq {
		return q.first
	}
	// Nearly all segments are full: try the place that follows from the size first.
	if g := uint32(min((seq-q.at(q.first).seq)/mss, int64(n-1))); true {
		if s := q.at(q.first + g); s.seq <= seq && seq < s.end {
			return q.first + g
		}
	}
	low, high := uint32(0), n // search the first with an end above seq
	for low < high {
		mid := (low + high) / 2
		if q.at(q.first+mid).end <= seq {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return q.first + low
}

// append moves segment n to the end of the list by time. It may be in the list already.
func (q *segments) append(n uint32) {
	q.remove(n)
	slot := int32(n & uint32(len(q.ring)-1))
	s := &q.ring[slot]
	s.listed, s.before, s.after = true, q.tail, none
	if q.tail == none {
		q.head = slot
	} else {
		q.ring[q.tail].after = slot
	}
	q.tail = slot
}

// remove takes segment n out of the list by time, if it is there. It stays in the ring.
func (q *segments) remove(n uint32) {
	s := q.at(n)
	if !s.listed {
		return
	}
	s.listed = false
	if s.before == none {
		q.head = s.after
	} else {
		q.ring[s.before].after = s.after
	}
	if s.after == none {
		q.tail = s.before
	} else {
		q.ring[s.after].before = s.before
	}
}

// insert puts segment n, which is not in the list, into its place by time of transmission.
func (q *segments) insert(n uint32) {
	slot := int32(n & uint32(len(q.ring)-1))
	s := &q.ring[slot]
	after := q.tail // the last that was sent before s
	for after != none && (q.ring[after].sent > s.sent || q.ring[after].sent == s.sent && q.ring[after].end > s.end) {
		after = q.ring[after].before
	}
	s.listed, s.before = true, after
	if after == none {
		s.after = q.head
		q.head = slot
	} else {
		s.after = q.ring[after].after
		q.ring[after].after = slot
	}
	if s.after == none {
		q.tail = slot
	} else {
		q.ring[s.after].before = slot
	}
}
