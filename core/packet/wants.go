package packet

import "weir/core/unit"

// Wants is what a node (fabric.Node) wants of its driver. The node keeps it; the driver reads it in
// place, because two calls after every event, most of which say that there is nothing, cost more
// than what they return.
type Wants struct {
	// Timer is when Advance has to be called; unit.Never when idle.
	Timer unit.Time
	// Of the ports that are woken the first stands by itself: mostly it is the only one, and no slice is touched.
	first int32 // 1 + the port; 0: none
	next  int32 // in more
	more  []PortID
}

// Wake says that port out now has something to send and had nothing before, or that it wants to be asked earlier than
// it said.
func (w *Wants) Wake(out PortID) {
	if w.first == 0 && len(w.more) == 0 {
		w.first = 1 + int32(out)
		return
	}
	w.more = append(w.more, out)
}

// Woken returns the woken ports in order, one a call, and forgets them. The driver drains it after every call.
func (w *Wants) Woken() (out PortID, ok bool) {
	if w.first != 0 {
		out, w.first = PortID(w.first-1), 0
		return out, true
	}
	if int(w.next) == len(w.more) {
		w.more, w.next = w.more[:0], 0
		return 0, false
	}
	w.next++
	return w.more[w.next-1], true
}

// None says that no port is woken.
func (w *Wants) None() bool { return w.first == 0 && len(w.more) == 0 }
