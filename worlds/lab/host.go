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
	woken bool

	due     [batch]unit.Time // when what was put and not flushed should have left
	pending int
	retries int
	emitted []byte // of packets that switches make, which come without bytes
}

// batch is how many frames are given to a kernel in one call, at most.
const batch = 64

func (d *plane) newHost(node int, name string, rate unit.LinkRate, gate Gate) *host {
	return &host{
		port:  tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		plane: d, gate: gate, node: node, name: name,
	}
}

// enter takes a frame of the kernel.
func (h *host) enter(p *packet.Packet) {
	h.port.Push(0, p)
	h.wake()
}

func (h *host) wake() {
	if !h.awake && !h.port.Idle() {
		h.awake, h.woken = true, true
	}
}

func (h *host) Woken() (packet.PortID, bool) {
	w := h.woken
	h.woken = false
	return 0, w
}

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
		if d.seen != nil {
			d.seen.arrived(h.node, now, p)
		}
		h.leave(now, p)
	}
	d.pool.Put(p)
}

// leave puts p's frame into the gate.
func (h *host) leave(due unit.Time, p *packet.Packet) {
	d, data := h.plane, p.Data
	if data == nil {
		var err error
		if h.emitted, err = p.Emit(d.book, h.emitted[:0]); err != nil {
			d.counts.Unwritable++
			return
		}
		data = h.emitted
	}
	if h.pending == batch {
		d.flush(h)
	}
	if h.pending == batch || !h.gate.Put(data) {
		if d.flush(h); h.pending == batch || !h.gate.Put(data) {
			d.counts.SendLost++
			return
		}
	}
	h.due[h.pending] = due
	h.pending++
}

func (h *host) NextTimer() unit.Time { return h.port.NextExpiry() }

func (h *host) Advance(now unit.Time) {
	h.port.Expire(now)
	h.wake()
}
