package fabric

import (
	"weir/core/packet"
	"weir/core/unit"
)

// A Node is a switch or a host: a state machine that takes packets in at its
// ports and gives packets out at them. dataplane.Switch is one; sim's and lab's
// hosts are the others. Nodes influence each other only by packets over links.
type Node interface {
	// Receive takes p, which came in at port in.
	Receive(now unit.Time, in packet.PortID, p *packet.Packet)
	// Dequeue gives the packet that port out sends now. again says when to ask
	// next: any time up to the end of p's transmission means as soon as the port
	// is free, unit.Never means not until Woken names the port.
	Dequeue(now unit.Time, out packet.PortID) (p *packet.Packet, again unit.Time)
	// Woken names, one a call, the ports that went from nothing to something to
	// send, or that want to be asked earlier than they said. The driver drains it
	// after every call.
	Woken() (packet.PortID, bool)
	// NextTimer is when Advance wants to be called; unit.Never when idle.
	NextTimer() unit.Time
	// Advance does what is due at now.
	Advance(now unit.Time)
}

// End is a Node that packets end at: it reads more of them than a switch does, and the
// fabric has that ready (packet.TouchEnd). It changes speed only.
type End interface {
	Node
	End()
}
