package job

// A network of packets carries each message as a flow of its own, so one may arrive before another that was sent first.
// On an ideal network without bound receivers a short message may do so by another NIC. As in MPI (4.1, section 3.5,
// "order"), messages with the same sender, receiver and tag are received in the order in which they are sent all the
// same: one that overtakes others waits until they have arrived.

// route is what messages that keep their order have in common.
type route struct {
	from, to int32
	tag      uint32
}

// ordering numbers the messages that a rank sends on routes with several messages, and holds back those that arrive too
// early.
type ordering struct {
	several map[route]struct{} // of the job
	sent    map[route]uint32   // messages of the rank so far
	arrived map[route]uint32   // messages to the rank so far, without those that wait
	early   map[route][]Message
}

// newOrdering returns the ordering of a rank of a program; nil if no two messages of it have the same sender, receiver
// and tag, or the program is not a list.
func newOrdering(p Program) *ordering {
	l, is := p.(*Listed)
	if !is || len(l.several) == 0 {
		return nil
	}
	return &ordering{several: l.several, sent: map[route]uint32{}, arrived: map[route]uint32{},
		early: map[route][]Message{}}
}

// number gives a message that is sent its number on its route.
func (o *ordering) number(m *Message, to int32) {
	k := route{m.From, to, m.Tag}
	if _, counts := o.several[k]; counts {
		m.Number = o.sent[k]
		o.sent[k]++
	}
}

// arrive calls deliver for a message that arrives and for those that waited for it, in their order, or has it wait.
func (o *ordering) arrive(m Message, to int32, deliver func(m Message)) {
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

// noteSeveral notes the routes of several messages in a list of sends that is sorted by message.
func (l *Listed) noteSeveral(sends []side) {
	l.several = nil
	for i := 1; i < len(sends); i++ {
		if message(sends[i-1], sends[i]) != 0 {
			continue
		}
		if l.several == nil {
			l.several = map[route]struct{}{}
		}
		l.several[route{sends[i].src, sends[i].dst, sends[i].tag}] = struct{}{}
	}
}
