package p4abc

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// Adopt takes over the measurements of other, the old program: the meters of aggregates that both have, of
// single users and of the common aggregate, with what they have counted and their current rates (a meter whose
// memory changes continues from there), the averages of accepted packets and the registers. Both must be of one
// switch with one book. lost lists what has no successor here; a new aggregate is a user who was silent until now.
func (a *Program) Adopt(now unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*Program)
	if !ok {
		return "", nil
	}
	one := func(to, from *activityMeter) {
		m := from.Meter
		switch rate := old.rate(now, from); {
		case a.whole != nil || old.whole != nil:
			to.Meter, to.whole = a.meterOf(now, rate, m.start)
		case old.config.Memory != a.config.Memory:
			m.bits, m.last = rate*m.weight(now, a.config.Memory), max(now, m.last)
			fallthrough
		default:
			to.Meter = m
		}
		to.flows.adopt(now, from.flows, old.config.Memory)
		to.counts = from.counts
	}
	meter := func(to, from int32) {
		for d := range directions {
			one(a.meter(to, d), old.meter(from, d))
		}
	}
	was, is := users.Places(old.config.Aggregates), users.Places(a.config.Aggregates)
	for i, g := range a.config.Aggregates {
		if k, there := was[g.Key]; there {
			meter(int32(i), k)
		}
	}
	for _, h := range old.config.Aggregates {
		if _, there := is[h.Key]; !there {
			lost = append(lost, fmt.Sprintf("the activity of %v", h.Key))
		}
	}
	switch {
	case a.common >= 0 && old.common >= 0:
		meter(a.common, old.common)
	case a.common >= 0:
		lost = append(lost, "the activities of sources without an aggregate")
	case old.common >= 0:
		lost = append(lost, "the activity of all sources without an aggregate")
	default:
		for src, from := range old.own {
			if from >= 0 && src < len(a.own) {
				a.own[src] = a.add(a.config.Reference)
				meter(a.own[src], from)
			}
		}
	}
	for i := range min(len(a.aqms), len(old.aqms)) {
		a.adoptAverage(packet.PortID(i), old)
		a.aqms[i].room.adopt(now, &old.aqms[i].room)
		if a.inBytes == old.inBytes {
			a.aqms[i].register = old.aqms[i].register
		}
		one(&a.unmarked[i], &old.unmarked[i])
	}
	return "its meters", lost
}

// EvictAddress resets the user with an address, which has no aggregate, because its number is reassigned to another
// address.
func (a *Program) EvictAddress(user packet.Addr) { a.forget(user) }
