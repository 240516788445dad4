package job

// A network of packets carries each message as its own flow, so a message may arrive before another that was sent
// earlier. On an ideal network without bound receivers a short message may do so by another NIC. As in MPI (4.1,
// section 3.5, "order"), messages with the same sender, receiver and tag are still received in the order in which they
// are sent. One that overtakes others waits until they have arrived.

// route identifies messages that keep their order: same sender, receiver and tag.
type route struct {
	from, to int32
	tag      uint32
}

// ordering numbers the messages that a rank sends on routes with several messages, and delays those that arrive too
// early.
type ordering struct {
	several map[route]struct{} // of the job
	sent    map[route]uint32   // number of messages of the rank so far
	arrived map[route]uint32   // number of delivered messages to the rank so far
	early   map[route][]Message
}

// newOrdering returns the ordering of a rank of a program. It returns nil if all messages differ in sender, receiver
// or tag, or the program is not a list.
func newOrdering(p Program) *ordering {
	l, is := p.(*Listed)
	if !is || len(l.several) == 0 {
		return nil
	}
	return &ordering{several: l.several, sent: map[route]uint32{}, arrived: map[route]uint32{},
		early: map[route][]Message{}}
}

// numberMessage sets the number of a message on its route when it is sent.
func (o *ordering) numberMessage(m *Message, to int32) {
	k := route{m.From, to, m.Tag}
	if _, counts := o.several[k]; counts {
		m.Number = o.sent[k]
		o.sent[k]++
	}
}

// deliverInOrder calls deliver for a message that arrives and for the messages that waited for it, in order. If the
// message itself must wait, deliverInOrder stores it.
func (o *ordering) deliverInOrder(m Message, to int32, deliver func(m Message)) {
	k := route{m.From, to, m.Tag}
	if _, counts := o.several[k]; !counts {
		deliver(m)
		return
	}
	if m.Number != o.arrived[k] {
		o.early[k] = append(o.early[k], m)
		return
	}
	for found := true; found; {
		o.arrived[k]++
		deliver(m)
		found = false
		for i, e := range o.early[k] {
			if e.Number == o.arrived[k] {
				m, found = e, true
				o.early[k] = append(o.early[k][:i], o.early[k][i+1:]...)
				break
			}
		}
	}
	if len(o.early[k]) == 0 {
		delete(o.early, k)
	}
}

// noteSeveral records the routes with several messages in a list of sends that is sorted by message.
func (l *Listed) noteSeveral(sends []side) {
	l.several = nil
	for i := 1; i < len(sends); i++ {
		if compareMessages(sends[i-1], sends[i]) != 0 {
			continue
		}
		if l.several == nil {
			l.several = map[route]struct{}{}
		}
		l.several[route{sends[i].src, sends[i].dst, sends[i].tag}] = struct{}{}
	}
}
