package job

import (
	"slices"

	"weir/core/unit"
)

// CountTurns makes a rank follow the order of LogGOPSim. All ranks of a run share the counter of turns, and one thread
// runs them with HandleFirst, so the order depends only on the program. A turn is LogGOPSim's ts. Each message gets one
// when it is sent. Operations that become ready at the same time share one; among them sends come before receives and
// receives before computing (LogGOPSim.cpp:224, :235, :323, :522, :534).
func (r *Rank) CountTurns(counter *int64) { r.turns = counter }

// nextTurn advances the run's counter of turns and returns it; 0 without a counter (CountTurns).
func (r *Rank) nextTurn() int64 {
	if r.turns == nil {
		return 0
	}
	*r.turns++
	return *r.turns
}

// sortReady sorts the ready operations by kind. It is stable, as LogGOPSim's sort is for up to 16 operations.
func (r *Rank) sortReady() {
	slices.SortStableFunc(r.ready, func(a, b Ref) int {
		first := priorities[r.cachedOp(a).Kind] // cachedOp returns a pointer into a cache
		return first - priorities[r.cachedOp(b).Kind]
	})
}

// postingTime returns the time at which an operation that becomes ready at a time is tried. In LogGOPSim a receive,
// too, is posted only when its processor is free (LogGOPSim.cpp:547).
func (r *Rank) postingTime(at unit.Time, ref Ref) unit.Time {
	if op := r.cachedOp(ref); op.Kind == Recv {
		return max(at, r.streamAt(cpus, op.CPU).free)
	}
	return at
}

// priorities are the ranks of kinds in sortReady.
var priorities = [...]int{Send: 0, Recv: 1, Calc: 2, Wait: 3}

// HandleFirst handles the first due event, which must exist. Ranks that count turns use it in place of Advance, because
// the next event may belong to another rank.
func (r *Rank) HandleFirst() {
	e := r.events.pop()
	r.handleEvent(&e)
}

// RunsBefore reports whether the next event of a rank comes before the one of another rank. A rank without events is
// last.
func (r *Rank) RunsBefore(other *Rank) bool {
	if r.NextTime() == unit.Never || other.NextTime() == unit.Never {
		return r.NextTime() < other.NextTime()
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

// takeBound begins to receive a message, with or without a posted receive, or queues it for the receiver's processor
// and NIC. It occupies them for o + max((s−1)·O, (s−1)·G) and g + (s−1)·G (LogGOPSim.cpp:417-428). As in LogGOPSim,
// both have the numbers of the send's processor and NIC.
func (r *Rank) takeBound(e *event) {
	now, m := e.at, &e.msg
	kind, i := takers, m.NIC
	if r.turns != nil {
		kind, i = cpus, m.CPU
	}
	cpu, nic := r.streamAt(kind, i), r.streamAt(ins, m.NIC)
	switch {
	case nic.free > now && nic.free >= cpu.free:
		r.queueFor(*e, ins, m.NIC)
	case cpu.free > now:
		r.queueFor(*e, kind, i)
	default:
		c := r.costs
		cpu.free = now + c.Overhead + max(byteTime(m.Size, c.PerByte), c.WireTime(m.Size))
		nic.free = now + c.Gap + c.WireTime(m.Size)
		if at, found := r.match.matchMessage(*m, cpu.free); found {
			r.compareSizes(at, m)
			r.endReceive(now, cpu.free, at, m)
		}
	}
	r.armStream(kind, i, now)
	r.armStream(ins, m.NIC, now)
}

// endReceive ends a posted receive at the time until, by which its message is received, and notifies the sender. In
// LogGOPSim the send ends at once (LogGOPSim.cpp:370, :447-463), and the host with the lower number has the earlier
// turn (:510-512).
func (r *Rank) endReceive(now, until unit.Time, at Ref, m *Message) {
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
