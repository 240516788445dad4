package frames

import (
	"bytes"

	"weir/core/packet"
	"weir/core/telemetry"
)

// stacks reads and writes the telemetry of frames, in any of its places, as core/packet does in networks. It works on a
// copy of the frame without its tags; the frame of one packet is in hand at a time.
type stacks struct {
	inner packet.Packet
	none  *packet.Book
	room  []byte
}

// hasStack reports whether a frame may have telemetry: an option, INT behind UDP or TCP, or IFA. In PPPoE none is
// looked for.
func (d *anatomy) hasStack(f []byte) bool {
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

// parse reads the packet of a frame without its tags; false if core/packet cannot read it.
func (s *stacks) parse(f []byte, d *anatomy) bool {
	if s.none == nil {
		s.none = packet.NewBook()
	}
	s.room = append(append(s.room[:0], f[:typeAt]...), f[d.ip-2:d.end]...)
	return s.inner.Parse(s.none, s.room) == nil
}

// readStack takes over what a frame carries of telemetry, if nodes may write to it. The payload of a packet with a
// stack does not count that.
func (c *Codec) readStack(p *packet.Packet, d *anatomy) {
	if !d.hasStack(p.Data) || !c.stacks.parse(p.Data, d) || !c.stacks.inner.AsksAny() {
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

// writeStack writes back what programs have changed of that, with all lengths and sums.
func (c *Codec) writeStack(p *packet.Packet, d *anatomy) error {
	in := &c.stacks.inner
	if !p.AsksAny() || d.session > 0 || !c.stacks.parse(p.Data, d) {
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
	in.Data = c.stacks.room
	if err := in.Deparse(c.stacks.none); err != nil {
		return err
	}
	tail := p.Data[d.end:] // what pads a short frame
	if len(in.Data) >= shortestFrame {
		tail = nil
	}
	tail = append([]byte(nil), tail...)
	p.Data = append(append(p.Data[:d.ip-2], in.Data[typeAt:]...), tail...)
	return nil
}
