package tm

import "weir/core/packet"

// least serves queues in strict priority; when there is no room, the least of the packets that wait gives way.
type least struct{ strict }

// NewLeast returns the scheduler of a port whose packets have ranks (Meta.User, from the switch's programs): 0 is
// worth the most. Queues are first in, first out, and served in strict priority. When a limit is reached, the
// packet of the arriving one's queue with the highest rank gives way, and of several the one that came last; if no
// rank is above its own, the arriving one is dropped. To find it takes as many steps as packets wait.
func NewLeast() Scheduler { return least{} }

// Ranks reports whether the port's packets give way by their ranks.
func (p *Port) Ranks() bool { return p.ranked }

// yield removes the packet of highest rank for an arriving one; nil: it is that itself.
func (b *Buffer) yield(l *Queue, q QueueID, arriving *packet.Packet) *packet.Packet {
	var gone *packet.Packet
	rank := arriving.Meta.User + 1
	for p := l.head; p != nil; p = p.Next {
		if p.Meta.User >= rank {
			gone, rank = p, p.Meta.User
		}
	}
	switch gone {
	case nil:
		return nil
	case l.head:
		return b.pop(l, q)
	case l.tail:
		return b.PopTail(q)
	}
	gone.Before.Next, gone.Next.Before = gone.Next, gone.Before
	gone.Next = nil
	return b.removed(l, q, gone)
}
