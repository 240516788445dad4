package job

import (
	"fmt"

	"weir/core/unit"
)

// Message is a message as its receiving rank sees it.
type Message struct {
	From int32 // rank
	Tag  uint32
	Size unit.Bytes
	Send Ref // operation of From
	// CPU and NIC are the numbers of the send's processor and NIC.
	CPU, NIC uint8
	// Number counts the earlier messages with the same sender, receiver and tag, where several of a Listed job keep their
	// order (Rank.ordering).
	Number uint32
}

// isBefore reports whether m comes before o among messages that arrive at the same time.
func (m *Message) isBefore(o *Message) bool {
	switch {
	case m.From != o.From:
		return m.From < o.From
	case m.Send.Lane != o.Send.Lane:
		return m.Send.Lane < o.Send.Lane
	}
	return m.Send.Op < o.Send.Op
}

// matcher matches the receives of a rank with the messages that arrive. A message takes the matching receive that was
// posted first, and a receive the matching message that arrived first.
type matcher struct {
	posted, arrived queues
	wildcards       []postedRecv // receives from any rank or with any tag, in order
	posts           int64        // number so far
	messages        int64        // number of messages that waited
}

// Fault returns an error if a receive of the rank took a message of another size. The run must then end.
func (r *Rank) Fault() error { return r.fault }

// compareSizes sets the fault if a receive and its message differ in size. Check finds such errors before a run,
// unless the order of time decides which of several messages a receive takes.
func (r *Rank) compareSizes(at Ref, m *Message) {
	op := r.cachedOp(at)
	if op.Size == m.Size || r.fault != nil {
		return
	}
	where := func(rank int, at Ref) string {
		if n, is := r.program.(named); is {
			return n.Where(rank, at)
		}
		return fmt.Sprintf("operation %d of lane %d of rank %d", at.Op, at.Lane, rank)
	}
	r.fault = fmt.Errorf("%s awaits %d B and takes the message of %s, which has %d B; give both the same size, or "+
		"another tag", where(r.Number, at), op.Size, where(int(m.From), m.Send), m.Size)
}

// postedRecv is a posted receive.
type postedRecv struct {
	order int64
	at    Ref
	from  int32
	tag   uint32
}

// matches reports whether the receive matches a message.
func (p *postedRecv) matches(from int32, tag uint32) bool {
	return (p.from == AnyRank || p.from == from) && (p.tag == AnyTag || p.tag == tag)
}

// postRecv posts a receive. If a matching message has arrived, it returns the message and the time until which the
// receiver is busy with it, and removes it. Otherwise it stores the receive.
func (m *matcher) postRecv(at Ref, from int32, tag uint32) (msg Message, until unit.Time, found bool) {
	p := postedRecv{m.posts, at, from, tag}
	m.posts++
	if from != AnyRank && tag != AnyTag {
		if i, ok := m.arrived.take(queueKey(from, tag)); ok {
			return i.msg, i.until, true
		}
		m.posted.add(queueKey(from, tag), entry{order: p.order, at: at})
		return Message{}, 0, false
	}
	if i, ok := m.arrived.takeFirst(func(e *entry) bool { return p.matches(e.msg.From, e.msg.Tag) }); ok {
		return i.msg, i.until, true
	}
	m.wildcards = append(m.wildcards, p)
	return Message{}, 0, false
}

// matchMessage returns and removes the posted receive for a message with which the receiver is busy until a time.
// Without a matching receive it stores the message.
func (m *matcher) matchMessage(msg Message, until unit.Time) (at Ref, found bool) {
	k := queueKey(msg.From, msg.Tag)
	exact, is := m.posted.peek(k)
	for i := range m.wildcards {
		if m.wildcards[i].matches(msg.From, msg.Tag) {
			if is && exact.order < m.wildcards[i].order {
				break
			}
			at = m.wildcards[i].at
			m.wildcards = append(m.wildcards[:i], m.wildcards[i+1:]...)
			return at, true
		}
	}
	if is {
		e, _ := m.posted.take(k)
		return e.at, true
	}
	m.messages++
	m.arrived.add(k, entry{order: m.messages, msg: msg, until: until})
	return Ref{}, false
}

// queues are first-in-first-out queues of entries by rank and tag.
type queues struct {
	head    map[uint64]queueEnds
	entries []entry
	free    int32 // 1 + first free entry
	n       int
}

// queueEnds are the first and the last entry of a queue.
type queueEnds struct{ first, last int32 }

// entry is a waiting receive or message.
type entry struct {
	key   uint64
	order int64
	msg   Message
	until unit.Time // of a message
	at    Ref
	next  int32 // −1: last of its queue
	used  bool
}

// queueKey returns the key of a rank and a tag.
func queueKey(from int32, tag uint32) uint64 { return uint64(uint32(from))<<32 | uint64(tag) }

// add appends an entry to the queue of a key, and sets its key and its links.
func (q *queues) add(k uint64, e entry) {
	if q.head == nil {
		q.head = map[uint64]queueEnds{}
	}
	e.key, e.next, e.used = k, -1, true
	i := q.free - 1
	if i < 0 {
		q.entries = append(q.entries, e)
		i = int32(len(q.entries) - 1)
	} else {
		q.free = q.entries[i].next + 1
		q.entries[i] = e
	}
	q.n++
	h, there := q.head[k]
	if there {
		q.entries[h.last].next = i
		q.head[k] = queueEnds{h.first, i}
		return
	}
	q.head[k] = queueEnds{i, i}
}

// peek returns the first entry of a key's queue, valid until the next add, or false.
func (q *queues) peek(k uint64) (e *entry, ok bool) {
	if q.n == 0 {
		return nil, false
	}
	h, ok := q.head[k]
	if !ok {
		return nil, false
	}
	return &q.entries[h.first], true
}

// take removes and returns the first entry of a key's queue; ok is false without one.
func (q *queues) take(k uint64) (e entry, ok bool) {
	if q.n == 0 {
		return e, false
	}
	h, ok := q.head[k]
	if !ok {
		return e, false
	}
	e = q.entries[h.first]
	q.entries[h.first] = entry{next: q.free - 1}
	q.free = h.first + 1
	if q.n--; h.first == h.last {
		delete(q.head, k)
	} else {
		q.head[k] = queueEnds{e.next, h.last}
	}
	return e, true
}

// takeFirst removes and returns the earliest of the entries for which fits is true.
func (q *queues) takeFirst(fits func(*entry) bool) (e entry, ok bool) {
	best := -1
	for i := range q.entries {
		if x := &q.entries[i]; x.used && (best < 0 || x.order < q.entries[best].order) && fits(x) {
			best = i
		}
	}
	if best < 0 {
		return e, false
	}
	return q.take(q.entries[best].key)
}
