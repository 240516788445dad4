package dataplane

import "weir/core/packet"

// OppositeHash returns the Hash of packets of p's flow in the other direction. A program with state by flow uses it to
// find the data that an acknowledgement belongs to. With a codec, only the codec knows what it has hashed.
func (e *Env) OppositeHash(p *packet.Packet) uint32 {
	if c := e.sw.config.Codec; c != nil {
		return c.Opposite(p)
	}
	return packet.FlowHash(p.Dst, p.Src, p.DstPort, p.SrcPort, p.Proto)
}
