package fabric

import (
	"weir/core/packet"
	"weir/core/unit"
)

// A Node is a switch or a host: a state machine that takes and gives packets at its ports.
// dataplane.Switch is one; the hosts of sim and lab are the others. Nodes influence each other only by
// packets over links.
type Node interface {
	// Receive takes p, which came in at port in.
	Receive(now unit.Time, in packet.PortID, p *packet.Packet)
	// Dequeue returns the packet that port out sends now. again says when to ask next: any time up to the
	// end of p's transmission means as soon as the port is free; unit.Never means not until the node has
	// woken the port.
	Dequeue(now unit.Time, out packet.PortID) (p *packet.Packet, again unit.Time)
	// Advance does what is due at now.
	Advance(now unit.Time)
	// Wants returns what the node wants, always in the same place: the driver looks there after every call, and
	// carries it out. It calls Wants itself when something outside the network may have changed the node.
	Wants() *packet.Wants
}
