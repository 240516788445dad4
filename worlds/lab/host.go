package lab

import (
	"weir/core/dataplane/tm"
	"weir/core/packet"
	"weir/core/unit"
)

// host is where the fabric ends and a host's kernel begins. What the kernel sends waits here, without limit, for the
// host's link. With Network.Shape that is little more than a frame, since the kernel holds its senders back. What comes
// over the link goes to the kernel at once. It implements fabric.Node.
type host struct {
	outlet
	port  *tm.Port
	plane *plane
	node  int
	awake bool // the fabric will ask by itself
	wants packet.Wants
}

func (d *plane) newHost(node int, name string, rate unit.LinkRate, gate Gate) *host {
	return &host{
		outlet: outlet{from: &d.departures, gate: gate, name: name},
		port:   tm.NewPort(tm.NewBuffer(tm.Classes, tm.Limit{}, tm.Limit{}), tm.NewStrict(), rate),
		plane:  d, node: node, wants: packet.Wants{Timer: unit.Never},
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

// Receive gives p to the kernel, or to the host of Weir's own that is beside it. A PFC frame is for the NIC, which is
// ours; a host of Weir's own has its part of that, and holds what it would send.
func (h *host) Receive(now unit.Time, _ packet.PortID, p *packet.Packet) {
	d := h.plane
	own := d.own != nil && d.own[h.node]
	switch class := p.Meta.Class % tm.Classes; p.Kind {
	case packet.Pause:
		h.port.Pause(now, class, p.Seq)
	case packet.Resume:
		h.port.Resume(now, class)
		h.wake()
	default:
		if d.flows != nil {
			d.flows.arrived(h.node, now, p)
			if own && d.flows.own(p) {
				h.to, h.addressed = OwnMAC(packet.Addr(h.node+1)), true
			}
		}
		h.leave(now, p)
		return
	}
	if own {
		h.leave(now, p)
		return
	}
	d.pool.Put(p)
}

func (h *host) Advance(now unit.Time) {
	h.port.Expire(now)
	h.wants.Timer = h.port.NextExpiry()
	h.wake()
}
