package packet

import "weir/core/unit"

// Wants is what a node (fabric.Node) wants of its driver. The node keeps it; the driver reads it in
// place, because two calls after every event, most of which say that there is nothing, cost more
// than what they return.
type Wants struct {
	// Timer is when Advance has to be called; unit.Never when idle.
	Timer unit.Time
	// What comes first stands by itself, for mostly it is all, and then no slice is touched: 1 + a port that is woken,
	// or handed, or 0 for nothing.
	first int32
	next  int32 // in more
	more  []PortID

	free      []*unit.Time
	forwarded *Packet
	behind    int32  // what was first, and comes after forwarded: a port that its departure has woken
	by        PortID // the port of forwarded
}

// handed is Wants.first when a packet was handed through.
const handed = -1

// never is when ports without a link are free.
var never = unit.Never

// SetPortClocks gives the node the times at which its ports are free, by port; nil for a port without a link. A driver
// that does not call it gets no packet by CutThrough.
func (w *Wants) SetPortClocks(free []*unit.Time) {
	w.free = free
	for i := range free {
		if free[i] == nil {
			free[i] = &never
		}
	}
}

// Free reports whether port out can send now, as far as SetPortClocks has set it, and no woken port comes first.
func (w *Wants) Free(out PortID, now unit.Time) bool {
	return int(out) < len(w.free) && *w.free[out] <= now && w.first == 0
}

// CutThrough hands p to the driver, which sends it by port out at once, as if it had asked the port, which is Free: a
// frame for a free, empty port (two thirds of a switch's hops) needs no queue, no wake and no second call. It was
// received in full before, so no time changes.
func (w *Wants) CutThrough(out PortID, p *Packet) {
	w.forwarded, w.by, w.behind, w.first = p, out, w.first, handed
}

// TakeCutThrough returns the packet of CutThrough once; nil: there is none. The driver calls it after Receive, before
// it drains Woken.
func (w *Wants) TakeCutThrough() (out PortID, p *Packet) {
	if w.first != handed {
		return 0, nil
	}
	if w.first = w.behind; w.first == 0 {
		w.shift()
	}
	return w.by, w.forwarded
}

// Wake says that port out now has something to send and had nothing before, or that it wants to be asked earlier than
// it said.
func (w *Wants) Wake(out PortID) {
	if w.first == 0 {
		w.first = 1 + int32(out)
		return
	}
	w.more = append(w.more, out)
}

// Woken returns the woken ports in order, one a call, and forgets them. The driver drains it after every call.
func (w *Wants) Woken() (out PortID, ok bool) {
	if w.first <= 0 {
		return 0, false
	}
	out = PortID(w.first - 1)
	w.shift()
	return out, true
}

// shift puts what comes next in the place of the first.
func (w *Wants) shift() {
	if w.first = 0; len(w.more) > 0 {
		w.draw()
	}
}

// draw takes the first one of more.
func (w *Wants) draw() {
	w.first = 1 + int32(w.more[w.next])
	if w.next++; int(w.next) == len(w.more) {
		w.more, w.next = w.more[:0], 0
	}
}

// None says that no port is woken, and nothing handed through.
func (w *Wants) None() bool { return w.first == 0 }
