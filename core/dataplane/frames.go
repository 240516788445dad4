package dataplane

import "weir/core/packet"

// Frames is the knowledge of a standalone switch's codec about frames, beyond the fields of their packets. There an
// address is a user, and hosts are not known. Programs use it to distinguish flows, and to answer TCP senders in
// segments that their hosts understand.
type Frames interface {
	// FlowNumber returns a number for p's flow that differs from other flows', for any users at its ends; with back, for
	// the flow in the other direction. A frame other than IP has a flow by its link addresses.
	FlowNumber(p *packet.Packet, back bool) uint64
	// CopyHeader copies the headers of p's frame, as a frame without payload, and returns their length; 0 if it has no TCP
	// header, or one that does not fit.
	CopyHeader(p *packet.Packet, to []byte) int
	// AppendAnswer appends to p.Data a frame to the host that sent a frame with that header; p's fields are its segment.
	// It returns false if p's options are too long.
	AppendAnswer(p *packet.Packet, header []byte) bool
	// AppendEcho appends to p.Data a frame with that header, an acknowledgement. It gets sequence number seq and ECE (RFC
	// 3168 §6.1.3), and no other flags and no SACK blocks.
	AppendEcho(p *packet.Packet, header []byte, seq uint32)
}

// NewFrame returns a zeroed packet as NewPacket does, with an empty Data of a capacity of at least room bytes.
func (e *Env) NewFrame(room int) *packet.Packet {
	e.sw.created++
	return e.sw.pool.GetFrame(room)
}
