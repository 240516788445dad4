package fabric

import (
	"slices"

	"weir/core/fabric/timerheap"
	"weir/core/unit"
)

// Normalize brings what is pending into the form that it has when it comes in order, and forgets dates that were moved:
// so two moments at which the same is pending are alike in memory. All that is before now must have been carried out,
// and no frame be on a link. It changes nothing but how many events are counted, as a date that was moved forward is
// one.
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
		*g.nextAt = g.next()
	}
}

// normalizeSingle does so for a group of one node.
func (f *Fabric) normalizeSingle(g *group) {
	var kept []timerheap.Entry
	for g.due.next < unit.Never {
		if e := g.due.take(); f.pending(e) {
			kept = append(kept, e)
		}
	}
	g.due = schedule{next: unit.Never, events: g.due.events[:0]}
	for _, e := range kept {
		g.due.push(e)
	}
}

// normalizeGroup does so for a group of several, whose timers these are.
func (f *Fabric) normalizeGroup(g *group, kept []timerheap.Entry) {
	for g.heap.First() < unit.Never {
		if e := g.heap.Take(); kind(e.Key)&kindMask != timer && f.pending(e) {
			kept = append(kept, e)
		}
	}
	slices.SortFunc(kept, func(a, b timerheap.Entry) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	g.heap = timerheap.Heap{}
	for _, e := range kept {
		g.heap.Push(e)
	}
}

// pending reports whether the event of a port still stands.
func (f *Fabric) pending(e timerheap.Entry) bool {
	return kind(e.Key)&kindMask != arrival && f.ports[int32(e.Key&^uint64(kindMask))].armedAt == e.At
}
