package ncf

import (
	"weir/core/dataplane"
	"weir/core/packet"
)

// allowance limits the NACKs that a flow may cause by packets without room. This is Weir's addition: BS'19 §4.3 does
// not combine NACKs, since their overhead "is likely to be limited", and §5 has no new opportunity to overload the
// switch. Both hold only for senders that slow down.
//
// A flow's use of NACKs is bounded. It has no more in flight than the port sends in n·d, which exceeds its round trip,
// plus the memory's content. From then on a NACK makes it send one packet, so a flow that responds has few more NACKs
// than packets that get through. Each departing packet therefore gives its flow NackBudget NACKs, and one to all flows
// in turn, so that a flow without any is notified again. The NACKs of a switch are at most 1 + NackBudget times its
// departing packets, plus a flight for each slot, for any senders. Further losses are dropped without NACKs, and
// counted. Notices without a loss count as NACKs, too (TestNoticesSpend).
//
// Flows share slots by their hash, so the state is bounded. A user with many flows exhausts the slots of other flows,
// which are then treated as without NCF, but it gets no further NACKs by that.
type allowance struct {
	owed      []uint32 // outstanding NACKs, by slot
	totalOwed uint64   // sum of owed
	credit    uint32   // NACKs that a departing packet gives back
	turn      int
}

// allowanceSlots is the number of slots: at 10 Gb/s a flow that has used up its NACKs gets one every 1.2 ms.
const allowanceSlots = 1024

// minAllowance is a flight of TCP (RFC 6928: ten segments) with a margin. Slow ports allow at least this.
const minAllowance = 16

// newAllowance returns an empty allowance; nil, which has no limit, without a budget.
func newAllowance(budget int) *allowance {
	if budget == 0 {
		return nil
	}
	return &allowance{owed: make([]uint32, allowanceSlots), credit: uint32(budget)}
}

// findSlot returns the outstanding NACKs of a flow's slot.
func (a *allowance) findSlot(key uint64) *uint32 {
	return &a.owed[(key*0x9e3779b97f4a7c15)>>32%allowanceSlots]
}

// allows reports whether the flow may cause a NACK at a port that allows limit outstanding ones. A nil allowance has no
// limit.
func (a *allowance) allows(key uint64, limit uint32) bool {
	return a == nil || *a.findSlot(key) < limit
}

// spend records a NACK of a flow.
func (a *allowance) spend(key uint64) {
	if a != nil {
		*a.findSlot(key)++
		a.totalOwed++
	}
}

// earn gives back, after a packet of the flow has departed, up to credit NACKs to the flow's slot, and one to the next
// slot in turn. a must not be nil.
func (a *allowance) earn(key uint64) {
	a.reduceOwed(a.findSlot(key), a.credit)
	if a.turn++; a.turn == len(a.owed) {
		a.turn = 0
	}
	a.reduceOwed(&a.owed[a.turn], 1)
}

// reduceOwed gives back up to n NACKs of a slot.
func (a *allowance) reduceOwed(owed *uint32, n uint32) {
	n = min(n, *owed)
	*owed -= n
	a.totalOwed -= uint64(n)
}

// mayNotify reports whether the flow of p may cause another NACK at port Meta.Out. It changes no counts (see spend).
func (g *Program) mayNotify(env *dataplane.Env, p *packet.Packet) bool {
	return g.allowance.allows(g.key(p), g.maxOutstanding(env, g.portAt(p.Meta.Out)))
}

// creditDeparture gives back NACKs for a packet that was sent. It has no effect for packets without payload, or without
// a budget.
func (g *Program) creditDeparture(p *packet.Packet) {
	if a := g.allowance; a != nil && a.totalOwed > 0 && isData(p) {
		a.earn(g.key(p))
	}
}

// maxOutstanding returns the number of NACKs that a flow may cause at a port before any of its packets departs: the
// frames that the port sends in n·d, plus those that its memory holds, and at least minAllowance. It is computed once
// per port; later changes of the port's rate do not count.
func (g *Program) maxOutstanding(env *dataplane.Env, x *port) uint32 {
	if x.maxOutstanding > 0 {
		return x.maxOutstanding
	}
	frames := 0.
	if int(x.out) < env.Ports() {
		rate, span := env.Port(x.out).Rate(), x.history()
		frames = float64(float64(rate.Bits)/8/defaultFrame*span.Seconds()) + float64(float64(rate.Packets)*span.Seconds())
	}
	if x.memory != nil && x.ownMemory().packets {
		frames += float64(x.ownMemory().size)
	} else if x.memory != nil {
		frames += float64(x.ownMemory().size) / defaultFrame
	}
	x.maxOutstanding = uint32(min(max(frames, minAllowance), 1<<24))
	return x.maxOutstanding
}
