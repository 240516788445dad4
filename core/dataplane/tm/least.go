package tm

import "weir/core/packet"

// least serves queues in strict priority. When there is no room, the waiting packet of least value gives way.
type least struct{ strict }

// NewLeastValue returns the scheduler of a port for packets with ranks (Meta.User, from the switch's programs); rank 0
// has the greatest value. Queues are first in, first out, and served in strict priority. When a limit is reached, the
// packet with the highest rank in the arriving one's queue gives way, and of several the last one. If no rank is above
// its own, the arriving packet is dropped. The search takes as many steps as packets wait.
func NewLeastValue() Scheduler { return least{} }

// HasRanks reports whether the port's packets give way by their ranks.
func (p *Port) HasRanks() bool { return p.ranked }

// yieldRanked removes and returns the packet of highest rank (Meta.User) from l, which is queue q, for an arriving one;
// nil: the arriving one has the highest rank and must be dropped itself. Of equal ranks the last packet goes.
func (b *Buffer) yieldRanked(l *Queue, q QueueID, arrival *packet.Packet) *packet.Packet {
	var gone *packet.Packet
	rank := arrival.Meta.User + 1
	for p := l.head; p != nil; p = p.Next {
		if p.Meta.User >= rank {
			gone, rank = p, p.Meta.User
		}
	}
	switch gone {
	case nil:
		return nil
	case l.head:
		return b.popHead(l, q)
	case l.tail:
		return b.PopTail(q)
	}
	gone.Predecessor.Next, gone.Next.Predecessor = gone.Next, gone.Predecessor
	gone.Next = nil
	return b.countOut(l, q, gone)
}
