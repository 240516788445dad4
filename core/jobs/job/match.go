package job

import (
	"fmt"

	"weir/core/unit"
)

// Message is what a send is for the rank that receives it.
type Message struct {
	From int32 // rank
	Tag  uint32
	Size unit.Bytes
	Send Ref // of From
	// CPU and NIC are the send's.
	CPU, NIC uint8
	// Number counts the messages with the same sender, receiver and tag that were sent before, where several of a Listed
	// job keep their order (Rank.ordering).
	Number uint32
}

// before is the order of messages that arrive at one time.
func (m *Message) before(o *Message) bool {
	switch {
	case m.From != o.From:
		return m.From < o.From
	case m.Send.Lane != o.Send.Lane:
		return m.Send.Lane < o.Send.Lane
	}
	return m.Send.Op < o.Send.Op
}

// matcher joins the receives of a rank with the messages that come to it. Of several that fit a message takes the
// receive that was posted first, and a receive the message that came first.
type matcher struct {
	posted, came queues
	any          []post // receives of any rank or tag, in their order
	posts        int64  // so far
	messages     int64  // that waited
}

// Fault is an error if a receive of the rank took a message of another size, after which the run must end.
func (r *Rank) Fault() error { return r.fault }

// compareSizes sets the fault if a receive and its message differ in size. Check finds that before a run, except where
// it depends on the order of time which of several messages a receive takes.
func (r *Rank) compareSizes(at Ref, m *Message) {
	op := r.op(at)
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

// post is a receive that was posted.
type post struct {
	order int64
	at    Ref
	from  int32
	tag   uint32
}

// takes reports whether a receive takes a message.
func (p *post) takes(from int32, tag uint32) bool {
	return (p.from == AnyRank || p.from == from) && (p.tag == AnyTag || p.tag == tag)
}

// post posts a receive. If a message for it has come, it returns that message and the time until which the receiver has
// it in hand.
func (m *matcher) post(at Ref, from int32, tag uint32) (msg Message, until unit.Time, found bool) {
	p := post{m.posts, at, from, tag}
	m.posts++
	if from != AnyRank && tag != AnyTag {
		if i, ok := m.came.take(key(from, tag)); ok {
			return i.msg, i.until, true
		}
		m.posted.add(key(from, tag), entry{order: p.order, at: at})
		return Message{}, 0, false
	}
	if i, ok := m.came.first(func(e *entry) bool { return p.takes(e.msg.From, e.msg.Tag) }); ok {
		return i.msg, i.until, true
	}
	m.any = append(m.any, p)
	return Message{}, 0, false
}

// arrive finds the receive of a message that the receiver has in hand until a time. Without a receive the message
// waits.
func (m *matcher) arrive(msg Message, until unit.Time) (at Ref, found bool) {
	k := key(msg.From, msg.Tag)
	exact, is := m.posted.peek(k)
	for i := range m.any {
		if m.any[i].takes(msg.From, msg.Tag) {
			if is && exact.order < m.any[i].order {
				break
			}
			at = m.any[i].at
			m.any = append(m.any[:i], m.any[i+1:]...)
			return at, true
		}
	}
	if is {
		e, _ := m.posted.take(k)
		return e.at, true
	}
	m.messages++
	m.came.add(k, entry{order: m.messages, msg: msg, until: until})
	return Ref{}, false
}

// queues are first-in-first-out queues by rank and tag.
type queues struct {
	head    map[uint64]ends
	entries []entry
	free    int32 // 1 + first entry that is free
	n       int
}

// ends are the first and the last entry of a queue.
type ends struct{ first, last int32 }

// entry is a receive or a message that waits.
type entry struct {
	key   uint64
	order int64
	msg   Message
	until unit.Time // of a message
	at    Ref
	next  int32 // −1: none
	used  bool
}

func key(from int32, tag uint32) uint64 { return uint64(uint32(from))<<32 | uint64(tag) }

// add appends an entry to the queue of a key.
func (q *queues) add(k uint64, e entry) {
	if q.head == nil {
		q.head = map[uint64]ends{}
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
		q.head[k] = ends{h.first, i}
		return
	}
	q.head[k] = ends{i, i}
}

// peek returns the first entry of a key's queue.
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

// take takes it out.
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
		q.head[k] = ends{e.next, h.last}
	}
	return e, true
}

// first takes out the entry that came first of those that fit.
func (q *queues) first(fits func(*entry) bool) (e entry, ok bool) {
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
