package sim

import (
	"weir/core/fabric"
	"weir/core/packet"
	"weir/core/unit"
)

// A host with several links has a NIC at each, with its own queue, flows, timers and pauses: a separate host except for
// dependencies of flows. The NICs share a node, so they run in the same thread, and a flow that arrives at one can
// start another's at the same time. Config.Flows has the numbers of NICs as Src and Dst (topology.NICs); a host's first
// NIC has the number of its node.

// nics are the NICs of a host that has several. It implements fabric.Node.
type nics struct {
	nic   []*host // by port
	wants packet.NodeRequests
}

// newNode makes the host of a node: with several links, a NIC at each; without any link, an unconnected NIC. It adds
// them to r.hosts and to the wiring.
func (r *Simulation) newNode(node int) fabric.Node {
	leaving := r.wiring.LinksFrom(node)
	if len(leaving) > 1 {
		return r.newNICs(node)
	}
	var rate unit.LinkRate
	for _, l := range leaving {
		rate = r.wiring.Links[l].Rate
	}
	h := newHost(r, node, rate)
	r.hosts[node] = h
	r.wiring.AttachNIC(node, 0, h.port)
	return h
}

// newNICs makes the NICs of a node, and adds them to r.hosts and to the wiring.
func (r *Simulation) newNICs(node int) *nics {
	n := &nics{}
	for port, l := range r.wiring.LinksFrom(node) {
		number := r.nics.NumberOf(node, port)
		h := newHost(r, node, r.wiring.Links[l].Rate)
		h.number, h.portID = int32(number), packet.PortID(port)
		r.hosts[number] = h
		r.wiring.AttachNIC(node, port, h.port)
		n.nic = append(n.nic, h)
	}
	return n
}

// gatherWants collects the wakes and timers of the NICs after a call into one of them, which may have started flows of
// others.
func (n *nics) gatherWants() {
	timer := unit.Never
	for port, h := range n.nic {
		for _, woken := h.wants.NextWoken(); woken; _, woken = h.wants.NextWoken() {
			n.wants.WakePort(packet.PortID(port))
		}
		timer = min(timer, h.wants.Timer)
	}
	n.wants.Timer = timer
}

// hostNodes reports by node whether it is a host (fabric.Config.Hosts).
func hostNodes(nodes []fabric.Node) []bool {
	hosts := make([]bool, len(nodes))
	for i, n := range nodes {
		switch n.(type) {
		case *host, *nics:
			hosts[i] = true
		}
	}
	return hosts
}

// Receive passes a packet to the NIC of its port.
func (n *nics) Receive(now unit.Time, in packet.PortID, p *packet.Packet) {
	n.nic[in].Receive(now, in, p)
	n.gatherWants()
}

// Dequeue returns the next packet of the NIC of a port, or nil, and when to call again.
func (n *nics) Dequeue(now unit.Time, out packet.PortID) (*packet.Packet, unit.Time) {
	p, again := n.nic[out].Dequeue(now, out)
	n.gatherWants()
	return p, again
}

// Advance runs the NICs with timers that have expired.
func (n *nics) Advance(now unit.Time) {
	for _, h := range n.nic {
		if h.wants.Timer <= now {
			h.Advance(now)
		}
	}
	n.gatherWants()
}

// Wants returns the times and wakes that the NICs ask for (fabric.Node).
func (n *nics) Wants() *packet.NodeRequests {
	for _, h := range n.nic {
		h.setTimer()
	}
	n.gatherWants()
	return &n.wants
}
