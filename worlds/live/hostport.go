package live

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// hostPort is the boundary between the fabric and a host's kernel. Frames of the kernel wait here, without limit,
// for the host's link; in a lab that is little more than one frame, since the kernel limits its senders. Frames
// from the link go to the kernel immediately. It implements fabric.Node.
type hostPort struct {
	TxQueue
	port       *tm.Port
	plane      *Plane
	node       int
	hasOwnHost bool // one of Weir's own hosts shares the gate with the kernel
	awake      bool // the fabric will call Dequeue again by itself
	wants      packet.NodeRequests
}

// newHostPort creates the host port of a node with a link of the given rate.
func (d *Plane) newHostPort(node int, name string, rate unit.LinkRate, gate Gate) *hostPort {
	return &hostPort{
		TxQueue: TxQueue{departures: &d.Departures, Gate: gate, name: name},
		port:    tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		plane:   d, node: node, wants: packet.NodeRequests{Timer: unit.Never},
	}
}

// pushFrame queues a frame of the kernel. The caller must wake the node.
func (h *hostPort) pushFrame(p *packet.Packet) {
	h.port.Push(0, p)
	h.wakeLink()
}

// wakeLink makes the link fetch a packet if one waits and the link is idle.
func (h *hostPort) wakeLink() {
	if !h.awake && !h.port.IsIdle() {
		h.awake = true
		h.wants.WakePort(0)
	}
}

// Wants returns the link's wake-up and the end of a pause (fabric.Node).
func (h *hostPort) Wants() *packet.NodeRequests { return &h.wants }

// Dequeue returns the next frame of the kernel for the link, or nil, and when to call again (fabric.Node). It sets the
// frame's Sent and counts it.
func (h *hostPort) Dequeue(now unit.Time, _ packet.PortID) (*packet.Packet, unit.Time) {
	p, _, again := h.port.DequeueNext(now)
	if p != nil {
		p.Sent = now
		h.port.CountSent(p)
		if again = now; h.port.IsIdle() {
			again = unit.Never
		}
	}
	h.awake = p != nil && again != unit.Never
	return p, again
}

// Receive passes p to the kernel, or to the own host that shares the gate. PFC frames pause the NIC, which is this
// port; an own host gets them too, to pause its senders.
func (h *hostPort) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d := h.plane
	switch class := p.Meta.Class % tm.Classes; p.Kind {
	case packet.Pause:
		h.port.ApplyPause(now, class, p.Seq)
	case packet.Resume:
		h.port.ApplyResume(now, class)
		h.wakeLink()
	default:
		if d.monitor != nil && d.monitor.Arrive(now, h.node, p) && h.hasOwnHost {
			h.to, h.addressed = OwnMAC(packet.Addr(h.node+1)), true
		}
		h.Send(now, p)
		return
	}
	if h.hasOwnHost {
		h.Send(now, p)
		return
	}
	d.pool.Put(p)
}

// Advance ends the pauses that have expired at now (fabric.Node).
func (h *hostPort) Advance(now unit.Time) {
	h.port.ExpirePauses(now)
	h.wants.Timer = h.port.NextExpiry()
	h.wakeLink()
}
