package fabric

import (
	"slices"

	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// Normalize brings pending events into the form that they have when scheduled in order, and removes moved ones. Two
// moments with the same pending events then have the same memory. The network must have run everything before now, and
// no frame may be on a link. Only the number of counted events changes, because an event that was moved forward counts
// as one.
func (f *Fabric) Normalize() {
	f.takeIn()
	for i := range f.members {
		m := &f.members[i]
		m.wants = m.node.Wants()
		m.timer = m.wants.Timer
	}
	timers := map[*group][]timerheap.Entry{}
	for i := range f.members {
		if m := &f.members[i]; m.group.single == nil && m.timer < unit.Never {
			timers[m.group] = append(timers[m.group], timerheap.Entry{At: m.timer, Key: uint64(timer) | uint64(m.n)})
		}
	}
	for i := range f.groups {
		g := &f.groups[i]
		if g.single != nil {
			f.normalizeSingle(g)
		} else {
			f.normalizeGroup(g, timers[g])
		}
		*g.nextAt = g.nextEvent()
	}
}

// normalizeSingle normalizes a group of one node: it keeps its valid port events in order.
func (f *Fabric) normalizeSingle(g *group) {
	var kept []timerheap.Entry
	for g.due.next < unit.Never {
		if e := g.due.take(); f.isPending(e) {
			kept = append(kept, e)
		}
	}
	g.due = schedule{next: unit.Never, events: g.due.events[:0]}
	for _, e := range kept {
		g.due.push(e)
	}
}

// normalizeGroup normalizes a group of several nodes: it makes a new heap of their valid port events and of entries,
// their timers.
func (f *Fabric) normalizeGroup(g *group, entries []timerheap.Entry) {
	for g.heap.FirstTime() < unit.Never {
		if e := g.heap.Take(); kind(e.Key)&kindMask != timer && f.isPending(e) {
			entries = append(entries, e)
		}
	}
	slices.SortFunc(entries, func(a, b timerheap.Entry) int {
		if a.IsBefore(b) {
			return -1
		}
		return 1
	})
	g.heap = timerheap.Heap{}
	for _, e := range entries {
		g.heap.Push(e)
	}
}

// isPending reports whether e, which is no timer, is a port's event and still valid. It is false for arrivals.
func (f *Fabric) isPending(e timerheap.Entry) bool {
	return kind(e.Key)&kindMask != arrival && f.ports[int32(e.Key&^uint64(kindMask))].armedAt == e.At
}
