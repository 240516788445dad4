package ncf

import (
	"weir/core/dataplane"
	"weir/core/packet"
)

// An allowance is how many NACKs a flow may cause for packets that find no room (ours; BS'19 §4.3 does not combine
// them, since their overhead "is likely to be limited", and §5 has no new opportunity to overload the switch). Both
// hold for senders that slow down only. What a flow can make use of is bounded: it has no more in flight than the port
// sends in n·d, which exceeds its round trip, and the memory holds; from then on, a NACK makes it send one packet, so
// who heeds them has few more NACKs than packets that get through. So each packet that leaves gives its flow
// one NACK (Config.NackBudget), and one to flows in turn, for one that has used up all of them to hear again.
// NACKs of a switch are therefore at most twice the packets that it sends (1 + NackBudget times), and a flight for each
// slot, whatever
// senders do; what is beyond that is dropped in silence, and counted. Notices of which nothing is lost are NACKs like
// others (TestNoticesSpend).
//
// Flows share slots by their hash, so the state is bounded, too: who has many flows uses up the slots of others, who
// are then as without NCF, but has no more NACKs than that.
type allowance struct {
	owed  []uint32 // NACKs by slot, beyond those that packets have given back
	all   uint64   // the sum
	gives uint32   // of a packet that leaves
	turn  int
}

// allowances is the number of slots: at 10 Gb/s a flow that has used up its NACKs gets one every 1.2 ms.
const allowances = 1024

// leastAllowance is a flight of TCP with room to spare (RFC 6928: ten segments), at ports that are slower than that.
const leastAllowance = 16

func newAllowance(budget int) *allowance {
	if budget == 0 {
		return nil
	}
	return &allowance{owed: make([]uint32, allowances), gives: uint32(budget)}
}

func (a *allowance) slot(key uint64) *uint32 { return &a.owed[(key*0x9e3779b97f4a7c15)>>32%allowances] }

// has reports whether the flow may cause a NACK at a port with this allowance.
func (a *allowance) has(key uint64, most uint32) bool { return a == nil || *a.slot(key) < most }

// spend takes one.
func (a *allowance) spend(key uint64) {
	if a != nil {
		*a.slot(key)++
		a.all++
	}
}

// earn gives back what a packet of the flow that leaves is worth.
func (a *allowance) earn(key uint64) {
	a.give(a.slot(key), a.gives)
	if a.turn++; a.turn == len(a.owed) {
		a.turn = 0
	}
	a.give(&a.owed[a.turn], 1)
}

func (a *allowance) give(owed *uint32, n uint32) {
	n = min(n, *owed)
	*owed -= n
	a.all -= uint64(n)
}

// mayNotify reports whether the flow of p has a NACK left.
func (g *Program) mayNotify(env *dataplane.Env, p *packet.Packet) bool {
	return g.allowance.has(g.key(p), g.allowed(env, g.at(p.Meta.Out)))
}

// left notes that p has left its queue: it was sent.
func (g *Program) left(p *packet.Packet) {
	if a := g.allowance; a != nil && a.all > 0 && carries(p) {
		a.earn(g.key(p))
	}
}

// allowed is how many NACKs a flow may cause at a port before any of its packets leaves: what the port sends in n·d,
// and what the memory holds.
func (g *Program) allowed(env *dataplane.Env, x *port) uint32 {
	if x.allowed > 0 {
		return x.allowed
	}
	frames := 0.
	if int(x.out) < env.Ports() {
		rate, span := env.Port(x.out).Rate(), x.history()
		frames = float64(float64(rate.Bits)/8/defaultFrame*span.Seconds()) + float64(float64(rate.Packets)*span.Seconds())
	}
	if x.memory != nil && x.own().packets {
		frames += float64(x.own().size)
	} else if x.memory != nil {
		frames += float64(x.own().size) / defaultFrame
	}
	x.allowed = uint32(min(max(frames, leastAllowance), 1<<24))
	return x.allowed
}
