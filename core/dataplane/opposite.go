package dataplane

import "weir/core/packet"

// Opposite returns the Hash of packets of p's flow the other way. A program that keeps state by flow finds with it
// the data that an acknowledgement is of. Where the parser is the switch's own, only that knows what it has hashed.
func (e *Env) Opposite(p *packet.Packet) uint32 {
	if c := e.sw.config.Codec; c != nil {
		return c.Opposite(p)
	}
	return packet.FlowHash(p.Dst, p.Src, p.DstPort, p.SrcPort, p.Proto)
}
