package frames

import (
	"math/bits"
	"net/netip"

	"weir/core/packet"
)

// The switch has no addresses of its own for frames that programs create for hosts. An answer to a segment goes
// back to its sender, as if from its receiver, and a copy of an acknowledgement follows the original. Both reuse
// the MAC addresses, tags, PPPoE session and IP addresses of the frame. IPv4 options and IPv6 extension headers
// are dropped, because they were meant for that frame.

// FlowNumber returns a hash of IP addresses, ports and VLANs, or of MAC addresses without IP; reverse selects the
// other direction. Without the seed, colliding addresses cannot be chosen.
func (c *Codec) FlowNumber(p *packet.Packet, reverse bool) uint64 {
	f := p.Data
	d, ok := parseLayout(f)
	h := Hash(uint64(d.vlans[0])<<16|uint64(d.vlans[1]), c.users.seed)
	near, far := f[6:12], f[:6]
	if ok && d.version == 4 {
		near, far = f[d.ip+12:d.ip+16], f[d.ip+16:d.ip+20]
	} else if ok {
		near, far = f[d.ip+8:d.ip+24], f[d.ip+24:d.ip+40]
	}
	from, to := p.SrcPort, p.DstPort
	if reverse {
		near, far, from, to = far, near, to, from
	}
	h = c.users.mixAddress(c.users.mixAddress(h, near), far)
	return Hash(h^uint64(d.kind)<<48^uint64(d.proto)<<32^uint64(from)<<16^uint64(to), c.users.seed)
}

// mixAddress adds an address of 4, 6 or 16 bytes to a hash with a secret seed, by multiplications of 64 by 64 bits
// with two unknown factors.
func (u *Users) mixAddress(h uint64, address []byte) uint64 {
	word := func(v uint64) {
		high, low := bits.Mul64(h^v, u.seed^0x9e3779b97f4a7c15^h<<1|1)
		h = high ^ low
	}
	if len(address) == 16 {
		word(be.Uint64(address))
		address = address[8:]
		word(be.Uint64(address))
		return h
	}
	v := uint64(be.Uint32(address))
	if len(address) == 6 {
		v = v<<16 | uint64(be.Uint16(address[4:]))
	}
	word(v)
	return h
}

// CopyHeader copies p's link header with tags and session, and the IP and TCP headers without IP options, into
// buffer, and returns the number of bytes. Lengths and IPv4 checksum describe a packet without payload. It returns 0
// if p has no TCP header or buffer is too short.
func (c *Codec) CopyHeader(p *packet.Packet, buffer []byte) int {
	d, ok := parseLayout(p.Data)
	if !ok || d.proto != packet.ProtoTCP || d.payload == d.transport {
		return 0
	}
	ip, segment := packet.IPv6Header, d.payload-d.transport
	if d.version == 4 {
		ip = packet.IPv4Header
	}
	n := d.ip + ip + segment
	if n > len(buffer) {
		return 0
	}
	copy(buffer, p.Data[:d.ip+ip])
	copy(buffer[d.ip+ip:], p.Data[d.transport:d.payload])
	d.fixHeaders(buffer[:n])
	return n
}

// fixHeaders updates lengths, protocol and checksum of an IP header without options, followed by TCP up to the end
// of f.
func (d *frameLayout) fixHeaders(f []byte) {
	ip := f[d.ip:]
	if d.session > 0 {
		be.PutUint16(f[d.session+4:], uint16(len(f)-d.session-pppoeHeader))
	}
	if d.version == 6 {
		ip[6] = packet.ProtoTCP
		be.PutUint16(ip[4:], uint16(len(ip)-packet.IPv6Header))
		return
	}
	ip[0], ip[9] = 4<<4|packet.IPv4Header/4, packet.ProtoTCP
	be.PutUint16(ip[2:], uint16(len(ip)))
	be.PutUint16(ip[6:], be.Uint16(ip[6:])&packet.DontFragment)
	be.PutUint16(ip[10:], 0)
	be.PutUint16(ip[10:], packet.Checksum(packet.Sum(0, ip[:packet.IPv4Header])))
}

// AppendAnswer replaces p's frame by one with p's segment behind the reversed header, a result of CopyHeader. It
// returns false if the header cannot be parsed or the segment cannot be written.
func (c *Codec) AppendAnswer(p *packet.Packet, header []byte) bool {
	d, ok := parseLayout(header)
	if !ok {
		return false
	}
	f := append(append(append(p.Data[:0], header[6:12]...), header[:6]...), header[12:d.transport]...)
	ip := f[d.ip:]
	if d.version == 4 {
		copy(ip[12:], header[d.ip+16:d.ip+20])
		copy(ip[16:], header[d.ip+12:d.ip+16])
		ip[1], ip[8] = ip[1]&^packet.ECN, answerTTL
		be.PutUint16(ip[4:], 0)
		be.PutUint16(ip[6:], packet.DontFragment)
	} else {
		copy(ip[8:], header[d.ip+24:d.ip+40])
		copy(ip[24:], header[d.ip+8:d.ip+24])
		h := packet.IPv6(ip)
		h.SetTOS(h.TOS() &^ packet.ECN)
		h.SetHopLimit(answerTTL)
	}
	f, err := p.AppendSegment(f)
	if err != nil {
		return false
	}
	p.Data = d.completeFrame(f)
	return true
}

// answerTTL is the hop limit of answers, as after packet.Packet.SwapEnds.
const answerTTL = 64

// completeFrame updates lengths and checksums of f, which must end with its TCP segment and have an IP header without
// options. It pads f to shortestFrame, and returns it.
func (d *frameLayout) completeFrame(f []byte) []byte {
	d.fixHeaders(f)
	var src, dst netip.Addr
	if ip := f[d.ip:]; d.version == 4 {
		src, dst = packet.IPv4(ip).Src(), packet.IPv4(ip).Dst()
	} else {
		src, dst = packet.IPv6(ip).Src(), packet.IPv6(ip).Dst()
	}
	packet.SealTCP(f[d.transport:], src, dst)
	for len(f) < shortestFrame {
		f = append(f, 0)
	}
	return f
}

// blankSACK replaces SACK blocks in TCP options by padding, in place, up to the first damaged option.
func blankSACK(options []byte) {
	const end, none, sack = 0, 1, 5 // RFC 9293 §3.1, RFC 2018 §3
	for b := options; len(b) > 0 && b[0] != end; {
		n := 1
		if b[0] != none {
			if len(b) < 2 || b[1] < 2 || int(b[1]) > len(b) {
				return
			}
			n = int(b[1])
		}
		if b[0] == sack {
			for i := range n {
				b[i] = none
			}
		}
		b = b[n:]
	}
}

// AppendEcho replaces p's frame by a copy of an acknowledgement's header, a result of CopyHeader. The copy has sequence
// number seq, the flags ECE and ACK only, and no SACK blocks. A header that cannot be parsed is only copied.
func (c *Codec) AppendEcho(p *packet.Packet, header []byte, seq uint32) {
	p.Data = append(p.Data[:0], header...)
	d, ok := parseLayout(p.Data)
	if !ok {
		return
	}
	t := packet.TCP(p.Data[d.transport:])
	be.PutUint32(t[4:], seq)
	t[12], t[13] = t[12]&0xf0, packet.ACK|packet.ECE
	blankSACK(t.Options())
	p.Data = d.completeFrame(p.Data)
}
