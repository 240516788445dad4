package observe

import (
	"weir/core/dataplane/tm"
	"weir/core/outcome"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// IsNotice reports whether p is a switch's notice to a sender.
func IsNotice(p *packet.Packet) bool {
	return p.Meta.Flags&packet.Internal != 0 && (p.Kind == packet.Nack || p.Kind == packet.Notice)
}

// NewLinks returns the observer of the fabric's links, which counts into tally and lost as the selection asks, and
// passes events on to o. It returns nil if the selection needs no counter of links, and o is nil. port returns the
// sending port of link i.
func NewLinks(s *outcome.Selection, o trace.Observer, tally *outcome.FrameTally, lost *uint64,
	port func(i int) *tm.Port) trace.Observer {
	if !s.Tally && !s.Notices && o == nil {
		return nil
	}
	l := &links{Trace: o, Port: port}
	if s.Tally {
		l.Tally = tally
	}
	if s.Notices {
		l.Lost = lost
	}
	return l
}

// links observes links (fabric.Config.Observer): it counts the composition of frames and lost notices, and
// adds to the events of a trace the queue at the sending port.
type links struct {
	Tally *outcome.FrameTally // nil: not counted
	Lost  *uint64             // notices that links lose; nil: not counted
	Trace trace.Observer      // nil: no trace
	Port  func(i int) *tm.Port
}

// Observe handles an event; its port is the number of the link. It counts the event, and passes it on with the length
// of the port's queue, except for arrivals.
func (l *links) Observe(e trace.Event, p *packet.Packet) {
	if l.Tally != nil && e.Kind == trace.Transmit {
		l.Tally.CountFrame(p)
	}
	if l.Lost != nil && e.Kind == trace.Lost && IsNotice(p) {
		*l.Lost++
	}
	if l.Trace == nil {
		return
	}
	if e.Kind != trace.Arrive { // the node of an arrival may be ahead of the port's
		port := l.Port(int(e.Port))
		e.QueuePackets, e.QueueBytes = port.Packets(), port.Bytes()
	}
	l.Trace.Observe(e, p)
}

// OrderTracker is the state for detecting reordering in a flow.
type OrderTracker struct {
	outcome.Reordering
	arrivals int64
	latest   []record // ring of the last outcome.MaxExtent arrivals that were sent later than all before them
	next     int      // index of the oldest in a full ring
}

// record is an arrival: its number, from 0, and the time at which it was sent.
type record struct {
	number int64
	sent   unit.Time
}

// AddArrival records a packet's arrival, with the time at which it was sent. Calls are in the order of arrival. The
// counters include the packet only if measured, but later packets are compared with all.
func (r *OrderTracker) AddArrival(sent unit.Time, measured bool) {
	number := r.arrivals
	r.arrivals++
	if measured {
		r.Arrived++
	}
	n := len(r.latest)
	if n == 0 || sent >= r.latest[(r.next+n-1)%n].sent {
		if n < outcome.MaxExtent {
			r.latest = append(r.latest, record{number, sent})
		} else {
			r.latest[r.next] = record{number, sent}
			r.next = (r.next + 1) % n
		}
		return
	}
	if !measured {
		return
	}
	r.Reordered++
	low, high := 0, n-1 // the first one sent later is in [low, high]
	for low < high {
		if k := (low + high) / 2; r.latest[(r.next+k)%n].sent > sent {
			high = k
		} else {
			low = k + 1
		}
	}
	r.Extent = max(r.Extent, min(number-r.latest[(r.next+low)%n].number, outcome.MaxExtent))
}
