package fabric

import (
	"weir/core/packet"
	"weir/core/unit"
)

// A Node is a switch or a host: a state machine that receives and sends packets at its ports. dataplane.Switch is one;
// the hosts of sim and lab are the others. Nodes influence each other only by packets over links.
type Node interface {
	// Receive passes p, which arrived at port in, to the node.
	Receive(now unit.Time, in packet.PortID, p *packet.Packet)
	// Dequeue returns the packet that port out sends now, or nil. again is the time of the next call: any time up to the
	// end of p's transmission means as soon as the port is free; unit.Never means not before the node wakes the port.
	Dequeue(now unit.Time, out packet.PortID) (p *packet.Packet, again unit.Time)
	// Advance runs the node's timers that are due at now.
	Advance(now unit.Time)
	// Wants returns the node's requests, always at the same address. The driver reads and serves them after every call.
	// It calls Wants again when an event outside of the network may have changed the node.
	Wants() *packet.NodeRequests
}
