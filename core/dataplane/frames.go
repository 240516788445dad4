package dataplane

import "weir/core/packet"

// Frames is what the codec of a switch on its own knows of frames, and the fields of their packets do not say: there an
// address is a user, and hosts are not known. Programs find flows by it, and answer senders of TCP in segments that
// their hosts understand.
type Frames interface {
	// Flow tells p's flow from others, whatever users its ends are; with back, the flow the other way. A frame that
	// is not IP has one by its addresses of the link.
	Flow(p *packet.Packet, back bool) uint64
	// Header copies the headers of p's frame as a frame without payload, and returns their length; 0: it has no
	// header of TCP, or one that does not fit.
	Header(p *packet.Packet, to []byte) int
	// Answer appends to p.Data a frame to the host from which one with that header came: p's fields are its segment.
	// It returns false if p's options are too long.
	Answer(p *packet.Packet, header []byte) bool
	// Echo appends to p.Data a frame with that header, an acknowledgement, which gets this sequence number and ECE
	// (RFC 3168 §6.1.3), and loses all other flags and its blocks of SACK.
	Echo(p *packet.Packet, header []byte, seq uint32)
}

// NewFrame returns a zeroed packet as New does, with an empty Data of a capacity of at least room bytes.
func (e *Env) NewFrame(room int) *packet.Packet {
	e.sw.born++
	return e.sw.pool.GetFrame(room)
}
