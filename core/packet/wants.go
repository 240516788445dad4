package packet

import "weir/core/unit"

// NodeRequests has the requests of a node (fabric.Node) to its driver. The node owns it, and the driver reads it in
// place. Two calls after every event would cost more than the requests, which are usually empty.
type NodeRequests struct {
	// Timer is the time at which Advance must be called; unit.Never when idle.
	Timer unit.Time
	// The first request is stored separately. Usually it is the only one, and then no slice is touched. It is 1 + a woken
	// port, cutThrough, or 0 without a request.
	first int32
	next  int32 // index into more
	more  []PortID

	free          []*unit.Time
	forwarded     *Packet
	wokenAfter    int32  // first before CutThrough, handled after forwarded: a port that its departure has woken
	forwardedPort PortID // the port of forwarded
}

// cutThrough is NodeRequests.first after CutThrough.
const cutThrough = -1

// never is the time at which ports without a link are free.
var never = unit.Never

// SetPortClocks sets the times at which the node's ports are free, by port; nil for a port without a link. It keeps the
// slice, and replaces nil in it. Without these times the node passes no packet by CutThrough.
func (w *NodeRequests) SetPortClocks(free []*unit.Time) {
	w.free = free
	for i := range free {
		if free[i] == nil {
			free[i] = &never
		}
	}
}

// IsPortFree reports whether port out can send now, according to SetPortClocks, and no request is pending.
func (w *NodeRequests) IsPortFree(out PortID, now unit.Time) bool {
	return int(out) < len(w.free) && *w.free[out] <= now && w.first == 0
}

// CutThrough passes p to the driver, which sends it by port out at once. The port must be free (IsPortFree). It has the
// effect of waking the port and asking it for the packet. A frame for a free, empty port so needs no queue, no wake and
// no second call. The switch has received p in full, so no time changes.
func (w *NodeRequests) CutThrough(out PortID, p *Packet) {
	w.forwarded, w.forwardedPort, w.wokenAfter, w.first = p, out, w.first, cutThrough
}

// TakeCutThrough returns the packet of CutThrough once; nil without one. The driver calls it after Receive, before it
// drains NextWoken.
func (w *NodeRequests) TakeCutThrough() (out PortID, p *Packet) {
	if w.first != cutThrough {
		return 0, nil
	}
	if w.first = w.wokenAfter; w.first == 0 {
		w.nextFirst()
	}
	return w.forwardedPort, w.forwarded
}

// WakePort notifies the driver that port out has its first packet to send, or that it must be asked earlier
// than announced.
func (w *NodeRequests) WakePort(out PortID) {
	if w.first == 0 {
		w.first = 1 + int32(out)
		return
	}
	w.more = append(w.more, out)
}

// NextWoken removes and returns the next woken port. The driver drains it after every call.
func (w *NodeRequests) NextWoken() (out PortID, ok bool) {
	if w.first <= 0 {
		return 0, false
	}
	out = PortID(w.first - 1)
	w.nextFirst()
	return out, true
}

// nextFirst moves the next request to the first place.
func (w *NodeRequests) nextFirst() {
	if w.first = 0; len(w.more) > 0 {
		w.takeFromMore()
	}
}

// takeFromMore moves the next port of more to the first place.
func (w *NodeRequests) takeFromMore() {
	w.first = 1 + int32(w.more[w.next])
	if w.next++; int(w.next) == len(w.more) {
		w.more, w.next = w.more[:0], 0
	}
}

// IsEmpty reports whether there are no requests.
func (w *NodeRequests) IsEmpty() bool { return w.first == 0 }
