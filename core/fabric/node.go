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
	// end of p's transmission means as soon as the port is free; unit.Never means not until Woken names
	// the port.
	Dequeue(now unit.Time, out packet.PortID) (p *packet.Packet, again unit.Time)
	// Woken returns, one per call, the ports that now have something to send and had nothing before, or
	// that want to be asked earlier than they said. The driver drains it after every call.
	Woken() (packet.PortID, bool)
	// NextTimer is when Advance has to be called; unit.Never when idle.
	NextTimer() unit.Time
	// Advance does what is due at now.
	Advance(now unit.Time)
}

// End is a Node where packets end. It reads more of them than a switch does, so the fabric prefetches that
// (packet.TouchEnd). It changes speed only.
type End interface {
	Node
	End()
}
