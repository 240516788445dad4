package p4abc

import (
	"fmt"

	"weir/core/dataplane"
	"weir/core/dataplane/users"
	"weir/core/packet"
	"weir/core/unit"
)

// Adopt continues the measurements of other, the old program of the same switch and book: the meters of aggregates that
// both have, of single users and of the common aggregate, with their counters and current rates, the averages of
// accepted packets and the registers. A meter with a changed memory continues at its rate. lost lists what has no
// successor here; a new aggregate counts as silent until now. If other is another program, kept is empty.
func (a *Program) Adopt(now unit.Time, other dataplane.Program) (kept string, lost []string) {
	old, ok := other.(*Program)
	if !ok {
		return "", nil
	}
	one := func(to, from *activityMeter) {
		m := from.Meter
		switch rate := old.rateAt(now, from); {
		case a.integers != nil || old.integers != nil:
			to.Meter, to.integer = a.continueMeter(now, rate, m.start)
		case old.config.Memory != a.config.Memory:
			m.bits, m.last = rate*m.weight(now, a.config.Memory), max(now, m.last)
			fallthrough
		default:
			to.Meter = m
		}
		to.flows.adoptFrom(now, from.flows, old.config.Memory)
		to.counts = from.counts
	}
	meter := func(to, from int32) {
		for d := range directions {
			one(a.meterAt(to, d), old.meterAt(from, d))
		}
	}
	was, is := users.IndexSets(old.config.Aggregates), users.IndexSets(a.config.Aggregates)
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
	case a.commonAggregate >= 0 && old.commonAggregate >= 0:
		meter(a.commonAggregate, old.commonAggregate)
	case a.commonAggregate >= 0:
		lost = append(lost, "the activities of sources without an aggregate")
	case old.commonAggregate >= 0:
		lost = append(lost, "the activity of all sources without an aggregate")
	default:
		for src, from := range old.ownAggregate {
			if from >= 0 && src < len(a.ownAggregate) {
				a.ownAggregate[src] = a.addAggregate(a.config.Reference)
				meter(a.ownAggregate[src], from)
			}
		}
	}
	for i := range min(len(a.aqms), len(old.aqms)) {
		a.adoptAverage(packet.PortID(i), old)
		a.aqms[i].room.adoptFrom(now, &old.aqms[i].room)
		if a.inBytes == old.inBytes {
			a.aqms[i].register = old.aqms[i].register
		}
		one(&a.unmarked[i], &old.unmarked[i])
	}
	return "its meters", lost
}

// EvictAddress resets the user with an address, which has no aggregate, because its number is reassigned to another
// address.
func (a *Program) EvictAddress(user packet.Addr) { a.forgetAddress(user) }
