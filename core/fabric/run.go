package fabric

import (
	"weir/core/fabric/timerheap"
	"weir/core/packet"
	"weir/core/trace"
	"weir/core/unit"
)

// Run runs every event before endTime. It returns early, at the end of a window or of a stride, when stop returns true
// (stop may be nil). The argument of stop is the time before which everything has happened. Another call continues.
func (f *Fabric) Run(endTime unit.Time, stop func(done unit.Time) bool) {
	f.takeIn()
	for _, x := range f.parts { // calls since the last run may have changed it
		x.next = x.firstEvent()
	}
	events := f.CountEvents()
	for {
		start := unit.Never
		for _, x := range f.parts {
			start = min(start, x.next)
		}
		if start >= endTime {
			return
		}
		f.end = endTime
		if f.stride < endTime-start {
			f.end = start + f.stride
		}
		if f.together != nil {
			f.together(f.run)
		} else {
			for k := range f.parts {
				f.runPart(k)
			}
		}
		f.turn ^= 1
		if f.minStride < f.maxStride {
			events = f.adaptInterval(events)
		}
		if stop != nil && stop(f.end) {
			return
		}
	}
}

// runGroup runs the events of a group of several nodes before end. It counts the events and sets the group's next time.
func (f *Fabric) runGroup(g *group, end unit.Time) {
	x := g.part
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
			touched += w.touchPacket(fl.p)
		}
	}
	x.sink = touched
	events, hops := uint64(0), uint64(0)
	for g.heap.FirstTime() < end {
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
				f.deliverFrame(e.At, w, p)
			}
			m.node.Receive(e.At, w.in, p)
			f.sendCutThrough(m, e.At)
		case timer:
			m = &f.members[i]
			if m.timer != e.At {
				events-- // a timer that was moved forward leaves an old, later event
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
			m = f.extras[i].from
			if !f.portEvent(m, pt, e.At) {
				continue
			}
		}
		f.serveWants(m, e.At)
	}
	x.events += events
	x.hops += hops
	*g.nextAt = g.heap.FirstTime()
}

// portEvent runs the pending event of a port. It returns false if that was a wake of a port that another frame
// occupies. Then the event moves to the end of that frame.
func (f *Fabric) portEvent(m *member, pt *port, now unit.Time) bool {
	pt.armedAt = unit.Never
	if pt.freeAt > now {
		f.armPort(m.group, pt, pt.freeAt, portFree)
		return false
	}
	f.transmitNext(m, pt, now)
	return true
}

// serveWants serves the requests of a node after a call into it: it sends from woken ports that are free, schedules the
// others, and sets the node's timer. Ports without a link keep their packets.
func (f *Fabric) serveWants(m *member, now unit.Time) {
	w := m.wants
	for {
		out, ok := w.NextWoken()
		if !ok {
			break
		}
		if int(out) >= len(m.ports) {
			continue // a port without a link keeps its packets
		}
		pt := m.ports[out]
		if pt == nil {
			continue
		}
		if pt.freeAt <= now {
			f.transmitNext(m, pt, now)
		} else {
			f.armPort(m.group, pt, pt.freeAt, portFree)
		}
	}
	if w.Timer < m.timer {
		m.timer = max(w.Timer, now)
		if m.group.single == nil {
			m.group.heap.Push(timerheap.Entry{At: m.timer, Key: uint64(timer) | uint64(m.n)})
		}
	}
}

// armPort schedules the next event of a port of a group at eventTime unless an earlier one is pending.
func (f *Fabric) armPort(g *group, pt *port, eventTime unit.Time, k kind) {
	if eventTime >= pt.armedAt {
		return
	}
	pt.armedAt = eventTime
	e := timerheap.Entry{At: eventTime, Key: uint64(k) | uint64(pt.link)}
	if g.single != nil {
		g.due.push(e)
	} else {
		g.heap.Push(e)
	}
}

// transmitNext asks the port for its next frame and sends it. Without a frame it schedules the time that the node has
// returned, at least 1 ps later.
func (f *Fabric) transmitNext(m *member, pt *port, now unit.Time) {
	p, again := m.node.Dequeue(now, pt.out)
	if p == nil {
		if again != unit.Never {
			f.armPort(m.group, pt, max(again, now+1), nicWake)
		}
		return
	}
	f.sendFrame(m, pt, p, again, now)
}

// sendCutThrough sends the packet that a node cut through when it received a frame.
func (f *Fabric) sendCutThrough(m *member, now unit.Time) {
	if out, p := m.wants.TakeCutThrough(); p != nil {
		f.sendFrame(m, m.ports[out], p, unit.Never, now)
	}
}

// sendFrame puts p on the wire at now; again is Dequeue's. It also schedules the port's next event and counts the
// frame.
func (f *Fabric) sendFrame(m *member, pt *port, p *packet.Packet, again, now unit.Time) {
	end := now + unit.Time(p.Size)*pt.perByte
	if pt.perByte == 0 || p.Size >= unit.ManyBytes {
		end = now + f.extras[pt.link].ser.NextTime(p.Size, pt.freeAt == now)
	}
	pt.freeAt = end
	if again <= end {
		f.armPort(m.group, pt, end, portFree)
	} else if again != unit.Never {
		f.armPort(m.group, pt, again, nicWake)
	}
	at := end + pt.delay
	pt.sent++
	if pt.special {
		if at = f.impairFrame(m, pt, p, now, at); at == unit.Never {
			return
		}
	}
	if at <= pt.last { // only with jitter, or frames shorter than 1 ps
		at = pt.last + 1
	}
	if pt.last = at; pt.crosses {
		m.group.part.sendAcross(f.turn, pt, at, p)
		return
	}
	pt.wire.putFrame(at, p)
}

// impairFrame applies loss, jitter and outage of a special link to a frame that is sent now, with random numbers of the
// link. The argument arrivalTime is the time without them. It returns the arrival time, or unit.Never if the frame is
// lost. A lost frame is counted and freed. The observer gets the transmission and the loss.
//
//go:noinline
func (f *Fabric) impairFrame(m *member, pt *port, p *packet.Packet, now, arrivalTime unit.Time) unit.Time {
	i, node, part := pt.link, m.n, m.group.part
	x := &f.extras[i]
	part.reportEvent(now, trace.Transmit, node, i, "", p)
	if x.down || x.loss > 0 && x.random.Float64() < x.loss {
		f.counters[i].Lost++
		f.counters[i].LostBytes += uint64(p.Size)
		why := "link_loss"
		if x.down {
			f.counters[i].Down++
			x.victims.addLoss(p.Flow, now)
			why = "link_down"
		}
		x.lost = pt.freeAt
		part.reportEvent(now, trace.Lost, node, i, why, p)
		part.pool.Put(p)
		return unit.Never
	}
	if x.spaced {
		arrivalTime = now + pt.delay
	}
	if x.jitter > 0 {
		arrivalTime += unit.Time(x.random.Int64N(int64(x.jitter) + 1))
	}
	return arrivalTime
}

// deliverFrame calls Config.Wire and the observer for a frame that arrives now.
//
//go:noinline
func (f *Fabric) deliverFrame(now unit.Time, w *wire, p *packet.Packet) {
	w.to.group.part.reportEvent(now, trace.Arrive, w.to.n, w.link, "", p)
	if f.wireMode != nil {
		f.wireMode(p)
	}
}
