package lab

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// host is where the fabric ends and a host's kernel begins. What the kernel sends waits
// here, without limit, for the host's link, as it does at a NIC of the simulator; what
// comes over the link goes to the kernel at once. It implements fabric.Node.
type host struct {
	port  *tm.Port
	plane *plane
	gate  Gate
	node  int
	name  string
	awake bool // the fabric will ask by itself
	wants packet.Wants

	// What was put and not flushed, whose frames the gate has not copied: the packets, and when
	// they should have left.
	leaving [batch]*packet.Packet
	due     [batch]unit.Time
	pending int
	retries int
	// Frames of packets that switches make, which come without bytes: as many as can be pending,
	// and one more.
	emitted [batch + 1][]byte
	next    int // of emitted
}

// batch is how many frames are given to a kernel in one call, at most.
const batch = 64

func (d *plane) newHost(node int, name string, rate unit.LinkRate, gate Gate) *host {
	return &host{
		port:  tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		plane: d, gate: gate, node: node, name: name, wants: packet.Wants{Timer: unit.Never},
	}
}

// enter takes a frame of the kernel.
func (h *host) enter(p *packet.Packet) {
	h.port.Push(0, p)
	h.wake()
}

func (h *host) wake() {
	if !h.awake && !h.port.Idle() {
		h.awake = true
		h.wants.Wake(0)
	}
}

// Wants is what the link is to be asked for, and when a pause ends (fabric.Node).
func (h *host) Wants() *packet.Wants { return &h.wants }

func (h *host) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	p, _, again := h.port.Next(now)
	if p != nil {
		p.Sent = now
		h.port.Sent(p)
		if again = now; h.port.Idle() {
			again = unit.Never
		}
	}
	h.awake = p != nil && again != unit.Never
	return p, again
}

// Receive gives p to the kernel. A PFC frame is for the NIC, which is ours.
func (h *host) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d := h.plane
	switch class := p.Meta.Class % tm.Classes; p.Kind {
	case packet.Pause:
		h.port.Pause(now, class, p.Seq)
	case packet.Resume:
		h.port.Resume(now, class)
		h.wake()
	default:
		if d.flows != nil {
			d.flows.arrived(h.node, now, p)
		}
		h.leave(now, p)
		return
	}
	d.pool.Put(p)
}

// leave puts p's frame into the gate. p is the host's until that has been flushed.
func (h *host) leave(due unit.Time, p *packet.Packet) {
	d, data := h.plane, p.Data
	if data == nil {
		var err error
		if data, err = p.Emit(d.book, h.emitted[h.next][:0]); err != nil {
			d.counts.Unwritable++
			d.pool.Put(p)
			return
		}
		h.emitted[h.next] = data
		h.next = (h.next + 1) % len(h.emitted)
	}
	for range 2 {
		if h.put(due, p, data) {
			return
		}
		d.flush(h)
	}
	if !h.put(due, p, data) {
		d.counts.SendLost++
		d.pool.Put(p)
	}
}

// put is leave, if there is room.
func (h *host) put(due unit.Time, p *packet.Packet, data []byte) bool {
	if h.pending == batch || !h.gate.Put(data) {
		return false
	}
	h.leaving[h.pending], h.due[h.pending] = p, due
	h.pending++
	return true
}

// flushed gives up the packets that were pending: their frames have left, or will not.
func (h *host) flushed() {
	for _, p := range h.leaving[:h.pending] {
		h.plane.pool.Put(p)
	}
	h.retries, h.pending = 0, 0
}

func (h *host) Advance(now unit.Time) {
	h.port.Expire(now)
	h.wants.Timer = h.port.NextExpiry()
	h.wake()
}
