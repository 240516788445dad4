package fabric

import (
	"math/bits"

	"weir/core/unit"
)

// A node in a group of its own knows at the beginning of a window all that arrives in it. So its arrivals are merged
// once a window from their wires, each of which is in order, instead of one by one in a heap.

// The key of an arrival is (time − base) << wireBits | index in group.wires: unique, and in the order of time and link.
const (
	wireBits   = 16
	mostWires  = 1 << wireBits
	mostWindow = unit.Time(1) << (63 - wireBits)
)

// runAlone carries out the events before end of a group of one node.
func (f *Fabric) runAlone(g *group, end unit.Time) {
	m, base := g.alone, *g.nextAt
	node, wants := m.node, m.wants
	keys, next := f.gather(g, base, end)
	events := len(keys)
	for _, key := range keys {
		now := base + unit.Time(key>>wireBits)
		if g.due.next <= now || m.timer < now {
			events += f.before(g, now, now)
		}
		w := g.wires[key&(mostWires-1)]
		p := w.take()
		if f.delivers {
			f.deliver(now, w, p)
		}
		node.Receive(now, w.in, p)
		if !wants.None() || wants.Timer < m.timer {
			f.after(m, now)
		}
	}
	if g.due.next < end || m.timer < end {
		events += f.before(g, end-1, end)
	}
	f.events += uint64(events)
	f.hops += uint64(len(keys))
	*g.nextAt = min(next, g.due.next, m.timer)
}

// before carries out the port events up to ports and the timers before timers. It returns how many they were.
func (f *Fabric) before(g *group, ports, timers unit.Time) (events int) {
	m := g.alone
	for {
		now := g.due.next
		if m.timer < now {
			if now = m.timer; now >= timers {
				return events
			}
			m.timer = unit.Never
			m.node.Advance(now)
		} else {
			if now > ports || now == unit.Never {
				return events
			}
			pt := &f.ports[int32(g.due.take().Key&^uint64(kindMask))]
			if pt.armedAt != now {
				continue
			}
			if !f.portEvent(pt, now) {
				events++
				continue
			}
		}
		events++
		f.after(m, now)
	}
}

// gather returns the keys of the arrivals before end in order, and the time of the first arrival that is later.
func (f *Fabric) gather(g *group, base, end unit.Time) (keys []uint64, next unit.Time) {
	room := 0
	for _, w := range g.wires {
		room += int(w.count)
	}
	if len(f.keys[0]) < room {
		f.keys[0], f.keys[1] = make([]uint64, 2*room), make([]uint64, 2*room)
	}
	keys, next = f.keys[0], unit.Never
	runs, touched, n := f.runs[:0], int32(0), 0
	for k, w := range g.wires {
		mask, begins := uint32(len(w.ring)-1), n
		for h, left := w.head, w.count; left > 0; h, left = h+1, left-1 {
			fl := &w.ring[h&mask]
			if fl.at >= end {
				next = min(next, fl.at)
				break
			}
			keys[n] = uint64(fl.at-base)<<wireBits | uint64(k)
			n++
			// Read the headers of all packets that arrive in this window, so that their cache misses overlap;
			// otherwise each is a stall of its own.
			touched += w.touch(fl.p)
		}
		if n > begins {
			runs = append(runs, int32(begins))
		}
	}
	f.sink, f.runs = touched, runs
	return f.mergeRuns(keys[:n], runs), next
}

// mergeRuns merges the sorted runs of keys, which begin at the indices of runs, two by two.
func (f *Fabric) mergeRuns(keys []uint64, runs []int32) []uint64 {
	from, to := keys, f.keys[1][:len(keys)]
	for len(runs) > 1 {
		merged := 0
		for r := 0; r < len(runs); r += 2 {
			begin, end := runs[r], int32(len(from))
			if r+1 == len(runs) {
				copy(to[begin:], from[begin:])
			} else {
				middle := runs[r+1]
				if r+2 < len(runs) {
					end = runs[r+2]
				}
				merge(to[begin:end], from[begin:middle], from[middle:end])
			}
			runs[merged] = begin
			merged++
		}
		runs = runs[:merged]
		from, to = to, from
	}
	return from
}

// merge merges two sorted runs that have no key in common into to, whose length is theirs together. The loop has no
// branch on what is less, which nobody could predict.
func merge(to, a, b []uint64) {
	i, j, k := uint(0), uint(0), 0
	for i < uint(len(a)) && j < uint(len(b)) && k < len(to) {
		x, y := a[i], b[j]
		_, less := bits.Sub64(x, y, 0) // 1: x is first
		to[k] = min(x, y)
		k++
		i += uint(less)
		j += 1 - uint(less)
	}
	copy(to[k:], a[i:])
	copy(to[k+len(a)-int(i):], b[j:])
}
