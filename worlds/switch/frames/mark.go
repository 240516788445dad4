package frames

import (
	"bytes"

	"weir/core/dataplane"
	"weir/core/packet"
)

// A frame carries a program's mark between switches of a domain as an option of 6 bytes. Over IPv6 it is in the
// hop-by-hop header (RFC 8200 §4.3). Over IPv4 it is in a header of the same layout behind IP's, with protocol 253
// (RFC 3692), as in core/packet. A mark takes 8 bytes: a header of its own, or additional bytes in an existing
// hop-by-hop header. Non-IP frames cannot carry a mark.
const (
	shim       = 253
	padN       = 1
	markBytes  = 8
	markOption = 6 // type, length, 4 bytes of data
)

// markPlace is the location of a frame's mark.
type markPlace struct {
	header int // offset of the header of options; 0: it is missing
	end    int // end of that header
	option int // offset of the mark; 0: it is missing
}

// findMark locates a frame's mark. The result is zero if the frame has no header of options, or a damaged one.
func (d *frameLayout) findMark(f []byte) (m markPlace) {
	at, proto := d.ip+packet.IPv6Header, hopByHop
	next := 6
	if d.version == 4 {
		at, proto, next = d.ip+int(f[d.ip]&15)*4, shim, 9
	}
	if int(f[d.ip+next]) != proto || d.end < at+8 || d.end < at+8*(int(f[at+1])+1) {
		return m
	}
	m.header, m.end = at, at+8*(int(f[at+1])+1)
	for i := at + 2; i < m.end; {
		if f[i] == 0 { // Pad1
			i++
			continue
		}
		if i+2 > m.end || i+2+int(f[i+1]) > m.end {
			return markPlace{} // damaged: a mark gets its own header
		}
		if f[i] == packet.ExtActivity && f[i+1] == markOption-2 {
			m.option = i
			return m
		}
		i += 2 + int(f[i+1])
	}
	return m
}

// skipShim moves transport behind the header of a mark over IPv4. Each fragment has its own.
func (d *frameLayout) skipShim(f []byte) {
	if m := d.findMark(f); m.header > 0 {
		d.proto, d.transport = f[m.header], m.end
	}
}

// readMark copies a frame's mark to its packet.
func readMark(p *packet.Packet, d *frameLayout) {
	if m := d.findMark(p.Data); m.option > 0 {
		p.SetExtension(packet.ExtActivity, p.Data[m.option+2:m.option+markOption])
	}
}

// writeMark inserts, replaces or removes the frame's mark according to its packet. A new mark has 4 bytes of data;
// another length is not inserted.
func writeMark(p *packet.Packet, d *frameLayout) {
	data, marked := p.Extension(packet.ExtActivity)
	m := d.findMark(p.Data)
	switch {
	case marked && m.option > 0:
		copy(p.Data[m.option+2:], data)
	case marked && len(data) == markOption-2:
		d.insertMark(p, m, data)
	case !marked && m.option > 0:
		d.removeMark(p, m)
	}
}

// insertMark inserts a mark of 4 bytes into p's frame, at the end of the header of options if that exists, and may move
// the frame to other memory. It has no effect if header or packet would become too long. m is the result of findMark. d
// no longer fits the frame afterwards.
func (d *frameLayout) insertMark(p *packet.Packet, m markPlace, data []byte) {
	f := p.Data
	next, proto := d.nextHeader()
	option := [markBytes]byte{packet.ExtActivity, markOption - 2, data[0], data[1], data[2], data[3], padN, 0}
	at := m.end
	if m.header == 0 {
		at = d.ip + packet.IPv6Header
		if d.version == 4 {
			at = d.ip + int(f[d.ip]&15)*4
		}
		copy(option[2:], option[:markOption])
		option[0], option[1] = f[next], 0
	} else if f[m.header+1] == 255 {
		return // the header has its maximum length; the frame gets no mark
	}
	if d.version == 4 && d.end-d.ip+markBytes > 0xffff || d.version == 6 && d.end-d.ip-packet.IPv6Header+
		markBytes > 0xffff {
		return
	}
	n := len(f)
	f = append(f, option[:]...)
	copy(f[at+markBytes:], f[at:n])
	copy(f[at:], option[:])
	p.Data = f
	if m.header > 0 {
		f[m.header+1]++
		d.resizePacket(f, markBytes, f[next])
	} else {
		d.resizePacket(f, markBytes, proto)
	}
}

// removeMark removes the mark at m from p's frame, and its header if that has no other option. An option that a switch
// did not write becomes padding, and the frame keeps its length.
func (d *frameLayout) removeMark(p *packet.Packet, m markPlace) {
	f := p.Data
	next, _ := d.nextHeader()
	switch single := m.end-m.header == markBytes; {
	case single:
		proto := f[m.header]
		p.Data = append(f[:m.header], f[m.end:]...)
		d.resizePacket(p.Data, -markBytes, proto)
	case m.option == m.end-markBytes && f[m.option+markOption] == padN && f[m.option+markOption+1] == 0:
		p.Data = append(f[:m.option], f[m.end:]...)
		p.Data[m.header+1]--
		d.resizePacket(p.Data, -markBytes, f[next])
	default:
		f[m.option] = padN
		clear(f[m.option+2 : m.option+markOption])
	}
}

// nextHeader returns the offset of IP's protocol field, and the protocol of a header of options.
func (d *frameLayout) nextHeader() (at int, proto uint8) {
	if d.version == 4 {
		return d.ip + 9, shim
	}
	return d.ip + 6, hopByHop
}

// resizePacket updates lengths and IPv4 checksum of a frame after its IP packet has grown by growth bytes, and sets
// IP's protocol field to proto. growth may be negative.
func (d *frameLayout) resizePacket(f []byte, growth int, proto uint8) {
	ip := f[d.ip:]
	if d.session > 0 {
		be.PutUint16(f[d.session+4:], uint16(int(be.Uint16(f[d.session+4:]))+growth))
	}
	if d.version == 6 {
		ip[6] = proto
		be.PutUint16(ip[4:], uint16(int(be.Uint16(ip[4:]))+growth))
		return
	}
	word := func(at int, v uint16) {
		be.PutUint16(ip[10:], packet.UpdateChecksum(be.Uint16(ip[10:]), be.Uint16(ip[at:]), v))
		be.PutUint16(ip[at:], v)
	}
	word(2, uint16(int(be.Uint16(ip[2:]))+growth))
	word(8, uint16(ip[8])<<8|uint16(proto))
}

// Limits of errors about packets that are too long, sent to their senders.
const (
	quoted4 = 576 - 28 // bytes of a packet that ICMP quotes (RFC 1812 §4.3.2.3)
	quoted6 = 1280 - 48
	// errorRate limits these errors per port, in bit/s (RFC 1812 §4.3.2.8, RFC 4443 §2.4 f).
	errorRate = 1_000_000
)

// Refusals is a program that answers packets which another program found too long (dataplane.TooLong) with the
// maximum length.
type Refusals struct {
	framing packet.Framing
	limits  []bucket // by port
}

// NewRefusals returns the program of a switch with the given number of ports. framing gives the size of its frames on
// the link.
func NewRefusals(framing packet.Framing, ports int) *Refusals {
	return &Refusals{framing: framing, limits: make([]bucket, ports)}
}

// Name returns a name that no program in a file has.
func (*Refusals) Name() string { return "too long" }

// OnDrop sends the answer to the packet's port of arrival, up to errorRate for each port. It responds to
// dataplane.TooLong only, with p.Meta.User as the maximum length of an IP packet in bytes.
func (r *Refusals) OnDrop(env *dataplane.Env, p *packet.Packet, why dataplane.Reason) {
	in := p.Meta.In
	if why != dataplane.TooLong || p.Data == nil || int(in) >= len(r.limits) {
		return
	}
	f := buildTooLong(p.Data, int(p.Meta.User))
	if f == nil || !r.limits[in].allow(env.Now(), 8*int64(len(f)), errorRate) {
		return
	}
	q := env.NewPacket()
	q.Data, q.Size, q.Kind = f, r.framing.FrameBytes(int32(len(f)), 0, false), packet.Notice
	env.SendPacket(q, in, 0)
}

// buildTooLong returns the frame that reports the maximum IP packet length mtu, in bytes, to the sender of f: ICMP
// "fragmentation needed" (RFC 1191) or ICMPv6 "packet too big" (RFC 4443 §3.2, RFC 8201). Its source is the packet's
// destination, since the switch has no address. It returns nil if an error must not be sent (RFC 1122 §3.2.2).
func buildTooLong(f []byte, mtu int) []byte {
	d, ok := parseLayout(f)
	if !ok || f[0]&1 != 0 || d.findMark(f).header > 0 && d.version == 4 {
		return nil
	}
	ip := f[d.ip:d.end]
	out := append(append(append(make([]byte, 0, 1400), f[6:12]...), f[:6]...), f[12:d.ip]...)
	var err error
	if d.version == 4 {
		h := packet.IPv4(ip)
		if be.Uint16(ip[6:])&0x1fff != 0 || !h.ChecksumOK() || h.Dst().IsMulticast() || h.Src().IsUnspecified() ||
			d.proto == packet.ProtoICMP && (d.end <= d.transport || ip[d.transport-d.ip] != 8 && ip[d.transport-d.ip] != 0) {
			return nil
		}
		ip = ip[:min(len(ip), quoted4)]
		if out, err = packet.AppendIPv4(out, h.Dst(), h.Src(), packet.ProtoICMP, 0, 64, 8+len(ip)); err != nil {
			return nil
		}
		at := len(out)
		out = append(append(out, 3, 4, 0, 0, 0, 0, byte(mtu>>8), byte(mtu)), ip...)
		be.PutUint16(out[at+2:], packet.Checksum(packet.Sum(0, out[at:])))
	} else {
		h := packet.IPv6(ip)
		if h.Dst().IsMulticast() || h.Src().IsUnspecified() ||
			d.proto == packet.ProtoICMPv6 && (d.end <= d.transport || ip[d.transport-d.ip] < 128) {
			return nil
		}
		ip = ip[:min(len(ip), quoted6)]
		if out, err = packet.AppendIPv6(out, h.Dst(), h.Src(), packet.ProtoICMPv6, 0, 64, 8+len(ip)); err != nil {
			return nil
		}
		at := len(out)
		out = append(append(out, 2, 0, 0, 0, 0, 0, byte(mtu>>8), byte(mtu)), ip...)
		src, dst := h.Dst().As16(), h.Src().As16()
		var pseudo bytes.Buffer
		pseudo.Write(src[:])
		pseudo.Write(dst[:])
		pseudo.Write([]byte{0, 0, byte((len(out) - at) >> 8), byte(len(out) - at), 0, 0, 0, packet.ProtoICMPv6})
		be.PutUint16(out[at+2:], packet.Checksum(packet.Sum(packet.Sum(0, pseudo.Bytes()), out[at:])))
	}
	if d.session > 0 {
		be.PutUint16(out[d.session+4:], uint16(len(out)-d.session-pppoeHeader))
	}
	return out
}
