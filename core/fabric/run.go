package fabric

import (
	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Run carries out every event before until. It returns early, at the end of a window or of a part of it, when stop
// returns true (stop may be nil); the argument of stop is the time before which everything has happened. Another
// call continues.
func (f *Fabric) Run(until unit.Time, stop func(done unit.Time) bool) {
	for {
		start := unit.Never
		for _, t := range f.nextAt {
			start = min(start, t)
		}
		if start >= until {
			return
		}
		end := until
		if f.stride < until-start {
			end = start + f.stride
		}
		for i, t := range f.nextAt {
			if t >= end {
				continue
			}
			if g := &f.groups[i]; g.alone != nil {
				f.runAlone(g, end)
			} else {
				f.runGroup(g, end)
			}
		}
		if stop != nil && stop(end) {
			return
		}
	}
}

// runGroup carries out the events of a group of several nodes before end.
func (f *Fabric) runGroup(g *group, end unit.Time) {
	// Read the headers of all packets that arrive in this window, so that their cache misses overlap;
	// otherwise each is a stall of its own.
	touched := int32(0)
	for _, w := range g.wires {
		mask := uint32(len(w.ring) - 1)
		for k := range w.count {
			fl := &w.ring[(w.head+k)&mask]
			if fl.at >= end {
				break
			}
			touched += w.touch(fl.p)
		}
	}
	f.sink = touched
	events, hops := uint64(0), uint64(0)
	for g.heap.First() < end {
		e := g.heap.Take()
		events++
		i := int32(e.Key &^ uint64(kindMask))
		var m *member
		switch kind(e.Key) & kindMask {
		case arrival:
			w := &f.wires[i]
			p := w.take()
			if w.count > 0 {
				g.heap.Push(timerheap.Entry{At: w.first().at, Key: e.Key})
			}
			m = w.to
			hops++
			if f.delivers {
				f.deliver(e.At, w, p)
			}
			m.node.Receive(e.At, w.in, p)
		case timer:
			m = &f.members[i]
			if m.timer != e.At {
				events-- // an older, later date that was moved forward
				continue
			}
			m.timer = unit.Never
			m.node.Advance(e.At)
		default:
			pt := &f.ports[i]
			if pt.armedAt != e.At {
				events--
				continue
			}
			m = pt.from
			if !f.portEvent(pt, e.At) {
				continue
			}
		}
		f.after(m, e.At)
	}
	f.events += events
	f.hops += hops
	*g.nextAt = g.heap.First()
}

// portEvent carries out the pending event of a port. It returns false if that was a wake for which another frame was
// faster.
func (f *Fabric) portEvent(pt *port, now unit.Time) bool {
	pt.armedAt = unit.Never
	if pt.freeAt > now {
		f.arm(pt, pt.freeAt, portFree)
		return false
	}
	f.transmit(pt, now)
	return true
}

// after does whatever a call into a node may have made necessary.
func (f *Fabric) after(m *member, now unit.Time) {
	w := m.wants
	for !w.None() {
		out, ok := w.Woken()
		if !ok {
			break
		}
		if int(out) >= len(m.ports) {
			continue // a port without a link keeps what it has
		}
		pt := m.ports[out]
		if pt == nil {
			continue
		}
		if pt.freeAt <= now {
			f.transmit(pt, now)
		} else {
			f.arm(pt, pt.freeAt, portFree)
		}
	}
	if w.Timer < m.timer {
		m.timer = max(w.Timer, now)
		if m.group.alone == nil {
			m.group.heap.Push(timerheap.Entry{At: m.timer, Key: uint64(timer) | uint64(m.n)})
		}
	}
}

// arm schedules the port's next event unless an earlier one is pending.
func (f *Fabric) arm(pt *port, at unit.Time, k kind) {
	if at >= pt.armedAt {
		return
	}
	pt.armedAt = at
	e := timerheap.Entry{At: at, Key: uint64(k) | uint64(pt.link)}
	if g := pt.from.group; g.alone != nil {
		g.due.push(e)
	} else {
		g.heap.Push(e)
	}
}

// transmit asks the port for its next frame and puts it on the wire.
func (f *Fabric) transmit(pt *port, now unit.Time) {
	p, again := pt.from.node.Dequeue(now, pt.out)
	if p == nil {
		if again != unit.Never {
			f.arm(pt, max(again, now+1), nicWake)
		}
		return
	}
	end := now + pt.ser.Next(p.Size, pt.freeAt == now)
	pt.freeAt = end
	if again <= end {
		f.arm(pt, end, portFree)
	} else if again != unit.Never {
		f.arm(pt, again, nicWake)
	}
	at := end + pt.delay
	w := pt.wire
	w.sent++
	if pt.special {
		if at = f.impair(pt, p, now, at); at == unit.Never {
			return
		}
	}
	if at <= w.last { // only jitter, or frames shorter than 1 ps, can do this
		at = w.last + 1
	}
	w.last = at
	if w.count == uint32(len(w.ring)) {
		w.grow()
	}
	w.ring[(w.head+w.count)&uint32(len(w.ring)-1)] = flight{at, p}
	w.count++
	if w.count == 1 {
		f.leads(w, at)
	}
}

// leads says that the first frame on an empty wire arrives at a time.
func (f *Fabric) leads(w *wire, at unit.Time) {
	g := w.to.group
	if g.alone == nil {
		g.heap.Push(timerheap.Entry{At: at, Key: uint64(arrival) | uint64(w.link)})
	}
	if at < *g.nextAt {
		*g.nextAt = at
	}
}

// impair applies loss, jitter and outage of a special link to a frame sent now. It returns the arrival
// time, which would be at without them, or unit.Never if the frame is lost.
//
//go:noinline
func (f *Fabric) impair(pt *port, p *packet.Packet, now, at unit.Time) unit.Time {
	i, node := pt.link, pt.from.n
	x := &f.extras[i]
	f.observe(now, trace.Transmit, node, i, "", p)
	if x.down || x.loss > 0 && x.random.Float64() < x.loss {
		f.counters[i].Lost++
		f.counters[i].LostBytes += uint64(p.Size)
		why := "link_loss"
		if x.down {
			f.counters[i].Down++
			why = "link_down"
		}
		x.lost = pt.freeAt
		f.observe(now, trace.Lost, node, i, why, p)
		f.pool.Put(p)
		return unit.Never
	}
	if x.spaced {
		at = now + pt.delay
	}
	if x.jitter > 0 {
		at += unit.Time(x.random.Int64N(int64(x.jitter) + 1))
	}
	return at
}

// deliver calls Config.Wire and the observer for a frame that arrives now.
//
//go:noinline
func (f *Fabric) deliver(now unit.Time, w *wire, p *packet.Packet) {
	f.observe(now, trace.Arrive, w.to.n, w.link, "", p)
	if f.wireMode != nil {
		f.wireMode(p)
	}
}

// observe calls the observer, if there is one. Unobserved runs never get here: links with an observer are
// special.
func (f *Fabric) observe(now unit.Time, k trace.Kind, node, link int32, why string, p *packet.Packet) {
	if f.observer != nil {
		f.observer.Observe(trace.Event{At: now, Kind: k, Node: node, Port: link, Reason: why, QueuePackets: trace.None,
			QueueBytes: trace.None}, p)
	}
}
