package live

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// hostPort is where the fabric ends and a host's kernel begins. What the kernel sends waits here, without limit, for
// the host's link. In a lab that is little more than a frame, since the kernel holds its senders back. What comes
// over the link goes to the kernel at once. It implements fabric.Node.
type hostPort struct {
	TxQueue
	port  *tm.Port
	plane *Plane
	node  int
	own   bool // a host of Weir's own shares the gate with the kernel
	awake bool // the fabric will ask by itself
	wants packet.Wants
}

func (d *Plane) newHostPort(node int, name string, rate unit.LinkRate, gate Gate) *hostPort {
	return &hostPort{
		TxQueue: TxQueue{departures: &d.Departures, Gate: gate, name: name},
		port:    tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		plane:   d, node: node, wants: packet.Wants{Timer: unit.Never},
	}
}

// enter takes a frame of the kernel.
func (h *hostPort) enter(p *packet.Packet) {
	h.port.Push(0, p)
	h.wake()
}

func (h *hostPort) wake() {
	if !h.awake && !h.port.Idle() {
		h.awake = true
		h.wants.Wake(0)
	}
}

// Wants returns what the link is to be asked for, and when a pause ends (fabric.Node).
func (h *hostPort) Wants() *packet.Wants { return &h.wants }

func (h *hostPort) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
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

// Receive gives p to the kernel, or to the host of Weir's own that shares the gate. A PFC frame is for the NIC, which
// the plane has; a host of Weir's own gets it too, and holds what it would send.
func (h *hostPort) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d := h.plane
	switch class := p.Meta.Class % tm.Classes; p.Kind {
	case packet.Pause:
		h.port.Pause(now, class, p.Seq)
	case packet.Resume:
		h.port.Resume(now, class)
		h.wake()
	default:
		if d.monitor != nil && d.monitor.Arrive(now, h.node, p) && h.own {
			h.to, h.addressed = OwnMAC(packet.Addr(h.node+1)), true
		}
		h.Send(now, p)
		return
	}
	if h.own {
		h.Send(now, p)
		return
	}
	d.pool.Put(p)
}

func (h *hostPort) Advance(now unit.Time) {
	h.port.Expire(now)
	h.wants.Timer = h.port.NextExpiry()
	h.wake()
}
