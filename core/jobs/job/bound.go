package job

import (
	"slices"

	"weir/core/unit"
)

// CountTurns makes a rank follow the order of LogGOPSim. All ranks of a run share the counter of turns, and one thread
// runs them with Step, so the order is a function of the program. A turn is what LogGOPSim calls ts: each message gets
// one when it is sent, and what becomes ready at one time gets one for all, in which sends come before receives and
// these before computing (LogGOPSim.cpp:224, :235, :323, :522, :534).
func (r *Rank) CountTurns(counter *int64) { r.turns = counter }

// nextTurn returns the next turn; 0 without a counter.
func (r *Rank) nextTurn() int64 {
	if r.turns == nil {
		return 0
	}
	*r.turns++
	return *r.turns
}

// sortReady sorts the operations that are ready by their kinds. It is stable, as LogGOPSim's is with up to 16 of them.
func (r *Rank) sortReady() {
	slices.SortStableFunc(r.ready, func(a, b Ref) int {
		first := priorities[r.op(a).Kind] // r.op returns a pointer into a cache
		return first - priorities[r.op(b).Kind]
	})
}

// postingTime returns when an operation that becomes ready at a time is tried: of LogGOPSim a receive, too, is posted
// when its processor is free (LogGOPSim.cpp:547).
func (r *Rank) postingTime(at unit.Time, ref Ref) unit.Time {
	if op := r.op(ref); op.Kind == Recv {
		return max(at, r.stream(cpus, op.CPU).free)
	}
	return at
}

// priorities are the places of kinds in sortReady.
var priorities = [...]int{Send: 0, Recv: 1, Calc: 2, Wait: 3}

// Step handles the first thing that is due, of which there must be one. Ranks that count turns need it in place of
// Advance: what comes next may be another rank's.
func (r *Rank) Step() {
	e := r.events.pop()
	r.handle(&e)
}

// Before reports whether the next Step of a rank comes before the one of another rank. A rank without events is last.
func (r *Rank) Before(other *Rank) bool {
	if r.Next() == unit.Never || other.Next() == unit.Never {
		return r.Next() < other.Next()
	}
	a, b := &r.events[0], &other.events[0]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case (a.kind >= tries) != (b.kind >= tries):
		return b.kind >= tries
	case a.kind >= tries && a.turn != b.turn:
		return a.turn < b.turn
	}
	return r.Number < other.Number
}

// take begins to receive a message, whether or not a receive is posted, or makes it wait for the receiver's processor
// and NIC. It holds them for o + max((s−1)·O, (s−1)·G) and g + (s−1)·G (LogGOPSim.cpp:417-428). The numbers of both are
// the send's, as there.
func (r *Rank) take(e *event) {
	now, m := e.at, &e.msg
	kind, i := takers, m.NIC
	if r.turns != nil {
		kind, i = cpus, m.CPU
	}
	cpu, nic := r.stream(kind, i), r.stream(ins, m.NIC)
	switch {
	case nic.free > now && nic.free >= cpu.free:
		r.wait(*e, ins, m.NIC)
	case cpu.free > now:
		r.wait(*e, kind, i)
	default:
		c := r.costs
		cpu.free = now + c.Overhead + max(bytes(m.Size, c.PerByte), c.Wire(m.Size))
		nic.free = now + c.Gap + c.Wire(m.Size)
		if at, found := r.match.arrive(*m, cpu.free); found {
			r.compareSizes(at, m)
			r.receive(now, cpu.free, at, m)
		}
	}
	r.arm(kind, i, now)
	r.arm(ins, m.NIC, now)
}

// receive ends a posted receive at the time until, by which its message is received, and reports to the sender. In
// LogGOPSim the send ends at once (LogGOPSim.cpp:370, :447-463), and of the two hosts the one with the lower number has
// the earlier turn (:510-512).
func (r *Rank) receive(now, until unit.Time, at Ref, m *Message) {
	over := until
	if r.turns != nil {
		over = now
	}
	senderFirst := int(m.From) < r.Number
	if senderFirst {
		r.network.Received(over, int32(r.Number), *m)
	}
	r.events.push(event{at: until, kind: endsNow, ref: at, since: now, turn: r.nextTurn()})
	if !senderFirst {
		r.network.Received(over, int32(r.Number), *m)
	}
}
