package fabric

import "weir/core/unit"

// A node in a group of its own knows at the beginning of a window all arrivals in it. So they are sorted once per
// window, instead of one by one in a heap.

// The key of an arrival is (time − base) << wireBits | index in group.wires: unique, and in the order of time and
// link.
const (
	wireBits  = 16
	maxWires  = 1 << wireBits
	maxWindow = unit.Time(1) << (63 - wireBits)
)

// runSingle runs the events before end of a group of one node. Port events precede arrivals of the same time, and
// timers follow them.
func (f *Fabric) runSingle(g *group, end unit.Time) {
	m, x, base := g.single, g.part, *g.nextAt
	node, wants := m.node, m.wants
	keys, next := x.gatherArrivals(g, base, end)
	events := len(keys)
	for _, key := range keys {
		now := base + unit.Time(key>>wireBits)
		if g.due.next <= now || m.timer < now {
			events += f.runEarlier(g, now, now)
		}
		w := g.wires[key&(maxWires-1)]
		p := w.take()
		if f.delivers {
			f.deliverFrame(now, w, p)
		}
		node.Receive(now, w.in, p)
		if out, p := wants.TakeCutThrough(); p != nil {
			f.sendFrame(m, m.ports[out], p, unit.Never, now)
		}
		if !wants.IsEmpty() || wants.Timer < m.timer {
			f.serveWants(m, now)
		}
	}
	if g.due.next < end || m.timer < end {
		events += f.runEarlier(g, end-1, end)
	}
	x.events += uint64(events)
	x.hops += uint64(len(keys))
	*g.nextAt = min(next, g.due.next, m.timer)
}

// runEarlier runs the port events up to portLimit, inclusive, and the timers before timerLimit. It returns their
// number.
func (f *Fabric) runEarlier(g *group, portLimit, timerLimit unit.Time) (events int) {
	m := g.single
	for {
		now := g.due.next
		if m.timer < now {
			if now = m.timer; now >= timerLimit {
				return events
			}
			m.timer = unit.Never
			m.node.Advance(now)
		} else {
			if now > portLimit || now == unit.Never {
				return events
			}
			pt := &f.ports[int32(g.due.take().Key&^uint64(kindMask))]
			if pt.armedAt != now {
				continue
			}
			if !f.portEvent(m, pt, now) {
				events++
				continue
			}
		}
		events++
		f.serveWants(m, now)
	}
}

// gatherArrivals returns the keys of the arrivals before end in order, and the time of the first later arrival. It
// takes no frame from the wires. The keys are relative to base and valid until the next call.
func (x *part) gatherArrivals(g *group, base, end unit.Time) (keys []uint64, next unit.Time) {
	room := 0
	for _, w := range g.wires {
		room += int(w.count)
	}
	keys, next = x.sorter.reserveKeys(room), unit.Never
	busy, last, touched, n := 0, uint64(0), int32(0), 0
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
			touched += w.touchPacket(fl.p)
		}
		if n > begins {
			busy++
			last = max(last, keys[n-1])
		}
	}
	x.sink = touched
	if keys = keys[:n]; busy > 1 { // arrivals of one wire are already in order
		keys = x.sorter.sortKeys(keys, last)
	}
	return keys, next
}
