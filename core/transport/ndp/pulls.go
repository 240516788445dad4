package ndp

import (
	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// pulls is the pull queue of a host (NDP §3.2). Its flows share it in turn, those with priority before the others. One
// PULL is sent in the time of a full frame on the host's link, so that the pulled data arrives at that link's rate.
type pulls struct {
	rings [2]ring // with priority, without
	pacer transport.PullPacer
}

// ring is a list of the flows that want PULLs, the next one first.
type ring struct{ head, tail *member }

// member is a flow's place in the queue of its host.
type member struct {
	next, previous *member
	flow           packet.FlowID
	wants          int64 // PULLs wanted; the member is in the ring while this is above 0
	ring           uint8
}

// nextMember returns the flow that has the next turn; nil if no flow wants a PULL.
func (q *pulls) nextMember() *member {
	if m := q.rings[0].head; m != nil {
		return m
	}
	return q.rings[1].head
}

// addPulls lets flow m want n more PULLs, and puts it into its ring; n of 0 or less has no effect.
func (q *pulls) addPulls(now unit.Time, m *member, n int64) {
	if n <= 0 {
		return
	}
	if q.nextMember() == nil {
		q.pacer.Resume(now)
	}
	if m.wants == 0 {
		q.appendMember(m)
	}
	m.wants += n
}

// appendMember puts m at the end of its ring. It must be in no ring.
func (q *pulls) appendMember(m *member) {
	r := &q.rings[m.ring]
	m.next, m.previous = nil, r.tail
	if r.tail == nil {
		r.head = m
	} else {
		r.tail.next = m
	}
	r.tail = m
}

// limitPulls limits the PULLs that flow m wants to n. With 0 it takes the flow out of the queue.
func (q *pulls) limitPulls(m *member, n int64) {
	if m.wants <= n {
		return
	}
	if m.wants = n; n == 0 {
		if q.nextMember() == m {
			q.pacer.NotifyChange()
		}
		q.removeMember(m)
	}
}

// removeMember takes m out of its ring, in which it must be.
func (q *pulls) removeMember(m *member) {
	r := &q.rings[m.ring]
	if m.previous != nil {
		m.previous.next = m.next
	} else {
		r.head = m.next
	}
	if m.next != nil {
		m.next.previous = m.previous
	} else {
		r.tail = m.previous
	}
	m.next, m.previous = nil, nil
}

// sendPull removes the head's PULL, which is sent now, and gives the turn to the next flow. A flow must want a PULL.
// gap follows the PULL.
func (q *pulls) sendPull(now, gap unit.Time) {
	m := q.nextMember()
	q.removeMember(m)
	if m.wants--; m.wants > 0 {
		q.appendMember(m)
	}
	q.pacer.RecordPull(now, gap)
}
