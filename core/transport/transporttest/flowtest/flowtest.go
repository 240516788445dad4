// Package flowtest makes flows for tests of transports. It imports no transport, so that tests inside a transport's
// package can use it.
package flowtest

import (
	"fmt"

	"weir/core/packet"
	"weir/core/transport"
	"weir/core/unit"
)

// Payload is the payload of a full packet in bytes.
const Payload = 1000

// NewFlow returns an IPv4 flow of the given size from host 1, port 10, to host 2, port 20. Its packets have Payload
// bytes and Ethernet framing, and it has no time limit. It has no path, controller or host; a caller sets these and any
// other value. Size 0 means a flow without end.
func NewFlow(size unit.Bytes) transport.Flow {
	return transport.Flow{ID: 1, Src: 1, Dst: 2, SrcPort: 10, DstPort: 20, Version: 4, Size: size, Payload: Payload,
		Framing: packet.Framings[0], Stop: unit.Never, Random: unit.NewRandom(1, "flow")}
}

// NewIncastFlow returns the flow with the given ID, from 0, of an incast to host 1. Host id + 2 sends it to port
// 20 + id. Each flow has its own random stream; the other values are NewFlow's.
func NewIncastFlow(id int, size unit.Bytes) transport.Flow {
	f := NewFlow(size)
	f.ID, f.Src, f.Dst, f.DstPort = packet.FlowID(id), packet.Addr(id+2), 1, uint16(20+id)
	f.Random = unit.NewRandom(7, fmt.Sprint("flow ", id))
	return f
}
