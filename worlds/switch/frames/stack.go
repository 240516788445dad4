package frames

import (
	"bytes"

	"weir/core/packet"
	"weir/core/telemetry"
)

// stacks reads and writes the telemetry of frames at all places that core/packet supports. It works on a copy of
// one frame at a time, without its tags.
// inner is the parsed packet of the current frame.
type stacks struct {
	inner     packet.Packet
	emptyBook *packet.Book
	buffer    []byte
}

// hasStack reports whether a frame may have telemetry: an option, INT behind UDP or TCP, or IFA. Frames of PPPoE
// are not examined.
func (d *frameLayout) hasStack(f []byte) bool {
	if d.session > 0 {
		return false
	}
	first, options, tos := f[d.ip+6], uint8(hopByHop), packet.IPv6(f[d.ip:]).TOS()
	if d.version == 4 {
		first, options, tos = f[d.ip+9], shim, packet.IPv4(f[d.ip:]).TOS()
	}
	switch {
	case first == options || d.proto == packet.ProtoIFA:
		return true
	case d.payload == d.transport:
		return false
	}
	return d.proto == packet.ProtoUDP && be.Uint16(f[d.transport+2:]) == packet.INTPort ||
		d.proto == packet.ProtoTCP && tos>>2 == packet.INTDSCP
}

// parsePacket parses the packet of a frame, without its tags, into s.inner and s.buffer, which the next call
// overwrites. It returns false if core/packet cannot parse it.
func (s *stacks) parsePacket(f []byte, d *frameLayout) bool {
	if s.emptyBook == nil {
		s.emptyBook = packet.NewBook()
	}
	s.buffer = append(append(s.buffer[:0], f[:typeOffset]...), f[d.ip-2:d.end]...)
	return s.inner.Parse(s.emptyBook, s.buffer) == nil
}

// readStack copies a frame's telemetry to its packet if nodes may write to it. It reduces p.Payload by a stack that is
// behind or around the transport's header.
func (c *Codec) readStack(p *packet.Packet, d *frameLayout) {
	if !d.hasStack(p.Data) || !c.stacks.parsePacket(p.Data, d) || !c.stacks.inner.HasAnyHotExtension() {
		return
	}
	in := &c.stacks.inner
	p.CopyExtensions(in)
	switch in.StackPlace() {
	case packet.BehindTransport:
		p.Payload -= int32(len(in.Stack()))
	case packet.AroundTransport:
		p.Payload -= int32(len(in.Stack())) + int32(p.Headers()) - int32(d.payload-d.ip+packet.EthernetHeader)
	}
}

// writeStack writes changed telemetry back to the frame and updates lengths and checksums. It leaves frames of PPPoE
// and frames that core/packet cannot parse unchanged.
func (c *Codec) writeStack(p *packet.Packet, d *frameLayout) error {
	in := &c.stacks.inner
	if !p.HasAnyHotExtension() || d.session > 0 || !c.stacks.parsePacket(p.Data, d) {
		return nil
	}
	changed := false
	if place := p.StackPlace(); place != 0 && !bytes.Equal(in.Stack(), p.Stack()) {
		changed = in.SetStack(place, p.Stack())
	}
	for _, kind := range [...]uint8{telemetry.Extension, telemetry.LoadCode, telemetry.RelativeLoad} {
		if now, ok := p.Extension(kind); ok {
			was, _ := in.Extension(kind)
			changed = !bytes.Equal(was, now) && in.SetExtension(kind, now) || changed
		}
	}
	if !changed {
		return nil
	}
	in.Data = c.stacks.buffer
	if err := in.Deparse(c.stacks.emptyBook); err != nil {
		return err
	}
	tail := p.Data[d.end:] // padding of a short frame
	if len(in.Data) >= shortestFrame {
		tail = nil
	}
	tail = append([]byte(nil), tail...)
	p.Data = append(append(p.Data[:d.ip-2], in.Data[typeOffset:]...), tail...)
	return nil
}
