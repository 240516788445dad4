package frames

import (
	"math/bits"
	"net/netip"

	"weir/core/packet"
)

// The switch has and needs no addresses for what programs make for hosts: an answer to a segment goes to where
// that came from, as if its receiver had sent it, and a copy of an acknowledgement goes where that went. So both have
// the MAC addresses, the tags, the session of PPPoE and the addresses of a frame that has passed. Options of IPv4 and
// extension headers of IPv6 are left out: they were for that frame.

// Flow is a hash of the addresses of the network, the ports and the VLANs, or of those of the link. Nobody who does not
// know the seed can choose addresses that collide.
func (c *Codec) Flow(p *packet.Packet, back bool) uint64 {
	f := p.Data
	d, ok := dissect(f)
	h := Hash(uint64(d.vlans[0])<<16|uint64(d.vlans[1]), c.users.seed)
	near, far := f[6:12], f[:6]
	if ok && d.version == 4 {
		near, far = f[d.ip+12:d.ip+16], f[d.ip+16:d.ip+20]
	} else if ok {
		near, far = f[d.ip+8:d.ip+24], f[d.ip+24:d.ip+40]
	}
	from, to := p.SrcPort, p.DstPort
	if back {
		near, far, from, to = far, near, to, from
	}
	h = c.users.stir(c.users.stir(h, near), far)
	return Hash(h^uint64(d.kind)<<48^uint64(d.proto)<<32^uint64(from)<<16^uint64(to), c.users.seed)
}

// stir adds an address of 4, 6 or 16 bytes to a hash with a secret seed: multiplications of 64 by 64 bits with two
// unknown factors.
func (u *Users) stir(h uint64, address []byte) uint64 {
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

// Header copies the link's header with tags and session, and plain headers of IP and TCP, which keeps its options.
func (c *Codec) Header(p *packet.Packet, to []byte) int {
	d, ok := dissect(p.Data)
	if !ok || d.proto != packet.ProtoTCP || d.payload == d.transport {
		return 0
	}
	ip, segment := packet.IPv6Header, d.payload-d.transport
	if d.version == 4 {
		ip = packet.IPv4Header
	}
	n := d.ip + ip + segment
	if n > len(to) {
		return 0
	}
	copy(to, p.Data[:d.ip+ip])
	copy(to[d.ip+ip:], p.Data[d.transport:d.payload])
	d.plain(to[:n])
	return n
}

// plain corrects lengths, protocol and sum of a header of IP without options, where TCP follows to the end of f.
func (d *anatomy) plain(f []byte) {
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

// Answer turns the header round and puts p's segment behind it.
func (c *Codec) Answer(p *packet.Packet, header []byte) bool {
	d, ok := dissect(header)
	if !ok {
		return false
	}
	f := append(append(append(p.Data[:0], header[6:12]...), header[:6]...), header[12:d.transport]...)
	ip := f[d.ip:]
	if d.version == 4 {
		copy(ip[12:], header[d.ip+16:d.ip+20])
		copy(ip[16:], header[d.ip+12:d.ip+16])
		ip[1], ip[8] = ip[1]&^packet.ECN, answersTTL
		be.PutUint16(ip[4:], 0)
		be.PutUint16(ip[6:], packet.DontFragment)
	} else {
		copy(ip[8:], header[d.ip+24:d.ip+40])
		copy(ip[24:], header[d.ip+8:d.ip+24])
		h := packet.IPv6(ip)
		h.SetTOS(h.TOS() &^ packet.ECN)
		h.SetHopLimit(answersTTL)
	}
	f, err := p.AppendSegment(f)
	if err != nil {
		return false
	}
	p.Data = d.complete(f)
	return true
}

// answersTTL is the hop limit of answers, as packet.TurnRound has it.
const answersTTL = 64

// complete corrects the sums of f, which ends with its TCP segment, and pads it.
func (d *anatomy) complete(f []byte) []byte {
	d.plain(f)
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

// blank removes the blocks of SACK.
func blank(options []byte) {
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

// Echo sets the number, and ECE with ACK alone, and takes the blocks of SACK away.
func (c *Codec) Echo(p *packet.Packet, header []byte, seq uint32) {
	p.Data = append(p.Data[:0], header...)
	d, ok := dissect(p.Data)
	if !ok {
		return
	}
	t := packet.TCP(p.Data[d.transport:])
	be.PutUint32(t[4:], seq)
	t[12], t[13] = t[12]&0xf0, packet.ACK|packet.ECE
	blank(t.Options())
	p.Data = d.complete(p.Data)
}
